//! Dragonfly, megafly and HyperX.

use fabricsim_units::{SwitchId, Time};

use super::common::{error, graph, neighbours};
use crate::{Graph, LinkClass, Node, Shape, facts};

const PAPER: &str = "[topology.dragonfly]\np = 4\na = 8\nh = 4\n";

/// The dragonfly of 33 groups of 8 routers with 4 hosts, 7 local and 4 global ports (Dennison et al., SC18, section V).
#[test]
fn the_dragonfly_of_1056_hosts() {
    let dragonfly = graph(PAPER);
    assert_eq!((dragonfly.switches.len(), dragonfly.hosts.len()), (264, 1056));
    let count = |class| dragonfly.links.iter().filter(|link| link.class == class).count();
    assert_eq!((count(LinkClass::Local), count(LinkClass::Global)), (33 * 28, 33 * 32 / 2));
    let facts = facts(&dragonfly);
    assert_eq!((facts.ports_min, facts.ports_max, facts.diameter), (15, 15, Some(3)));
    assert_eq!(dragonfly.title, "dragonfly p=4 a=8 h=4 g=33, absolute, 1 link between groups");
    assert_eq!(dragonfly.switches[17].coordinates, [2, 1]);
    assert_eq!(dragonfly.hosts[70].name, "H(2,1).2");
}

#[test]
fn small_dragonflies_port_by_port() {
    let small = |arrangement: &str| {
        graph(&format!("[topology.dragonfly]\np = 1\na = 2\nh = 1\narrangement = \"{arrangement}\""))
    };
    let ports = |graph: &Graph| graph.switches.iter().map(|s| neighbours(graph, &s.name)).collect::<Vec<_>>();
    let absolute = [
        "H(0,0).0 R(0,1) R(1,0)",
        "H(0,1).0 R(0,0) R(2,0)",
        "H(1,0).0 R(1,1) R(0,0)",
        "H(1,1).0 R(1,0) R(2,1)",
        "H(2,0).0 R(2,1) R(0,1)",
        "H(2,1).0 R(2,0) R(1,1)",
    ];
    assert_eq!(ports(&small("absolute")), absolute);
    let around = ["R(2,1)", "R(1,0)", "R(0,1)", "R(2,0)", "R(1,1)", "R(0,0)"];
    let palmtree = ports(&small("palmtree"));
    assert!(palmtree.iter().zip(around).all(|(ports, far)| ports.ends_with(far)), "{palmtree:?}");
    let around = ["R(1,1)", "R(2,0)", "R(2,1)", "R(0,0)", "R(0,1)", "R(1,0)"];
    let circulant = ports(&small("circulant"));
    assert!(circulant.iter().zip(around).all(|(ports, far)| ports.ends_with(far)), "{circulant:?}");
}

/// Links between each two groups: all pairs have as many, or one more.
fn per_pair(graph: &Graph) -> Vec<u32> {
    let group = |node: Node| match node {
        Node::Switch(SwitchId(s)) => graph.switches[s as usize].coordinates[0],
        Node::Host(_) => panic!("a host"),
    };
    let groups = graph.switches.last().unwrap().coordinates[0] + 1;
    let pairs = (0..groups).flat_map(|a| (a + 1..groups).map(move |b| (a, b)));
    let global = graph.links.iter().filter(|link| link.class == LinkClass::Global);
    let ends: Vec<(u32, u32)> = global
        .map(|link| (group(link.a.node), group(link.b.node)))
        .map(|(a, b)| (a.min(b), a.max(b)))
        .collect();
    pairs.map(|pair| ends.iter().filter(|&&ends| ends == pair).count() as u32).collect()
}

#[test]
fn every_two_groups_are_joined() {
    for arrangement in ["absolute", "palmtree", "circulant"] {
        let whole = graph(&format!("{PAPER}arrangement = \"{arrangement}\""));
        assert!(per_pair(&whole).iter().all(|&links| links == 1), "{arrangement}");
        let few = graph(&format!("{PAPER}g = 9\narrangement = \"{arrangement}\""));
        assert!(per_pair(&few).iter().all(|&links| links == 4), "{arrangement}");
        let uneven = graph(&format!("{PAPER}g = 8\narrangement = \"{arrangement}\""));
        assert!(per_pair(&uneven).iter().all(|&links| links == 4 || links == 5), "{arrangement}");
        assert!(uneven.title.ends_with("4 or 5 links between groups"), "{}", uneven.title);
        let mega = format!(
            "[topology.megafly]\np = 2\nleaves = 3\nspines = 4\nh = 2\ng = 5\narrangement = \"{arrangement}\""
        );
        assert!(per_pair(&graph(&mega)).iter().all(|&links| links == 2), "{arrangement}");
    }
}

