use std::fmt::Write;

use fabricsim_units::SwitchId;

use super::common::graph;
use crate::{Facts, Graph, Node, Shape, facts};

fn of(text: &str) -> Facts {
    facts(&graph(text))
}

/// Columns: switches, hosts, links, links between switches, ports, diameter, mean hops, bisection.
#[test]
fn facts_of_the_families() {
    let topologies = [
        "mesh]\ndimensions = [8, 8]",
        "torus]\ndimensions = [8, 8]",
        "torus]\ndimensions = [12, 12, 12]",
        "mesh]\ndimensions = [3, 3, 3]\nhosts_per_switch = 2",
        "grid]\ndimensions = [4, 3]\nwrap = [true, false]",
        "hypercube]\ndimensions = 4",
        "fat-tree]\narity = 4\nlevels = 3",
        "xgft]\nchildren = [3, 2]\nparents = [1, 2]",
        "parking-lot]\nswitches = 4",
        "ring]\nswitches = 5",
        "single-switch]\nhosts = 6",
        "dragonfly]\np = 4\na = 8\nh = 4",
        "dragonfly]\np = 2\na = 4\nh = 2",
        "dragonfly]\np = 2\na = 4\nh = 2\ng = 5\narrangement = \"palmtree\"",
        "megafly]\np = 2\nleaves = 2\nspines = 2\nh = 2",
        "hyperx]\ndimensions = [4, 4]\nhosts_per_switch = 4",
        "hyperx]\ndimensions = [5, 3, 2]",
        "slim-fly]\nq = 5",
        "jellyfish]\nswitches = 20\ndegree = 5\nhosts_per_switch = 3",
        "xpander]\ndegree = 5\nlift = 4\nhosts_per_switch = 3",
    ];
    let mut table = String::new();
    for topology in topologies {
        let graph = graph(&format!("[topology.{topology}"));
        let f = facts(&graph);
        let bisection = f.bisection.map_or("-".to_owned(), |b| {
            let gbps = b.bits_per_second.unwrap_or(0) / 1_000_000_000;
            format!("{}{} ({gbps} Gb/s)", if b.exact { "" } else { "<=" }, b.links)
        });
        let counts = format!("{} {} {} {}", f.switches, f.hosts, f.links, f.switch_links);
        let (diameter, mean) = (f.diameter.unwrap_or(99), f.mean_hops.unwrap_or(f64::NAN));
        let ports = format!("{}-{}", f.ports_min, f.ports_max);
        let title = graph.title;
        writeln!(table, "{title:58} | {counts:19} | {ports} | {diameter:2} | {mean:.4} | {bisection}")
            .unwrap();
    }
    insta::assert_snapshot!(table);
}

/// The closed forms agree with a search of the same graph without its shape.
#[test]
fn distances_agree_with_a_search() {
    let topologies = [
        "mesh]\ndimensions = [5, 1, 3]\nhosts_per_switch = 3",
        "torus]\ndimensions = [5, 2, 4]",
        "grid]\ndimensions = [4, 3, 2]\nwrap = [true, false, true]",
        "hypercube]\ndimensions = 5",
        "fat-tree]\narity = 3\nlevels = 3",
        "xgft]\nchildren = [2, 1, 3]\nparents = [1, 2, 1]",
        "parking-lot]\nswitches = 6\nhosts_per_switch = 2",
        "ring]\nswitches = 7",
        "hyperx]\ndimensions = [4, 1, 3]\nhosts_per_switch = 2",
    ];
    for topology in topologies {
        let mut graph = graph(&format!("[topology.{topology}"));
        let closed = facts(&graph);
        graph.shape = Shape::Irregular;
        let searched = facts(&graph);
        assert_eq!(
            (closed.diameter, closed.mean_hops),
            (searched.diameter, searched.mean_hops),
            "{topology}"
        );
    }
}

/// Links in the smallest cut into halves that differ by one switch at most, by trying all.
fn smallest_cut(graph: &Graph) -> u64 {
    let n = graph.switches.len() as u32;
    let cables: Vec<(u32, u32)> = graph
        .links
        .iter()
        .filter_map(|link| match (link.a.node, link.b.node) {
            (Node::Switch(SwitchId(a)), Node::Switch(SwitchId(b))) => Some((a, b)),
            _ => None,
        })
        .collect();
    let halves = (0_u32..1 << n).filter(|half| half.count_ones() == n / 2);
    let cut = |half: u32| cables.iter().filter(|(a, b)| (half >> a ^ half >> b) & 1 == 1).count();
    halves.map(cut).min().unwrap_or(0) as u64
}

#[test]
fn bisection_of_grids_is_the_smallest_cut() {
    let topologies = [
        ("mesh]\ndimensions = [4, 3]", true),
        ("mesh]\ndimensions = [3, 4]", true),
        ("mesh]\ndimensions = [5, 3]", true),
        ("mesh]\ndimensions = [3, 3]", true),
        ("mesh]\ndimensions = [3, 2, 2]", true),
        ("torus]\ndimensions = [4, 4]", true),
        ("torus]\ndimensions = [5, 3]", true),
        ("torus]\ndimensions = [4, 2, 2]", true),
        ("hypercube]\ndimensions = 4", true),
        ("ring]\nswitches = 9", true),
        ("parking-lot]\nswitches = 7", true),
        ("grid]\ndimensions = [4, 3]\nwrap = [true, false]", false),
        ("grid]\ndimensions = [3, 5]\nwrap = [true, false]", false),
        ("hyperx]\ndimensions = [4, 3]", false),
        ("hyperx]\ndimensions = [3, 3]", false),
        ("hyperx]\ndimensions = [7, 2]", false),
        ("dragonfly]\np = 1\na = 2\nh = 1", false),
        ("dragonfly]\np = 1\na = 4\nh = 1", false),
        ("megafly]\np = 1\nleaves = 1\nspines = 2\nh = 1", false),
    ];
    for (topology, exact) in topologies {
        let graph = graph(&format!("[topology.{topology}"));
        let bisection = facts(&graph).bisection.unwrap();
        assert_eq!(bisection.exact, exact, "{topology}");
        let smallest = smallest_cut(&graph);
        assert!(bisection.links >= smallest, "{topology}");
        assert!(!exact || bisection.links == smallest, "{topology}: {} and {smallest}", bisection.links);
    }
}

#[test]
fn rates_that_differ_give_no_bisection_rate() {
    let facts = of("[topology.mesh]\ndimensions = [2, 2]\n[links.dimension.x]\nrate = \"1 Gb/s\"");
    assert_eq!(facts.bisection.unwrap().bits_per_second, None);
}

/// The largest network that is promised: bytes of all vectors and names.
#[test]
fn a_torus_of_32768_hosts_is_small() {
    let torus = graph("[topology.torus]\ndimensions = [32, 32, 32]");
    let facts = facts(&torus);
    assert_eq!((facts.hosts, facts.links, facts.diameter), (32768, 32768 * 4, Some(48)));
    let names = torus.switches.iter().map(|s| s.name.capacity() + 4 * s.coordinates.capacity());
    let ports = torus.switches.iter().map(|s| s.ports.capacity() * size_of::<fabricsim_units::LinkId>());
    let heap: usize = names.chain(ports).chain(torus.hosts.iter().map(|h| h.name.capacity())).sum();
    let tables = torus.switches.capacity() * size_of::<crate::SwitchNode>()
        + torus.hosts.capacity() * size_of::<crate::HostNode>()
        + torus.links.capacity() * size_of::<crate::Link>();
    assert!(heap + tables < 60_000_000, "{}", heap + tables);
}
