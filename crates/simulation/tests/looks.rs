//! Observation does not change a run, at any number of looks.

use crate::common::run;
use fabricsim_simulation::Outcome;

/// Switches publish what waits at their outputs, and read their credits for that at times between the looks.
const PUBLISHING: &str = r#"
[topology.dragonfly]
p = 1
a = 2
h = 2
[switch]
virtual_lanes = 8
service_classes = 2
[links.kind.global]
buffer = "2 KiB"
[routing]
algorithm = "piggyback"
[[traffic]]
pattern = { to = "H(2,1).0" }
injection = "window"
window = 4
message = { uniform = { min = "226 B", max = "6144 B" } }
response = { message = "7977 B", delay = "1 ns" }
[run]
duration = "7 us"
drain = "empty"
"#;

/// Fingerprint of the movements of packets: what, when and where.
fn moved(outcome: &Outcome) -> (u64, u64, u64) {
    let invariants = &outcome.invariants;
    assert!(invariants.credits_ok && invariants.packets_ok, "{}", outcome.defect);
    (outcome.totals.fingerprint, outcome.totals.delivered, outcome.totals.packet_hops)
}

#[test]
fn looks_at_congestion_trees_change_nothing() {
    for algorithm in ["piggyback", "ugal-g", "ugal-l", "minimal"] {
        let of = |interval| {
            let overrides = [("routing.algorithm", algorithm), ("measure.congestion_interval", interval)];
            moved(&run(PUBLISHING, &overrides))
        };
        let never = of("1 s");
        for interval in ["3 ns", "10007 ps", "70 ns", "1 us"] {
            assert_eq!(of(interval), never, "{algorithm}, looks every {interval}");
        }
    }
}
