use fabricsim_model::Hop;
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{HostId, SwitchId};

use crate::wiring::beyond;
use crate::{Router, RoutingFunction};

/// The route of a packet that always takes the first hop and its lowest lane: each switch and the hop from it. The
/// last hop is to the host `to`, unless the routing goes in circles or to another host: then the walk is cut where a
/// host is reached, or after more hops than there are links' directions.
pub fn path(router: &Router, graph: &Graph, from: HostId, to: HostId) -> Vec<(SwitchId, Hop)> {
    let mut walked = Vec::new();
    let mut hops = Vec::new();
    let host = &graph.hosts[from.index()];
    let (mut at, mut in_port) = (host.switch, host.port);
    let mut lane = router.injection_lanes(from, to.into(), 0).first;
    while walked.len() <= 2 * graph.links.len() {
        hops.clear();
        router.hops(at, in_port, lane, to, &mut hops);
        let Some(&hop) = hops.first() else { break };
        walked.push((at, hop));
        let Some(end) = beyond(graph, at, hop.port) else { break };
        match end.node {
            Node::Host(_) => break,
            Node::Switch(next) => (at, in_port, lane) = (next, end.port, hop.lanes.first),
        }
    }
    walked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{distances, hosts, network};

    /// Every topology with every routing that fits it; `true` where it is minimal in links.
    const PAIRS: &[(&str, &str, u8)] = &[
        ("mesh = { dimensions = [4, 3, 2], hosts_per_switch = 2 }", "", 1),
        ("mesh = { dimensions = [4, 3, 2] }", "order = [2, 0, 1]", 3),
        ("mesh = { dimensions = [3, 4], hosts_per_switch = 2, naming = \"thesis\" }", "", 1),
        ("mesh = { dimensions = [3, 3, 3], naming = \"thesis\" }", "", 2),
        ("torus = { dimensions = [4, 4], naming = \"thesis\" }", "", 2),
        ("torus = { dimensions = [5, 2, 6] }", "", 4),
        ("torus = { dimensions = [8, 3] }", "order = [1, 0]", 3),
        ("torus = { dimensions = [5, 1, 4] }", "", 1),
        ("grid = { dimensions = [5, 4], wrap = [true, false] }", "", 2),
        ("hypercube = { dimensions = 4 }", "", 1),
        ("ring = { switches = 7 }", "", 2),
        ("parking-lot = { switches = 5 }", "", 1),
        ("fat-tree = { arity = 3, levels = 3 }", "", 1),
        ("fat-tree = { arity = 2, levels = 4 }", "algorithm = \"up-down-adaptive\"", 2),
        ("xgft = { children = [3, 2, 4], parents = [1, 2, 3] }", "", 1),
        ("xgft = { children = [4, 3], parents = [1, 2] }", "algorithm = \"up-down-adaptive\"", 1),
        ("single-switch = { hosts = 6 }", "", 2),
        ("mesh = { dimensions = [4, 4] }", "algorithm = \"shortest-path\"", 1),
        ("torus = { dimensions = [5, 4], hosts_per_switch = 2 }", "algorithm = \"shortest-path\"", 2),
        ("fat-tree = { arity = 4, levels = 2 }", "algorithm = \"shortest-path\"", 1),
    ];

    #[test]
    fn all_pairs_arrive_by_a_shortest_way() {
        for &(topology, routing, lanes) in PAIRS {
            let (graph, router) = network(topology, routing, lanes);
            for to in hosts(&graph) {
                let target = &graph.hosts[to.index()];
                let distance = distances(&graph, target.switch);
                for from in hosts(&graph) {
                    let route = path(&router, &graph, from, to);
                    let expected = distance[graph.hosts[from.index()].switch.index()] + 1;
                    assert_eq!(route.len(), expected, "{topology} {routing}: {from} to {to}");
                    let (last, hop) = route[expected - 1];
                    assert_eq!((last, hop.port), (target.switch, target.port));
                    assert_eq!(hop.lanes.count, lanes, "all lanes of the host's link");
                }
            }
        }
    }

    proptest::proptest! {
        /// On any grid: as many links as the sum of the shorter direction, and within a dimension the same lanes.
        #[test]
        fn dimension_order_is_minimal_and_keeps_its_lanes(
            axes in proptest::collection::vec((1_u32..7, proptest::bool::ANY), 1..4),
            lanes in 1_u8..6,
            pairs in proptest::collection::vec((proptest::num::u32::ANY, proptest::num::u32::ANY), 1..20),
        ) {
            let (radices, wrap): (Vec<u32>, Vec<bool>) = axes.iter().copied().unzip();
            let topology = format!("grid = {{ dimensions = {radices:?}, wrap = {wrap:?} }}");
            let (graph, router) = network(&topology, "", lanes);
            let n = graph.hosts.len() as u32;
            for (from, to) in pairs {
                let (from, to) = (HostId(from % n), HostId(to % n));
                let place = |at: SwitchId| &graph.switches[at.index()].coordinates[..];
                let (start, end) = (place(graph.hosts[from.index()].switch), place(graph.hosts[to.index()].switch));
                let distance = |d: usize| {
                    let straight = start[d].abs_diff(end[d]);
                    if wrap[d] { straight.min(radices[d] - straight) } else { straight }
                };
                let route = path(&router, &graph, from, to);
                let expected: u32 = (0..radices.len()).map(distance).sum();
                proptest::prop_assert_eq!(route.len() as u32, expected + 1);
                let moves = route.windows(2).map(|pair| {
                    let (before, after) = (place(pair[0].0), place(pair[1].0));
                    ((0..radices.len()).find(|&d| before[d] != after[d]), pair[0].1.lanes)
                });
                let moves: Vec<_> = moves.collect();
                for pair in moves.windows(2) {
                    proptest::prop_assert!(pair[0].0 <= pair[1].0, "dimensions ascend");
                    proptest::prop_assert!(pair[0].0 != pair[1].0 || pair[0].1 == pair[1].1, "lanes change");
                }
            }
        }
    }

    #[test]
    fn a_circle_is_cut() {
        let (graph, router) = network("ring = { switches = 4 }", "algorithm = \"shortest-path\"", 1);
        let Router::TableRouting(tables) = &router else { panic!("not tables") };
        let mut looping = tables.tables().clone();
        let on = path(&router, &graph, HostId(0), HostId(1))[0].1.port;
        looping.set(SwitchId(1), HostId(1), on);
        (0..4).for_each(|at| looping.set(SwitchId(at), HostId(1), on));
        let router = crate::TableRouting::new(looping, crate::lanes::AllLanes::new(1)).into();
        assert_eq!(path(&router, &graph, HostId(0), HostId(1)).len(), 2 * graph.links.len() + 1);
    }
}
