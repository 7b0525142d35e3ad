//! Features that only the InfiniBand model for OMNeT++ has: outputs that wait for the input whose turn it is, and flow-control
//! units of a queue that follow each other at intervals.

use crate::common::{drained, prepare};
use fabricsim_engine::{Prepared, Totals};
use fabricsim_model::{Observer, Packet};
use fabricsim_units::{HostId, Time};

const SWITCHES: &str = r#"
[links.all]
rate = "64 Gb/s"
latency = "1 ns"
buffer = "4 KiB"
reads = 1
[switch]
router_delay = "4 ns"
flow_control_unit = "8 B"
[host]
mtu = "64 B"
[run]
duration = "1 s"
"#;

fn prepared(topology: &str, traffic: &str, overrides: &[(&str, &str)]) -> Prepared {
    let text = format!("topology = {{ {topology} }}\n{SWITCHES}\n{traffic}");
    prepare(&text, overrides)
}

/// Packets delivered from 10 us on, by source and destination.
struct Pairs(Vec<(HostId, HostId)>);

impl Observer for Pairs {
    fn delivered(&mut self, now: Time, packet: &Packet) {
        if now >= Time::us(10) {
            self.0.push((packet.source, packet.destination));
        }
    }
}

/// Parts of a link's time, in 40 us from 10 us on, that packets of 64 B from one host to another take.
fn share(prepared: &Prepared, (from, to): (u32, u32)) -> f64 {
    let mut engine = prepared.engine(|| Pairs(Vec::new()));
    engine.advance(Time::us(50), &mut |_, _| true);
    assert_eq!(engine.check_credits(), Ok(()));
    let pairs = &engine.observers().next().unwrap().0;
    pairs.iter().filter(|&&pair| pair == (HostId(from), HostId(to))).count() as f64 * 8.0 / 40_000.0
}

fn stream(from: &str, to: &str) -> String {
    format!(
        "[[traffic]]\nsources = ['{from}']\npattern = {{ to = '{to}' }}\ninjection = 'saturating'\nmessage = '64 B'\n"
    )
}

/// H0 sends to H2, H3 and H4 in turn, H1 to H2 only. H0 can serve each a third of the time. An output that takes what it can get gives
/// H1 the rest of H2's link; one that waits for its turn gives each a packet, and is idle for a third of the time.
#[test]
fn a_strict_output_waits_for_the_input_in_turn() {
    let traffic = stream("H0", "H2") + &stream("H0", "H3") + &stream("H0", "H4") + &stream("H1", "H2");
    for (arbiter, expected) in [("round-robin", 2.0 / 3.0), ("strict-round-robin", 1.0 / 3.0)] {
        let prepared = prepared("single-switch = { hosts = 5 }", &traffic, &[("switch.arbiter", arbiter)]);
        for to in [2, 3, 4] {
            let found = share(&prepared, (0, to));
            assert!((found - 1.0 / 3.0).abs() < 0.01, "{arbiter}: H0 to H{to} {found}");
        }
        let found = share(&prepared, (1, 2));
        assert!((found - expected).abs() < 0.01, "{arbiter}: H1 to H2 {found}");
    }
}

/// If every input can be read for all outputs at once, there is nothing to wait for. With one queue an input, the order in which outputs choose
/// decides which packet reaches its head next, so that times differ.
#[test]
fn without_read_ports_a_strict_output_is_an_ordinary_one() {
    let traffic = "[[traffic]]\npattern = 'uniform'\nload = 0.8\nmessage = '64 B'\n";
    let of = |queueing, arbiter| {
        let overrides =
            [("switch.arbiter", arbiter), ("switch.queueing", queueing), ("links.all.reads", "0")];
        totals("mesh = { dimensions = [4, 4] }", traffic, &overrides)
    };
    assert_eq!(of("voq", "strict-round-robin"), of("voq", "round-robin"));
    let (strict, in_turn) = (of("fifo", "strict-round-robin"), of("fifo", "round-robin"));
    assert_eq!((strict.delivered, strict.packet_hops), (in_turn.delivered, in_turn.packet_hops));
}

/// Eight units of a nanosecond each, or one every `interval`: alone in its queue, a packet follows after eight intervals; behind one of
/// another queue after seven and the link's nanosecond for the last unit.
#[test]
fn units_of_a_queue_follow_each_other_at_intervals() {
    let one = stream("H0", "H2");
    let two = stream("H0", "H2") + &stream("H1", "H2");
    // Nanoseconds for a packet: from one queue, and from two that take turns.
    for (interval, alone, in_turn) in [("0 ns", 8, 8), ("1 ns", 8, 8), ("3 ns", 24, 22), ("10 ns", 80, 71)] {
        let overrides = [("switch.unit_interval", interval)];
        let of = |traffic: &str, from| {
            share(&prepared("single-switch = { hosts = 3 }", traffic, &overrides), (from, 2))
        };
        let found = of(&one, 0);
        assert!((found * f64::from(alone) / 8.0 - 1.0).abs() < 0.005, "{interval}: {found}");
        for from in [0, 1] {
            let found = of(&two, from);
            assert!(
                (found * f64::from(2 * in_turn) / 8.0 - 1.0).abs() < 0.005,
                "{interval}: H{from} {found}"
            );
        }
    }
}

