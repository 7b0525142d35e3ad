//! All that a packet may decide, whatever the loads and the draws: what the deadlock check follows.

use fabricsim_model::{Hop, Trail};
use fabricsim_units::{HostId, PortNo, SwitchId};

use super::map::Place;
use super::par_6_2::Others;
use super::{DETOUR, Dragonfly, Goal, MUST_LEAVE, Policy, UNSURE, Via};
use crate::{At, RoutingFunction};

impl Dragonfly {
    /// True if this is one of the options.
    pub(super) fn is_option(&self, at: At, to: HostId, trail: Trail, taken: (Hop, Trail)) -> bool {
        let mut options = Vec::new();
        self.options(at, to, trail, &mut options);
        options.contains(&taken)
    }

    /// The minimal hops of a packet.
    pub(super) fn minimal_options(
        &self,
        at: SwitchId,
        to: HostId,
        trail: Trail,
        each: &mut impl FnMut(Hop, Trail),
    ) {
        let (target, port) = self.map.host(to);
        if target == at {
            return each(Hop { port, lanes: self.all }, trail);
        }
        let to = self.map.place(target);
        self.ways_to(self.map.place(at), Goal { group: to.group, router: Some(to.router) }, trail, each);
    }

    /// Calls `each` for every hop that a packet may take, with what it then remembers.
    pub(super) fn each_option(
        &self,
        at: SwitchId,
        to: HostId,
        trail: Trail,
        each: &mut impl FnMut(Hop, Trail),
    ) {
        let (target, port) = self.map.host(to);
        if target == at {
            return each(Hop { port, lanes: self.all }, trail);
        }
        let (here, to) = (self.map.place(at), self.map.place(target));
        match self.policy {
            Policy::Detours(_) => self.detours(here, to, trail, each),
            policy => self.decisions(policy, here, to, trail, each),
        }
    }

    fn decisions(
        &self,
        policy: Policy,
        here: Place,
        to: Place,
        trail: Trail,
        each: &mut impl FnMut(Hop, Trail),
    ) {
        let minimal = Goal { group: to.group, router: Some(to.router) };
        let is_new = trail.place == 0 && here.group != to.group;
        match policy {
            Policy::Minimal | Policy::Detours(_) => self.ways_to(here, minimal, trail, each),
            Policy::Valiant if is_new => self.detours_from(here, to, trail, each),
            Policy::UgalLocal { .. } | Policy::UgalGlobal { .. } | Policy::Piggyback { .. } if is_new => {
                self.ways_to(here, minimal, trail, each);
                self.detours_from(here, to, trail, each);
            }
            Policy::Progressive { .. } if is_new => {
                for via in self.vias(here, to) {
                    let unsure = trail.with_via(via).with(UNSURE);
                    self.ways_to(here, minimal, unsure, &mut |hop, after| {
                        if self.is_local(hop.port) {
                            each(hop, after);
                        }
                    });
                }
                self.ways_to(here, minimal, trail, each);
                self.detours_from(here, to, trail, each);
            }
            Policy::Progressive { .. } if trail.has(UNSURE) && here.group != to.group => {
                let sure = trail.without(UNSURE);
                self.ways_to(here, minimal, sure.with_via(0), each);
                self.ways_to(here, self.detour(sure), sure.with(DETOUR), each);
            }
            Policy::Valiant
            | Policy::UgalLocal { .. }
            | Policy::UgalGlobal { .. }
            | Policy::Piggyback { .. }
            | Policy::Progressive { .. } => {
                let mut trail = trail;
                let goal = self.goal(here, to, &mut trail);
                self.ways_to(here, goal, trail, each);
            }
        }
    }

    /// Every [`Trail::via`] that may be drawn.
    fn vias(&self, here: Place, to: Place) -> impl Iterator<Item = u32> + use<> {
        let shape = &self.map.shape;
        let size = if self.via == Via::Router { shape.routers } else { 1 };
        let groups = (0..shape.groups.count).filter(move |&group| group != here.group && group != to.group);
        groups.flat_map(move |group| group * size..(group + 1) * size)
    }

    fn detours_from(&self, here: Place, to: Place, trail: Trail, each: &mut impl FnMut(Hop, Trail)) {
        for via in self.vias(here, to) {
            let trail = trail.with_via(via).with(DETOUR);
            self.ways_to(here, self.detour(trail), trail, each);
        }
    }

    fn ways_to(&self, here: Place, goal: Goal, trail: Trail, each: &mut impl FnMut(Hop, Trail)) {
        let mut take = |port| {
            let (hop, trail) = self.hop(port, trail);
            each(hop, trail);
        };
        match goal.router {
            Some(router) if goal.group == here.group => take(self.map.shape.local_port(here.router, router)),
            _ => {
                let gates = self.map.nearest(here, goal.group, goal.router);
                gates.for_each(|gate| take(self.map.towards(here, gate)));
            }
        }
    }

    fn detours(&self, here: Place, to: Place, trail: Trail, each: &mut impl FnMut(Hop, Trail)) {
        if trail.has(MUST_LEAVE) {
            for port in self.map.global_ports().map(PortNo) {
                let (hop, trail) = self.hop(port, trail.without(MUST_LEAVE));
                each(hop, trail);
            }
            return;
        }
        let goal = Goal { group: to.group, router: Some(to.router) };
        let mut minimal = Vec::new();
        self.ways_to(here, goal, trail, &mut |hop, after| minimal.push((hop, after)));
        for (hop, after) in minimal {
            each(hop, after);
            let others = self.others(here, to, trail, hop.port);
            let astray = self.astray(here, to, trail, others);
            let mut take = |port| {
                if port != hop.port {
                    let (hop, after) = self.hop(port, astray);
                    each(hop, after);
                }
            };
            match others {
                Others::None => {}
                Others::Global => self.map.global_ports().map(PortNo).for_each(&mut take),
                Others::Local => self.map.local_ports().map(PortNo).for_each(&mut take),
            }
        }
    }
}
