//! A large fabric is put together and runs.

use crate::common::{prepare, run};
use fabricsim_simulation::Status;

/// 32 768 switches and hosts.
const LARGE: &str = r#"
[topology.torus]
dimensions = [32, 32, 32]
[links.all]
rate = "64 Gb/s"
latency = "1 ns"
buffer = "1 KiB"
[switch]
router_delay = "2 ns"
virtual_lanes = 2
flow_control_unit = "8 B"
[[traffic]]
pattern = "uniform"
load = 0.3
message = "64 B"
[run]
duration = "200 ns"
"#;

#[test]
fn a_torus_of_32768_hosts_runs() {
    let outcome = run(LARGE, &[]);
    assert_eq!(outcome.status, Status::Ok);
    let found = &outcome.invariants;
    assert!(found.packets_ok && found.credits_ok, "{}", outcome.defect);
    // 25 slots of 8 ns, in each of which a packet is created with probability 0.3: within five standard deviations.
    let (slots, p) = (25.0 * 32_768.0, 0.3_f64);
    let margin = 5.0 * (slots * p * (1.0 - p)).sqrt();
    let made = outcome.summary.hosts.offered_gbps * 200.0 / 8.0 / 64.0;
    assert!((made - slots * p).abs() < margin, "{made}");
    assert!(found.injected as f64 <= made && found.injected as f64 > 0.9 * made, "{found:?}");
    // A way is of 24 links on average, with 3 ns and more on each: some have arrived, and many are in flight.
    assert!(found.delivered > 0 && found.in_flight > 0);
}

#[test]
fn it_runs_alike_in_two_partitions() {
    let short = [("run.duration", "60 ns"), ("topology.torus.dimensions", "[16, 16, 16]")];
    let two = [&short[..], &[("run.partitions", "2")]].concat();
    assert_eq!(run(LARGE, &short).totals, run(LARGE, &two).totals);
    assert_eq!(prepare(LARGE, &short).graph.hosts.len(), 4096);
}
