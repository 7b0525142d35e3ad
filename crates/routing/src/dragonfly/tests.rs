use fabricsim_model::{Random, RouteState};
use fabricsim_topology::Shape;
use fabricsim_units::{HostId, Vl};
use proptest::prelude::*;

use super::{DETOUR, Detours, Dragonfly, Policy, Via};
use crate::deadlock::{Verdict, check_among};
use crate::lanes::{Kind, templates};
use crate::samples::{graph, try_router};
use crate::testing::{Recorded, network, packet, route};
use crate::{At, RoutingFunction, check};

const ALGORITHMS: [(&str, u8); 11] = [
    ("algorithm = \"minimal\"", 2),
    ("algorithm = \"valiant\"", 3),
    ("algorithm = \"valiant\"\nvia = \"router\"", 4),
    ("algorithm = \"ugal-l\"", 3),
    ("algorithm = \"ugal-l\"\nvia = \"router\"", 4),
    ("algorithm = \"ugal-l\"\nvia = \"host\"", 4),
    ("algorithm = \"ugal-g\"", 3),
    ("algorithm = \"piggyback\"", 3),
    ("algorithm = \"par\"", 4),
    ("algorithm = \"par\"\nvia = \"router\"", 5),
    ("algorithm = \"par-6/2\"", 6),
];

const TOPOLOGIES: [&str; 6] = [
    "dragonfly = { p = 1, a = 2, h = 1 }",
    "dragonfly = { p = 2, a = 4, h = 2 }",
    "dragonfly = { p = 1, a = 4, h = 2, arrangement = \"palmtree\" }",
    "dragonfly = { p = 1, a = 4, h = 2, arrangement = \"circulant\" }",
    "dragonfly = { p = 1, a = 3, h = 2, g = 4 }",
    "dragonfly = { p = 2, a = 2, h = 4, g = 4, arrangement = \"palmtree\" }",
];

#[test]
fn every_algorithm_is_free_of_deadlock() {
    for topology in TOPOLOGIES {
        for (routing, lanes) in ALGORITHMS {
            for lanes in [lanes, 2 * lanes + 1] {
                let (graph, router) = network(topology, routing, lanes);
                let verdict = check(&router, &graph);
                assert!(
                    matches!(verdict, Verdict::Free { .. }),
                    "{topology} {routing}: {}",
                    verdict.describe(&graph)
                );
            }
        }
    }
}

#[test]
fn too_few_lanes_are_refused_with_the_number_needed() {
    let topology = TOPOLOGIES[1];
    for (routing, lanes) in ALGORITHMS {
        let error = try_router(&graph(topology), topology, routing, lanes - 1).unwrap_err().to_string();
        let expected = format!("needs {lanes} virtual lanes in each service class to be free of deadlock");
        assert!(
            error.starts_with("sample.toml: switch.virtual_lanes: ") && error.contains(&expected),
            "{error}"
        );
    }
}

fn verdict(topology: &str, policy: (Policy, Via), kinds: &'static [Kind], lanes: &[u8]) -> Verdict {
    let graph = graph(topology);
    let Shape::Dragonfly(shape) = &graph.shape else { panic!("not a dragonfly") };
    let router = Dragonfly::new(&graph, shape, policy, 16).unwrap().with_lanes(kinds, lanes);
    let hosts = (0..graph.hosts.len() as u32).map(HostId).collect();
    check_among(&router, router.lane_policy().all().count, &graph, &[hosts])
}

const DETOURS: Policy = Policy::Detours(Detours { threshold: 0, trigger: 0, ratio: 65536, of_lane: false });

