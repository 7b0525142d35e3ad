//! PAR-6/2 (García, Vallejo, Beivide, Odriozola, Valero: Efficient Routing Mechanisms for Dragonfly Networks, ICPP 2013): a
//! packet goes minimally unless there is much ahead at the next output and less at another one. It may leave its group for
//! any other one, and make a detour of one link in each group.

use std::ops::Range;

use fabricsim_model::{Lanes, RouteState};
use fabricsim_units::PortNo;

use super::map::Place;
use super::{Dragonfly, Goal, MUST_LEAVE, TURNED};
use crate::View;
use crate::lanes::Kind;

/// Conditions under which a packet leaves the minimal route.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detours {
    /// T: a packet leaves the minimal route if more than this number of flow-control units are ahead at the minimal port,
    /// and
    pub threshold: u32,
    /// this part of the buffers behind it, or more, is in use or waited for, in 65536ths.
    pub trigger: u32,
    /// Other ports are taken that have at most this part of that in use, in 65536ths.
    pub ratio: u32,
    /// True if all of these count the buffers of those lanes alone that the packet takes at a port
    /// (`routing.load = "credits-of-lane"`).
    pub of_lane: bool,
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

/// Load ahead at an output, and the space of the buffers behind it, in flow-control units.
#[derive(Clone, Copy, Debug)]
struct Load {
    ahead: u32,
    space: u32,
}

impl Load {
    /// The most that may be ahead at an output with so much space behind it to have at most the part `ratio` of this load, in
    /// 65536ths, in proportion to the space.
    #[inline]
    fn part(self, ratio: u32, space: u32) -> u32 {
        let part = u64::from(self.ahead) * u64::from(ratio);
        if space == self.space {
            return (part >> 16) as u32;
        }
        let whole = u64::from(self.space.max(1));
        let limit = match part.checked_mul(u64::from(space)) {
            Some(product) => (product / whole) >> 16,
            None => ((u128::from(part) * u128::from(space) / u128::from(whole)) >> 16) as u64,
        };
        u32::try_from(limit).unwrap_or(u32::MAX)
    }
}

impl Dragonfly {
    /// Ports that a packet may take instead of the minimal one, `minimal`: as FOGSim's mixed mode with local detours
    /// (`MM+L`).
    #[inline]
    pub(super) fn others(&self, here: Place, to: Place, state: RouteState, minimal: PortNo) -> Others {
        let at_source = !self.lanes.has_left(state.place) && here.group != to.group;
        if at_source && state.place == 0 {
            return Others::Global;
        }
        let turns = !state.has(TURNED) && (at_source || self.lanes.kind(minimal) == Kind::Local);
        if turns { Others::Local } else { Others::None }
    }

    /// State of a packet that leaves the minimal route by a port of this kind. One that makes a detour in the group where
    /// it was injected leaves the group from there.
    #[inline]
    pub(super) fn astray(&self, here: Place, to: Place, state: RouteState, others: Others) -> RouteState {
        match others {
            Others::Global => state,
            _ if !self.lanes.has_left(state.place) && here.group != to.group => {
                state.with(TURNED | MUST_LEAVE)
            }
            _ => state.with(TURNED),
        }
    }

    /// The port that a packet takes.
    #[inline]
    pub(super) fn with_detours<V: View>(
        &self,
        rules: Detours,
        here: Place,
        to: Place,
        state: &mut RouteState,
        view: &mut V,
    ) -> PortNo {
        if state.has(MUST_LEAVE) {
            *state = state.without(MUST_LEAVE);
            return self.leave(state.place, view);
        }
        let minimal = self.towards(here, Goal { group: to.group, router: Some(to.router) }, view);
        let others = self.others(here, to, *state, minimal);
        if others == Others::None {
            return minimal;
        }
        let lanes = self.counted(rules, state.place, self.lanes.kind(minimal));
        let ahead = view.load(minimal, lanes);
        if ahead <= rules.threshold {
            return minimal;
        }
        let load = Load { ahead, space: view.capacity(minimal, lanes) };
        if u64::from(load.ahead) << 16 < u64::from(rules.trigger) * u64::from(load.space) {
            return minimal;
        }
        let compares_kinds = others == Others::Local && self.lanes.kind(minimal) == Kind::Global;
        if compares_kinds && !self.stands_out(rules.ratio, load, (minimal, lanes), view) {
            return minimal;
        }
        let (kind, ports) = match others {
            Others::Local => (Kind::Local, self.map.local_ports()),
            _ => (Kind::Global, self.map.global_ports()),
        };
        let lanes = self.counted(rules, state.place, kind);
        let found = Self::find(rules.ratio, load, (minimal, ports), lanes, view);
        match found {
            Some(port) => {
                *state = self.astray(here, to, *state, others);
                port
            }
            None => minimal,
        }
    }

    /// The lanes of a link of this kind whose buffers count, for a packet in this slot.
    #[inline]
    fn counted(&self, rules: Detours, slot: u8, kind: Kind) -> Lanes {
        if rules.of_lane { self.lanes.next(slot, kind).1 } else { self.lanes.used(kind) }
    }

    /// Any of the ports that have at most the part `ratio` of the minimal one's `load`, each of them with the same probability.
    fn find<V: View>(
        ratio: u32,
        load: Load,
        (minimal, ports): (PortNo, Range<u16>),
        lanes: Lanes,
        view: &mut V,
    ) -> Option<PortNo> {
        // Mostly there is the same space behind all of them.
        let (mut space, mut limit) = (load.space, load.part(ratio, load.space));
        let mut fits = |port: PortNo, view: &mut V| {
            let room = view.capacity(port, lanes);
            if room != space {
                (space, limit) = (room, load.part(ratio, room));
            }
            port != minimal && !view.exceeds(port, lanes, limit)
        };
        let (mut found, mut count) = (None, 0);
        for port in ports.map(PortNo) {
            if fits(port, view) {
                count += 1;
                if count == 1 || view.below(count) == 0 {
                    found = Some(port);
                }
            }
        }
        found
    }

    /// True if the router's other global links have on average at most the part `ratio` of the `load` of this one. On a link
    /// that is longer than the local ones there is always more ahead than on these, so that with them alone it cannot be
    /// compared (as FOGSim, which compares with a multiple of the mean).
    fn stands_out<V: View>(
        &self,
        ratio: u32,
        load: Load,
        (global, lanes): (PortNo, Lanes),
        view: &mut V,
    ) -> bool {
        let mut others = self.map.global_ports().map(PortNo).filter(|&port| port != global);
        let mut left = u64::from(load.part(ratio, load.space)) * u64::from(self.map.shape.globals - 1);
        self.map.shape.globals > 1
            && others.all(|port| {
                let ahead = u64::from(view.load(port, lanes));
                let fits = ahead <= left;
                left = left.saturating_sub(ahead);
                fits
            })
    }

    /// The global port with the least ahead, for a packet in this slot.
    fn leave<V: View>(&self, slot: u8, view: &mut V) -> PortNo {
        let lanes = self.lanes.next(slot, Kind::Global).1;
        let ports = self.map.global_ports().map(PortNo);
        let start = view.below(self.map.shape.globals);
        let from_start = ports.clone().skip(start as usize).chain(ports.take(start as usize));
        let least = from_start.min_by_key(|&port| view.load(port, lanes));
        least.unwrap_or_else(|| self.map.shape.global_port(0))
    }
}
