//! A host that lacks credits must always be woken when they come.

use std::path::Path;

use fabricsim_engine::Prepared;
use fabricsim_model::{Observer, Packet};
use fabricsim_units::Time;

/// Packets that each host has injected from a time on.
struct Injections {
    from: Time,
    by_host: Vec<u32>,
}

impl Observer for Injections {
    fn injected(&mut self, now: Time, packet: &Packet) {
        if now >= self.from {
            self.by_host[packet.source.index()] += 1;
        }
    }
}

/// A packet of one flow-control unit, links and credits in the same step: credits come back exactly at the time at
/// which others are looked for.
const CYCLES: &str = r#"
[topology.mesh]
dimensions = [4, 4]
[links.all]
rate = "64 Gb/s"
latency = "1 ns"
buffer = "128 B"
[switch]
queueing = "fifo"
router_delay = "2 ns"
virtual_lanes = 4
flow_control_unit = "8 B"
[[traffic]]
pattern = "uniform"
load = 1.0
message = "8 B"
[run]
duration = "10 us"
"#;

#[test]
fn no_host_falls_silent_in_saturation() {
    for selection in ["round-robin", "most-credits", "lowest", "by-flow"] {
        let overrides = [("routing.lane_selection".to_owned(), selection.to_owned())];
        let experiment = fabricsim_spec::read(CYCLES, "cycles.toml", &overrides).unwrap();
        let prepared = Prepared::new(experiment, Path::new("."), "cycles.toml").unwrap();
        let from = Time::us(5);
        let mut engine = prepared.engine(|| Injections { from, by_host: vec![0; 16] });
        engine.advance(Time::us(10), &mut |_, _| true);
        assert_eq!(engine.check_credits(), Ok(()));
        let injected = engine.observers().next().unwrap().by_host.clone();
        // Uniform traffic on this mesh saturates above half of the links' rate: 5000 slots, half of them used.
        // A host that starves at its switch still gets its turn.
        assert!(injected.iter().all(|&n| n > 500), "{selection}: {injected:?}");
    }
}
