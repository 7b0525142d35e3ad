//! Routing on a HyperX.
//!
//! - Minimal: the dimensions in order, each by the one link to the destination's coordinate.
//! - Valiant: so to a switch that is drawn at random, then so to the destination, the second leg.
//! - DAL (Ahn, Binkert, Davis, McLaren, Schreiber, SC09): in any dimension in which the packet is not where it wants to be, by the
//!   link to its coordinate there or, once in each dimension, to another coordinate: whichever has the least ahead.
//!
//! Lanes: [`Legs`] for minimal and Valiant, [`HopLadder`] for DAL.

use fabricsim_model::{Hop, Packet, RouteState};
use fabricsim_topology::{Graph, HyperXShape};
use fabricsim_units::{HostId, PortNo, SwitchId};

use crate::lanes::{AnyPolicy, Exit, HopLadder, LanePolicy, Legs, LinkRole, Step};
use crate::{At, PortRouting, View};

/// The packet goes to the switch [`RouteState::via`] first.
const DETOUR: u8 = 1;

/// Policy of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HyperXPolicy {
    /// The dimensions in order.
    Minimal,
    /// Over a switch drawn at random.
    Valiant,
    /// Adaptive: of the links that lead on, the one with the least ahead; a detour counts twice what is ahead and T.
    Dal {
        /// T, in flow-control units.
        threshold: u32,
    },
}

/// Routing on a HyperX.
#[derive(Clone, Debug)]
pub struct HyperX {
    shape: HyperXShape,
    /// From a switch to the next one along each dimension.
    strides: Vec<u32>,
    /// By host: its switch and the port there.
    hosts: Vec<(SwitchId, PortNo)>,
    policy: HyperXPolicy,
    /// The flag of a detour in each dimension; 0 where there is nothing to turn to.
    turns: Vec<u8>,
    lanes: AnyPolicy,
}

impl HyperX {
    /// Routing on the HyperX `shape` of `graph` with `lanes` virtual lanes; the lanes that are needed, if there are fewer.
    pub fn new(graph: &Graph, shape: &HyperXShape, policy: HyperXPolicy, lanes: u8) -> Result<Self, u8> {
        let lanes = lane_policy(graph, shape, policy, lanes)?;
        let step = |before: &mut u32, &size: &u32| {
            let stride = *before;
            *before *= size;
            Some(stride)
        };
        // A detour takes two lanes of at most 16: eight flags are enough.
        let flag = |next: &mut u8, &size: &u32| {
            let flag = if size > 2 { *next } else { 0 };
            *next <<= u8::from(size > 2);
            Some(flag)
        };
        Ok(Self {
            turns: shape.dimensions.iter().scan(1, flag).collect(),
            strides: shape.dimensions.iter().scan(1, step).collect(),
            shape: shape.clone(),
            hosts: graph.hosts.iter().map(|host| (host.switch, host.port)).collect(),
            policy,
            lanes,
        })
    }

    /// The same with all links of a route on one lane.
    #[cfg(test)]
    fn on_one_lane(mut self) -> Self {
        self.lanes = match self.lanes {
            AnyPolicy::Legs(legs) => legs.on_one_lane().into(),
            AnyPolicy::Hops(hops) => hops.on_one_lane().into(),
            other => other,
        };
        self
    }

    #[inline]
    fn coordinate(&self, at: SwitchId, d: usize) -> u32 {
        at.0 / self.strides[d] % self.shape.dimensions[d]
    }

    /// The link in the first dimension in which `at` is not where `to` is.
    fn next(&self, at: SwitchId, to: SwitchId) -> Option<PortNo> {
        (0..self.strides.len()).find_map(|d| {
            let (from, to) = (self.coordinate(at, d), self.coordinate(to, d));
            (from != to).then(|| self.shape.port(d, from, to))
        })
    }

    /// The exit of a packet whose route is fixed from here on; it forgets a detour that it has made.
    fn fixed(&self, at: SwitchId, to: SwitchId, state: RouteState) -> (Exit, RouteState) {
        let mut state = state;
        if state.has(DETOUR) && state.via() == at.0 {
            state = state.without(DETOUR).with_via(0);
        }
        let goal = if state.has(DETOUR) { SwitchId(state.via()) } else { to };
        let leg = u8::from(self.policy == HyperXPolicy::Valiant && !state.has(DETOUR));
        let port = self.next(at, goal).unwrap_or(PortNo(0));
        (Exit { port, role: LinkRole::Leg(leg) }, state.at(1))
    }

    /// The exit of a packet to coordinate `to` of dimension `d`; one that is not its destination's is a detour.
    fn step(
        &self,
        at: SwitchId,
        (d, to): (usize, u32),
        is_detour: bool,
        state: RouteState,
    ) -> (Exit, RouteState) {
        let port = self.shape.port(d, self.coordinate(at, d), to);
        let after = if is_detour { state.with(self.turns[d]) } else { state };
        (Exit { port, role: LinkRole::Between }, after)
    }

