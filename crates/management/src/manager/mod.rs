//! Subnet manager (chapter 14, OpenSM 3.3.23): a state machine that discovers a subnet, programs it, and watches it.
//!
//! A sweep goes through stages, each of which ends when all its requests are answered or given up: discovery, LIDs, tables, armed
//! ports, active ports. Among several managers the one with the highest priority, then the least GUID, is the master.

mod answers;
mod configure;
mod discover;
mod discovered;
mod elect;
mod multicast;
mod partitions;
mod quality;
mod requests;
mod settings;
mod sweep;

use std::collections::BTreeMap;

use fabricsim_subnet::{Routing, Subnet};
use fabricsim_units::Time;
use fabricsim_wire::mad::smp::{DirectedSmp, SmState};
use fabricsim_wire::mad::{Method, MgmtClass, smp::Smp};

use self::discovered::Discovered;
use self::elect::Other;
use self::quality::KnownQuality;
use self::requests::Requests;
pub use self::settings::{Counters, MulticastGroup, Outgoing, PartitionKeys, Quality, Settings};
pub use self::sweep::{Sweep, SweepCause};

/// Stage of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No sweep.
    Idle,
    /// Nodes and ports are read.
    Discovering,
    /// Changes of ports are acknowledged.
    Acknowledging,
    /// LIDs are set.
    Addressing,
    /// Tables are computed until a time.
    Computing(Time),
    /// Tables are set.
    Programming,
    /// Ports are armed.
    Arming,
    /// Ports are activated.
    Activating,
    /// Switches are asked whether a port has changed.
    Light,
}

/// A subnet manager on a port of an adapter.
#[derive(Clone, Debug)]
pub struct Manager {
    settings: Settings,
    /// GUID of its port.
    guid: u64,
    /// Number of its port.
    port: u8,
    state: SmState,
    stage: Stage,
    requests: Requests,
    found: Discovered,
    /// Other managers that were discovered.
    others: Vec<Other>,
    /// Tables as they were set, by GUID of the switch.
    known_tables: BTreeMap<u64, Vec<u8>>,
    known_quality: KnownQuality,
    /// True once it has set SL2VL tables: later ones are set as well, even if no level needs a lane of its own any more.
    sets_lanes: bool,
    /// The subnet with LIDs, and its routes, after the last sweep that computed them.
    subnet: Subnet,
    routing: Option<Routing>,
    /// Cause of the next sweep, if one is due.
    due: Option<SweepCause>,
    /// True if something that was to be set did not answer: the next light sweep becomes one of the whole subnet, as with OpenSM.
    is_incomplete: bool,
    /// Time of the next light sweep, or of the next question to the master.
    next_look: Time,
    /// Route to the master, of a standby, and the questions that it has not answered.
    master: Box<[u8]>,
    unanswered: u32,
    /// Begin of the last light sweep or question to the master, and of the last one that found everything as it was.
    looking_since: Time,
    unchanged_since: Option<Time>,
    /// Datagrams that wait besides requests.
    ready: Vec<Outgoing>,
    counters: Counters,
    /// Counters at the begin of the present sweep.
    before: Counters,
    sweeps: Vec<Sweep>,
    act_count: u32,
}

impl Manager {
    /// A manager on `port` of its node, with the GUID of that port. It begins with [`Manager::start`].
    pub fn new(settings: Settings, guid: u64, port: u8) -> Self {
        let requests = Requests::new(settings.smps_on_wire, settings.timeout, settings.retries);
        Self {
            settings,
            guid,
            port,
            state: SmState::NOT_ACTIVE,
            stage: Stage::Idle,
            requests,
            found: Discovered::default(),
            others: Vec::new(),
            known_tables: BTreeMap::new(),
            known_quality: KnownQuality::default(),
            sets_lanes: false,
            subnet: Subnet::default(),
            routing: None,
            due: None,
            is_incomplete: false,
            next_look: Time::MAX,
            master: Box::default(),
            unanswered: 0,
            looking_since: Time::ZERO,
            unchanged_since: None,
            ready: Vec::new(),
            counters: Counters::default(),
            before: Counters::default(),
            sweeps: Vec::new(),
            act_count: 0,
        }
    }

