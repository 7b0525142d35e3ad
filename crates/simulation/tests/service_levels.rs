//! Virtual lanes by service level: SL2VL tables.

use crate::common::star::{self, star};
use crate::common::{everything, run};

const LEVELS: &str = "sl2vl = [0, 1, 2]";

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

fn assert_shares(set: &[(&str, &str)], expected: [f64; 3]) {
    star::assert_shares(&star(LEVELS), set, &expected);
}

/// With a lane for each level, levels are what service classes are.
#[test]
fn a_lane_for_each_level_is_a_service_class() {
    let settings = [("switch.vl_arbitration", WEIGHTS)];
    let [levels, classes] = [LEVELS, "service_classes = 3"].map(|lanes| run(&star(lanes), &settings));
    assert_eq!(levels.totals.fingerprint, classes.totals.fingerprint);
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

/// A manager sets the tables of all ports and the weights of switches and adapters by datagrams; until then a switch has those of power-on,
/// by which the three hosts would get a third each.
#[test]
fn a_manager_sets_what_the_experiment_says() {
    let manager = [
        ("routing", r#"{ algorithm = "opensm", engine = "minhop" }"#),
        ("subnet_manager", r#"{ response_time = "1 us" }"#),
        ("run.warmup", "\"1 ms\""),
    ];
    let weights = ("switch.vl_arbitration", WEIGHTS);
    let with = |set: &[(&'static str, &'static str)]| [&manager[..], set].concat();
    for start in ["\"unconfigured\"", "\"configured\""] {
        let start = ("subnet_manager.start", start);
        assert_shares(&with(&[weights, start]), [0.25, 0.5, 0.25]);
        assert_shares(
            &with(&[weights, start, ("switch.sl2vl", "[1, 0, 0]")]),
            [2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0],
        );
    }
    let set = with(&[weights]);
    let one = everything(&run(&star(LEVELS), &set));
    for partitions in ["2", "3", "7"] {
        let set = [&set[..], &[("run.partitions", partitions)]].concat();
        assert_eq!(everything(&run(&star(LEVELS), &set)), one, "{partitions} partitions");
    }
}

/// Torus-2QoS with a manager: the tables of the switches are those that the manager has computed and set. Rings of the second dimension are so
/// long that lanes by the parity of the level, as after power-on, deadlock.
#[test]
fn a_manager_sets_the_tables_of_torus_2qos() {
    let manager = ("subnet_manager", r#"{ response_time = "1 us", smps_on_wire = 16, vl15_buffer = 16 }"#);
    let torus = ("topology.torus.dimensions", "[3, 9]");
    let outcome =
        run(TORUS, &[manager, torus, ("run.duration", "\"40 ms\""), ("run.allow_deadlock", "true")]);
    assert!(outcome.deadlock.is_empty() && outcome.invariants.packets_ok, "{}", outcome.defect);
    assert_eq!((outcome.invariants.in_flight, outcome.totals.delivered > 0), (0, true));
}
