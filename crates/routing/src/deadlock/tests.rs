use fabricsim_topology::{Graph, Shape};
use fabricsim_units::HostId;
use proptest::prelude::*;

use super::{Verdict, check, check_among, grid};
use crate::samples::{hosts, network};
use crate::{Router, RoutingFunction};

const TABLES: &str = "algorithm = \"look-up-tables\"";
const SHORTEST: &str = "algorithm = \"shortest-path\"";

fn verdict(topology: &str, routing: &str, lanes: u8) -> Verdict {
    let (graph, router) = network(topology, routing, lanes);
    check(&router, &graph)
}

fn free(topology: &str, routing: &str, lanes: u8) -> bool {
    match verdict(topology, routing, lanes) {
        Verdict::Free { .. } => true,
        Verdict::Cyclic { .. } => false,
        Verdict::NotChecked { reason } => panic!("{reason}"),
    }
}

#[test]
fn known_verdicts() {
    let cases = [
        ("mesh = { dimensions = [4, 4] }", "", 1, true),
        ("mesh = { dimensions = [3, 4, 3], hosts_per_switch = 2 }", "order = [1, 2, 0]", 2, true),
        ("hypercube = { dimensions = 5 }", "", 1, true),
        ("parking-lot = { switches = 5 }", "", 1, true),
        ("torus = { dimensions = [5, 5] }", "", 1, false),
        ("torus = { dimensions = [5, 5] }", "", 2, true),
        ("torus = { dimensions = [8, 6, 4] }", "", 1, false),
        ("torus = { dimensions = [8, 6, 4] }", "", 2, true),
        ("torus = { dimensions = [8, 6] }", "", 5, true),
        ("torus = { dimensions = [8, 6, 4] }", "ties = \"random\"", 2, true),
        ("torus = { dimensions = [8, 6, 4] }", "ties = \"random\"", 1, false),
        ("fat-tree = { arity = 3, levels = 3 }", "algorithm = \"up-down-random\"", 1, true),
        ("torus = { dimensions = [8, 6, 4] }", TABLES, 1, false),
        ("torus = { dimensions = [8, 6, 4] }", TABLES, 2, true),
        ("torus = { dimensions = [8, 6] }", "algorithm = \"look-up-tables\"\npartitions = [2, 1]", 3, true),
        ("mesh = { dimensions = [4, 4] }", TABLES, 1, true),
        // No minimal path in a ring of three has two links.
        ("torus = { dimensions = [3, 3, 2] }", "", 1, true),
        ("grid = { dimensions = [3, 6], wrap = [true, false] }", "", 1, true),
        ("grid = { dimensions = [6, 3], wrap = [true, false] }", "", 1, false),
        ("ring = { switches = 5 }", SHORTEST, 1, false),
        ("ring = { switches = 5 }", SHORTEST, 4, false),
        ("ring = { switches = 5 }", "", 2, true),
        ("fat-tree = { arity = 3, levels = 3 }", "", 1, true),
        ("fat-tree = { arity = 3, levels = 3 }", "algorithm = \"up-down-adaptive\"", 1, true),
        ("fat-tree = { arity = 3, levels = 3 }", SHORTEST, 1, true),
        ("xgft = { children = [3, 2, 4], parents = [1, 2, 3] }", "algorithm = \"up-down-adaptive\"", 2, true),
        ("single-switch = { hosts = 4 }", "", 1, true),
    ];
    for (topology, routing, lanes, expected) in cases {
        assert_eq!(free(topology, routing, lanes), expected, "{topology} {routing} {lanes} lanes");
    }
}

/// A chain of n switches has 2 (n - 1) directions; each but the last of a direction waits for the next.
#[test]
fn counts_of_a_chain() {
    let expected = Verdict::Free { channels: 8, dependencies: 6 };
    assert_eq!(verdict("mesh = { dimensions = [5], hosts_per_switch = 3 }", "", 1), expected);
    // With two lanes, each of the channels waits for both of the next.
    let expected = Verdict::Free { channels: 16, dependencies: 24 };
    assert_eq!(verdict("mesh = { dimensions = [5] }", "", 2), expected);
}

/// The hosts of a switch have no part in cycles: the channels of switches with many ports wait for the same ones. (A row of bits for
/// 42 ports and two lanes is longer than a word.)
#[test]
fn many_hosts_change_no_verdict() {
    for lanes in 1..=4 {
        let few = verdict("mesh = { dimensions = [5] }", SHORTEST, lanes);
        let many = verdict("mesh = { dimensions = [5], hosts_per_switch = 40 }", SHORTEST, lanes);
        assert_eq!(few, many, "{lanes} lanes");
        assert!(!free("ring = { switches = 5, hosts_per_switch = 40 }", SHORTEST, lanes), "{lanes} lanes");
    }
}

