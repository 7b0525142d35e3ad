//! Routing on a megafly (dragonfly+): up to a spine with a link to the other group, over it, down to the leaf; or first to
//! another group, drawn at random (Valiant), or whichever of the two has less ahead where the packet is injected (UGAL-L).
//!
//! In the intermediate group a packet that comes to a spine without a link to its destination's group goes down to any leaf
//! and up to a spine that has one. That, and the rest of the route, is its second leg; the last links down are of the first leg
//! again, since no link follows them. So the channels are in order: up, over, down in between,
//! up again, over again, down.

use fabricsim_model::{Hop, Packet, RouteState};
use fabricsim_topology::{Graph, MegaflyShape};
use fabricsim_units::{HostId, PortNo, SwitchId};

use crate::gates::{Gate, Gates, any};
use crate::lanes::{Exit, Legs, LinkRole};
use crate::{At, PortRouting, View};

/// The packet goes to the group [`RouteState::via`] first.
const DETOUR: u8 = 1;
/// It has come to that group.
const SECOND: u8 = 2;
/// It has decided.
const DECIDED: u8 = 4;

/// Policy of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MegaflyPolicy {
    /// Minimal routes.
    Minimal,
    /// Over another group.
    Valiant,
    /// Minimal, unless q_min H_min > q_val H_val + T.
    UgalLocal {
        /// T, in flow-control units.
        threshold: u32,
    },
}

/// Routing on a megafly.
#[derive(Clone, Debug)]
pub struct Megafly {
    shape: MegaflyShape,
    gates: Gates,
    /// By host: its leaf and the port there.
    hosts: Vec<(SwitchId, PortNo)>,
    policy: MegaflyPolicy,
    /// Weights in place of H_min and H_val, if they are given.
    weights: Option<[u32; 2]>,
    lanes: Legs,
}

/// A switch in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Leaf(u32),
    Spine(u32),
}

impl Megafly {
    /// Routing on the megafly `shape` of `graph` with `lanes` virtual lanes; the lanes that are needed, if there are fewer.
    pub fn new(graph: &Graph, shape: &MegaflyShape, policy: MegaflyPolicy, lanes: u8) -> Result<Self, u8> {
        let longest: &[(&str, u8)] = if policy == MegaflyPolicy::Minimal {
            &[("up", 0), ("g", 0), ("down", 0)]
        } else {
            &[("up", 0), ("g", 0), ("down", 1), ("up", 1), ("g", 1), ("down", 0)]
        };
        let longest = longest.iter().map(|&(name, leg)| (name.to_owned(), leg)).collect();
        Ok(Self {
            shape: shape.clone(),
            gates: Gates::new(&shape.groups, shape.globals, |i| PortNo((shape.leaves + i) as u16)),
            hosts: graph.hosts.iter().map(|host| (host.switch, host.port)).collect(),
            policy,
            weights: None,
            lanes: Legs::new(longest, lanes)?,
        })
    }

    /// Weighs what is ahead of a minimal route and of a detour by these in place of the links of the routes.
    #[must_use]
    pub fn with_weights(self, weights: Option<[u32; 2]>) -> Self {
        Self { weights, ..self }
    }

    /// The same with both legs of a route on one lane.
    #[cfg(test)]
    fn on_one_lane(self) -> Self {
        Self { lanes: self.lanes.on_one_lane(), ..self }
    }

    /// Group and place of a switch.
    fn place(&self, at: SwitchId) -> (u32, Place) {
        let size = self.shape.leaves + self.shape.spines;
        let (group, place) = (at.0 / size, at.0 % size);
        if place < self.shape.leaves {
            (group, Place::Leaf(place))
        } else {
            (group, Place::Spine(place - self.shape.leaves))
        }
    }

    fn up(&self, spine: u32) -> PortNo {
        PortNo((self.shape.hosts + spine) as u16)
    }

