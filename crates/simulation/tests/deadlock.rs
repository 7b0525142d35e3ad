//! A network that stops: deadlock, saturation and starvation are distinguished.

use crate::common::{DEADLOCKING_RING, everything, prepare, run};
use fabricsim_engine::Prepared;
use fabricsim_simulation::{Control, Outcome, Status, permit, simulate};
use fabricsim_units::Time;

const ALLOWED: (&str, &str) = ("run.allow_deadlock", "true");

fn ring(more: &str, overrides: &[(&str, &str)]) -> Prepared {
    prepare(&DEADLOCKING_RING.replace("[run]", &format!("{more}\n[run]")), overrides)
}

fn finish(prepared: &Prepared) -> Outcome {
    let outcome = simulate(prepared, &Control::default());
    assert!(outcome.invariants.packets_ok && outcome.invariants.credits_ok, "{}", outcome.defect);
    outcome
}

/// The switches that the lines of a deadlock name, and those behind the outputs that they wait for.
fn switches(lines: &[String]) -> Vec<(String, String)> {
    let names = |line: &String| {
        let (from, rest) = line.split_once(" port ").unwrap();
        (from.to_owned(), rest.rsplit_once(" to ").unwrap().1.to_owned())
    };
    lines.iter().map(names).collect()
}

