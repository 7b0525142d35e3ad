//! Switches that have failed before the run.

use crate::common::tables::{numbers, texts};
use crate::common::{balanced, run, try_prepare};
use crate::faults::TORUS;
use fabricsim_simulation::{Outcome, Status};

/// A switch that has failed before the run: routes go around it from the start, all others get everything, and packets for its host are lost. With the routes of
/// the whole torus, which a failure at the start has, others lose packets as well.
#[test]
fn routes_go_around_switches_that_have_failed_before() {
    let to_others = |outcome: &Outcome| {
        let flows = outcome.tables.iter().find(|table| table.name == "flows").unwrap();
        assert!(flows.columns.iter().any(|column| column.name == "destination"));
        let lost = outcome.invariants.lost;
        let to_dead = texts(outcome, "flows", "destination")
            .iter()
            .zip(numbers(outcome, "flows", "packets"))
            .filter(|(name, _)| *name == "H(1,1).0")
            .map(|(_, packets)| packets)
            .sum::<f64>();
        (to_dead, lost.total())
    };
    let pairs = ("measure.flows", "pairs");
    let around = run(TORUS, &[("switches.failed", "[\"S(1,1)\"]"), pairs]);
    balanced(&around);
    assert_eq!(around.status, Status::Ok);
    let (to_dead, lost) = to_others(&around);
    assert_eq!(to_dead, 0.0);
    // Its host sends and offers nothing. One of 15 destinations of 15 senders.
    let hosts = texts(&around, "hosts", "host");
    let dead = hosts.iter().position(|name| name == "H(1,1).0").unwrap();
    assert_eq!(numbers(&around, "hosts", "offered_gbps")[dead], 0.0);
    let share = lost as f64 / around.totals.injected as f64;
    assert!((share - 1.0 / 15.0).abs() < 0.02, "{share}");
    let planned = run(TORUS, &[("faults.plan", "[{ switch = \"S(1,1)\", at = \"0 s\" }]"), pairs]);
    let (_, lost_by_plan) = to_others(&planned);
    assert!(2 * lost_by_plan > 3 * lost, "{lost_by_plan} {lost}");
    // Another switch that fails later: its routes go around both.
    let later = [
        ("switches.failed", "[\"S(1,1)\"]"),
        ("faults.plan", "[{ switch = \"S(3,3)\", at = \"10 us\", until = \"20 us\" }]"),
        ("faults.reroute_after", "1 us"),
    ];
    balanced(&run(TORUS, &later));
}

/// Packets for the host of a switch that has failed before are lost, without a failure of the plan: windows of congestion control get over it as
/// they do where a failure of the plan is known.
#[test]
fn windows_get_over_packets_for_the_hosts_of_a_failed_switch() {
    for control in ["swift", "hpcc", "nscc"] {
        let windows = [
            ("switches.failed", "[\"S(1,1)\"]"),
            ("congestion_control.algorithm", control),
            ("transport.timeout", "\"5 us\""),
        ];
        let outcome = run(TORUS, &windows);
        balanced(&outcome);
        let known = run(TORUS, &[&windows[..], &[("switch.lifetime_limit", "\"1 s\"")]].concat());
        assert_eq!(outcome.totals, known.totals, "{control}");
        assert!(outcome.invariants.lost.total() > 50, "{control}: {:?}", outcome.invariants.lost);
    }
}

#[test]
fn switches_that_cannot_be_gone_around_are_refused() {
    let refused = |overrides: &[(&str, &str)]| try_prepare(TORUS, overrides).unwrap_err();
    let unknown = refused(&[("switches.failed", "[\"S(1,9)\"]")]);
    for part in ["switches.failed.0: `S(1,9)`", "did you mean `S("] {
        assert!(unknown.contains(part), "{unknown}");
    }
    let fixed = [
        ("switches.failed", "[\"S(1,1)\"]"),
        ("routing.algorithm", "dimension-order"),
        ("routing.lane_policy", "dateline"),
    ];
    let message = refused(&fixed);
    assert!(
        message
            .contains("switches.failed: routing.algorithm = \"dimension-order\" does not find routes around"),
        "{message}"
    );
    let job = [
        ("switches.failed", "[\"S(1,1)\"]"),
        ("jobs", "[{ name = 'step', hosts = ['H(0,1).0', 'H(1,1).0'], program = { barrier = {} } }]"),
    ];
    let message = refused(&job);
    assert!(message.contains("job `step` has a rank on H(1,1).0, whose switch has failed"), "{message}");
    let tables = [
        ("switches.failed", "[\"S(1,1)\"]"),
        ("routing.algorithm", "look-up-tables"),
        ("routing.lane_policy", "dateline"),
    ];
    assert!(refused(&tables).contains("does not find routes around failed switches"));
    let twice = [
        ("switches.failed", "[\"S(1,1)\"]"),
        ("faults.plan", "[{ switch = \"S(1,1)\", at = \"1 us\", until = \"2 us\" }]"),
    ];
    assert!(refused(&twice).contains("faults.plan.0.switch: the switch has failed before the run"));
}
