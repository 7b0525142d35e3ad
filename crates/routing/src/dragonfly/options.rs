//! All that a packet may decide, whatever the loads and the draws: what the deadlock check follows.

use fabricsim_model::RouteState;
use fabricsim_units::{HostId, PortNo, SwitchId};

use super::map::Place;
use super::par_6_2::Others;
use super::{DETOUR, Dragonfly, Goal, MUST_LEAVE, Policy, UNSURE, Via};
use crate::lanes::{Exit, LinkRole};

impl Dragonfly {
    /// The minimal exits of a packet.
    pub(super) fn minimal_options(
        &self,
        at: SwitchId,
        to: HostId,
        state: RouteState,
        each: &mut impl FnMut(Exit, RouteState),
    ) {
        let (target, port) = self.map.host(to);
        if target == at {
            return each(Exit { port, role: LinkRole::ToHost }, state);
        }
        let to = self.map.place(target);
        self.routes_to(self.map.place(at), Goal { group: to.group, router: Some(to.router) }, state, each);
    }

    /// Calls `each` for every exit that a packet may take, with what it then remembers.
    pub(super) fn each_option(
        &self,
        at: SwitchId,
        to: HostId,
        state: RouteState,
        each: &mut impl FnMut(Exit, RouteState),
    ) {
        let (target, port) = self.map.host(to);
        if target == at {
            return each(Exit { port, role: LinkRole::ToHost }, state);
        }
        let (here, to) = (self.map.place(at), self.map.place(target));
        match self.policy {
            Policy::Detours(_) => self.detours(here, to, state, each),
            policy => self.decisions(policy, here, to, state, each),
        }
    }

    fn decisions(
        &self,
        policy: Policy,
        here: Place,
        to: Place,
        state: RouteState,
        each: &mut impl FnMut(Exit, RouteState),
    ) {
        let minimal = Goal { group: to.group, router: Some(to.router) };
        let is_new = state.place == 0 && here.group != to.group;
        match policy {
            Policy::Minimal | Policy::Detours(_) => self.routes_to(here, minimal, state, each),
            Policy::Valiant if is_new => self.detours_from(here, to, state, each),
            Policy::UgalLocal { .. } | Policy::UgalGlobal { .. } | Policy::Piggyback { .. } if is_new => {
                self.routes_to(here, minimal, state, each);
                self.detours_from(here, to, state, each);
            }
            Policy::Progressive { .. } if is_new => {
                for via in self.vias(here, to) {
                    let unsure = state.with_via(via).with(UNSURE);
                    self.routes_to(here, minimal, unsure, &mut |exit, after| {
                        if self.is_local(exit.port) {
                            each(exit, after);
                        }
                    });
                }
                self.routes_to(here, minimal, state, each);
                self.detours_from(here, to, state, each);
            }
            Policy::Progressive { .. } if state.has(UNSURE) && here.group != to.group => {
                let sure = state.without(UNSURE);
                self.routes_to(here, minimal, sure.with_via(0), each);
                self.routes_to(here, self.detour(sure), sure.with(DETOUR), each);
            }
            Policy::Valiant
            | Policy::UgalLocal { .. }
            | Policy::UgalGlobal { .. }
            | Policy::Piggyback { .. }
            | Policy::Progressive { .. } => {
                let mut state = state;
                let goal = self.goal(here, to, &mut state);
                self.routes_to(here, goal, state, each);
            }
        }
    }

    /// Every [`RouteState::via`] that may be drawn.
    fn vias(&self, here: Place, to: Place) -> impl Iterator<Item = u32> + use<> {
        let shape = &self.map.shape;
        let size = if self.via == Via::Group { 1 } else { shape.routers };
        let groups = (0..shape.groups.count).filter(move |&group| group != here.group && group != to.group);
        groups.flat_map(move |group| group * size..(group + 1) * size)
    }

    fn detours_from(
        &self,
        here: Place,
        to: Place,
        state: RouteState,
        each: &mut impl FnMut(Exit, RouteState),
    ) {
        for via in self.vias(here, to) {
            let state = state.with_via(via).with(DETOUR);
            self.routes_to(here, self.detour(state), state, each);
        }
    }

    fn routes_to(&self, here: Place, goal: Goal, state: RouteState, each: &mut impl FnMut(Exit, RouteState)) {
        let mut take = |port| {
            let (exit, state) = self.exit(port, state);
            each(exit, state);
        };
        match goal.router {
            Some(router) if goal.group == here.group => take(self.map.shape.local_port(here.router, router)),
            _ => {
                let gates = self.map.nearest(here, goal.group, goal.router);
                gates.for_each(|gate| take(self.map.towards(here, gate)));
            }
        }
    }

    fn detours(&self, here: Place, to: Place, state: RouteState, each: &mut impl FnMut(Exit, RouteState)) {
        if state.has(MUST_LEAVE) {
            for port in self.map.global_ports().map(PortNo) {
                let (exit, state) = self.exit(port, state.without(MUST_LEAVE));
                each(exit, state);
            }
            return;
        }
        let goal = Goal { group: to.group, router: Some(to.router) };
        let mut minimal = Vec::new();
        self.routes_to(here, goal, state, &mut |exit, after| minimal.push((exit, after)));
        for (exit, after) in minimal {
            each(exit, after);
            let others = self.others(here, to, state, exit.port);
            let astray = self.astray(here, to, state, others);
            let mut take = |port| {
                if port != exit.port {
                    let (exit, after) = self.exit(port, astray);
                    each(exit, after);
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
