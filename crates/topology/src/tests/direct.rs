//! Slim Fly, Jellyfish and Xpander.

use std::collections::BTreeSet;

use super::common::{error, graph, neighbours};
use crate::{Graph, LinkClass, Node, facts};

/// Pairs of switches that are joined, each once; a second link between the same two fails.
fn pairs(graph: &Graph) -> BTreeSet<(usize, usize)> {
    let mut pairs = BTreeSet::new();
    for link in &graph.links {
        if let (Node::Switch(a), Node::Switch(b)) = (link.a.node, link.b.node) {
            assert_ne!(a, b, "a switch is joined to itself");
            assert!(
                pairs.insert((a.index().min(b.index()), a.index().max(b.index()))),
                "{a} and {b} are joined twice"
            );
        }
    }
    pairs
}

/// Links to other switches of every switch, which are as many for all.
fn degree(graph: &Graph) -> usize {
    let mut count = vec![0; graph.switches.len()];
    for (a, b) in pairs(graph) {
        count[a] += 1;
        count[b] += 1;
    }
    assert!(count.iter().all(|&c| c == count[0]), "{count:?}");
    count[0]
}

/// Diameter 2, 2 q² switches and (3 q - δ) / 2 links, for all three residues and for powers of primes (SC14, section II-B).
#[test]
fn slim_flies_have_diameter_two() {
    for (q, delta) in [(3, -1), (4, 0), (5, 1), (7, -1), (8, 0), (9, 1), (11, -1), (13, 1), (16, 0), (27, -1)]
    {
        let slim_fly = graph(&format!("[topology.slim-fly]\nq = {q}\nhosts_per_switch = 1"));
        assert_eq!(slim_fly.switches.len() as i32, 2 * q * q);
        assert_eq!(degree(&slim_fly) as i32, (3 * q - delta) / 2, "q = {q}");
        assert_eq!(facts(&slim_fly).diameter, Some(2), "q = {q}");
    }
}

/// The paper's example of 10830 hosts: q = 19, 722 routers of 44 ports, 15 of them for hosts (SC14, table IV).
#[test]
fn the_slim_fly_of_10830_hosts() {
    let slim_fly = graph("[topology.slim-fly]\nq = 19");
    assert_eq!((slim_fly.switches.len(), slim_fly.hosts.len()), (722, 10830));
    assert!(slim_fly.switches.iter().all(|switch| switch.ports.len() == 44));
    assert_eq!(slim_fly.title, "Slim Fly q=19, 29 links and 15 hosts per switch");
}

/// The Hoffman-Singleton graph: 50 switches of 7 links reach each other by exactly one shortest path (the Moore bound).
#[test]
fn the_slim_fly_of_five_is_the_hoffman_singleton_graph() {
    let slim_fly = graph("[topology.slim-fly]\nq = 5\nhosts_per_switch = 1");
    let pairs = pairs(&slim_fly);
    let joined = |a: usize, b: usize| pairs.contains(&(a.min(b), a.max(b)));
    for (a, b) in (0..50).flat_map(|a| (a + 1..50).map(move |b| (a, b))) {
        let between = (0..50).filter(|&c| joined(a, c) && joined(c, b)).count();
        assert_eq!(between, usize::from(!joined(a, b)), "{a} {b}");
    }
    assert_eq!(
        neighbours(&slim_fly, "S(0,0,0)"),
        "H(0,0,0).0 S(0,0,1) S(0,0,4) S(1,0,0) S(1,1,0) S(1,2,0) S(1,3,0) S(1,4,0)"
    );
    let class = |class| slim_fly.links.iter().filter(|link| link.class == class).count();
    assert_eq!((class(LinkClass::Local), class(LinkClass::Global)), (50, 125));
}

#[test]
fn jellyfish_are_regular_and_differ_by_seed_alone() {
    for (switches, links) in [(2, 1), (10, 3), (20, 19), (20, 15), (50, 7), (500, 12)] {
        let text = format!("[topology.jellyfish]\nswitches = {switches}\ndegree = {links}");
        let jellyfish = graph(&text);
        assert_eq!(degree(&jellyfish), links, "{text}");
        assert_eq!(pairs(&jellyfish), pairs(&graph(&format!("{text}\nseed = 1"))));
        let other = graph(&format!("{text}\nseed = 2"));
        assert_eq!(pairs(&jellyfish) == pairs(&other), links + 1 == switches, "{text}");
    }
}

