//! Decisions between a minimal path and a detour, at the loads where the published rules change sides. The number of links of a
//! path is counted on a packet that follows it, with the algorithms that do not choose.

use std::collections::BTreeMap;

use fabricsim_model::{Lanes, RouteState};
use fabricsim_topology::{Graph, Node, Shape};
use fabricsim_units::{HostId, PortNo, SwitchId, Vl};

use super::{Detours, Dragonfly, Policy, Via};
use crate::samples::{graph, hosts};
use crate::testing::packet;
use crate::wiring::beyond;
use crate::{At, RoutingFunction, View};

const LANES: u8 = 8;
const TWO_GLOBALS: &str = "dragonfly = { p = 1, a = 4, h = 2 }";
const THREE_GLOBALS: &str = "dragonfly = { p = 1, a = 2, h = 3 }";

/// An output: a switch and its port.
type Output = (SwitchId, PortNo);

/// Given loads, and one number for every draw.
#[derive(Clone, Default)]
struct Loads {
    at: SwitchId,
    given: BTreeMap<Output, u32>,
    broadcast: Vec<Output>,
    draw: u32,
}

impl Loads {
    fn of(&self, output: Output) -> u32 {
        self.given.get(&output).copied().unwrap_or(0)
    }

    fn with(mut self, output: Output, load: u32) -> Self {
        self.given.insert(output, load);
        self
    }
}

impl View for Loads {
    fn load(&mut self, port: PortNo, _lanes: Lanes) -> u32 {
        self.of((self.at, port))
    }
    fn capacity(&self, _port: PortNo, _lanes: Lanes) -> u32 {
        1000
    }
    fn broadcast_load(&self, number: u32) -> u32 {
        self.of(self.broadcast[number as usize])
    }
    fn below(&mut self, n: u32) -> u32 {
        self.draw % n
    }
}

struct Network {
    graph: Graph,
    globals: u32,
    via: Via,
}

impl Network {
    fn new(topology: &str, via: Via) -> Self {
        let graph = graph(topology);
        let Shape::Dragonfly(shape) = &graph.shape else { panic!("not a dragonfly") };
        Self { globals: shape.globals, via, graph }
    }

    fn router(&self, policy: Policy) -> Dragonfly {
        let Shape::Dragonfly(shape) = &self.graph.shape else { panic!("not a dragonfly") };
        Dragonfly::new(&self.graph, shape, (policy, self.via), LANES).unwrap()
    }

    /// The outputs to switches that a packet takes.
    fn walk(&self, router: &Dragonfly, (from, to): (HostId, HostId), mut loads: Loads) -> Vec<Output> {
        loads.broadcast = router.broadcast_outputs().map(|found| found.outputs).unwrap_or_default();
        let host = &self.graph.hosts[from.index()];
        let mut at = At { switch: host.switch, in_port: host.port, lane: Vl(0) };
        let (mut state, mut outputs) = (RouteState::default(), Vec::new());
        loop {
            loads.at = at.switch;
            let hop = router.choose(at, &packet(from, to), &mut state, &mut loads).unwrap();
            let end = beyond(&self.graph, at.switch, hop.port).unwrap();
            let Node::Switch(switch) = end.node else { return outputs };
            outputs.push((at.switch, hop.port));
            at = At { switch, in_port: end.port, lane: hop.lanes.first };
        }
    }

    fn is_global(&self, output: Output) -> bool {
        let ports = self.graph.switches[output.0.index()].ports.len() as u32;
        u32::from(output.1.0) >= ports - self.globals
    }

    fn first_global(&self, path: &[Output]) -> Output {
        *path.iter().find(|&&output| self.is_global(output)).unwrap()
    }

    /// The other global outputs of the switch of `output`.
    fn other_globals(&self, (at, port): Output) -> Vec<Output> {
        let ports = self.graph.switches[at.index()].ports.len() as u16;
        let all = (ports - self.globals as u16..ports).map(PortNo);
        all.filter(|&other| other != port).map(|other| (at, other)).collect()
    }

    /// Every pair of hosts of different groups with some draws: the minimal path and the detour.
    fn pairs(&self) -> Vec<Choice> {
        let routers = [Policy::Minimal, Policy::Valiant].map(|policy| self.router(policy));
        let mut found = Vec::new();
        for from in hosts(&self.graph) {
            for to in hosts(&self.graph) {
                for draw in 0..3 {
                    let [minimal, detour] = routers
                        .each_ref()
                        .map(|router| self.walk(router, (from, to), Loads { draw, ..Loads::default() }));
                    if minimal.iter().any(|&output| self.is_global(output)) {
                        found.push(Choice { ends: (from, to), draw, minimal, detour });
                    }
                }
            }
        }
        found
    }