#[test]
fn a_megafly_and_a_hyperx_port_by_port() {
    let mega = graph("[topology.megafly]\np = 2\nleaves = 2\nspines = 2\nh = 1");
    assert_eq!((mega.switches.len(), mega.hosts.len(), mega.links.len()), (12, 12, 12 + 12 + 3));
    assert_eq!(neighbours(&mega, "L(1,0)"), "H(1,0).0 H(1,0).1 S(1,0) S(1,1)");
    assert_eq!(neighbours(&mega, "S(1,1)"), "L(1,0) L(1,1) S(2,1)");
    assert_eq!(facts(&mega).diameter, Some(3));
    let hyperx = graph("[topology.hyperx]\ndimensions = [3, 2]\nhosts_per_switch = 2");
    assert_eq!(neighbours(&hyperx, "S(1,0)"), "H(1,0).0 H(1,0).1 S(0,0) S(2,0) S(1,1)");
    assert_eq!(neighbours(&hyperx, "S(2,1)"), "H(2,1).0 H(2,1).1 S(0,1) S(1,1) S(2,0)");
    assert_eq!(hyperx.title, "3x2 HyperX, 2 hosts per switch");
    let Shape::HyperX(shape) = &hyperx.shape else { panic!("not a HyperX") };
    assert!(
        hyperx
            .switches
            .iter()
            .enumerate()
            .all(|(s, at)| shape.coordinates(SwitchId(s as u32)) == at.coordinates)
    );
}

#[test]
fn local_and_global_links_have_parameters_of_their_own() {
    let text = "[links.kind.local]\nlatency = \"40 ns\"\n[links.kind.global]\nlatency = \"500 ns\"\nbuffer = \"1 MiB\"";
    for topology in [PAPER, "[topology.megafly]\np = 1\nleaves = 2\nspines = 2\nh = 1\n"] {
        for link in &graph(&format!("{topology}{text}")).links {
            let expected = match link.class {
                LinkClass::Local => 40,
                LinkClass::Global => 500,
                _ => 10,
            };
            assert_eq!(link.parameters.latency, Time::ns(expected));
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let mega = "[topology.megafly]\np = 1\nleaves = 2\nspines = 3\nh = 1\n";
    let cases = [
        (
            format!("{PAPER}g = 34"),
            "topology.dragonfly.g: 34 groups cannot be joined, each to each, by 32 global links a group (a h = 8 x 4): \
             possible are 2 to 33",
        ),
        (format!("{PAPER}g = 1"), "topology.dragonfly.g: 1 is not allowed"),
        (format!("{mega}g = 3"), "topology.megafly.g: 3 groups"),
        (format!("{mega}g = 3"), "(spines h = 3 x 1): possible are even numbers from 2 to 4"),
        ("[topology.dragonfly]\np = 0\na = 2\nh = 1".to_owned(), "topology.dragonfly.p: 0 is not allowed"),
        (
            "[topology.dragonfly]\np = 1000\na = 20\nh = 10".to_owned(),
            "topology.dragonfly.a: a switch would have 1029",
        ),
        (
            "[topology.dragonfly]\np = 300\na = 400\nh = 300".to_owned(),
            "topology.dragonfly.g: 4.800e7 switches",
        ),
        (
            "[topology.megafly]\np = 1\nleaves = 1000\nspines = 2\nh = 900".to_owned(),
            "topology.megafly.leaves: a switch",
        ),
        ("[topology.megafly]\np = 500\nleaves = 500\nspines = 500\nh = 500".to_owned(), "are too many"),
        (
            "[topology.hyperx]\ndimensions = [4, 0]".to_owned(),
            "topology.hyperx.dimensions.1: 0 is not allowed",
        ),
        ("[topology.hyperx]\ndimensions = []".to_owned(), "0 dimensions are not allowed"),
        ("[topology.hyperx]\ndimensions = [1000, 1000]".to_owned(), "a switch would have 1999 ports"),
        (
            "[topology.mesh]\ndimensions = [3]\n[links.kind.global]\nreads = 2".to_owned(),
            "links.kind.global: links of this topology have no kinds: remove it",
        ),
        (
            format!("{PAPER}[links.kind.local]\nlatency = \"0 ns\""),
            "links.kind.local.latency: 0 is not allowed",
        ),
        (
            format!("{PAPER}[links.kind.optical]"),
            "links.kind.optical: no kind `optical`: allowed are local, global",
        ),
        (
            format!("{PAPER}[links.dimension.x]"),
            "links.dimension.x: links of this topology have no dimensions",
        ),
    ];
    for (text, expected) in cases {
        let error = error(&text);
        assert!(error.starts_with("test.toml: ") && error.contains(expected), "{text}\n{error}");
    }
}
