//! Dragonflies in operation: the same bits in any number of partitions, nothing lost, and the known limits of throughput.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{drained, prepare};
use fabricsim_engine::{Prepared, Totals};
use fabricsim_model::NullObserver;
use fabricsim_topology::{Graph, LinkClass, Node, Shape};
use fabricsim_units::{SwitchId, Time};

const SMALL: &str = r#"
[topology.dragonfly]
p = 2
a = 4
h = 2
[links.all]
rate = "64 Gb/s"
latency = "5 ns"
buffer = "512 B"
[links.kind.global]
latency = "20 ns"
buffer = "1 KiB"
[switch]
router_delay = "1 ns"
virtual_lanes = 6
flow_control_unit = "8 B"
[host]
mtu = "128 B"
[run]
duration = "1 s"
"#;

const UNIFORM: &str = "pattern = 'uniform'";
const WORST: &str = "pattern = { group-offset = 1 }";
const WORST_FOR_VALIANT: &str = "pattern = { group-offset = 2 }";

const ALGORITHMS: [&[(&str, &str)]; 10] = [
    &[("routing.algorithm", "minimal")],
    &[("routing.algorithm", "valiant")],
    &[("routing.algorithm", "valiant"), ("routing.via", "router")],
    &[("routing.algorithm", "ugal-l")],
    &[("routing.algorithm", "ugal-g")],
    &[("routing.algorithm", "ugal-g"), ("routing.state_delay", "33 ns")],
    &[("routing.algorithm", "piggyback")],
    &[("routing.algorithm", "par")],
    &[("routing.algorithm", "par"), ("routing.via", "router")],
    &[("routing.algorithm", "par-6/2")],
];

/// Algorithms that read the load of single lanes.
const OF_LANE: [&[(&str, &str)]; 3] = [
    &[("routing.algorithm", "ugal-l"), ("routing.load", "credits-of-lane")],
    &[("routing.algorithm", "par"), ("routing.load", "credits-of-lane")],
    &[("routing.algorithm", "par-6/2"), ("routing.load", "credits-of-lane")],
];

/// Algorithms over the router of a host drawn among all.
const OVER_HOSTS: [&[(&str, &str)]; 2] = [
    &[("routing.algorithm", "ugal-l"), ("routing.via", "host")],
    &[("routing.algorithm", "piggyback"), ("routing.via", "host"), ("routing.weights", "[1, 2]")],
];

fn prepared(traffic: &str, overrides: &[(&str, &str)]) -> Prepared {
    let text = format!("{SMALL}[[traffic]]\nmessage = '128 B'\nslot = '1 ns'\n{traffic}");
    prepare(&text, overrides)
}

fn run(traffic: &str, overrides: &[(&str, &str)]) -> Totals {
    let prepared = prepared(traffic, overrides);
    drained(&prepared, Time::us(4), Time::us(100))
}

#[test]
fn partitions_do_not_change_a_bit() {
    for algorithm in ALGORITHMS.into_iter().chain(OF_LANE).chain(OVER_HOSTS) {
        for (traffic, more) in [
            (UNIFORM, ("switch.queueing", "voq")),
            (WORST, ("switch.queueing", "voq")),
            (WORST, ("switch.queueing", "fifo")),
            (WORST_FOR_VALIANT, ("switch.queueing", "cioq")),
        ] {
            let traffic = format!("{traffic}\nload = 0.6");
            let of = |n: &str| run(&traffic, &[algorithm, &[more, ("run.partitions", n)]].concat());
            let one = of("1");
            assert!(one.delivered > 3000, "{algorithm:?} {more:?}: {one:?}");
            for partitions in ["2", "3", "7"] {
                assert_eq!(of(partitions), one, "{algorithm:?} {more:?} in {partitions}");
            }
        }
    }
}

#[test]
fn partitions_do_not_change_a_bit_with_lookahead() {
    for algorithm in [ALGORITHMS[3], ALGORITHMS[4], ALGORITHMS[7], ALGORITHMS[9], OVER_HOSTS[0]] {
        for more in [
            [("switch.queueing", "voq"), ("switch.service_classes", "1")],
            [("switch.queueing", "fifo"), ("switch.switching", "store-and-forward")],
        ] {
            let traffic = format!("{WORST}\nload = 0.6");
            let options = [algorithm, &more, &[("routing.lookahead", "true")]].concat();
            let of = |n: &'static str| run(&traffic, &[&options[..], &[("run.partitions", n)]].concat());
            let one = of("1");
            assert!(one.delivered > 3000, "{options:?}: {one:?}");
            assert_ne!(one.fingerprint, run(&traffic, &options[..options.len() - 1]).fingerprint);
            for partitions in ["2", "7"] {
                assert_eq!(of(partitions), one, "{options:?} in {partitions}");
            }
        }
    }
}

