//! Allocation in rounds, and hops drawn at random: same bits in any number of partitions, nothing lost, and no time
//! lost without contention.

use crate::common::{drained, prepare};
use fabricsim_engine::{Prepared, Totals};
use fabricsim_model::{Observer, Packet};
use fabricsim_units::Time;

const SWITCHES: &str = r#"
[links.all]
rate = "64 Gb/s"
latency = "1 ns"
buffer = "256 B"
[switch]
queueing = "fifo"
allocation = "separable"
router_delay = "2 ns"
virtual_lanes = 4
flow_control_unit = "8 B"
[run]
duration = "1 s"
"#;

fn prepared(topology: &str, more: &str, overrides: &[(&str, &str)]) -> Prepared {
    let text = format!("{more}\n[topology]\n{topology}\n{SWITCHES}");
    prepare(&text, overrides)
}

const UNIFORM: &str = "[[traffic]]\npattern = 'uniform'\nload = 0.9\nmessage = { choice = [{ size = '8 B', weight = 1 }, { size = '64 B', weight = 1 }] }";

fn run(topology: &str, overrides: &[(&str, &str)]) -> Totals {
    let prepared = prepared(topology, UNIFORM, overrides);
    drained(&prepared, Time::us(2), Time::us(20))
}

#[test]
fn partitions_do_not_change_a_bit() {
    let cases: [(&str, &[(&str, &str)]); 4] = [
        ("torus = { dimensions = [4, 6] }", &[("routing.ties", "random")]),
        (
            "torus = { dimensions = [4, 4] }",
            &[("switch.arbiter", "oldest-first"), ("switch.speculative", "false")],
        ),
        ("fat-tree = { arity = 3, levels = 3 }", &[("routing.algorithm", "up-down-random")]),
        (
            "fat-tree = { arity = 2, levels = 3 }",
            &[("routing.algorithm", "up-down-random"), ("switch.allocation", "maximal")],
        ),
    ];
    for (topology, overrides) in cases {
        let of = |partitions: &str| run(topology, &[overrides, &[("run.partitions", partitions)]].concat());
        let one = of("1");
        assert!(one.delivered > 3000, "{topology}: {one:?}");
        for partitions in ["2", "3", "7"] {
            assert_eq!(of(partitions), one, "{topology} in {partitions}");
        }
    }
}

/// Latency of the packets, from creation to delivery.
#[derive(Default)]
struct Latencies(Vec<Time>);

impl Observer for Latencies {
    fn delivered(&mut self, now: Time, packet: &Packet) {
        self.0.push(now - packet.created);
    }
}

#[test]
fn a_lone_packet_gets_lane_and_way_in_one_round() {
    let traffic = "[[traffic]]\nsources = ['H(0).0']\npattern = { to = 'H(7).0' }\ninjection = 'constant'\nload = 0.01\nmessage = '64 B'";
    let prepared = prepared("mesh = { dimensions = [8] }", traffic, &[]);
    let mut engine = prepared.engine(Latencies::default);
    engine.advance(Time::us(10), &mut |_, _| true);
    let latencies = &engine.observers().next().unwrap().0;
    // 8 switches of 2 ns, 9 links of 1 ns, 8 flits of 1 ns.
    assert!(latencies.len() > 10 && latencies.iter().all(|&l| l == Time::ns(8 * 2 + 9 + 8)), "{latencies:?}");
}

#[test]
fn every_round_of_a_busy_link_is_used() {
    let traffic = "[[traffic]]\nsources = ['H0', 'H1']\npattern = { to = 'H2' }\ninjection = 'saturating'\nmessage = '8 B'";
    for arbiter in ["round-robin", "oldest-first"] {
        let prepared = prepared("single-switch = { hosts = 3 }", traffic, &[("switch.arbiter", arbiter)]);
        let mut engine = prepared.engine(Latencies::default);
        engine.advance(Time::us(1), &mut |_, _| true);
        let delivered = engine.totals().delivered;
        // The first packet comes after 1 + 2 + 1 + 1 ns, then one every nanosecond. A round is lost where the way goes to
        // a packet that gets no lane, which takes that none has one: at the start.
        assert!(delivered == 995 || delivered == 994, "{arbiter}: {delivered}");
    }
}

/// Without speculation the lane comes a round before the crossbar: a round more at every switch, and packets of a queue follow each
/// other every second round.
#[test]
fn without_speculation_a_packet_gets_its_lane_a_round_before_the_crossbar() {
    let traffic = "[[traffic]]\nsources = ['H(0).0']\npattern = { to = 'H(7).0' }\ninjection = 'constant'\nload = 0.01\nmessage = '64 B'";
    let prepared_ = prepared("mesh = { dimensions = [8] }", traffic, &[("switch.speculative", "false")]);
    let mut engine = prepared_.engine(Latencies::default);
    engine.advance(Time::us(10), &mut |_, _| true);
    let latencies = &engine.observers().next().unwrap().0;
    assert!(latencies.len() > 10 && latencies.iter().all(|&l| l == Time::ns(8 * 3 + 9 + 8)), "{latencies:?}");

    let traffic =
        "[[traffic]]\nsources = ['H0']\npattern = { to = 'H1' }\ninjection = 'saturating'\nmessage = '8 B'";
    for (lanes, expected) in [("1", 500), ("2", 1000), ("4", 1000)] {
        let overrides = [("switch.speculative", "false"), ("switch.virtual_lanes", lanes)];
        let prepared = prepared("single-switch = { hosts = 2 }", traffic, &overrides);
        let mut engine = prepared.engine(Latencies::default);
        engine.advance(Time::us(1), &mut |_, _| true);
        let delivered = engine.totals().delivered;
        assert!(delivered.abs_diff(expected) <= 8, "{lanes} lanes: {delivered}");
    }
}
