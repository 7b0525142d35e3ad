//! Same experiment, same seed: same bits. In every number of partitions, in every build.

use crate::common::{everything, run};

/// Packets of one size, links of one latency: everything happens at once, and the adaptive routing has to choose.
const TIES: &str = r#"
[topology.fat-tree]
arity = 4
levels = 3
[links.all]
rate = "64 Gb/s"
latency = "1 ns"
buffer = "256 B"
[switch]
router_delay = "2 ns"
flow_control_unit = "8 B"
virtual_lanes = 2
[routing]
algorithm = "up-down-adaptive"
[[traffic]]
pattern = "uniform"
injection = "saturating"
message = "64 B"
[run]
duration = "1 us"
[measure]
flows = "sources"
bin = "50 ns"
"#;

#[test]
fn ties_are_broken_alike_in_every_number_of_partitions() {
    for queueing in ["voq", "fifo", "cioq"] {
        for arbiter in ["round-robin", "oldest-first", "random", "fixed-priority", "age-based"] {
            let of = |partitions| {
                let overrides = [
                    ("switch.queueing", queueing),
                    ("switch.arbiter", arbiter),
                    ("run.partitions", partitions),
                ];
                everything(&run(TIES, &overrides))
            };
            let alone = of("1");
            for partitions in ["2", "3", "7"] {
                assert!(of(partitions) == alone, "{queueing} {arbiter} in {partitions} partitions");
            }
        }
    }
}

const MIXED: &str = r#"
[topology.torus]
dimensions = [4, 3]
[links.hosts]
rate = "40 Gb/s"
[switch]
virtual_lanes = 2
arbiter = "random"
[host]
open_messages = 2
[[traffic]]
pattern = "uniform"
injection = "poisson"
load = 0.6
message = { exponential = { mean = "2 KiB", max = "16 KiB" } }
[run]
warmup = "5 us"
duration = "50 us"
"#;

#[test]
fn the_same_seed_gives_the_same_bits_and_another_others() {
    let first = run(MIXED, &[]);
    assert!(everything(&run(MIXED, &[])) == everything(&first));
    assert_ne!(run(MIXED, &[("seed", "2")]).totals.fingerprint, first.totals.fingerprint);
}

#[test]
fn steady_state_and_drain_are_decided_alike_in_every_number_of_partitions() {
    for drain in ["none", "measured", "empty"] {
        for steady in ["{ precision = 0.02 }", "{ precision = 0.0001, batch = \"2 us\" }"] {
            let of = |partitions| {
                let overrides =
                    [("run.steady_state", steady), ("run.drain", drain), ("run.partitions", partitions)];
                everything(&run(MIXED, &overrides))
            };
            let alone = of("1");
            assert!(["2", "3", "7"].iter().all(|partitions| of(partitions) == alone), "{drain} {steady}");
        }
    }
}

/// Ports of adaptive routing that wait for credits in rounds, on lanes of few packets.
const ROUNDS: &str = r#"
[topology.dragonfly]
p = 2
a = 2
h = 1
[links.all]
buffer = "2816 B"
[switch]
queueing = "fifo"
allocation = "separable"
virtual_lanes = 16
[[traffic]]
pattern = { group-offset = 2 }
load = 0.3
message = { exponential = { mean = "256 B", max = "1280 B" } }
[[jobs]]
ranks = 6
[jobs.program.neighbour-exchange]
grid = [3, 2]
message = "520 B"
[run]
duration = "4 us"
[measure]
link_series = true
"#;

#[test]
fn stalls_between_rounds_are_counted_alike_in_every_number_of_partitions() {
    let of = |partitions| everything(&run(ROUNDS, &[("run.partitions", partitions)]));
    let alone = of("1");
    assert!(["2", "3", "7"].iter().all(|partitions| of(partitions) == alone));
}