    /// Those of them whose paths part at once.
    fn choices(&self) -> Vec<Choice> {
        let mut found = self.pairs();
        found.retain(|choice| choice.minimal[0] != choice.detour[0]);
        assert!(found.len() > 100);
        found
    }

    fn takes_minimal(&self, router: &Dragonfly, choice: &Choice, loads: &Loads) -> bool {
        let loads = Loads { draw: choice.draw, ..loads.clone() };
        let path = self.walk(router, choice.ends, loads);
        assert!(path == choice.minimal || path == choice.detour, "{path:?} {choice:?}");
        path == choice.minimal
    }
}

#[derive(Debug)]
struct Choice {
    ends: (HostId, HostId),
    draw: u32,
    minimal: Vec<Output>,
    detour: Vec<Output>,
}

/// Minimal if and only if q_min H_min <= q_val H_val + T (Singh 2005; Kim et al., ISCA 2008): at equality it is. `output` says
/// whose load q is.
fn check_ugal(network: &Network, policy: impl Fn(u32) -> Policy, output: impl Fn(&[Output]) -> Output) {
    let choices = network.choices();
    for (q_val, threshold) in [(0, 0), (0, 60), (60, 0), (60, 60), (7, 11)] {
        let router = network.router(policy(threshold));
        for choice in &choices {
            let (minimal, detour) = (output(&choice.minimal), output(&choice.detour));
            let most = (q_val * choice.detour.len() as u32 + threshold) / choice.minimal.len() as u32;
            for (q_min, expected) in [(most, true), (most + 1, false)] {
                let loads = Loads::default().with(detour, q_val).with(minimal, q_min);
                let found = network.takes_minimal(&router, choice, &loads);
                assert_eq!(found, expected, "{q_min} {q_val} {threshold} {choice:?}");
            }
        }
    }
}

#[test]
fn ugal_goes_minimally_up_to_equality() {
    for via in [Via::Group, Via::Router] {
        let network = Network::new(TWO_GLOBALS, via);
        check_ugal(&network, |threshold| Policy::UgalLocal { threshold }, |path| path[0]);
        let global = |path: &[Output]| network.first_global(path);
        check_ugal(&network, |threshold| Policy::UgalGlobal { threshold }, global);
        let piggyback = |threshold| Policy::Piggyback { threshold, factor: 256, congested: u32::MAX / 2 };
        check_ugal(&network, piggyback, |path| path[0]);
    }
}