    /// Begins to discover the subnet.
    pub fn start(&mut self, now: Time) {
        self.state = SmState::DISCOVERING;
        self.begin_sweep(SweepCause::Start, now);
    }

    /// Its node has no power: it forgets everything but the record of its sweeps, until [`Manager::start`].
    pub fn power_off(&mut self) {
        let (counters, sweeps) = (self.counters, std::mem::take(&mut self.sweeps));
        let fresh = Self::new(self.settings.clone(), self.guid, self.port);
        *self = Self { counters, before: counters, sweeps, ..fresh };
    }

    /// Its state.
    pub fn state(&self) -> SmState {
        self.state
    }

    /// True if it is the master.
    pub fn is_master(&self) -> bool {
        self.state == SmState::MASTER
    }

    /// The same manager without the record of what it did, as if it had not been started.
    #[must_use]
    pub fn without_history(mut self) -> Self {
        (self.counters, self.before) = (Counters::default(), Counters::default());
        self.sweeps.clear();
        self.next_look = Time::MAX;
        self
    }

    /// Number of its port.
    pub fn port(&self) -> u8 {
        self.port
    }

    /// Its sweeps of the whole subnet so far.
    pub fn sweeps(&self) -> &[Sweep] {
        &self.sweeps
    }

    /// Its counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The subnet with LIDs after the last sweep.
    pub fn subnet(&self) -> &Subnet {
        &self.subnet
    }

    /// Routes after the last sweep as master.
    pub fn routing(&self) -> Option<&Routing> {
        self.routing.as_ref()
    }

    /// True if the subnet is up: the master has nothing to do.
    pub fn is_up(&self) -> bool {
        self.state == SmState::MASTER && self.stage == Stage::Idle && self.due.is_none()
    }

    /// True if nothing has changed for it since `time`, so that nothing will unless something else changes first: the master has asked
    /// all switches since, a standby its master.
    pub fn is_settled(&self, time: Time) -> bool {
        let has_asked = self.unchanged_since.is_some_and(|since| since >= time);
        let is_between_sweeps = matches!(self.stage, Stage::Idle | Stage::Light) && self.due.is_none();
        match self.state {
            SmState::MASTER if self.settings.sweep_interval == Time::ZERO => is_between_sweeps,
            SmState::MASTER => is_between_sweeps && has_asked && !self.is_incomplete,
            SmState::STANDBY => is_between_sweeps && has_asked && self.unanswered == 0,
            // Without power.
            SmState::NOT_ACTIVE => true,
            _ => false,
        }
    }

    /// Time at which it must be called again ([`Manager::expire`]) if nothing arrives before.
    pub fn wake_at(&self) -> Option<Time> {
        let computed = match self.stage {
            Stage::Computing(until) => Some(until),
            _ => None,
        };
        let look = (self.stage == Stage::Idle && self.next_look < Time::MAX).then_some(self.next_look);
        [computed, look, self.requests.overdue_at()].into_iter().flatten().min()
    }

    /// The next datagram to send now; call until `None`.
    pub fn send(&mut self, now: Time) -> Option<Outgoing> {
        if let Some(ready) = self.ready.pop() {
            return Some(ready);
        }
        let smp = self.requests.send(now, &mut self.counters)?;
        Some(Outgoing::Directed(smp))
    }

    /// An answer to one of its requests has arrived.
    pub fn arrive(&mut self, answer: &DirectedSmp, now: Time) {
        let Some(request) = self.requests.answered(answer) else { return };
        match answer.attribute().filter(|_| answer.status == 0) {
            Some(attribute) => self.accept(&request, &attribute, now),
            None => self.refused(&request),
        }
        self.go_on(now);
    }