    /// Dimensions in which `at` is not where `to` is, with both coordinates.
    fn unaligned(&self, at: SwitchId, to: SwitchId) -> impl Iterator<Item = (usize, u32, u32)> + '_ {
        let both = move |d| (d, self.coordinate(at, d), self.coordinate(to, d));
        (0..self.strides.len()).map(both).filter(|(_, from, to)| from != to)
    }

    /// True if a packet may make a detour in this dimension.
    fn may_turn(&self, d: usize, state: RouteState) -> bool {
        self.turns[d] != 0 && !state.has(self.turns[d])
    }

    fn adaptive<V: View>(
        &self,
        threshold: u32,
        (at, to): (At, SwitchId),
        state: RouteState,
        view: &mut V,
    ) -> (Exit, RouteState) {
        let load = |exit: Exit, view: &mut V| {
            let (lanes, _) = self.lanes.lanes(Step { at, exit, stage: state.place });
            u64::from(view.load(exit.port, lanes))
        };
        let at = at.switch;
        let mut best = (u64::MAX, (Exit { port: PortNo(0), role: LinkRole::Between }, state));
        for (d, from, to) in self.unaligned(at, to) {
            let step = self.step(at, (d, to), false, state);
            let ahead = load(step.0, view);
            if ahead < best.0 {
                best = (ahead, step);
            }
            if ahead > u64::from(threshold) && self.may_turn(d, state) {
                let mut other = view.below(self.shape.dimensions[d] - 2);
                other += u32::from(other >= from.min(to));
                other += u32::from(other >= from.max(to));
                let step = self.step(at, (d, other), true, state);
                let ahead = 2 * load(step.0, view) + u64::from(threshold);
                if ahead < best.0 {
                    best = (ahead, step);
                }
            }
        }
        best.1
    }
}

/// The lane policy; the lanes that are needed, if there are fewer than `lanes`.
fn lane_policy(graph: &Graph, shape: &HyperXShape, policy: HyperXPolicy, lanes: u8) -> Result<AnyPolicy, u8> {
    let links = |leg: u8| {
        let all = (0..shape.dimensions.len()).filter(|&d| shape.dimensions[d] > 1);
        all.map(move |d| (format!("{d}:"), leg))
    };
    Ok(match policy {
        HyperXPolicy::Minimal => Legs::new(links(0).collect(), lanes)?.into(),
        HyperXPolicy::Valiant => Legs::new(links(0).chain(links(1)).collect(), lanes)?.into(),
        HyperXPolicy::Dal { .. } => {
            let longest = longest(shape);
            HopLadder::new(graph, longest.into(), lanes).map_err(|_| longest)?.into()
        }
    })
}

/// Links of the longest route with a detour in each dimension.
fn longest(shape: &HyperXShape) -> u8 {
    shape.dimensions.iter().map(|&size| size.min(3) as u8 - 1).sum()
}

impl PortRouting for HyperX {
    type Lanes = AnyPolicy;

    fn lanes(&self) -> &AnyPolicy {
        &self.lanes
    }

    /// The minimal exit.
    fn exits(&self, at: At, to: HostId, each: &mut impl FnMut(Exit)) {
        let (target, port) = self.hosts[to.index()];
        each(match self.next(at.switch, target) {
            Some(port) => Exit { port, role: LinkRole::Leg(0) },
            None => Exit { port, role: LinkRole::ToHost },
        });
    }

    fn choose<V: View>(&self, at: At, packet: &Packet, state: &mut RouteState, view: &mut V) -> Option<Hop> {
        let (target, port) = self.hosts[packet.destination.index()];
        if target == at.switch {
            return Some(self.last_hop(port));
        }
        let taken = match self.policy {
            HyperXPolicy::Dal { threshold } => self.adaptive(threshold, (at, target), *state, view),
            HyperXPolicy::Valiant if state.place == 0 => {
                let switches: u32 = self.shape.dimensions.iter().product();
                let detour = state.with(DETOUR).with_via(view.below(switches));
                self.fixed(at.switch, target, detour)
            }
            HyperXPolicy::Valiant | HyperXPolicy::Minimal => self.fixed(at.switch, target, *state),
        };
        *state = taken.1;
        Some(self.take(at, taken.0, state))
    }

