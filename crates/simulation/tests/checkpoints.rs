//! Runs that continue from their state as bytes: they end with the same bits as a run that was never written. `checks/forks.rs` has the
//! same of experiments from the whole space.

use std::sync::Arc;

use crate::common::{ALL, balanced, everything, prepare, run};
use crate::faults::TORUS;
use fabricsim_engine::Prepared;
use fabricsim_simulation::{Control, ResumableRun, Stop, files_of};
use fabricsim_units::Time;

/// Two hosts at a switch: a state of few bytes.
const PAIR: &str = r#"
topology.single-switch = { hosts = 2 }
[links.all]
rate = "8 Gb/s"
latency = "100 ns"
buffer = "1 KiB"
[host]
mtu = "256 B"
[[traffic]]
pattern = "uniform"
injection = "poisson"
load = 0.9
message = "1 KiB"
[run]
warmup = "1 us"
duration = "4 us"
"#;

/// Queue pairs on a fabric with pause frames and links that lose packets.
const PAIRS: &str = r#"
topology.mesh = { dimensions = [3, 3], hosts_per_switch = 2 }
[links]
errors = "lose"
[links.all]
rate = "32 Gb/s"
latency = "50 ns"
buffer = "32 KiB"
bit_error_rate = 1e-7
[host]
mtu = "1 KiB"
[switch]
flow_control = "pause"
[switch.pause]
xoff = "8 KiB"
xon = "4 KiB"
[queue_pairs]
timeout = 2
[[traffic]]
pattern = { hot-spot = { hosts = ["H(1,1).0"], fraction = 0.5 } }
injection = "poisson"
load = 0.4
message = "4 KiB"
[run]
warmup = "5 us"
duration = "30 us"
drain_limit = "50 us"
[measure]
packets = ["H(0,0).0 -> *"]
"#;

fn fresh(prepared: &Arc<Prepared>) -> ResumableRun {
    ResumableRun::new(Arc::clone(prepared), &Control::default())
}

/// The results of a run that another process continues every `every`.
fn in_pieces(prepared: &Arc<Prepared>, every: Time) -> (String, usize) {
    let control = Control::default();
    let (mut run, mut until, mut pieces) = (fresh(prepared), every, 1);
    while matches!(run.advance_to(until, &control), Stop::Reached | Stop::Idle) {
        let bytes = run.save().unwrap();
        run = fresh(prepared);
        run.restore(&bytes, &control).unwrap();
        assert_eq!(run.now(), until);
        // The bytes are a function of the state.
        assert!(run.save().unwrap() == bytes);
        (until, pieces) = (until + every, pieces + 1);
    }
    let outcome = run.finish(&control);
    balanced(&outcome);
    (everything(&outcome), pieces)
}

#[test]
fn a_run_in_pieces_has_the_same_bits() {
    let plan =
        r#"[{ link = "S(0,0)-S(1,0)", at = "4 us", until = "9 us" }, { switch = "S(1,1)", at = "7 us" }]"#;
    let failing = [("faults.plan", plan), ("faults.reroute_after", "\"700 ns\"")];
    let steady = [("run.steady_state", "{}")];
    for (number, (text, overrides)) in
        [(PAIR, &[][..]), (ALL, &[]), (PAIRS, &[]), (TORUS, &failing), (TORUS, &steady)]
            .into_iter()
            .enumerate()
    {
        let alone = everything(&run(text, overrides));
        for partitions in ["1", "3"] {
            let more = [overrides, &[("run.partitions", partitions)]].concat();
            let prepared = Arc::new(prepare(text, &more));
            let (resumed, pieces) = in_pieces(&prepared, Time::ns(1300));
            assert!(pieces > 3, "case {number}: {pieces} pieces");
            assert!(resumed == alone, "case {number} in {partitions} partitions");
        }
    }
}

/// Bytes that were damaged are refused, or are another state; nothing panics.
#[test]
fn damaged_states_do_not_panic() {
    let prepared = Arc::new(prepare(PAIR, &[]));
    let control = Control::default();
    let mut run = fresh(&prepared);
    run.advance_to(Time::us(2), &control);
    let mut bytes = run.save().unwrap();
    // A failed state leaves a run that is of no use, but can be given another one.
    let mut target = fresh(&prepared);
    let mut refused = 0;
    for at in 0..bytes.len() {
        assert!(target.restore(&bytes[..at], &control).is_err(), "{at} of {} bytes", bytes.len());
        // A number becomes a little larger, or much.
        let with = 1 << (at % 8);
        bytes[at] ^= with;
        refused += usize::from(target.restore(&bytes, &control).is_err());
        bytes[at] ^= with;
    }
    assert!(refused > 100, "{refused}");
    target.restore(&bytes, &control).unwrap();
    assert!(target.save().unwrap() == bytes);
    bytes.push(0);
    assert!(target.restore(&bytes, &control).is_err());
}

/// The number of partitions follows from the experiment and the cores: another one is another state.
#[test]
fn another_number_of_partitions_is_refused() {
    let of = |partitions| Arc::new(prepare(ALL, &[("run.partitions", partitions)]));
    let bytes = fresh(&of("3")).save().unwrap();
    assert!(fresh(&of("3")).restore(&bytes, &Control::default()).is_ok());
    for other in ["1", "2", "7"] {
        assert!(fresh(&of(other)).restore(&bytes, &Control::default()).is_err(), "{other}");
    }
}

#[test]
fn features_without_state_are_refused_by_name() {
    let capture = ("capture", r#"{ links = ["*"] }"#);
    let manager = ("subnet_manager", "{ smps_on_wire = 1 }");
    let opensm = ("routing", r#"{ algorithm = "opensm", engine = "minhop" }"#);
    for (overrides, expected) in [
        (&[capture][..], "a capture (`capture`)"),
        (&[manager, opensm], "a subnet manager (`subnet_manager`)"),
    ] {
        let refused = fresh(&Arc::new(prepare(PAIR, overrides))).save().unwrap_err();
        assert_eq!(refused.features, [expected]);
    }
}

#[test]
fn files_of_an_experiment_are_those_it_names() {
    let experiment = |text: &str| fabricsim_spec::read(text, "test.toml", &[]).unwrap();
    assert!(files_of(&experiment(PAIR)).is_empty());
    let topology =
        PAIR.replace("topology.single-switch = { hosts = 2 }", "topology.file = { path = \"net.lst\" }");
    let tables = "[routing]\nalgorithm = \"table\"\ntables = \"a.dump\"\npath_sls = \"b.txt\"\n";
    let named = experiment(&topology.replace("[run]", &format!("{tables}[run]")));
    assert_eq!(files_of(&named), ["net.lst", "a.dump", "b.txt"]);
}