/// With two slots of a route on one lane, there is a cycle, wherever the route is long enough that there can be one.
#[test]
fn one_lane_less_is_one_too_few() {
    use templates::{BY_GROUP, BY_ROUTER, MINIMAL, PROGRESSIVE_BY_GROUP, PROGRESSIVE_BY_ROUTER, SIX_TWO};
    let ugal = Policy::UgalLocal { threshold: 0 };
    let par = Policy::Progressive { threshold: 0 };
    let cases: [(Policy, Via, &'static [Kind], &[u8]); 9] = [
        (Policy::Minimal, Via::Group, MINIMAL, &[0, 0, 0]),
        (Policy::Valiant, Via::Group, BY_GROUP, &[0, 0, 1, 1, 1]),
        (Policy::Valiant, Via::Group, BY_GROUP, &[0, 0, 0, 1, 1]),
        (Policy::Valiant, Via::Router, BY_ROUTER, &[0, 0, 1, 1, 1, 1]),
        (ugal, Via::Group, BY_GROUP, &[0, 0, 1, 0, 2]),
        (par, Via::Group, PROGRESSIVE_BY_GROUP, &[0, 0, 0, 1, 1, 2]),
        (par, Via::Router, PROGRESSIVE_BY_ROUTER, &[0, 1, 0, 2, 2, 1, 3]),
        (DETOURS, Via::Group, SIX_TWO, &[0, 1, 0, 2, 3, 1, 4, 4]),
        (DETOURS, Via::Group, SIX_TWO, &[0, 1, 0, 2, 3, 0, 4, 5]),
    ];
    for (policy, via, kinds, lanes) in cases {
        let verdict = verdict("dragonfly = { p = 1, a = 4, h = 2 }", (policy, via), kinds, lanes);
        assert!(matches!(verdict, Verdict::Cyclic { .. }), "{policy:?} {via:?} {lanes:?}: {verdict:?}");
    }
}

/// BookSim's `ugal_dragonflynew` has a lane for routes to the intermediate router, one from there on, and one for minimal routes,
/// and calls that free of deadlock. It is not: on the first lane local links lead to global ones, and these to local ones
/// of the intermediate group. Of its two kinds of routes those over another group alone have the cycle.
#[test]
fn three_lanes_by_phase_are_not_free_of_deadlock() {
    for topology in ["dragonfly = { p = 1, a = 2, h = 1 }", "dragonfly = { p = 1, a = 4, h = 2 }"] {
        let route = templates::BY_ROUTER;
        let found = verdict(topology, (Policy::Valiant, Via::Router), route, &[0, 0, 0, 1, 1, 2]);
        let Verdict::Cyclic { cycle } = found else { panic!("{topology}: {found:?}") };
        assert!(cycle.iter().all(|&(_, lane)| lane == Vl(0)), "{cycle:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// With any loads: a packet arrives, on a route that its algorithm allows, each link on the lane of its slot. (That every
    /// decision is an option of the deadlock check is asserted where it is made.)
    #[test]
    fn packets_arrive_on_ways_that_are_allowed(
        topology in 0..TOPOLOGIES.len(), algorithm in 0..ALGORITHMS.len(), from: u32, to: u32, seed: u64,
    ) {
        let (routing, lanes) = ALGORITHMS[algorithm];
        let (graph, router) = network(TOPOLOGIES[topology], routing, lanes);
        let hosts = graph.hosts.len() as u32;
        let (from, to) = (from % hosts, to % hosts);
        let Shape::Dragonfly(shape) = &graph.shape else { panic!("not a dragonfly") };
        let mut group = graph.hosts[from as usize].switch.0 / shape.routers;
        let ends = (HostId(from), HostId(to));
        let route: Vec<(char, u8)> = route(&graph, &router, ends, seed)
            .into_iter()
            .map(|(at, lane)| {
                let letter = if at.0 / shape.routers == group { 'l' } else { 'g' };
                group = at.0 / shape.routers;
                (letter, lane.0)
            })
            .collect();
        let longest = ["lgl", "lglgl", "lgllgl", "lglgl", "lgllgl", "lgllgl", "lglgl", "lglgl", "llglgl", "llgllgl", "llgllgll"][algorithm];
        let mut left = longest.chars();
        for (letter, _) in &route {
            prop_assert!(left.any(|slot| slot == *letter), "{route:?} is not a part of {longest}");
        }
        for letter in ['l', 'g'] {
            let lanes: Vec<u8> = route.iter().filter(|link| link.0 == letter).map(|link| link.1).collect();
            prop_assert!(lanes.is_sorted_by(|a, b| a < b), "{route:?}");
        }
        if routing.contains("minimal") {
            prop_assert_eq!(&route.len(), &(crate::path(&router, &graph, HostId(from), HostId(to)).len() - 1));
        }
    }
}

/// Weights take the place of the links of the routes: a detour is taken just where w_min q_min > w_val q_val + T.
#[test]
fn weights_decide_in_place_of_links() {
    for (weights, [minimal, detour]) in [("[1, 2]", [1, 2]), ("[1, 1]", [1, 1]), ("[5, 3]", [5, 3])] {
        for (threshold, blocks) in [("0", 0), ("0.125", 4)] {
            let routing = format!("algorithm = \"ugal-l\"\nweights = {weights}\nthreshold = {threshold}");
            let (graph, router) = network(TOPOLOGIES[1], &routing, 3);
            let (mut ties, mut detours) = (0, 0);
            for seed in 0..2000 {
                let (from, to) = (HostId(seed % 8), HostId(8 + seed % 64));
                let host = &graph.hosts[from.index()];
                let at = At { switch: host.switch, in_port: host.port, lane: Vl(0) };
                let mut view = Recorded { random: Random::new(u64::from(seed), 1, 2), asked: Vec::new() };
                let mut state = RouteState::default();
                router.choose(at, &packet(from, to), &mut state, &mut view).unwrap();
                let [(_, least), (_, other)] = view.asked[..] else { panic!("{:?}", view.asked) };
                let (least, other) = (least * minimal, other * detour + blocks);
                assert_eq!(state.has(DETOUR), least > other, "{routing}, seed {seed}: {:?}", view.asked);
                ties += u32::from(least == other);
                detours += u32::from(least > other);
            }
            assert!(ties > 20 && detours > 100, "{ties} ties and {detours} detours");
        }
    }
}
