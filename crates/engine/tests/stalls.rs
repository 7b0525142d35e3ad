//! Stalls of outputs that lack credits: noted in advance or at the time, they are the same to the picosecond. An observer of every grant has
//! switches use the code in which outputs are woken as their links are free.

use crate::common::prepare;
use fabricsim_model::Observer;
use fabricsim_units::{Time, Vl};

const NETWORK: &str = r#"
topology = { mesh = { dimensions = [4, 4] } }
[links.all]
rate = "64 Gb/s"
latency = "3 ns"
buffer = "192 B"
packet_overhead = "8 B"
[switch]
router_delay = "4 ns"
flow_control_unit = "8 B"
[host]
mtu = "64 B"
open_messages = 1
[run]
duration = "1 s"
[[traffic]]
pattern = "uniform"
load = 0.9
message = { choice = [{ size = "5 B", weight = 2 }, { size = "64 B", weight = 1 }, { size = "150 B", weight = 1 }] }
"#;

/// Stalls by sending port, and transmissions.
#[derive(Default, PartialEq, Eq, Debug)]
struct Seen {
    stalls: Vec<(u32, Time, Time)>,
    sent: Vec<(u32, Time, Time)>,
}

impl Observer for Seen {
    fn stalled(&mut self, port: u32, _lane: Vl, start: Time, end: Time) {
        self.stalls.push((port, start, end));
    }
    fn transmitted(&mut self, port: u32, _lane: Vl, _bytes: u32, start: Time, end: Time) {
        self.sent.push((port, start, end));
    }
}

fn seen(overrides: &[(&str, &str)]) -> Seen {
    let prepared = prepare(NETWORK, overrides);
    let mut engine = prepared.engine(Seen::default);
    engine.advance(Time::us(40), &mut |_, _| true);
    assert_eq!(engine.check_credits(), Ok(()));
    let mut all = Seen::default();
    for seen in engine.observers() {
        all.stalls.append(&mut seen.stalls);
        all.sent.append(&mut seen.sent);
    }
    all.stalls.sort_unstable();
    all.sent.sort_unstable();
    all
}

#[test]
fn stalls_noted_in_advance_are_those_that_are_observed() {
    let cases: [&[(&str, &str)]; 6] = [
        &[],
        &[("links.all.reads", "2")],
        &[("links.all.reads", "0"), ("links.hosts.rate", "16 Gb/s")],
        &[("links.hosts.rate", "16 Gb/s"), ("host.sink", "{ rate = '20 Gb/s' }")],
        &[("switch.credit_return", "packet")],
        &[("switch.switching", "store-and-forward"), ("links.all.reads", "2")],
    ];
    for case in cases {
        for partitions in ["1", "3"] {
            let case = [case, &[("run.partitions", partitions)]].concat();
            let ahead = seen(&case);
            assert!(ahead.stalls.len() > 1_000, "{case:?}: {} stalls", ahead.stalls.len());
            let observed = seen(&[&case[..], &[("measure.router_counters", "true")]].concat());
            assert!(
                ahead == observed,
                "{case:?}: {} and {} stalls",
                ahead.stalls.len(),
                observed.stalls.len()
            );
        }
    }
}