/// Two service classes: the second has lanes of its own, on which it gets as far as the first.
#[test]
fn service_classes_have_ways_of_their_own() {
    let classes = [("switch.service_classes", "2"), ("switch.virtual_lanes", "12")];
    for algorithm in ALGORITHMS.into_iter().chain(OF_LANE) {
        let of = |class| {
            run(&format!("{WORST}\nload = 0.5\nservice_class = {class}"), &[algorithm, &classes].concat())
        };
        let (lower, upper) = (of(0), of(1));
        let ratio = upper.injected as f64 / lower.injected as f64;
        assert!((0.99..1.01).contains(&ratio), "{algorithm:?}: {upper:?} {lower:?}");
    }
}

/// Accepted load of the hosts' links, at an offered load.
fn accepted(pattern: &str, load: f64, overrides: &[(&str, &str)]) -> f64 {
    let ample =
        [("links.all.reads", "2"), ("links.all.buffer", "4 KiB"), ("links.kind.global.buffer", "4 KiB")];
    let prepared = prepared(&format!("{pattern}\nload = {load}"), &[&ample, overrides].concat());
    let mut engine = prepared.engine(|| NullObserver);
    engine.advance(Time::us(20), &mut |_, _| true);
    let before = engine.totals().delivered_bytes;
    engine.advance(Time::us(50), &mut |_, _| true);
    let bytes = engine.totals().delivered_bytes - before;
    bytes as f64 / (72.0 * 8.0 * 30_000.0)
}

/// A full global link has about a quarter of the buffers of its minimal lane in use, and that is an eighth of the space of its two
/// lanes: a trigger in between is reached if the load is that of the lane alone, and never by the load of all lanes.
#[test]
fn the_load_of_the_lane_alone_reaches_a_trigger_that_all_lanes_do_not() {
    // Round trip of 40 ns and a packet, 480 of 2048 bytes: 0.23 of a lane, 0.12 of both.
    let rules = |load| {
        [
            ("routing.algorithm", "par-6/2"),
            ("routing.trigger", "0.18"),
            ("routing.load", load),
            ("links.kind.global.buffer", "2 KiB"),
        ]
    };
    let offered = 0.4;
    let [credits, lane] = ["credits", "credits-of-lane"].map(|load| accepted(WORST, offered, &rules(load)));
    let minimal = accepted(WORST, offered, &[("routing.algorithm", "minimal")]);
    assert!(
        (credits / minimal - 1.0).abs() < 0.03,
        "{credits} by the load of all lanes, {minimal} minimally"
    );
    assert!(lane > 2.0 * minimal, "{lane} by the load of the lane, {minimal} minimally");
}

/// Load of each link, from a router to a router.
type Loads = BTreeMap<((u32, u32), (u32, u32)), f64>;

/// Expected loads of the busiest link, in parts of what the hosts offer: of all links, and of the local links of groups that
/// packets only pass. By adding up the ways of all packets to the group `offset` further, directly or `over` another one, link
/// by link, from a table of which router has the link to which group.
fn busiest(graph: &Graph, offset: u32, over: bool) -> (f64, f64) {
    let Shape::Dragonfly(shape) = &graph.shape else { panic!("not a dragonfly") };
    let (a, g) = (shape.routers, shape.groups.count);
    let place = |node| match node {
        Node::Switch(SwitchId(s)) => (s / a, s % a),
        Node::Host(_) => panic!("a host"),
    };
    // Where the link from a group to another one begins and ends.
    let mut gates = BTreeMap::new();
    for link in graph.links.iter().filter(|link| link.class == LinkClass::Global) {
        let ((from, leaves), (to, lands)) = (place(link.a.node), place(link.b.node));
        gates.insert((from, to), (leaves, lands));
        gates.insert((to, from), (lands, leaves));
    }
    let (mut all, mut passing) = (Loads::new(), Loads::new());
    for (group, router) in (0..g).flat_map(|group| (0..a).map(move |router| (group, router))) {
        let goal = (group + offset) % g;
        let vias: Vec<u32> = (0..g).filter(|&via| via != group && via != goal).collect();
        let vias = if over { vias } else { vec![goal] };
        let each = f64::from(shape.hosts) / (vias.len() as f64 * f64::from(a));
        for (via, last) in vias.iter().flat_map(|&via| (0..a).map(move |last| (via, last))) {
            let mut way = vec![(group, router)];
            for (from, to) in [(group, via), (via, goal)].into_iter().filter(|(from, to)| from != to) {
                let (leaves, lands) = gates[&(from, to)];
                way.extend([(from, leaves), (to, lands)]);
            }
            way.push((goal, last));
            for link in way.windows(2).map(|ends| (ends[0], ends[1])).filter(|(from, to)| from != to) {
                *all.entry(link).or_default() += each;
                if over && link.0.0 == via && link.1.0 == via {
                    *passing.entry(link).or_default() += each;
                }
            }
        }
    }
    let most = |loads: Loads| loads.into_values().fold(0.0, f64::max);
    (most(all), most(passing))
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 0.0005
}

