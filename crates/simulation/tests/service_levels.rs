//! Virtual lanes by service level: SL2VL tables.

mod common;

use common::tables::{numbers, texts};
use common::{everything, run};
use fabricsim_simulation::Outcome;

/// Three hosts saturate the link of a fourth, each with a service level of its own.
const STAR: &str = r#"
topology.single-switch = { hosts = 4 }
[links.all]
rate = "100 Gb/s"
latency = "10 ns"
buffer = "16 KiB"
[switch]
virtual_lanes = 3
sl2vl = [0, 1, 2]
[host]
mtu = "1 KiB"
[[traffic]]
sources = ["H0"]
pattern = { to = "H3" }
injection = "saturating"
message = "4 KiB"
service_class = 0
[[traffic]]
sources = ["H1"]
pattern = { to = "H3" }
injection = "saturating"
message = "4 KiB"
service_class = 1
[[traffic]]
sources = ["H2"]
pattern = { to = "H3" }
injection = "saturating"
message = "4 KiB"
service_class = 2
[run]
warmup = "20 us"
duration = "400 us"
"#;

/// Torus-2QoS at saturation.
const TORUS: &str = r#"
topology.torus = { dimensions = [5, 4] }
[links.all]
rate = "100 Gb/s"
latency = "10 ns"
buffer = "4 KiB"
[switch]
virtual_lanes = 2
[host]
mtu = "1 KiB"
[routing]
algorithm = "opensm"
engine = "torus-2QoS"
[[traffic]]
pattern = "uniform"
injection = "saturating"
message = "4 KiB"
messages = 60
[run]
duration = "2 ms"
drain = "empty"
"#;

const WEIGHTS: &str = "{ low = [{ vl = 0, weight = 16 }, { vl = 1, weight = 32 }, { vl = 2, weight = 16 }] }";

/// Parts of the link that the hosts' flows got.
fn shares(outcome: &Outcome) -> Vec<f64> {
    assert!(outcome.invariants.packets_ok && outcome.invariants.credits_ok, "{}", outcome.defect);
    let rates = numbers(outcome, "flows", "accepted_gbps");
    let total: f64 = rates.iter().sum();
    let mut found: Vec<(String, f64)> = texts(outcome, "flows", "source").into_iter().zip(rates).collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found.into_iter().map(|(_, rate)| rate / total).collect()
}

fn assert_shares(set: &[(&str, &str)], expected: [f64; 3]) {
    let found = shares(&run(STAR, set));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 0.003, "{set:?}: {found} instead of {expected}");
    }
}

/// With a lane for each level, levels are what service classes are.
#[test]
fn a_lane_for_each_level_is_a_service_class() {
    let classes = STAR.replace("sl2vl = [0, 1, 2]", "service_classes = 3");
    let settings = [("switch.vl_arbitration", WEIGHTS)];
    assert_eq!(run(STAR, &settings).totals.fingerprint, run(&classes, &settings).totals.fingerprint);
}

/// Levels that share a lane share its weight.
#[test]
fn levels_may_share_a_lane() {
    let weights = ("switch.vl_arbitration", WEIGHTS);
    assert_shares(&[weights], [0.25, 0.5, 0.25]);
    assert_shares(&[weights, ("switch.sl2vl", "[1, 0, 1]")], [1.0 / 3.0; 3]);
    assert_shares(&[weights, ("switch.sl2vl", "[2, 1, 1]")], [1.0 / 3.0; 3]);
    assert_shares(&[weights, ("switch.sl2vl", "[1, 0, 0]")], [2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0]);
}

/// Without its service levels, the engine's torus stops for ever.
#[test]
fn torus_2qos_does_not_deadlock() {
    let outcome = run(TORUS, &[]);
    assert!(outcome.deadlock.is_empty() && outcome.invariants.packets_ok, "{}", outcome.defect);
    assert_eq!(outcome.invariants.in_flight, 0);
    let without = run(
        TORUS,
        &[("routing.engine", "dor"), ("run.allow_deadlock", "true"), ("switch.virtual_lanes", "1")],
    );
    assert!(!without.deadlock.is_empty(), "the control");
}

#[test]
fn results_do_not_depend_on_partitions() {
    let one = everything(&run(TORUS, &[]));
    for partitions in ["2", "3", "7"] {
        assert_eq!(
            everything(&run(TORUS, &[("run.partitions", partitions)])),
            one,
            "{partitions} partitions"
        );
    }
}
