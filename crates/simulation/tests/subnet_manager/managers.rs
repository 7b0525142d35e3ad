//! Several subnet managers: one is the master, the others are standbys.

use super::{LINE, RING, causes, summary};
use crate::common::tables::texts;
use crate::common::{balanced, run};

/// The host of the master is cut off. The standby asks in vain, and becomes the master.
#[test]
fn a_standby_takes_over() {
    let set = [
        ("subnet_manager.nodes", r#"["H(0).0", "H(2).0"]"#),
        ("subnet_manager.poll_interval", "\"300 us\""),
        ("subnet_manager.poll_retries", "1"),
        ("subnet_manager.timeout", "\"100 us\""),
        ("subnet_manager.retries", "0"),
        ("run.duration", "\"8 ms\""),
        ("faults.plan", r#"[{ link = "S(0)-H(0).0", at = "2 ms" }]"#),
    ];
    let outcome = run(RING, &set);
    balanced(&outcome);
    // Cut off, the first one is the master of nothing but itself.
    assert_eq!(summary(&outcome).masters, ["H(0).0", "H(2).0"]);
    let mut places = texts(&outcome, "subnet_sweeps", "manager").into_iter().zip(causes(&outcome));
    assert!(places.any(|(host, cause)| host == "H(2).0" && cause == "master_lost"));
    // The control: as long as the master answers, the standby waits.
    let alone = run(RING, &set[..6]);
    assert_eq!(summary(&alone).masters, ["H(0).0"]);
    assert!(!causes(&alone).iter().any(|cause| cause == "master_lost"));
}

/// The better manager comes back into the subnet: the master hands over to it.
#[test]
fn a_better_manager_gets_the_subnet_back() {
    let set = [
        ("subnet_manager.nodes", r#"["H(0).0", "H(2).0"]"#),
        ("subnet_manager.poll_interval", "\"300 us\""),
        ("subnet_manager.poll_retries", "1"),
        ("subnet_manager.timeout", "\"100 us\""),
        ("subnet_manager.retries", "0"),
        ("run.duration", "\"20 ms\""),
        ("faults.plan", r#"[{ link = "S(0)-H(0).0", at = "2 ms", until = "8 ms" }]"#),
    ];
    let outcome = run(RING, &set);
    balanced(&outcome);
    assert_eq!(summary(&outcome).masters, ["H(0).0"], "{:?}", causes(&outcome));
}

/// A cable fails at the start, and each manager becomes the master of its part of a line: four switches and two. Once it is back, the first one
/// routes the whole. Its part is still in its first sweep then, and has passed the place: with traps, since they count
/// during a first sweep as well; without, since the other master, which finds the cable in a light sweep, hands over.
#[test]
fn two_parts_of_a_subnet_become_one() {
    for (traps, last) in [("true", "trap"), ("false", "hand_over")] {
        let set = [
            ("topology.mesh", "{ dimensions = [6], hosts_per_switch = 1 }"),
            ("subnet_manager.nodes", r#"["H(0).0", "H(5).0"]"#),
            ("subnet_manager.start", "\"configured\""),
            ("subnet_manager.sweep_interval", if traps == "true" { "\"0 s\"" } else { "\"1 ms\"" }),
            ("subnet_manager.traps", traps),
            ("faults.plan", r#"[{ link = "S(3)-S(4)", at = "100 ns", until = "700 us" }]"#),
            ("traffic.0.pattern", r#"{ to = "H(5).0" }"#),
            ("traffic.0.injection", "\"constant\""),
            ("traffic.0.load", "0.5"),
            ("traffic.0.start", "\"9 ms\""),
            ("run.duration", "\"10 ms\""),
        ];
        let outcome = run(LINE, &set);
        balanced(&outcome);
        assert_eq!((outcome.invariants.delivered, outcome.invariants.dropped), (500, 0));
        let sweeps = texts(&outcome, "subnet_sweeps", "manager").into_iter().zip(causes(&outcome));
        let of_first: Vec<String> =
            sweeps.filter(|(manager, _)| manager == "H(0).0").map(|(_, cause)| cause).collect();
        assert_eq!(of_first.last().map(String::as_str), Some(last), "{of_first:?}");
        if traps == "false" {
            assert_eq!(summary(&outcome).masters, ["H(0).0"]);
        }
    }
}

/// The cable between the parts comes back at any time of their first sweeps, in which each manager sets tables for its own part only. One
/// manager is left at last, and every host is reached, with traps and without.
#[test]
fn parts_that_become_one_at_any_time_have_one_master() {
    for traps in ["true", "false"] {
        for until in (1..=30).map(|step| step * 40) {
            let plan = format!(r#"[{{ link = "S(3)-S(4)", at = "100 ns", until = "{until} us" }}]"#);
            let set = [
                ("topology.mesh", "{ dimensions = [6], hosts_per_switch = 1 }"),
                ("subnet_manager.nodes", r#"["H(0).0", "H(5).0"]"#),
                ("subnet_manager.start", "\"configured\""),
                ("subnet_manager.sweep_interval", "\"500 us\""),
                ("subnet_manager.poll_interval", "\"300 us\""),
                ("subnet_manager.timeout", "\"100 us\""),
                ("subnet_manager.traps", traps),
                ("faults.plan", &plan),
                ("traffic.0.sources", r#"["*"]"#),
                ("traffic.0.pattern", "\"uniform\""),
                ("traffic.0.injection", "\"constant\""),
                ("traffic.0.load", "0.1"),
                ("traffic.0.start", "\"12 ms\""),
                ("run.duration", "\"13 ms\""),
            ];
            let outcome = run(LINE, &set);
            balanced(&outcome);
            let found = summary(&outcome);
            assert_eq!(found.masters.len(), 1, "until {until} us, traps {traps}: {found:?}");
            let (delivered, dropped) = (outcome.invariants.delivered, outcome.invariants.dropped);
            assert!(
                delivered > 500 && dropped == 0,
                "until {until} us, traps {traps}: {delivered} {dropped}"
            );
        }
    }
}
