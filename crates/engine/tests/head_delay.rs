//! A delay that starts when a packet reaches the head of its queue.

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
router_delay = "4 ns"
head_delay = "2 ns"
flow_control_unit = "8 B"
[run]
duration = "1 s"
"#;

const TWO_HOSTS: &str = "topology = { single-switch = { hosts = 2 } }";

fn prepared(topology: &str, traffic: &str, overrides: &[(&str, &str)]) -> Prepared {
    let text = format!("{topology}\n{SWITCHES}\n[[traffic]]\n{traffic}");
    prepare(&text, overrides)
}

/// Times of delivery.
#[derive(Default)]
struct Deliveries(Vec<(Time, Time)>);

impl Observer for Deliveries {
    fn delivered(&mut self, now: Time, packet: &Packet) {
        self.0.push((packet.created, now));
    }
}

fn deliveries(prepared: &Prepared, until: Time) -> Vec<(Time, Time)> {
    let mut engine = prepared.engine(Deliveries::default);
    engine.advance(until, &mut |_, _| true);
    assert_eq!(engine.check_credits(), Ok(()));
    engine.observers().next().unwrap().0.clone()
}

const TO: &str = "sources = ['H0']\npattern = { to = 'H1' }\n";

#[test]
fn a_packet_that_finds_its_queue_empty_is_not_delayed() {
    for (queueing, allocation) in [("fifo", "maximal"), ("voq", "maximal"), ("fifo", "separable")] {
        let overrides = [("switch.queueing", queueing), ("switch.allocation", allocation)];
        let traffic = format!("{TO}injection = 'constant'\nload = 0.1\nmessage = '8 B'");
        let found = deliveries(&prepared(TWO_HOSTS, &traffic, &overrides), Time::us(1));
        assert!(found.len() > 10);
        // Two links, the router, a flit.
        assert!(
            found.iter().all(|&(made, taken)| taken - made == Time::ns(2 + 4 + 1)),
            "{queueing}: {found:?}"
        );
    }
}

/// From a saturating source packets of `flits` flits follow each other; each leaves `head_delay` after the one before it.
#[test]
fn packets_of_a_queue_follow_each_other_at_the_delay() {
    for (queueing, allocation) in [("fifo", "maximal"), ("voq", "maximal"), ("fifo", "separable")] {
        for (flits, delay) in [(1, 0), (1, 1), (1, 2), (1, 4), (4, 2), (16, 3)] {
            let head_delay = format!("{delay} ns");
            let overrides = [
                ("switch.queueing", queueing),
                ("switch.allocation", allocation),
                ("switch.head_delay", &head_delay),
            ];
            let traffic = format!("{TO}injection = 'saturating'\nmessage = '{} B'", 8 * flits);
            let found = deliveries(&prepared(TWO_HOSTS, &traffic, &overrides), Time::us(2));
            let gaps: Vec<Time> = found.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
            assert!(
                gaps.len() > 50 && gaps.iter().all(|&gap| gap == Time::ns(flits + delay)),
                "{queueing} {allocation} {flits} flits, {delay} ns: {gaps:?}"
            );
        }
    }
}

/// Queues of several lanes take turns: a link is full if there are enough of them.
#[test]
fn other_lanes_fill_the_gaps() {
    for (lanes, gap) in [("1", 3000), ("2", 1500), ("3", 1000), ("4", 1000)] {
        for allocation in ["maximal", "separable"] {
            let overrides = [("switch.virtual_lanes", lanes), ("switch.allocation", allocation)];
            let traffic = format!("{TO}injection = 'saturating'\nmessage = '8 B'");
            let found = deliveries(&prepared(TWO_HOSTS, &traffic, &overrides), Time::us(2));
            let half = &found[found.len() / 2..];
            let mean = (half[half.len() - 1].1 - half[0].1).0 as f64 / (half.len() - 1) as f64;
            assert!((mean / f64::from(gap) - 1.0).abs() < 0.01, "{lanes} lanes, {allocation}: {mean} ps");
        }
    }
}

/// A packet that comes while the one before it still leaves waits from the end of that.
#[test]
fn a_packet_behind_one_that_is_leaving_is_delayed() {
    let traffic = format!("{TO}injection = 'saturating'\nmessage = '64 B'\nmessages = 2");
    for queueing in ["fifo", "voq"] {
        // The second packet comes 8 ns after the first: as its last byte leaves with a delay of 0, and is there 4 ns earlier.
        let of = |delay: &str| {
            let overrides = [("switch.queueing", queueing), ("switch.head_delay", delay)];
            deliveries(&prepared(TWO_HOSTS, &traffic, &overrides), Time::us(1))[1].1
        };
        assert_eq!(of("3 ns") - of("0 ns"), Time::ns(3), "{queueing}");
    }
}

fn totals(topology: &str, overrides: &[(&str, &str)]) -> Totals {
    let traffic = "pattern = 'uniform'\nload = 0.9\n\
         message = { choice = [{ size = '8 B', weight = 1 }, { size = '64 B', weight = 1 }] }";
    let prepared = prepared(topology, traffic, overrides);
    drained(&prepared, Time::us(2), Time::us(30))
}

#[test]
fn partitions_do_not_change_a_bit_and_nothing_is_lost() {
    let topologies = [
        ("topology = { mesh = { dimensions = [4, 6] } }", "auto"),
        ("topology = { fat-tree = { arity = 3, levels = 3 } }", "up-down-adaptive"),
        ("topology = { fat-tree = { arity = 2, levels = 3 } }", "up-down-random"),
    ];
    let switches: [&[(&str, &str)]; 5] = [
        &[("switch.allocation", "separable"), ("switch.virtual_lanes", "4")],
        &[("switch.queueing", "voq")],
        &[("switch.switching", "store-and-forward"), ("switch.virtual_lanes", "2")],
        &[("switch.arbiter", "oldest-first"), ("switch.virtual_lanes", "2"), ("links.all.reads", "1")],
        &[("links.hosts.rate", "16 Gb/s"), ("switch.arbiter", "age-based")],
    ];
    for (topology, algorithm) in topologies {
        for more in switches {
            let of = |partitions| {
                let these = [("routing.algorithm", algorithm), ("run.partitions", partitions)];
                totals(topology, &[&these, more].concat())
            };
            let one = of("1");
            assert!(one.delivered > 500, "{topology} {more:?}: {one:?}");
            for partitions in ["2", "3"] {
                assert_eq!(of(partitions), one, "{topology} {more:?} in {partitions}");
            }
        }
    }
}