    /// A trap has arrived from the node with `lid`.
    pub fn trap(&mut self, trap: &Smp, lid: u16, now: Time) {
        self.counters.traps += 1;
        let header = trap.header.response();
        self.ready.push(Outgoing::ByLid(lid, Smp { header, ..*trap }));
        // The first discovery may have passed the place already.
        if matches!(self.state, SmState::MASTER | SmState::DISCOVERING) {
            self.sweep_soon(SweepCause::Trap, now);
        }
    }

    /// Does what is due at `now`.
    pub fn expire(&mut self, now: Time) {
        for request in self.requests.expire(now) {
            self.give_up(&request);
        }
        if self.stage == Stage::Idle && self.next_look <= now {
            self.look(now);
        }
        self.go_on(now);
    }

    /// A sweep is needed: at once, or after the present one.
    fn sweep_soon(&mut self, cause: SweepCause, now: Time) {
        if matches!(self.stage, Stage::Idle | Stage::Light) {
            self.requests.clear();
            self.begin_sweep(cause, now);
        } else {
            self.due.get_or_insert(cause);
        }
    }

    fn begin_sweep(&mut self, cause: SweepCause, now: Time) {
        (self.due, self.is_incomplete) = (None, false);
        self.before = self.counters;
        self.sweeps.push(Sweep::new(cause, now));
        self.stage = Stage::Discovering;
        self.found = Discovered::default();
        self.others.clear();
        self.discover(usize::MAX, 0, &[]);
    }

    /// The present sweep's record.
    fn sweep(&mut self) -> Option<&mut Sweep> {
        self.sweeps.last_mut().filter(|sweep| sweep.end.is_none())
    }

    fn end_sweep(&mut self, now: Time) {
        self.stage = Stage::Idle;
        let (counters, before, is_master) = (self.counters, self.before, self.state == SmState::MASTER);
        if let Some(sweep) = self.sweep() {
            sweep.end = Some(now);
            sweep.is_master = is_master;
            sweep.requests = counters.sent - before.sent;
            sweep.repeated = counters.repeated - before.repeated;
            sweep.given_up = counters.given_up - before.given_up;
        }
        self.next_look = self.next_look_after(now);
        if let Some(cause) = self.due.filter(|_| is_master) {
            self.begin_sweep(cause, now);
        }
        self.due = None;
    }

    fn next_look_after(&self, now: Time) -> Time {
        let interval = match self.state {
            SmState::STANDBY => self.settings.poll_interval,
            _ => self.settings.sweep_interval,
        };
        if interval == Time::ZERO { Time::MAX } else { now.saturating_add(interval) }
    }

    /// Begins the next stage if the present one has ended; as often as that is so.
    fn go_on(&mut self, now: Time) {
        while self.requests.is_empty() {
            match self.stage {
                Stage::Idle => return,
                Stage::Light => {
                    self.stage = Stage::Idle;
                    if let Some(cause) = self.due {
                        self.begin_sweep(cause, now);
                        continue;
                    }
                    self.unchanged_since = Some(self.looking_since);
                    self.next_look = self.next_look_after(now);
                    return;
                }
                Stage::Discovering => self.end_discovery(now),
                Stage::Acknowledging => self.configure(),
                Stage::Addressing => {
                    if let Some(sweep) = self.sweep() {
                        sweep.addressed = Some(now);
                    }
                    self.stage = Stage::Computing(now.saturating_add(self.settings.routing_time));
                }
                Stage::Computing(until) if until > now => return,
                Stage::Computing(_) => self.program(),
                Stage::Programming => {
                    if let Some(sweep) = self.sweep() {
                        sweep.programmed = Some(now);
                    }
                    self.arm();
                }
                Stage::Arming => self.activate(),
                Stage::Activating => self.end_sweep(now),
            }
        }
    }

    /// The kind of a datagram by LID: true if it is a trap.
    pub fn is_trap(smp: &Smp) -> bool {
        smp.header.class == MgmtClass::SUBN_LID_ROUTED && smp.header.method == Method::TRAP
    }
}

#[cfg(test)]
mod tests;
