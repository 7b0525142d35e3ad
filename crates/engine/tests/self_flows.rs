//! Flows from a host to itself: over its switch and back, on every topology and with every way of routing.

use crate::common::{drained, prepare};
use fabricsim_engine::{Prepared, Totals};
use fabricsim_model::{Observer, Packet};
use fabricsim_units::Time;

const REST: &str = r#"
[links.all]
rate = "64 Gb/s"
latency = "3 ns"
buffer = "4 KiB"
[switch]
router_delay = "5 ns"
virtual_lanes = 6
flow_control_unit = "8 B"
[run]
duration = "1 s"
"#;

const TOPOLOGIES: [(&str, &[&str]); 9] = [
    ("single-switch = { hosts = 4 }", &["shortest-path"]),
    ("mesh = { dimensions = [4, 4] }", &["dimension-order", "look-up-tables", "shortest-path"]),
    ("torus = { dimensions = [4, 4], hosts_per_switch = 2 }", &["dimension-order", "look-up-tables"]),
    ("hypercube = { dimensions = 4 }", &["dimension-order"]),
    ("ring = { switches = 4 }", &["dimension-order"]),
    ("fat-tree = { arity = 4, levels = 2 }", &["up-down", "up-down-adaptive", "up-down-random"]),
    (
        "dragonfly = { p = 2, a = 4, h = 1 }",
        &["minimal", "valiant", "ugal-l", "ugal-g", "piggyback", "par", "par-6/2"],
    ),
    ("megafly = { p = 2, leaves = 2, spines = 2, h = 1 }", &["minimal", "valiant", "ugal-l"]),
    ("hyperx = { dimensions = [4, 4] }", &["minimal", "valiant", "dal"]),
];

fn prepared(topology: &str, algorithm: &str, traffic: &str, overrides: &[(&str, &str)]) -> Prepared {
    let text = format!(
        "[topology]\n{topology}\n{REST}[routing]\nalgorithm = '{algorithm}'\n[[traffic]]\nself_flows = 'send'\n{traffic}"
    );
    prepare(&text, overrides)
}

/// Packets from hosts to themselves.
#[derive(Default)]
struct Own(Vec<(Time, u16)>);

impl Observer for Own {
    fn delivered(&mut self, now: Time, packet: &Packet) {
        if packet.source == packet.destination {
            self.0.push((now - packet.created, packet.hops));
        }
    }
}

#[test]
fn they_take_one_switch_everywhere() {
    for (topology, algorithms) in TOPOLOGIES {
        for algorithm in algorithms {
            let traffic = "sources = ['*']\npattern = { permutation = ['*'] }\n\
                 injection = 'constant'\nload = 0.01\nmessage = '64 B'";
            let prepared = prepared(topology, algorithm, traffic, &[]);
            let hosts = prepared.graph.hosts.len();
            let mut engine = prepared.engine(Own::default);
            engine.advance(Time::us(5), &mut |_, _| true);
            let own = &engine.observers().next().unwrap().0;
            assert!(own.len() > 5 * hosts, "{topology} {algorithm}: {}", own.len());
            // Two links, the router, 64 bytes of 1/8 ns.
            let expected = (Time::ns(2 * 3 + 5 + 8), 1);
            assert!(own.iter().all(|&found| found == expected), "{topology} {algorithm}: {own:?}");
        }
    }
}

fn totals(prepared: &Prepared) -> Totals {
    drained(prepared, Time::us(3), Time::us(100))
}

#[test]
fn nothing_is_lost_and_partitions_do_not_change_a_bit() {
    let traffic = |pattern: &str| format!("pattern = {pattern}\nload = 0.9\nmessage = '200 B'");
    for (topology, pattern) in [
        ("mesh = { dimensions = [4, 4] }", "'transpose'"),
        ("hypercube = { dimensions = 4 }", "'bit-reverse'"),
        ("fat-tree = { arity = 4, levels = 2 }", "'transpose'"),
        ("torus = { dimensions = [4, 4] }", "{ hot-spot = { hosts = ['H(1,1).0'], fraction = 0.2 } }"),
        ("dragonfly = { p = 2, a = 4, h = 1 }", "'uniform'"),
    ] {
        let of = |partitions| {
            let overrides = [("run.partitions", partitions)];
            totals(&prepared(topology, "auto", &traffic(pattern), &overrides))
        };
        let one = of("1");
        assert!(one.delivered > 1000, "{topology} {pattern}: {one:?}");
        for partitions in ["2", "3"] {
            assert_eq!(of(partitions), one, "{topology} {pattern} in {partitions}");
        }
    }
}

/// An answer to oneself is a flow to oneself as well.
#[test]
fn requests_to_oneself_are_answered() {
    let traffic = "pattern = 'transpose'\ninjection = 'window'\nwindow = 2\nmessage = '8 B'\nmessages = 20\n\
         response = { message = '64 B' }";
    let totals = totals(&prepared("mesh = { dimensions = [4, 4] }", "auto", traffic, &[]));
    assert_eq!(totals.delivered, 16 * 20 * 2);
}

/// Ordered and reliable transfers to oneself end as those to others.
#[test]
fn transfers_to_oneself_end() {
    for mode in ["ordered", "unordered", "source-synchronized", "go-back-n", "selective"] {
        let traffic = "pattern = 'transpose'\ninjection = 'saturating'\nmessage = '2 KiB'\nmessages = 3";
        let overrides = [("transport.mode", mode)];
        let prepared = prepared("mesh = { dimensions = [2, 2] }", "auto", traffic, &overrides);
        let mut engine = prepared.engine(Own::default);
        engine.advance(Time::ms(1), &mut |_, _| true);
        let own = &engine.observers().next().unwrap().0;
        assert!(own.len() >= 2 * 3, "{mode}: {}", own.len());
    }
}