/// Mean distances are within 5 % of the least that any graph of this size and degree can have (Cerf et al. 1974): 2 for as many
/// as the neighbours reach, 3 beyond. Random graphs come close (Singla, Godfrey, Kolla, NSDI 2014, figure 1); a
/// ring of the same degree does not.
#[test]
fn jellyfish_and_xpanders_have_short_paths() {
    let least = |switches: f64, degree: f64| {
        let (mut reached, mut sum, mut layer) = (0.0, 0.0, degree);
        for distance in 1.. {
            let here = f64::min(layer, switches - 1.0 - reached);
            (reached, sum, layer) =
                (reached + here, sum + here * f64::from(distance), layer * (degree - 1.0));
            if reached >= switches - 1.0 {
                break;
            }
        }
        sum / (switches - 1.0)
    };
    for (text, switches, degree) in [
        ("jellyfish]\nswitches = 200\ndegree = 10", 200.0, 10.0),
        ("jellyfish]\nswitches = 500\ndegree = 12", 500.0, 12.0),
        ("xpander]\ndegree = 10\nlift = 20", 220.0, 10.0),
    ] {
        let mean = facts(&graph(&format!("[topology.{text}"))).mean_hops.unwrap();
        let bound = least(switches, degree);
        assert!((bound..1.05 * bound).contains(&mean), "{text}: {mean}, at least {bound}");
    }
}

/// Between every two groups each switch has one link.
#[test]
fn xpanders_are_lifts_of_the_complete_graph() {
    let xpander = graph("[topology.xpander]\ndegree = 5\nlift = 7\nhosts_per_switch = 3");
    assert_eq!((xpander.switches.len(), xpander.hosts.len()), (42, 126));
    let joined: BTreeSet<(usize, usize)> =
        pairs(&xpander).into_iter().flat_map(|(a, b)| [(a, b / 7), (b, a / 7)]).collect();
    let all: BTreeSet<(usize, usize)> =
        (0..42).flat_map(|s| (0..6).filter(move |&g| g != s / 7).map(move |g| (s, g))).collect();
    assert_eq!(joined, all);
    assert_eq!(xpander.title, "Xpander of 6 groups of 7, 5 links and 3 hosts per switch");
    let complete = graph("[topology.xpander]\ndegree = 4\nlift = 1");
    assert_eq!((degree(&complete), complete.switches.len()), (4, 5));
}

#[test]
fn what_cannot_be_built_is_refused() {
    let cases = [
        ("slim-fly]\nq = 6", "topology.slim-fly.q: 6 is not a power of a prime: the nearest are 5 and 7"),
        ("slim-fly]\nq = 2", "2 is not allowed: give a number from 3 to 2828"),
        ("slim-fly]\nq = 1000", "1000 is not a power of a prime: the nearest are 997 and 1009"),
        ("slim-fly]\nq = 997", "a switch would have "),
        ("slim-fly]\nq = 5\nhosts_per_switch = 0", "0 is not allowed: give a number from 1 to 1024"),
        ("jellyfish]\nswitches = 5\ndegree = 3", "5 switches of 3 links have an odd number of ends"),
        (
            "jellyfish]\nswitches = 5\ndegree = 5",
            "topology.jellyfish.degree: 5 is not allowed: give a number from 1 to 4",
        ),
        ("jellyfish]\nswitches = 1\ndegree = 1", "topology.jellyfish.switches: 1 is not allowed"),
        ("jellyfish]\nswitches = 40\ndegree = 1", "none is connected: give more links, 3 or more"),
        ("xpander]\ndegree = 1\nlift = 9", "none is connected"),
        ("xpander]\ndegree = 9\nlift = 4000000000", "at most 16000000 switches and hosts are allowed"),
        ("xpander]\ndegree = 2000\nlift = 1", "topology.xpander.degree: 2000 is not allowed"),
    ];
    for (topology, expected) in cases {
        let error = error(&format!("[topology.{topology}"));
        assert!(error.contains(expected), "{topology}\n{error}");
    }
}