#[test]
fn a_cyclic_experiment_is_refused_by_the_names_of_its_cycle() {
    let refused = permit(&ring("", &[]), None, "ring.toml").unwrap_err().to_string();
    assert!(refused.starts_with("ring.toml: run.allow_deadlock: "), "{refused}");
    for part in ["S(0)->S(1)", "lane 0", "allow_deadlock = true", "more virtual lanes"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert_eq!(permit(&ring("", &[ALLOWED]), None, "ring.toml"), Ok(()));
    assert_eq!(permit(&ring("", &[("switch.virtual_lanes", "2")]), None, "ring.toml"), Ok(()));
}

#[test]
fn a_ring_without_a_second_lane_stops_and_says_where() {
    // With staging buffers an output that takes turns between its host and the ring would go on for ever.
    let first = ("switch.arbiter", "fixed-priority");
    let turns = ("switch.arbiter", "round-robin");
    for (queueing, arbiter) in [("fifo", turns), ("voq", turns), ("cioq", first)] {
        let small = ("switch.staging.buffer", "512 B");
        let overrides = [ALLOWED, small, arbiter, ("switch.queueing", queueing), ("run.duration", "1 s")];
        let outcome = finish(&ring("", &overrides));
        assert_eq!(outcome.status, Status::Deadlock, "{queueing}");
        assert!(outcome.end < Time::ms(50), "found long before the end: {}", outcome.end);
        assert!(outcome.invariants.in_flight >= 6);
        // All six switches, each waiting for the next.
        let cycle = switches(&outcome.deadlock);
        assert_eq!(cycle.len(), 6, "{:#?}", outcome.deadlock);
        assert!((0..6).all(|i| cycle[i].1 == cycle[(i + 1) % 6].0), "{cycle:?}");
        let line = &outcome.deadlock[0];
        for part in [" port ", " lane 0: packet ", " of H(", " to H(", " waits for output "] {
            assert!(line.contains(part), "{line}");
        }
    }
    let what_was_measured = finish(&ring("", &[ALLOWED, ("run.drain", "empty")]));
    assert_eq!(what_was_measured.status, Status::Deadlock);
    assert!(what_was_measured.tables.iter().any(|table| table.name == "flows"));
}

#[test]
fn with_a_dateline_the_same_ring_goes_on() {
    let outcome = finish(&ring("", &[("switch.virtual_lanes", "2")]));
    assert_eq!((outcome.status, outcome.end), (Status::Ok, Time::ms(2)));
    assert!(
        outcome.deadlock.is_empty() && outcome.summary.hosts.saturated && outcome.summary.flows.starving == 0
    );
}

/// Beside the ring, hosts that send to a neighbour on their own switch: something always happens.
const LOCAL: &str = r#"
[[traffic]]
sources = ["H(0).1"]
pattern = { to = "H(0).2" }
injection = "constant"
load = 0.5
message = "512 B"
"#;

#[test]
fn a_part_that_stops_is_found_while_the_rest_goes_on() {
    let outcome = finish(&ring(LOCAL, &[ALLOWED, ("run.duration", "1 s")]));
    assert_eq!(outcome.status, Status::Deadlock);
    assert!(outcome.end < Time::ms(50) && outcome.end > Time::ZERO, "{}", outcome.end);
    assert_eq!(switches(&outcome.deadlock).len(), 6, "{:#?}", outcome.deadlock);
    let flow = outcome.summary.flows.flows.iter().find(|flow| flow.source == "H(0).1").unwrap();
    assert!((flow.accepted_gbps / 4.0 - 1.0).abs() < 0.01, "it lost nothing: {flow:?}");
}

/// On the lanes of their own, one switch further: their packets use the very links at which others wait for ever. The
/// lane of a flow is the parity of the sum of its hosts' numbers.
const NEIGHBOURS: &str = r#"
[[traffic]]
sources = ["H(*).1"]
pattern = "neighbour"
injection = "saturating"
message = "512 B"
"#;

#[test]
fn a_lane_that_stops_is_found_though_its_links_are_busy() {
    let lanes = [
        ALLOWED,
        ("switch.virtual_lanes", "2"),
        ("routing.algorithm", "shortest-path"),
        ("routing.lane_selection", "by-flow"),
        ("run.duration", "100 ms"),
        ("switch.staging.buffer", "512 B"),
    ];
    let turns = "round-robin";
    for (reads, queueing, arbiter) in
        [("0", "voq", turns), ("1", "voq", turns), ("0", "fifo", turns), ("1", "cioq", "fixed-priority")]
    {
        let switch = [("switch.queueing", queueing), ("switch.arbiter", arbiter)];
        let overrides = [&lanes[..], &[("links.all.reads", reads)], &switch].concat();
        let outcome = finish(&ring(NEIGHBOURS, &overrides));
        assert_eq!(outcome.status, Status::Deadlock, "{reads} {queueing}");
        assert!(outcome.end < Time::ms(10), "{}", outcome.end);
        assert!(outcome.deadlock.iter().all(|line| line.contains("lane 0")), "{:#?}", outcome.deadlock);
        let moving = outcome.summary.flows.flows.iter().filter(|flow| flow.source.ends_with(".1"));
        assert!(moving.clone().count() == 6 && moving.clone().all(|flow| flow.accepted_gbps > 0.5));
    }
}

#[test]
fn what_is_found_does_not_depend_on_partitions() {
    for more in ["", LOCAL] {
        let of = |partitions| everything(&finish(&ring(more, &[ALLOWED, ("run.partitions", partitions)])));
        let alone = of("1");
        assert!(["2", "3", "7"].iter().all(|partitions| of(partitions) == alone));
    }
}

#[test]
fn a_saturated_torus_is_saturated_and_nothing_else() {
    let torus = r#"
        [topology.torus]
        dimensions = [4, 4, 4]
        [links.all]
        buffer = "512 B"
        [switch]
        virtual_lanes = 2
        [host]
        mtu = "512 B"
        [[traffic]]
        pattern = "uniform"
        injection = "saturating"
        message = "512 B"
        [run]
        duration = "100 us"
    "#;
    for (queueing, pattern) in
        [("fifo", "uniform"), ("voq", "tornado"), ("fifo", "bit-complement"), ("cioq", "uniform")]
    {
        let prepared = prepare(torus, &[("switch.queueing", queueing), ("traffic.0.pattern", pattern)]);
        assert_eq!(permit(&prepared, None, "torus.toml"), Ok(()));
        let outcome = finish(&prepared);
        assert_eq!((outcome.status, outcome.end), (Status::Ok, Time::us(100)), "{:#?}", outcome.deadlock);
        assert!(outcome.summary.hosts.saturated && outcome.summary.hosts.saturation.is_some());
    }
}

#[test]
fn starvation_is_not_deadlock() {
    let contended = r#"
        [topology.single-switch]
        hosts = 4
        [links.all]
        buffer = "4 KiB"
        [switch]
        arbiter = "fixed-priority"
        [[traffic]]
        pattern = { to = "H3" }
        injection = "saturating"
        message = "2 KiB"
        [run]
        duration = "1 ms"
    "#;
    let outcome = run(contended, &[]);
    assert_eq!(
        (outcome.status, outcome.summary.flows.starving, outcome.summary.hosts.saturated),
        (Status::Ok, 2, true)
    );
    let fair = run(contended, &[("switch.arbiter", "round-robin")]);
    assert_eq!(
        (fair.status, fair.summary.flows.starving, fair.summary.hosts.saturated),
        (Status::Ok, 0, true)
    );
    let light = run(contended, &[("traffic.0.injection", "poisson"), ("traffic.0.load", "0.2")]);
    assert_eq!(
        (light.status, light.summary.flows.starving, light.summary.hosts.saturated),
        (Status::Ok, 0, false)
    );
}