#[test]
fn the_cycle_of_a_ring_goes_once_around_by_names() {
    let (graph, router) = network("ring = { switches = 5 }", "", 1);
    let verdict = check(&router, &graph);
    let text = verdict.describe(&graph);
    let Verdict::Cyclic { cycle } = verdict else { panic!("{text}") };
    assert_eq!(cycle.len(), 5);
    assert!(text.starts_with("deadlock is possible: a cycle of 5 channels\n  packets of "), "{text}");
    for (port, _) in &cycle {
        assert!(text.contains(&graph.port_name(*port)), "{text}");
    }
    are_dependent(&graph, &router, &cycle);
}

/// Each channel of a cycle ends where the next begins, and some packet may go on there.
fn are_dependent(graph: &Graph, router: &Router, cycle: &[(u32, fabricsim_units::Vl)]) {
    use crate::wiring::{arrival, sending_port};
    let mut hops = Vec::new();
    for (index, &(port, lane)) in cycle.iter().enumerate() {
        let (next, next_lane) = cycle[(index + 1) % cycle.len()];
        let end = arrival(graph, port);
        let fabricsim_topology::Node::Switch(at) = end.node else { panic!("a channel to a host in a cycle") };
        let goes_on = hosts(graph).any(|to| {
            hops.clear();
            router.hops(at, end.port, lane, to, &mut hops);
            hops.iter()
                .any(|hop| sending_port(graph, at, hop.port) == Some(next) && hop.lanes.contains(next_lane))
        });
        assert!(goes_on, "{} does not wait for {}", graph.port_name(port), graph.port_name(next));
    }
}

#[test]
fn large_grids_are_checked_by_lines_and_the_rest_not_at_all() {
    let torus = "torus = { dimensions = [12, 12, 12] }";
    let (graph, router) = network(torus, "", 2);
    let Verdict::Free { channels, .. } = check(&router, &graph) else { panic!("not free") };
    // Three lines of 12 switches, two directions: in each direction the class of those who cross the dateline uses
    // 11 links or 12, as does the other.
    assert!(channels <= 3 * 12 * 2 * 2, "{channels}");
    let (graph, router) = network(torus, "", 1);
    assert!(matches!(check(&router, &graph), Verdict::Cyclic { cycle } if cycle.len() <= 12));

    let (graph, router) = network("fat-tree = { arity = 18, levels = 3 }", "", 16);
    let Verdict::NotChecked { reason } = check(&router, &graph) else { panic!("checked") };
    assert!(reason.contains("steps"), "{reason}");
}

fn any_grid() -> impl Strategy<Value = (Vec<u32>, Vec<bool>, Vec<u32>)> {
    (1_usize..4).prop_flat_map(|n| {
        let radices = proptest::collection::vec(1_u32..=7, n);
        let wrap = proptest::collection::vec(any::<bool>(), n);
        (radices, wrap, Just((0..n as u32).collect::<Vec<_>>()).prop_shuffle())
    })
}

fn is_free(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Free { .. })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// With one lane the lines decide as the whole grid does; with two or more there is no cycle.
    #[test]
    fn dimension_order_on_any_grid(
        (radices, wrap, order) in any_grid(),
        lanes in 1_u8..5,
        hosts_each in 1_u32..3,
        tables in any::<bool>(),
    ) {
        let topology = format!(
            "grid = {{ dimensions = {radices:?}, wrap = {wrap:?}, hosts_per_switch = {hosts_each} }}"
        );
        let (graph, router) = network(&topology, &format!("algorithm = {:?}\norder = {order:?}", if tables { "look-up-tables" } else { "auto" }), lanes);
        let all: Vec<HostId> = hosts(&graph).collect();
        let whole = check_among(&router, lanes, &graph, &[all]);
        let Shape::Grid(shape) = &graph.shape else { panic!("not a grid") };
        let lines = grid::one_line_per_dimension(&graph, shape).unwrap();
        let by_lines = check_among(&router, lanes, &graph, &lines);
        prop_assert_eq!(is_free(&whole), is_free(&by_lines));
        let one_each = check_among(&router, lanes, &graph, &[grid::one_host_per_switch(&graph)]);
        prop_assert_eq!(&whole, &one_each);
        if let Verdict::Cyclic { cycle } = &whole {
            are_dependent(&graph, &router, cycle);
        }
        let ring = radices.iter().zip(&wrap).any(|(&k, &wrap)| wrap && k >= 5);
        prop_assert_eq!(is_free(&whole), lanes > 1 || !ring);
    }
}
