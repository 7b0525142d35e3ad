//! PAR-6/2 (García, Vallejo, Beivide, Odriozola, Valero: Efficient Routing Mechanisms for Dragonfly Networks, ICPP 2013): a
//! packet goes minimally unless there is much ahead at the next output and less at another one. It may leave its group for
//! any other one, and make a detour of one link in each group.

use fabricsim_model::Trail;
use fabricsim_units::PortNo;

use super::map::Place;
use super::template::Kind;
use super::{Dragonfly, Goal, MUST_LEAVE, TURNED};
use crate::View;

/// When a packet leaves the minimal way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detours {
    /// From this part on of the buffers behind the minimal port that is in use or waited for, in 65536ths.
    pub trigger: u32,
    /// Other ports are taken that have at most this part of that in use, in 65536ths.
    pub ratio: u32,
}

/// The ports that a packet may choose instead of the minimal one, and what it remembers if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    None,
    /// The router's global links.
    Global,
    /// Its other local links.
    Local,
}

impl Dragonfly {
    /// Which ports a packet may take instead of the minimal one, `minimal`: as FOGSim's mixed mode with local detours
    /// (`MM+L`).
    #[inline]
    pub(super) fn others(&self, here: Place, to: Place, trail: Trail, minimal: PortNo) -> Others {
        let at_source = !self.template.has_left(trail.place) && here.group != to.group;
        if at_source && trail.place == 0 {
            return Others::Global;
        }
        let turns = !trail.has(TURNED) && (at_source || self.map.kind(minimal) == Kind::Local);
        if turns { Others::Local } else { Others::None }
    }

    /// What a packet remembers that leaves the minimal way by a port of this kind. One that makes a detour in the group where
    /// it was injected leaves the group from there.
    #[inline]
    pub(super) fn astray(&self, here: Place, to: Place, trail: Trail, others: Others) -> Trail {
        match others {
            Others::Global => trail,
            _ if !self.template.has_left(trail.place) && here.group != to.group => {
                trail.with(TURNED | MUST_LEAVE)
            }
            _ => trail.with(TURNED),
        }
    }

    /// The port that a packet takes.
    #[inline]
    pub(super) fn with_detours<V: View>(
        &self,
        rules: Detours,
        here: Place,
        to: Place,
        trail: &mut Trail,
        view: &mut V,
    ) -> PortNo {
        if trail.has(MUST_LEAVE) {
            *trail = trail.without(MUST_LEAVE);
            return self.leave(view);
        }
        let minimal = self.towards(here, Goal { group: to.group, router: Some(to.router) }, view);
        let others = self.others(here, to, *trail, minimal);
        if others == Others::None {
            return minimal;
        }
        let (ahead, space) = self.occupancy(minimal, view);
        if ahead << 16 < u64::from(rules.trigger) * space || ahead == 0 {
            return minimal;
        }
        let found = match others {
            Others::Local => self.find(rules, (ahead, space), (minimal, self.map.local_ports()), view),
            _ => self.find(rules, (ahead, space), (minimal, self.map.global_ports()), view),
        };
        match found {
            Some(port) => {
                *trail = self.astray(here, to, *trail, others);
                port
            }
            None => minimal,
        }
    }

    /// Any of the ports that have much less ahead than the minimal one.
    #[inline]
    fn find<V: View>(
        &self,
        rules: Detours,
        (ahead, space): (u64, u64),
        (minimal, ports): (PortNo, impl Iterator<Item = PortNo>),
        view: &mut V,
    ) -> Option<PortNo> {
        let (mut found, mut count) = (None, 0);
        for port in ports.filter(|&port| port != minimal) {
            let (other, room) = self.occupancy(port, view);
            if (other * space) << 16 <= u64::from(rules.ratio) * ahead * room {
                count += 1;
                // Each of them with the same probability, without a list.
                if count == 1 || view.below(count) == 0 {
                    found = Some(port);
                }
            }
        }
        found
    }

    /// The global port with the least ahead.
    fn leave<V: View>(&self, view: &mut V) -> PortNo {
        let ports = self.map.global_ports();
        let start = view.below(self.map.shape.globals);
        let from_start = ports.clone().skip(start as usize).chain(ports.take(start as usize));
        let least = from_start.min_by_key(|&port| self.load(port, view));
        least.unwrap_or_else(|| self.map.shape.global_port(0))
    }

    /// Blocks ahead at an output, and the space of the buffers behind it.
    #[inline]
    fn occupancy<V: View>(&self, port: PortNo, view: &mut V) -> (u64, u64) {
        let lanes = self.template.all(self.map.kind(port));
        (u64::from(view.load(port, lanes)), u64::from(view.capacity(port, lanes)))
    }
}
