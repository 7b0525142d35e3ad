//! Megaflies, HyperX and graphs whose routes are found by search, in operation: the same bits in any number of partitions, nothing lost, and the known limits of
//! throughput.

use crate::common::{drained, prepare};
use fabricsim_engine::{Prepared, Totals};
use fabricsim_model::NullObserver;
use fabricsim_units::Time;

const REST: &str = r#"
[links.all]
rate = "64 Gb/s"
latency = "10 ns"
buffer = "4 KiB"
reads = 2
[switch]
router_delay = "1 ns"
virtual_lanes = 4
flow_control_unit = "8 B"
[host]
mtu = "128 B"
[run]
duration = "1 s"
"#;

/// 9 groups of 4 leaves with 2 hosts and 4 spines with 2 links each.
const MEGAFLY: &str = "megafly = { p = 2, leaves = 4, spines = 4, h = 2, g = 9 }";
const HYPERX: &str = "hyperx = { dimensions = [4, 4], hosts_per_switch = 4 }";
/// The Hoffman-Singleton graph with 4 hosts on each of its 50 switches.
const SLIM_FLY: &str = "slim-fly = { q = 5 }";
const JELLYFISH: &str = "jellyfish = { switches = 12, degree = 5, hosts_per_switch = 3 }";
const XPANDER: &str = "xpander = { degree = 4, lift = 2, hosts_per_switch = 3 }";
const HOSTS: u32 = 72;

const UNIFORM: &str = "pattern = 'uniform'";
const NEXT_GROUP: &str = "pattern = { group-offset = 1 }";

fn prepared(topology: &str, algorithm: &str, traffic: &str, overrides: &[(&str, &str)]) -> Prepared {
    let text = format!(
        "[topology]\n{topology}\n{REST}[routing]\nalgorithm = '{algorithm}'\n\
         [[traffic]]\nmessage = '128 B'\nslot = '1 ns'\n{traffic}"
    );
    prepare(&text, overrides)
}

fn run(prepared: &Prepared) -> Totals {
    drained(prepared, Time::us(4), Time::us(100))
}

#[test]
fn partitions_do_not_change_a_bit() {
    for (topology, algorithms) in [
        (MEGAFLY, ["minimal", "valiant", "ugal-l"]),
        (HYPERX, ["minimal", "valiant", "dal"]),
        (SLIM_FLY, ["minimal", "valiant", "ugal-l"]),
        (JELLYFISH, ["minimal", "valiant", "ugal-l"]),
        (XPANDER, ["minimal", "valiant", "ugal-l"]),
    ] {
        for (algorithm, queueing) in algorithms.iter().flat_map(|a| ["voq", "fifo"].map(|q| (a, q))) {
            let of = |partitions| {
                let overrides = [
                    ("switch.queueing", queueing),
                    ("run.partitions", partitions),
                    ("switch.virtual_lanes", "6"),
                ];
                run(&prepared(topology, algorithm, &format!("{UNIFORM}\nload = 0.9"), &overrides))
            };
            let one = of("1");
            assert!(one.delivered > 3000, "{topology} {algorithm} {queueing}: {one:?}");
            for partitions in ["2", "3", "7"] {
                assert_eq!(of(partitions), one, "{topology} {algorithm} {queueing} in {partitions}");
            }
        }
    }
}

/// Accepted load of the hosts' links, at an offered load.
fn accepted(topology: &str, algorithm: &str, traffic: &str, hosts: u32) -> f64 {
    let prepared = prepared(topology, algorithm, traffic, &[]);
    let mut engine = prepared.engine(|| NullObserver);
    engine.advance(Time::us(20), &mut |_, _| true);
    let before = engine.totals().delivered_bytes;
    engine.advance(Time::us(50), &mut |_, _| true);
    let bytes = engine.totals().delivered_bytes - before;
    bytes as f64 / (f64::from(hosts) * 8.0 * 30_000.0)
}

