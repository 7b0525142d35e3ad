//! Several LIDs of a host (LMC): routes in parallel, by every choice of a source.

use crate::common::tables::numbers;
use crate::common::{everything, run};

/// Two leaves and four spines; four hosts of the first leaf send to those of the second. `minhop` routes the LIDs of a host over different
/// spines; those of different hosts it spreads as well, so a single flow shows most: alone it never fills a spine.
const TREE: &str = r#"
topology.xgft = { children = [4, 2], parents = [1, 4] }
[links.all]
rate = "100 Gb/s"
latency = "10 ns"
buffer = "16 KiB"
reads = 4
[links.level.1]
rate = "25 Gb/s"
[host]
mtu = "1 KiB"
open_messages = 4
[routing]
algorithm = "opensm"
engine = "minhop"
lmc = 2
[[traffic]]
sources = ["H0"]
pattern = { to = "H4" }
injection = "saturating"
message = "4 KiB"
[run]
warmup = "20 us"
duration = "200 us"
"#;

/// Throughput of the flow from H0 to H4, whose link is four times as fast as those of the spines.
fn throughput(set: &[(&str, &str)]) -> f64 {
    let outcome = run(TREE, set);
    assert!(outcome.invariants.packets_ok && outcome.invariants.credits_ok, "{}", outcome.defect);
    numbers(&outcome, "flows", "accepted_gbps")[0]
}

#[test]
fn a_flow_uses_all_its_paths_in_turn() {
    for choice in ["\"in-turn\"", "\"least-loaded\""] {
        let found = throughput(&[("routing.paths", choice)]);
        assert!((found - 100.0).abs() < 1.0, "{choice}: {found}");
    }
    // The control: one path, for all packets or for the flow.
    for choice in ["\"first\"", "\"hashed\""] {
        let found = throughput(&[("routing.paths", choice)]);
        assert!((found - 25.0).abs() < 0.3, "{choice}: {found}");
    }
}

/// Sizes in turn, large and small: in turn, two paths have the large ones; by bytes, all have as much.
#[test]
fn the_least_loaded_path_has_the_fewest_bytes() {
    let with = |choice| {
        let sizes = [("traffic.0.message", "\"1088 B\""), ("host.open_messages", "1")];
        throughput(&[&sizes[..], &[("routing.paths", choice)]].concat())
    };
    let (in_turn, by_bytes) = (with("\"in-turn\""), with("\"least-loaded\""));
    // 1024 and 64 bytes: the paths of the large packets carry 50 Gb/s together, and the small ones 64 / 1024 of that.
    assert!((in_turn - 50.0 * (1.0 + 64.0 / 1024.0)).abs() < 1.0, "{in_turn}");
    assert!(by_bytes > 95.0, "{by_bytes}");
}

/// Packets that overtake each other are what ordering protocols are for.
#[test]
fn packets_in_turn_overtake_each_other() {
    // A message is a packet of 1024 bytes and one of 64, which takes another path and is there first.
    let traffic = r#"[{ sources = ["H0"], pattern = { to = "H4" }, injection = "poisson", load = 0.3, message = "1088 B" }]"#;
    let late = |choice: &str| {
        let set = [("routing.paths", choice), ("transport", r#"{ mode = "ordered" }"#), ("traffic", traffic)];
        let outcome = run(TREE, &set);
        assert!(outcome.invariants.packets_ok && outcome.invariants.credits_ok, "{}", outcome.defect);
        numbers(&outcome, "transport", "reordered").iter().sum::<f64>()
    };
    assert_eq!(late("\"hashed\""), 0.0);
    assert!(late("\"in-turn\"") > 0.0);
}

#[test]
fn equal_in_any_number_of_partitions_and_with_a_manager() {
    let traffic = r#"[{ pattern = "uniform", injection = "poisson", load = 0.3, message = "3 KiB" }]"#;
    let manager = ("subnet_manager", r#"{ lmc = 2, start = "configured", response_time = "1 us" }"#);
    for managed in [false, true] {
        for choice in ["\"in-turn\"", "\"hashed\"", "\"least-loaded\""] {
            let mut set = vec![("traffic", traffic), ("routing.paths", choice), ("run.drain", "\"empty\"")];
            if managed {
                set.extend([("routing.lmc", "0"), manager]);
            }
            let first = run(TREE, &set);
            assert!(first.invariants.packets_ok && first.invariants.in_flight == 0, "{}", first.defect);
            assert_eq!(first.totals.injected, first.totals.delivered);
            let one = everything(&first);
            for partitions in ["2", "3", "7"] {
                let set = [&set[..], &[("run.partitions", partitions)]].concat();
                assert_eq!(everything(&run(TREE, &set)), one, "{choice} {managed} {partitions}");
            }
        }
    }
}

/// What a manager sets for each LID is what the engine has computed for it: the flow goes by all its paths.
#[test]
fn a_manager_sets_the_routes_of_all_lids() {
    let manager = ("subnet_manager", r#"{ lmc = 2, response_time = "1 us", smps_on_wire = 4 }"#);
    let set = [("routing.lmc", "0"), manager, ("run.warmup", "\"2 ms\"")];
    let found = throughput(&[&set[..], &[("routing.paths", "\"in-turn\"")]].concat());
    assert!((found - 100.0).abs() < 1.0, "{found}");
}
