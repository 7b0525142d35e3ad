//! Algorithms that choose between a minimal route and one over another group, and keep to it.

use fabricsim_model::RouteState;
use fabricsim_units::PortNo;

use super::map::{Map, Place};
use super::{DETOUR, Dragonfly, Goal, Policy, UNSURE, Via};
use crate::View;
use crate::gates::Gate;
use crate::lanes::Kind;

/// The first link of a route that is compared with another.
struct Candidate {
    port: PortNo,
    /// Factor of what is ahead: links between switches of the whole route, or what `routing.weights` says.
    weight: u32,
    /// Its first global link.
    gate: Gate,
}

impl Dragonfly {
    /// The port that a packet takes which goes minimally or over another group.
    #[inline]
    pub(super) fn minimal_or_detour<V: View>(
        &self,
        policy: Policy,
        here: Place,
        to: Place,
        state: &mut RouteState,
        view: &mut V,
    ) -> PortNo {
        let decides = match policy {
            Policy::Minimal | Policy::Detours(_) => false,
            Policy::Valiant
            | Policy::UgalLocal { .. }
            | Policy::UgalGlobal { .. }
            | Policy::Piggyback { .. } => state.place == 0,
            Policy::Progressive { .. } => state.place == 0 || state.has(UNSURE),
        };
        if !decides || here.group == to.group {
            let goal = self.goal(here, to, state);
            return self.towards(here, goal, view);
        }
        if !state.has(UNSURE) {
            let Some(via) = self.draw_via(here, to, view) else {
                return self.minimal_route(here, to, view).port;
            };
            *state = state.with_via(via);
        }
        let again = state.has(UNSURE);
        *state = state.without(UNSURE);
        if policy == Policy::Valiant {
            *state = state.with(DETOUR);
            let via = self.detour(*state);
            return self.towards(here, via, view);
        }
        let mut minimal = self.minimal_route(here, to, view);
        let mut detour = self.route_over(here, self.detour(*state), to, view);
        if let Some(weights) = self.weights {
            [minimal.weight, detour.weight] = weights;
        }
        let goes_minimally = match policy {
            Policy::UgalLocal { threshold } => {
                self.is_shorter(state.place, (&minimal, &detour), threshold, view)
            }
            Policy::UgalGlobal { threshold } => {
                let [least, other] = [&minimal, &detour]
                    .map(|route| u64::from(self.ahead_at(here, route.gate, view)) * u64::from(route.weight));
                least <= other + u64::from(threshold)
            }
            Policy::Piggyback { threshold, factor, congested } => {
                !self.is_congested(here, minimal.gate, (factor, congested), view)
                    && self.is_shorter(state.place, (&minimal, &detour), threshold, view)
            }
            Policy::Progressive { threshold } => {
                let other = self.ahead_or_mean(state.place, minimal.port, detour.port, view);
                u64::from(self.ahead(state.place, minimal.port, view)) <= 2 * other + u64::from(threshold)
            }
            Policy::Minimal | Policy::Valiant | Policy::Detours(_) => true,
        };
        if !goes_minimally {
            *state = state.with(DETOUR);
            return detour.port;
        }
        let decides_again =
            matches!(policy, Policy::Progressive { .. }) && !again && self.is_local(minimal.port);
        // What is not needed any more is forgotten, so that there are few different states.
        *state = if decides_again { state.with(UNSURE) } else { state.with_via(0) };
        minimal.port
    }

    /// Blocks ahead at a port of this router, for a packet in this slot.
    #[inline]
    fn ahead<V: View>(&self, slot: u8, port: PortNo, view: &mut V) -> u32 {
        view.load(port, self.lanes.next(slot, self.lanes.kind(port)).1)
    }

    /// True if q_min H_min <= q_val H_val + T, with the weights for H where they are given, by this router's own outputs.
    fn is_shorter<V: View>(
        &self,
        slot: u8,
        (minimal, detour): (&Candidate, &Candidate),
        threshold: u32,
        view: &mut V,
    ) -> bool {
        let [least, other] = [minimal, detour]
            .map(|route| u64::from(self.ahead(slot, route.port, view)) * u64::from(route.weight));
        least <= other + u64::from(threshold)
    }

    /// Blocks ahead at the port of a detour; or, where that is a local one in place of a global one, on average at the router's other
    /// global links, if that is more: at a longer link there is always more in flight, and a detour takes a global link as
    /// well. All that there can be, where there is no other.
    fn ahead_or_mean<V: View>(&self, slot: u8, minimal: PortNo, detour: PortNo, view: &mut V) -> u64 {
        let ahead = u64::from(self.ahead(slot, detour, view));
        if self.is_local(minimal) || !self.is_local(detour) {
            return ahead;
        }
        let others = self.map.global_ports().map(PortNo).filter(|&port| port != minimal);
        let sum: u64 = others.map(|port| u64::from(self.ahead(slot, port, view))).sum();
        let mean = sum.checked_div(u64::from(self.map.shape.globals - 1));
        ahead.max(mean.unwrap_or(u64::from(u32::MAX)))
    }

    /// Blocks ahead at a global link of this group, of all lanes: as they are at this router's own, as they were broadcast at another's.
    fn ahead_at<V: View>(&self, here: Place, gate: Gate, view: &mut V) -> u32 {
        if gate.router == here.router {
            return view.load(gate.port, self.lanes.used(Kind::Global));
        }
        let first = self.map.number(Place { router: gate.router, ..here });
        view.broadcast_load(first + u32::from(gate.port.0) - u32::from(self.map.shape.global_port(0).0))
    }

    /// True if there is much more ahead at a global link than at those of its router on average.
    fn is_congested<V: View>(
        &self,
        here: Place,
        gate: Gate,
        (factor, congested): (u32, u32),
        view: &mut V,
    ) -> bool {
        let count = self.map.shape.globals;
        let all = self
            .map
            .global_ports()
            .map(|port| u64::from(self.ahead_at(here, Gate { port: PortNo(port), ..gate }, view)));
        let sum: u64 = all.sum();
        let ahead = u64::from(self.ahead_at(here, gate, view));
        let limit = sum * u64::from(factor) / 256 + u64::from(congested) * u64::from(count);
        ahead * u64::from(count) > limit
    }

    pub(super) fn is_local(&self, port: PortNo) -> bool {
        self.lanes.kind(port) == Kind::Local
    }

    fn minimal_route<V: View>(&self, here: Place, to: Place, view: &mut V) -> Candidate {
        let gate = self.gate(here, Goal { group: to.group, router: Some(to.router) }, view);
        Candidate { port: self.map.towards(here, gate), weight: Map::distance(here, gate, to.router), gate }
    }

    /// A route over `via`.
    fn route_over<V: View>(&self, here: Place, via: Goal, to: Place, view: &mut V) -> Candidate {
        let gate = self.gate(here, via, view);
        let first = match self.via {
            Via::Group => Map::distance(here, gate, gate.lands),
            Via::Router | Via::Host => Map::distance(here, gate, via.router.unwrap_or(gate.lands)),
        };
        let there = Place { group: via.group, router: via.router.unwrap_or(gate.lands) };
        let mut onwards = self.map.nearest(there, to.group, Some(to.router));
        let second = onwards.next().map_or(0, |gate| Map::distance(there, gate, to.router));
        Candidate { port: self.map.towards(here, gate), weight: first + second, gate }
    }
}