    /// The links of a spine to another group.
    fn gates_of(&self, group: u32, spine: u32, to: u32) -> impl Iterator<Item = Gate> + '_ {
        self.gates.between(group, to).iter().copied().filter(move |gate| gate.router == spine)
    }

    /// Calls `each` for every exit towards the group where the packet goes now, or towards its leaf; the packet forgets a
    /// detour whose group it has come to.
    fn towards(&self, at: SwitchId, target: SwitchId, state: &mut RouteState, each: &mut impl FnMut(Exit)) {
        let ((group, here), (last, _)) = (self.place(at), self.place(target));
        if state.has(DETOUR) && state.via() == group {
            *state = state.without(DETOUR).with(SECOND).with_via(0);
        }
        let goal = if state.has(DETOUR) { state.via() } else { last };
        let leg = u8::from(state.has(SECOND));
        match here {
            Place::Leaf(_) if goal == group => {
                (0..self.shape.spines).for_each(|spine| each(on_leg(self.up(spine), leg)));
            }
            Place::Leaf(_) => {
                let gates = self.gates.between(group, goal).iter();
                gates.for_each(|gate| each(on_leg(self.up(gate.router), leg)));
            }
            Place::Spine(_) if goal == group => {
                let (Place::Leaf(down) | Place::Spine(down)) = self.place(target).1;
                each(on_leg(PortNo(down as u16), 0));
            }
            Place::Spine(spine) => {
                let mut leads = false;
                for gate in self.gates_of(group, spine, goal) {
                    leads = true;
                    each(on_leg(gate.port, leg));
                }
                if !leads {
                    (0..self.shape.leaves).for_each(|leaf| each(on_leg(PortNo(leaf as u16), leg)));
                }
            }
        }
    }

    /// Any of the exits that [`Megafly::towards`] shows.
    fn any_exit<V: View>(&self, at: SwitchId, to: SwitchId, state: &mut RouteState, view: &mut V) -> Exit {
        let (mut chosen, mut count) = (on_leg(PortNo(0), 0), 0);
        self.towards(at, to, state, &mut |exit| {
            count += 1;
            if count == 1 || view.below(count) == 0 {
                chosen = exit;
            }
        });
        chosen
    }

    /// True if a packet that has come from its host chooses between a minimal route and one over another group.
    fn decides(&self, at: SwitchId, to: SwitchId, state: RouteState) -> bool {
        self.policy != MegaflyPolicy::Minimal && !state.has(DECIDED) && self.place(at).0 != self.place(to).0
    }

    /// Decides at the packet's first leaf where it goes first, and by which port.
    fn decide<V: View>(&self, at: SwitchId, to: SwitchId, state: &mut RouteState, view: &mut V) -> Exit {
        let (from, last) = (self.place(at).0, self.place(to).0);
        let mut via = view.below(self.shape.groups.count - 2);
        via += u32::from(via >= from.min(last));
        via += u32::from(via >= from.max(last));
        let mut detour = state.with(DETOUR).with_via(via);
        let chosen = |gate: Option<Gate>| gate.map_or(PortNo(0), |gate| self.up(gate.router));
        let out = any(self.gates.between(from, via).iter().copied(), view);
        if let MegaflyPolicy::UgalLocal { threshold } = self.policy {
            let direct = chosen(any(self.gates.between(from, last).iter().copied(), view));
            let lands = out.map_or(0, |gate| gate.lands);
            let links = if self.gates_of(via, lands, last).next().is_some() { 4 } else { 6 };
            let [minimal, detour] = self.weights.unwrap_or([3, links]).map(u64::from);
            let least = u64::from(view.load(direct, self.lanes.of_leg(0))) * minimal;
            let other = u64::from(view.load(chosen(out), self.lanes.of_leg(0))) * detour;
            if least <= other + u64::from(threshold) {
                return on_leg(direct, 0);
            }
        }
        std::mem::swap(state, &mut detour);
        on_leg(chosen(out), 0)
    }
}

/// The exit by `port`, to another switch, on a leg of the route.
const fn on_leg(port: PortNo, leg: u8) -> Exit {
    Exit { port, role: LinkRole::Leg(leg) }
}

impl PortRouting for Megafly {
    type Lanes = Legs;

    fn lanes(&self) -> &Legs {
        &self.lanes
    }

    /// The minimal exits.
    fn exits(&self, at: At, to: HostId, each: &mut impl FnMut(Exit)) {
        let (target, port) = self.hosts[to.index()];
        if target == at.switch {
            return each(Exit { port, role: LinkRole::ToHost });
        }
        self.towards(at.switch, target, &mut RouteState::default(), each);
    }

    fn choose<V: View>(&self, at: At, packet: &Packet, state: &mut RouteState, view: &mut V) -> Option<Hop> {
        let (target, port) = self.hosts[packet.destination.index()];
        if target == at.switch {
            return Some(self.last_hop(port));
        }
        let exit = if self.decides(at.switch, target, *state) {
            self.decide(at.switch, target, state, view)
        } else {
            self.any_exit(at.switch, target, state, view)
        };
        *state = state.with(DECIDED);
        Some(self.take(at, exit, state))
    }

    fn exit_options(&self, at: At, to: HostId, state: RouteState, each: &mut impl FnMut(Exit, RouteState)) {
        let (target, port) = self.hosts[to.index()];
        if target == at.switch {
            return each(Exit { port, role: LinkRole::ToHost }, state);
        }
        let decides = self.decides(at.switch, target, state);
        if !decides || self.policy != MegaflyPolicy::Valiant {
            let mut after = state;
            let mut exits = Vec::new();
            self.towards(at.switch, target, &mut after, &mut |exit| exits.push(exit));
            for exit in exits {
                each(exit, after.with(DECIDED));
            }
        }
        if decides {
            let (from, last) = (self.place(at.switch).0, self.place(target).0);
            for via in (0..self.shape.groups.count).filter(|&via| via != from && via != last) {
                let detour = state.with(DETOUR | DECIDED).with_via(via);
                let gates = self.gates.between(from, via).iter();
                gates.for_each(|gate| each(on_leg(self.up(gate.router), 0), detour));
            }
        }
    }