fn totals(topology: &str, traffic: &str, overrides: &[(&str, &str)]) -> Totals {
    let prepared = prepared(topology, traffic, overrides);
    drained(&prepared, Time::us(3), Time::us(200))
}

#[test]
fn partitions_do_not_change_a_bit_and_nothing_is_lost() {
    let traffic = "[[traffic]]\npattern = 'uniform'\nload = 0.9\n\
         message = { choice = [{ size = '5 B', weight = 1 }, { size = '20 B', weight = 1 }, { size = '64 B', weight = 1 }] }\n";
    let switches: [&[(&str, &str)]; 5] = [
        &[("switch.arbiter", "strict-round-robin"), ("switch.virtual_lanes", "2")],
        &[("switch.arbiter", "strict-round-robin"), ("switch.queueing", "fifo")],
        &[("switch.unit_interval", "3 ns"), ("links.hosts.rate", "16 Gb/s")],
        &[
            ("switch.unit_interval", "5 ns"),
            ("switch.queueing", "fifo"),
            ("links.all.packet_overhead", "8 B"),
        ],
        &[
            ("switch.unit_interval", "2 ns"),
            ("switch.arbiter", "strict-round-robin"),
            ("switch.switching", "store-and-forward"),
            ("links.all.bit_error_rate", "1e-4"),
        ],
    ];
    for topology in ["mesh = { dimensions = [4, 6] }", "fat-tree = { arity = 3, levels = 2 }"] {
        for more in switches {
            let of =
                |partitions| totals(topology, traffic, &[&[("run.partitions", partitions)], more].concat());
            let one = of("1");
            assert!(one.delivered > 500, "{topology} {more:?}: {one:?}");
            for partitions in ["2", "3"] {
                assert_eq!(of(partitions), one, "{topology} {more:?} in {partitions}");
            }
        }
    }
}

/// H0's queues take turns at its input, which is read for one output at a time: it can be read for the other output as soon as the last of eight units
/// leaves, though the queue itself waits for the rest of the interval, and the output for the link.
#[test]
fn an_input_is_read_for_another_output_as_the_last_unit_leaves() {
    let traffic = stream("H0", "H2") + &stream("H0", "H3");
    for arbiter in ["round-robin", "strict-round-robin"] {
        for (interval, both) in [("0 ns", 2 * 8), ("3 ns", 2 * 21), ("10 ns", 2 * 70)] {
            let overrides = [("switch.unit_interval", interval), ("switch.arbiter", arbiter)];
            let prepared = prepared("single-switch = { hosts = 4 }", &traffic, &overrides);
            for to in [2, 3] {
                let found = share(&prepared, (0, to));
                assert!(
                    (found * f64::from(both) / 8.0 - 1.0).abs() < 0.005,
                    "{arbiter}, {interval}: H{to} {found}"
                );
            }
        }
    }
}

/// Destinations of the packets that are delivered, in order.
struct Order(Vec<HostId>);

impl Observer for Order {
    fn delivered(&mut self, _: Time, packet: &Packet) {
        self.0.push(packet.destination);
    }
}

/// H0 sends a packet each to H2, H3 and H1, over a link that is eight times as fast as theirs. While the first is read, the other two wait. The outputs
/// take turns, so that the one after H2's comes next; the model's arbiters are notified in the order of their ports. The output that has
/// just read the input comes last in any case: with two packets to H1 first, H1's second one waits for all others.
#[test]
fn idle_outputs_get_an_input_in_the_order_of_their_ports() {
    for (destinations, arbiter, expected) in [
        ([2, 3, 1, 3], "round-robin", [2, 3, 1, 3]),
        ([2, 3, 1, 3], "strict-round-robin", [2, 1, 3, 3]),
        ([1, 1, 2, 3], "round-robin", [1, 2, 3, 1]),
        ([1, 1, 2, 3], "strict-round-robin", [1, 2, 1, 3]),
    ] {
        let one = |to| stream("H0", &format!("H{to}")) + "messages = 1\n";
        let traffic: String = destinations.iter().map(one).collect();
        let overrides = [("switch.arbiter", arbiter), ("links.named.\"H0-S0\".rate", "512 Gb/s")];
        let prepared = prepared("single-switch = { hosts = 4 }", &traffic, &overrides);
        let mut engine = prepared.engine(|| Order(Vec::new()));
        engine.advance(Time::us(1), &mut |_, _| true);
        let found = &engine.observers().next().unwrap().0;
        assert_eq!(found[..], expected.map(HostId), "{arbiter}: {destinations:?}");
    }
}