/// A packet whose drawn host is in the group of its source or destination goes minimally, whatever is ahead; else by the same rule, over
/// the host's router.
#[test]
fn a_drawn_host_in_either_group_means_minimal() {
    let network = Network::new(TWO_GLOBALS, Via::Host);
    let ugal = network.router(Policy::UgalLocal { threshold: 0 });
    let Shape::Dragonfly(shape) = &network.graph.shape else { panic!("not a dragonfly") };
    let mut counts = [0; 2];
    for from in hosts(&network.graph).take(6) {
        for to in hosts(&network.graph) {
            let [near, far] =
                [from, to].map(|host| network.graph.hosts[host.index()].switch.0 / shape.routers);
            let minimal = network.walk(&network.router(Policy::Minimal), (from, to), Loads::default());
            for drawn in 0..network.graph.hosts.len() as u32 {
                let group = drawn / shape.hosts / shape.routers;
                let full =
                    minimal.first().map_or_else(Loads::default, |&first| Loads::default().with(first, 1000));
                let path = network.walk(&ugal, (from, to), Loads { draw: drawn, ..full });
                if near == far || group == near || group == far {
                    assert_eq!(path, minimal, "{from:?} {to:?} {drawn}");
                    counts[0] += 1;
                } else if path != minimal {
                    let router = SwitchId(drawn / shape.hosts);
                    let passes = path.iter().any(|&(at, _)| at == router);
                    assert!(passes, "{from:?} {to:?} {drawn}: {path:?}");
                    counts[1] += 1;
                }
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 1000), "{counts:?}");
}

/// Over the other group if and only if q > f mean(q) + C for the first global link of the minimal path, the mean over all global
/// links of its router (Jiang, Kim, Dally, ISCA 2009). With f = 1.5, two links and b on the other one: q > 3 b + 4 C.
#[test]
fn piggyback_avoids_a_global_link_that_stands_out() {
    let network = Network::new(TWO_GLOBALS, Via::Group);
    let router = network.router(Policy::Piggyback { threshold: u32::MAX, factor: 384, congested: 10 });
    for choice in network.choices() {
        let link = network.first_global(&choice.minimal);
        let other = network.other_globals(link)[0];
        for (b, most) in [(0, 40), (10, 70)] {
            for (q, expected) in [(most, true), (most + 1, false)] {
                let loads = Loads::default().with(link, q).with(other, b);
                assert_eq!(network.takes_minimal(&router, &choice, &loads), expected, "{q} {b} {choice:?}");
            }
        }
    }
}

/// Minimal if and only if q_min <= 2 q_val + T (Jiang, Kim, Dally, ISCA 2009). Where a detour begins with a local link and the
/// minimal path with a global one, q_val is at least the mean of the router's other global links.
#[test]
fn progressive_routing_compares_a_local_link_with_the_mean_of_the_global_ones() {
    let network = Network::new(THREE_GLOBALS, Via::Group);
    let choices = network.choices();
    let mut counts = [0; 2];
    for (q_val, threshold) in [(4, 0), (4, 7), (40, 0)] {
        let router = network.router(Policy::Progressive { threshold });
        for choice in &choices {
            let (minimal, detour) = (choice.minimal[0], choice.detour[0]);
            let kinds_differ = network.is_global(minimal) && !network.is_global(detour);
            counts[usize::from(kinds_differ)] += 1;
            let mut loads = Loads::default();
            for (output, load) in network.other_globals(minimal).into_iter().zip([10, 21]) {
                loads = loads.with(output, load);
            }
            loads = loads.with(detour, q_val);
            // 15 is the mean of 10 and 21, rounded down.
            let q = if kinds_differ { q_val.max(15) } else { q_val };
            for (q_min, expected) in [(2 * q + threshold, true), (2 * q + threshold + 1, false)] {
                let loads = loads.clone().with(minimal, q_min);
                let found = network.takes_minimal(&router, choice, &loads);
                assert_eq!(found, expected, "{q_min} {q_val} {threshold} {choice:?}");
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 10), "{counts:?}");
}

/// A packet whose minimal path begins with a local link decides once more at the end of that link, by the same rule.
#[test]
fn progressive_routing_decides_again_at_the_second_router() {
    let network = Network::new(TWO_GLOBALS, Via::Group);
    let router = network.router(Policy::Progressive { threshold: 0 });
    let valiant = network.router(Policy::Valiant);
    let mut counts = [0; 2];
    for choice in network.pairs().iter().filter(|choice| !network.is_global(choice.minimal[0])) {
        let second = choice.minimal[1];
        let host = network.graph.hosts.iter().position(|host| host.switch == second.0).unwrap();
        let draw = Loads { draw: choice.draw, ..Loads::default() };
        let detour = network.walk(&valiant, (HostId(host as u32), choice.ends.1), draw.clone());
        if detour[0] == second {
            continue;
        }
        let mean = network.other_globals(second)[0];
        let kinds_differ = mean != detour[0];
        counts[usize::from(kinds_differ)] += 1;
        for (other, q_val, most) in [(0, 30, 60), (40, 30, if kinds_differ { 80 } else { 60 })] {
            for (q_min, minimal) in [(most, true), (most + 1, false)] {
                let loads = draw.clone().with(mean, other).with(detour[0], q_val).with(second, q_min);
                let path = network.walk(&router, choice.ends, loads);
                let rest = if minimal { &choice.minimal[1..] } else { &detour[..] };
                assert_eq!((path[0], &path[1..]), (choice.minimal[0], rest), "{q_min} {choice:?}");
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 10), "{counts:?}");
}

/// PAR-6/2 looks for another output if more than T is ahead at the minimal one, and at least the part `trigger` of the buffers behind it.
/// Of the 1000 units of these, 250 are a quarter.
#[test]
fn par_6_2_leaves_beyond_the_threshold_and_from_the_trigger_on() {
    let network = Network::new(TWO_GLOBALS, Via::Group);
    for (threshold, trigger, most) in [(0, 0, 0), (300, 0, 300), (0, 1 << 14, 249), (300, 1 << 14, 300)] {
        let detours = Detours { threshold, trigger, ratio: 1 << 15, of_lane: false };
        let router = network.router(Policy::Detours(detours));
        for choice in network.pairs() {
            for (q_min, expected) in [(most, true), (most + 1, false)] {
                let loads = Loads { draw: choice.draw, ..Loads::default() }.with(choice.minimal[0], q_min);
                let path = network.walk(&router, choice.ends, loads);
                let found = path[0] == choice.minimal[0];
                assert_eq!(found, expected, "{q_min} {threshold} {trigger} {choice:?}");
            }
        }
    }
}