    fn asserts_options(&self) -> bool {
        true
    }

    fn knows_switches_only(&self) -> bool {
        true
    }

    fn is_adaptive(&self) -> bool {
        matches!(self.policy, MegaflyPolicy::UgalLocal { .. })
    }

    fn takes_detours(&self) -> bool {
        self.policy != MegaflyPolicy::Minimal
    }

    fn keeps_state(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_model::Random;
    use fabricsim_topology::Shape;
    use fabricsim_units::Vl;

    use super::*;
    use crate::deadlock::{Verdict, check_among};
    use crate::samples::{graph, hosts, try_router};
    use crate::testing::{Recorded, arrives, network, packet};
    use crate::{RoutingFunction, check, path};

    const TOPOLOGIES: [&str; 3] = [
        "megafly = { p = 1, leaves = 2, spines = 2, h = 1 }",
        "megafly = { p = 2, leaves = 3, spines = 2, h = 2, arrangement = \"palmtree\" }",
        "megafly = { p = 1, leaves = 2, spines = 4, h = 2, g = 5, arrangement = \"circulant\" }",
    ];
    const ALGORITHMS: [(&str, u8); 3] = [("minimal", 1), ("valiant", 2), ("ugal-l", 2)];

    #[test]
    fn free_of_deadlock_and_everybody_arrives() {
        for topology in TOPOLOGIES {
            for (algorithm, lanes) in ALGORITHMS {
                let (graph, router) = network(topology, &format!("algorithm = \"{algorithm}\""), lanes);
                let verdict = check(&router, &graph);
                assert!(matches!(verdict, Verdict::Free { .. }), "{topology} {algorithm}: {verdict:?}");
                for (from, to) in hosts(&graph).flat_map(|from| hosts(&graph).map(move |to| (from, to))) {
                    let minimal = path(&router, &graph, from, to).len() - 1;
                    let taken = arrives(&graph, &router, (from, to), u64::from(from.0 * 31 + to.0));
                    assert!(taken >= minimal && taken <= 6, "{topology} {algorithm}: {taken} links");
                    assert!(algorithm != "minimal" || taken == minimal);
                }
            }
        }
    }

    /// Three links minimally and four or six over another group, or what the weights say in their place.
    #[test]
    fn weights_decide_in_place_of_links() {
        for (routing, weights) in
            [("", None), ("\nweights = [1, 2]", Some([1, 2])), ("\nweights = [2, 1]", Some([2, 1]))]
        {
            let routing = format!("algorithm = \"ugal-l\"\nthreshold = 0{routing}");
            let (graph, router) = network(TOPOLOGIES[1], &routing, 2);
            let mut detours = 0;
            for seed in 0..2000_u32 {
                let (from, to) = (HostId(seed % 6), HostId(6 + seed % 20));
                let host = &graph.hosts[from.index()];
                let at = At { switch: host.switch, in_port: host.port, lane: Vl(0) };
                let mut view = Recorded { random: Random::new(u64::from(seed), 1, 2), asked: Vec::new() };
                let mut state = RouteState::default();
                router.choose(at, &packet(from, to), &mut state, &mut view).unwrap();
                let [(_, least), (_, other)] = view.asked[..] else { panic!("{:?}", view.asked) };
                let expected: Vec<bool> = weights
                    .map_or(vec![[3, 4], [3, 6]], |weights| vec![weights])
                    .into_iter()
                    .map(|[minimal, detour]| least * minimal > other * detour)
                    .collect();
                assert!(expected.contains(&state.has(DETOUR)), "{routing}, seed {seed}: {:?}", view.asked);
                detours += u32::from(state.has(DETOUR));
            }
            assert!(detours > 100, "{routing}: {detours}");
        }
    }

    #[test]
    fn one_lane_is_too_few_for_two_halves() {
        for topology in TOPOLOGIES {
            let graph = graph(topology);
            let Shape::Megafly(shape) = &graph.shape else { panic!("not a megafly") };
            let router = Megafly::new(&graph, shape, MegaflyPolicy::Valiant, 2).unwrap().on_one_lane();
            let verdict = check_among(&router, 1, &graph, &[hosts(&graph).collect()]);
            assert!(matches!(verdict, Verdict::Cyclic { .. }), "{topology}: {verdict:?}");
            let error = try_router(&graph, topology, "algorithm = \"valiant\"", 1).unwrap_err().to_string();
            assert!(error.contains("`valiant` needs 2 virtual lanes"), "{error}");
        }
    }
}