    fn exit_options(&self, at: At, to: HostId, state: RouteState, each: &mut impl FnMut(Exit, RouteState)) {
        let (target, port) = self.hosts[to.index()];
        if target == at.switch {
            return each(Exit { port, role: LinkRole::ToHost }, state);
        }
        let mut take = |(exit, state)| each(exit, state);
        match self.policy {
            HyperXPolicy::Dal { .. } => {
                for (d, from, to) in self.unaligned(at.switch, target) {
                    take(self.step(at.switch, (d, to), false, state));
                    if self.may_turn(d, state) {
                        let others = (0..self.shape.dimensions[d]).filter(|&c| c != from && c != to);
                        others.for_each(|other| take(self.step(at.switch, (d, other), true, state)));
                    }
                }
            }
            HyperXPolicy::Valiant if state.place == 0 => {
                let switches: u32 = self.shape.dimensions.iter().product();
                let detours = (0..switches).map(|via| state.with(DETOUR).with_via(via));
                detours.for_each(|detour| take(self.fixed(at.switch, target, detour)));
            }
            HyperXPolicy::Valiant | HyperXPolicy::Minimal => take(self.fixed(at.switch, target, state)),
        }
    }

    fn asserts_options(&self) -> bool {
        true
    }

    fn knows_switches_only(&self) -> bool {
        true
    }

    fn is_adaptive(&self) -> bool {
        matches!(self.policy, HyperXPolicy::Dal { .. })
    }

    fn takes_detours(&self) -> bool {
        self.policy != HyperXPolicy::Minimal
    }

    fn keeps_state(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_topology::Shape;

    use super::*;
    use crate::deadlock::{Verdict, check_among};
    use crate::samples::{graph, hosts, try_router};
    use crate::testing::{arrives, network, route};
    use crate::{check, path};

    const TOPOLOGIES: [(&str, u8); 4] = [
        ("hyperx = { dimensions = [5] }", 2),
        ("hyperx = { dimensions = [3, 4], hosts_per_switch = 2 }", 4),
        ("hyperx = { dimensions = [3, 1, 2, 3] }", 5),
        ("hyperx = { dimensions = [2, 2] }", 2),
    ];

    #[test]
    fn free_of_deadlock_and_everybody_arrives() {
        for (topology, most) in TOPOLOGIES {
            for (algorithm, lanes) in [("minimal", 1), ("valiant", 2), ("dal", most)] {
                let (graph, router) = network(topology, &format!("algorithm = \"{algorithm}\""), lanes);
                let verdict = check(&router, &graph);
                assert!(matches!(verdict, Verdict::Free { .. }), "{topology} {algorithm}: {verdict:?}");
                for (from, to) in hosts(&graph).flat_map(|from| hosts(&graph).map(move |to| (from, to))) {
                    let minimal = path(&router, &graph, from, to).len() - 1;
                    let taken = arrives(&graph, &router, (from, to), u64::from(from.0 * 31 + to.0));
                    assert!(taken >= minimal && taken <= 8, "{topology} {algorithm}: {taken} links");
                    assert!(algorithm != "minimal" || taken == minimal);
                    assert!(algorithm != "dal" || taken <= 2 * minimal);
                }
                if lanes > 1 {
                    let routing = format!("algorithm = \"{algorithm}\"");
                    let error = try_router(&graph, topology, &routing, lanes - 1).unwrap_err().to_string();
                    assert!(error.contains(&format!("`{algorithm}` needs {lanes} virtual lanes")), "{error}");
                }
            }
        }
    }

    #[test]
    fn one_lane_is_too_few_for_detours() {
        for policy in [HyperXPolicy::Valiant, HyperXPolicy::Dal { threshold: 0 }] {
            let graph = graph(TOPOLOGIES[1].0);
            let Shape::HyperX(shape) = &graph.shape else { panic!("not a HyperX") };
            let router = HyperX::new(&graph, shape, policy, 16).unwrap().on_one_lane();
            let verdict = check_among(&router, 1, &graph, &[hosts(&graph).collect()]);
            assert!(matches!(verdict, Verdict::Cyclic { .. }), "{policy:?}: {verdict:?}");
        }
    }

    /// Valiant's via is any switch with the same probability. From the first to the second of five switches that is a detour in
    /// three of five cases, within five standard deviations of a binomial distribution.
    #[test]
    fn valiant_draws_any_switch() {
        const DRAWS: u32 = 2000;
        let (graph, router) = network(TOPOLOGIES[0].0, "algorithm = \"valiant\"", 2);
        let mut counts = [0_u32; 5];
        for seed in 0..u64::from(DRAWS) {
            let taken = route(&graph, &router, (HostId(0), HostId(1)), seed);
            counts[taken[0].0.index()] += 1;
        }
        for (count, probability) in counts.into_iter().zip([0.0, 0.4, 0.2, 0.2, 0.2]) {
            let mean = f64::from(DRAWS) * probability;
            assert!(
                (f64::from(count) - mean).abs() <= 5.0 * (mean * (1.0 - probability)).sqrt(),
                "{counts:?}"
            );
        }
    }
}
