//! Algorithms that choose between a minimal way and one over another group, and keep to it.

use fabricsim_model::Trail;
use fabricsim_units::PortNo;

use super::map::{Map, Place};
use super::{DETOUR, Dragonfly, Goal, Policy, UNSURE, Via};
use crate::View;

/// The beginning of a way: its port and how many links between switches it has in all.
struct Way {
    port: PortNo,
    links: u32,
}

impl Dragonfly {
    /// The port that a packet takes which goes minimally or over another group.
    #[inline]
    pub(super) fn minimal_or_detour<V: View>(
        &self,
        policy: Policy,
        here: Place,
        to: Place,
        trail: &mut Trail,
        view: &mut V,
    ) -> PortNo {
        let decides = match policy {
            Policy::Minimal | Policy::Detours(_) => false,
            Policy::Valiant | Policy::UgalLocal { .. } => trail.place == 0,
            Policy::Progressive { .. } => trail.place == 0 || trail.has(UNSURE),
        };
        if !decides || here.group == to.group {
            let goal = self.goal(here, to, trail);
            return self.towards(here, goal, view);
        }
        if !trail.has(UNSURE) {
            *trail = trail.with_via(self.draw_via(here, to, view));
        }
        let again = trail.has(UNSURE);
        *trail = trail.without(UNSURE);
        if policy == Policy::Valiant {
            *trail = trail.with(DETOUR);
            let via = self.detour(*trail);
            return self.towards(here, via, view);
        }
        let minimal = self.minimal_way(here, to, view);
        let detour = self.way_over(here, self.detour(*trail), to, view);
        let queues = [self.load(minimal.port, view), self.load(detour.port, view)].map(u64::from);
        let goes_minimally = match policy {
            Policy::UgalLocal { threshold } => {
                let [minimal, detour] =
                    [queues[0] * u64::from(minimal.links), queues[1] * u64::from(detour.links)];
                minimal <= detour + u64::from(threshold)
            }
            Policy::Progressive { threshold } => queues[0] <= 2 * queues[1] + u64::from(threshold),
            Policy::Minimal | Policy::Valiant | Policy::Detours(_) => true,
        };
        if !goes_minimally {
            *trail = trail.with(DETOUR);
            return detour.port;
        }
        let decides_again =
            matches!(policy, Policy::Progressive { .. }) && !again && self.is_local(minimal.port);
        // What is not needed any more is forgotten, so that there are few different trails.
        *trail = if decides_again { trail.with(UNSURE) } else { trail.with_via(0) };
        minimal.port
    }

    pub(super) fn is_local(&self, port: PortNo) -> bool {
        self.map.kind(port) == super::Kind::Local
    }

    fn minimal_way<V: View>(&self, here: Place, to: Place, view: &mut V) -> Way {
        let gate = self.gate(here, Goal { group: to.group, router: Some(to.router) }, view);
        Way { port: self.map.towards(here, gate), links: Map::distance(here, gate, to.router) }
    }

    /// A way over `via`.
    fn way_over<V: View>(&self, here: Place, via: Goal, to: Place, view: &mut V) -> Way {
        let gate = self.gate(here, via, view);
        let first = match self.via {
            Via::Group => Map::distance(here, gate, gate.lands),
            Via::Router => Map::distance(here, gate, via.router.unwrap_or(gate.lands)),
        };
        let there = Place { group: via.group, router: via.router.unwrap_or(gate.lands) };
        let mut onwards = self.map.nearest(there, to.group, Some(to.router));
        let second = onwards.next().map_or(0, |gate| Map::distance(there, gate, to.router));
        Way { port: self.map.towards(here, gate), links: first + second }
    }
}
