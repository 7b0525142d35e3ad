//! Several managers: which is the master, and what a standby does (section 14.4.1).

use fabricsim_units::Time;
use fabricsim_wire::ids::Guid;
use fabricsim_wire::mad::Method;
use fabricsim_wire::mad::smp::{DirectedSmp, SmInfo, SmState, SmpAttribute, SwitchInfo};

use super::quality::KnownQuality;
use super::requests::{Purpose, Request};
use super::{Manager, Stage, SweepCause};

/// Attribute modifiers of `SubnSet(SMInfo)`.
const HAND_OVER: u32 = 1;

/// Another manager.
#[derive(Clone, Debug)]
pub(super) struct Other {
    info: SmInfo,
    path: Box<[u8]>,
}

impl Other {
    /// True if it was a master when it was discovered.
    pub(super) fn is_master(&self) -> bool {
        self.info.state == SmState::MASTER
    }
}

impl Manager {
    /// Its own `SMInfo`.
    pub fn info(&self) -> SmInfo {
        SmInfo {
            guid: Guid(self.guid),
            act_count: self.act_count,
            priority: self.settings.priority,
            state: self.state,
            ..SmInfo::default()
        }
    }

    /// Answers a question of another manager, or obeys it.
    pub fn answer(&mut self, request: &DirectedSmp, now: Time) -> DirectedSmp {
        self.act_count += 1;
        if request.method == Method::SET && request.modifier == HAND_OVER {
            // The other one has set tables since this one did.
            self.known_tables.clear();
            self.known_quality = KnownQuality::default();
            match self.state {
                SmState::STANDBY => {
                    self.state = SmState::MASTER;
                    self.requests.clear();
                    self.begin_sweep(SweepCause::HandOver, now);
                }
                // Two parts of a subnet, each with a master, have become one: its part is larger now.
                SmState::MASTER => self.sweep_soon(SweepCause::HandOver, now),
                _ => {}
            }
        }
        let answer = DirectedSmp { method: Method::GET_RESP, ..*request };
        answer.with(&SmpAttribute::SMInfo(self.info()), request.modifier).unwrap_or(answer)
    }

    pub(super) fn found_manager(&mut self, info: &SmInfo, path: &[u8]) {
        self.others.push(Other { info: *info, path: path.into() });
    }

    /// True if `other` is preferred as master: by priority, then by the least GUID.
    fn is_preferred(&self, other: &SmInfo) -> bool {
        (other.priority, std::cmp::Reverse(other.guid.0))
            > (self.settings.priority, std::cmp::Reverse(self.guid))
    }

    /// True if this manager is the master after a discovery. Otherwise it becomes a standby, and a master that has found a
    /// better one hands over to it.
    pub(super) fn elect(&mut self, now: Time) -> bool {
        let is_active = |other: &&Other| other.info.state != SmState::NOT_ACTIVE;
        let master = self.others.iter().find(|other| other.info.state == SmState::MASTER).cloned();
        let better = self.others.iter().filter(is_active).filter(|other| self.is_preferred(&other.info));
        let best =
            better.max_by_key(|other| (other.info.priority, std::cmp::Reverse(other.info.guid.0))).cloned();
        let is_master = self.state == SmState::MASTER;
        let ahead = match (is_master, master, best) {
            // One that finds a master waits for it to hand over or to fail.
            (false, Some(master), _) => Some(master),
            // A master yields to a better one, whether that is a master or a standby.
            (_, _, best) => best,
        };
        let Some(ahead) = ahead else { return true };
        if is_master {
            let attribute = SmpAttribute::SMInfo(self.info());
            self.requests.push(Request::set(Purpose::HandOver, attribute, HAND_OVER, &ahead.path));
        }
        self.state = SmState::STANDBY;
        self.master = ahead.path;
        self.unanswered = 0;
        self.end_sweep(now);
        false
    }

    /// A light sweep of a master, or a standby's question to its master.
    pub(super) fn look(&mut self, now: Time) {
        self.looking_since = now;
        if self.state == SmState::STANDBY {
            if self.unanswered > self.settings.poll_retries {
                return self.replace_master(now);
            }
            let attribute = SmpAttribute::SMInfo(SmInfo::default());
            self.requests.push(Request::get(Purpose::Poll, attribute, 0, &self.master.clone()));
            self.next_look = now.saturating_add(self.settings.poll_interval);
            return;
        }
        if self.is_incomplete {
            return self.begin_sweep(SweepCause::NoAnswer, now);
        }
        self.counters.light_sweeps += 1;
        self.stage = Stage::Light;
        for node in self.found.nodes.iter().filter(|node| node.is_switch()) {
            let attribute = SmpAttribute::SwitchInfo(SwitchInfo::default());
            self.requests.push(Request::get(Purpose::Light, attribute, 0, &node.path));
        }
    }

    fn replace_master(&mut self, now: Time) {
        self.known_tables.clear();
        self.known_quality = KnownQuality::default();
        self.state = SmState::DISCOVERING;
        self.requests.clear();
        self.begin_sweep(SweepCause::MasterLost, now);
    }

    pub(super) fn master_answered(&mut self, info: &SmInfo) {
        if info.state == SmState::MASTER {
            self.unanswered = 0;
            self.unchanged_since = Some(self.looking_since);
        } else {
            // One that is not the master any more is no reason to wait.
            self.unanswered += 1;
        }
    }
}
