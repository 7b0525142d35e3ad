use fabricsim_model::NullObserver;
use fabricsim_units::HostId;
use proptest::prelude::*;

use super::*;
use crate::testing::prepare;

fn graph(topology: &str) -> Graph {
    let text = format!(
        "topology.{topology}\nswitch.virtual_lanes = 8\nrun = {{ duration = '1 us', allow_deadlock = true }}"
    );
    prepare(&text, &[]).graph
}

fn equal(graph: &Graph) -> Vec<u64> {
    vec![1; graph.switches.len()]
}

/// The same network with its switches in another order, as a file may have them.
fn in_other_order(graph: &Graph, order: &[u32]) -> Graph {
    let mut other = graph.clone();
    other.shape = Shape::Irregular;
    let moved = |node: &mut Node| {
        if let Node::Switch(switch) = node {
            switch.0 = order[switch.index()];
        }
    };
    for link in &mut other.links {
        moved(&mut link.a.node);
        moved(&mut link.b.node);
    }
    for (switch, &to) in graph.switches.iter().zip(order) {
        other.switches[to as usize] = switch.clone();
    }
    for host in &mut other.hosts {
        host.switch.0 = order[host.switch.index()];
    }
    other
}

/// Numbers of switches go by levels: a cut by number would separate the levels of a tree.
#[test]
fn pods_of_a_tree_stay_together() {
    let tree = graph("fat-tree = { arity = 4, levels = 3 }");
    let weights = equal(&tree);
    for (parts, links, by_number) in [(2, 32, 64), (4, 48, 96)] {
        let found = Cut::new(&tree, parts, &weights);
        // Each of the 16 switches at the top reaches the pods of all other parts.
        assert_eq!(found.links(&tree).count(), links, "{parts} parts");
        assert!(Cut::by_number(&tree, parts as usize, &weights).links(&tree).count() >= by_number);
    }
}

#[test]
fn layers_of_a_torus_are_found_in_any_order() {
    let torus = graph("torus = { dimensions = [8, 8] }");
    // 27 and 64 have no factor in common.
    let order: Vec<u32> = (0..64).map(|switch| switch * 27 % 64).collect();
    let other = in_other_order(&torus, &order);
    let weights = equal(&other);
    let found = Cut::new(&other, 2, &weights).links(&other).count();
    assert!(found <= 18, "{found} links: halves of layers have 16 between them");
    let by_number = Cut::by_number(&other, 2, &weights).links(&other).count();
    assert!(by_number > 40, "{by_number}");
}

/// Groups with links of 40 ns in them and of 500 ns between them, in any order.
#[test]
fn long_links_are_cut() {
    let text = r#"
topology.dragonfly = { p = 1, a = 4, h = 2 }
links.kind.local.latency = "40 ns"
links.kind.global.latency = "500 ns"
routing.algorithm = "minimal"
switch.virtual_lanes = 3
run.duration = "1 us"
"#;
    let dragonfly = prepare(text, &[]).graph;
    let order: Vec<u32> = (0..36).map(|switch| switch * 7 % 36).collect();
    let other = in_other_order(&dragonfly, &order);
    assert_eq!(Cut::new(&other, 3, &equal(&other)).least_latency(&other), Time::ns(500));
    assert_eq!(Cut::by_number(&other, 3, &equal(&other)).least_latency(&other), Time::ns(40));
}

/// With traffic in half of the network, each part has about half of the events.
#[test]
fn parts_have_equal_shares_of_the_traffic() {
    let text = r#"
[topology.mesh]
dimensions = [4, 8]
[[traffic]]
pattern = "uniform"
load = 0.5
message = "256 B"
[run]
duration = "1 ms"
partitions = 2
"#;
    let busiest = |hosts: &str| {
        let list = format!("[{hosts}]");
        let keys = [("traffic.0.sources", list.as_str()), ("traffic.0.destinations", list.as_str())];
        let mut engine = prepare(text, &keys).engine(|| NullObserver);
        engine.advance(Time::us(200), &mut |_, _| true);
        let events = engine.partitions.iter().map(crate::partition::Partition::events);
        let (most, all) = events.fold((0, 0), |(most, all), events| (most.max(events), all + events));
        most as f64 / all as f64
    };
    let hosts = |rows: std::ops::Range<u32>| {
        let of = rows.flat_map(|y| (0..4).map(move |x| format!("'H({x},{y}).0'")));
        of.collect::<Vec<_>>().join(",")
    };
    let (all, half) = (busiest(&hosts(0..8)), busiest(&hosts(0..4)));
    assert!((0.5..0.53).contains(&all), "{all}");
    assert!(half < 0.58, "{half}: with halves by number one part would have all");
}

#[test]
fn each_part_has_a_switch_whatever_the_weights() {
    let mesh = graph("mesh = { dimensions = [5] }");
    for weights in [[1, 1, 1, 1, 1000], [1000, 1, 1, 1, 1], [0; 5], [u64::MAX / 8; 5]] {
        for wanted in 1..=5 {
            let found = Cut::new(&mesh, wanted, &weights);
            let parts: Vec<usize> = (0..5).map(|switch| found.of(SwitchId(switch))).collect();
            assert!((0..wanted as usize).all(|part| parts.contains(&part)), "{weights:?} {parts:?}");
        }
    }
    let tree = graph("fat-tree = { arity = 2, levels = 2 }");
    for weights in [[1; 4], [1000, 1, 1, 1], [1, 1, 1, 1000]] {
        for wanted in 1..=4 {
            let found = Cut::new(&tree, wanted, &weights);
            let parts: Vec<usize> = (0..4).map(|switch| found.of(SwitchId(switch))).collect();
            assert!((0..wanted as usize).all(|part| parts.contains(&part)), "{weights:?} {parts:?}");
        }
    }
    assert_eq!(Cut::new(&mesh, 2, &[1; 5]).of_node(&mesh, Node::Host(HostId(4))), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No part is empty, and parts are of nearly equal weight, in any order of the switches.
    #[test]
    fn parts_are_balanced(
        seed in 0_u32..1000, count in 2_usize..8, weights in prop::collection::vec(1_u64..4, 40),
    ) {
        let text = format!("jellyfish = {{ switches = 40, degree = 4, hosts_per_switch = 1, seed = {seed} }}");
        let graph = graph(&text);
        let parts = divide(&graph, count, &weights);
        let weight = |part| {
            let own = parts.iter().zip(&weights).filter(|(of, _)| usize::from(**of) == part);
            own.map(|(_, weight)| weight).sum::<u64>()
        };
        let share = weights.iter().sum::<u64>() as f64 / count as f64;
        for part in 0..count {
            // Two of the heaviest switches, and the slack of three halvings.
            let (least, most) = (share * 0.9 - 6.0, share * 1.1 + 6.0);
            let found = weight(part) as f64;
            prop_assert!(found > 0.0 && found >= least && found <= most, "{found} of {share}: {parts:?}");
        }
        prop_assert_eq!(divide(&graph, count, &weights), parts);
    }
}