/// The limits of the dragonfly of 1056 hosts under traffic to the group n further: 1 / (a p) for minimal routing. For Valiant
/// routing half, less what is lost to the two groups that are not drawn; and, since packets for one group that come to
/// another one from several groups leave it by the same router, less the more of these arrive at one router (García et
/// al., ICPP 2013): with `absolute` and `palmtree` those of h groups do for n from h on. The links of the source's and the
/// destination's group have to bear their own packets as well.
#[test]
fn the_busiest_links_of_the_dragonfly_of_1056_hosts() {
    let passing = [(1, 0.969), (2, 0.484), (4, 0.242), (8, 0.242), (16, 0.242)];
    let circulant = [(1, 0.969), (2, 0.484), (4, 0.484), (8, 0.484), (16, 0.323)];
    let all = [(1, 0.484), (2, 0.323), (4, 0.194), (8, 0.194), (16, 0.194)];
    let all_circulant = [(1, 0.484), (2, 0.323), (4, 0.323), (8, 0.323), (16, 0.242)];
    let cases =
        [("absolute", all, passing), ("palmtree", all, passing), ("circulant", all_circulant, circulant)];
    for (arrangement, all, passing) in cases {
        let text = format!(
            "[topology.dragonfly]\np = 4\na = 8\nh = 4\narrangement = '{arrangement}'\n[run]\nduration = '1 us'"
        );
        let experiment = fabricsim_spec::read(&text, "fly.toml", &[]).unwrap();
        let graph = fabricsim_topology::build(&experiment, Path::new("."), "fly.toml").unwrap();
        assert!(near(1.0 / busiest(&graph, 1, false).0, 1.0 / 32.0));
        for ((offset, all), (_, passing)) in all.into_iter().zip(passing) {
            let loads = busiest(&graph, offset, true);
            assert!(near(1.0 / loads.0, all), "{arrangement} {offset}: {}", 1.0 / loads.0);
            assert!(near(1.0 / loads.1, passing), "{arrangement} {offset}: {}", 1.0 / loads.1);
        }
    }
}

/// The offered load is accepted up to the load at which the busiest link is full, within 8 %, and not beyond it.
#[test]
fn the_busiest_link_is_the_limit() {
    let graph = prepared(&format!("{WORST}\nload = 0.1"), &[]).graph;
    let cases = [
        (WORST, 1, "minimal", 1.0 / 8.0),
        (WORST_FOR_VALIANT, 2, "minimal", 1.0 / 8.0),
        (WORST, 1, "valiant", 0.4375),
        (WORST_FOR_VALIANT, 2, "valiant", 7.0 / 24.0),
    ];
    for (pattern, offset, algorithm, limit) in cases {
        let busiest = 1.0 / busiest(&graph, offset, algorithm == "valiant").0;
        assert!(near(busiest, limit), "{algorithm} {offset}: {busiest}");
        let at = |load: f64| accepted(pattern, load, &[("routing.algorithm", algorithm)]) / load;
        let (below, beyond) = (at(0.92 * limit), at(1.08 * limit));
        assert!(
            below > 0.99 && beyond < 0.98,
            "{algorithm} {offset}: {below} and {beyond} of what is offered"
        );
    }
}

/// Adaptive routing accepts uniform traffic as minimal routing does, and the worst traffic as Valiant's; with detours within
/// groups, more than Valiant's where links within groups are its limit.
#[test]
fn adaptive_routing_is_as_good_as_the_better_of_the_two() {
    for algorithm in &ALGORITHMS[3..] {
        let uniform = accepted(UNIFORM, 0.8, algorithm);
        assert!(uniform > 0.99 * 0.8, "{algorithm:?}: {uniform} of 0.8 uniform");
        let worst = accepted(WORST, 0.4, algorithm);
        assert!(worst > 0.99 * 0.4, "{algorithm:?}: {worst} of 0.4 to the next group");
    }
    let detours = accepted(WORST_FOR_VALIANT, 0.42, &[("routing.algorithm", "par-6/2")]);
    assert!(detours > 0.99 * 0.42, "{detours} of 0.42 to the group two further, Valiant's limit is 0.29");
}

/// If nothing is in the way, progressive routing takes the minimal path: links of a packet at a moderate uniform load, beside
/// those of minimal routing. Links between groups are longer than others, so that more is always in flight on them.
#[test]
fn detours_are_rare_where_nothing_is_in_the_way() {
    let links = |algorithm: &[(&str, &str)]| {
        let long = [("links.kind.global.latency", "300 ns"), ("links.kind.global.buffer", "6 KiB")];
        let totals = run(&format!("{UNIFORM}\nload = 0.3"), &[algorithm, &long].concat());
        totals.packet_hops as f64 / totals.delivered as f64
    };
    let minimal = links(ALGORITHMS[0]);
    for algorithm in &ALGORITHMS[7..] {
        let ratio = links(algorithm) / minimal;
        assert!((1.0..1.1).contains(&ratio), "{algorithm:?}: {ratio} times the links of minimal ways");
    }
}