/// 8 hosts of a group have one link to the next group: 1/8. Over 7 other groups, each of the 8 global links bears the 7/8 of
/// the hosts' traffic that goes elsewhere at first, and as much that comes to leave: nearly 1/2.
#[test]
fn a_megafly_under_traffic_to_the_next_group() {
    let at = |algorithm: &str, load: f64| {
        accepted(MEGAFLY, algorithm, &format!("{NEXT_GROUP}\nload = {load}"), HOSTS) / load
    };
    for (algorithm, limit) in [("minimal", 0.125), ("valiant", 0.4375)] {
        let (below, beyond) = (at(algorithm, 0.9 * limit), at(algorithm, 1.1 * limit));
        assert!(below > 0.99 && beyond < 0.98, "{algorithm}: {below} and {beyond} of what is offered");
    }
    let adaptive = at("ugal-l", 0.35);
    assert!(adaptive > 0.99, "{adaptive} of 0.35 to the next group");
}

/// All hosts of a switch send to the switch one further in both dimensions: 4 hosts have one link in each, which minimal routing
/// has them share: 1/4. Detours find the other links.
#[test]
fn a_hyperx_with_pairs_of_switches() {
    let at = |algorithm: &str, load: f64| {
        let mut streams = String::new();
        for (s, i) in (0..16).flat_map(|s: u32| (0..4).map(move |i| (s, i))) {
            if !streams.is_empty() {
                streams += "[[traffic]]\nmessage = '128 B'\nslot = '1 ns'\n";
            }
            let (x, y) = (s % 4, s / 4);
            let to = format!("H({},{}).{i}", (x + 1) % 4, (y + 1) % 4);
            let text = format!("sources = ['H({x},{y}).{i}']\npattern = {{ to = '{to}' }}\nload = {load}\n");
            streams += &text;
        }
        accepted(HYPERX, algorithm, &streams, 64) / load
    };
    let (below, beyond) = (at("minimal", 0.22), at("minimal", 0.28));
    assert!(below > 0.99 && beyond < 0.95, "{below} and {beyond} of what is offered");
    let adaptive = at("dal", 0.4);
    assert!(adaptive > 0.99, "{adaptive} of 0.4 with detours");
}

/// Traffic of every switch's hosts to those of one neighbour, for the Slim Fly of 5: `S(half,x,y)` to `S(half,x,y+1)` or `+2`, which
/// is a local link of the half.
fn to_a_neighbour(load: f64) -> String {
    let mut streams = String::new();
    for (half, x, y, i) in (0..2)
        .flat_map(|half| (0..25).flat_map(move |at: u32| (0..4).map(move |i| (half, at / 5, at % 5, i))))
    {
        if !streams.is_empty() {
            streams += "[[traffic]]\nmessage = '128 B'\nslot = '1 ns'\n";
        }
        let to = format!("H({half},{x},{}).{i}", (y + 1 + half) % 5);
        let text =
            format!("sources = ['H({half},{x},{y}).{i}']\npattern = {{ to = '{to}' }}\nload = {load}\n");
        streams += &text;
    }
    streams
}

/// The graph looks the same from every switch and link, so that limits are exact. Uniform traffic: of 199 other hosts 28 are one link
/// away and 168 two, and 4 hosts share 7 links: 7 / (4 * 364/199) = 0.957. To the hosts of one neighbour: minimal routes share
/// one link, 1/4; over a switch drawn at random a route has (180 + 2)/50 = 3.64 links: 7 / (4 * 3.64) = 0.481.
#[test]
fn a_slim_fly_accepts_what_its_links_bear() {
    let at = |algorithm: &str, traffic: &str, load: f64| accepted(SLIM_FLY, algorithm, traffic, 200) / load;
    let uniform = |load: f64| at("minimal", &format!("{UNIFORM}\nload = {load}"), load);
    assert!(uniform(0.85) > 0.99, "{} of 0.85 uniform", uniform(0.85));
    for (algorithm, limit) in [("minimal", 0.25), ("valiant", 0.481)] {
        let (below, beyond) = (0.9 * limit, 1.1 * limit);
        let (below, beyond) =
            (at(algorithm, &to_a_neighbour(below), below), at(algorithm, &to_a_neighbour(beyond), beyond));
        assert!(below > 0.99 && beyond < 0.98, "{algorithm}: {below} and {beyond} of what is offered");
    }
    let adaptive = at("ugal-l", &to_a_neighbour(0.4), 0.4);
    assert!(adaptive > 0.99, "{adaptive} of 0.4 to a neighbour");
    let uniform = at("ugal-l", &format!("{UNIFORM}\nload = 0.7"), 0.7);
    assert!(uniform > 0.99, "{uniform} of 0.7 uniform, adaptively");
}
