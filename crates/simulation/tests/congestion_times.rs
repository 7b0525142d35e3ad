//! Times for which flows are victims of congestion: they are integrated over looks at fixed simulated times, and do not depend
//! on the distance of these by more than that distance.

use crate::common::{everything, run};
use fabricsim_model::Data;
use fabricsim_simulation::Outcome;

/// 32 hosts of one switch send to one host of the other, from 0.5 to 1.25 ms, and a 33rd to another all the time. The link
/// between the switches carries four such streams, so that it waits for the last link: the 33rd is a victim. With such a
/// latency no credit returns at the very time of a look, where it would not have been used yet.
const INCAST: &str = r#"
[topology.mesh]
dimensions = [2]
hosts_per_switch = 33
[links.all]
rate = "8 Gb/s"
latency = "10007 ps"
buffer = "8 KiB"
[links.dimension.x]
rate = "32 Gb/s"
[host]
mtu = "256 B"
[[traffic]]
sources = [
  "H(0).0", "H(0).1*", "H(0).2*", "H(0).3", "H(0).4", "H(0).5", "H(0).6", "H(0).7", "H(0).8", "H(0).9", "H(0).30", "H(0).31",
]
pattern = { to = "H(1).0" }
injection = "saturating"
message = "256 B"
start = "500 us"
stop = "1250 us"
[[traffic]]
sources = ["H(0).32"]
pattern = { to = "H(1).1" }
injection = "saturating"
message = "256 B"
[run]
duration = "2 ms"
"#;
const VICTIM: &str = "H(0).32->H(1).1";
const ROOT: &str = "S(1)->H(1).0";

fn column<'a>(outcome: &'a Outcome, table: &str, name: &str) -> &'a Data {
    let table = outcome.tables.iter().find(|found| found.name == table).unwrap();
    &table.columns.iter().find(|found| found.name == name).unwrap_or_else(|| panic!("no {name}")).data
}

fn real<'a>(outcome: &'a Outcome, table: &str, name: &str) -> &'a [f64] {
    let Data::Real(values) = column(outcome, table, name) else { panic!("{name} is not real") };
    values
}

fn text<'a>(outcome: &'a Outcome, table: &str, name: &str) -> &'a [String] {
    let Data::Text(values) = column(outcome, table, name) else { panic!("{name} is not text") };
    values
}

/// Time as victim of a flow, in microseconds; 0 if it is in no tree.
fn victim_us(outcome: &Outcome, flow: &str) -> f64 {
    let flows = text(outcome, "congestion_flows", "flow");
    let place = flows.iter().position(|found| found == flow);
    place.map_or(0.0, |place| real(outcome, "congestion_flows", "victim_ns")[place] * 1e-3)
}

fn every(interval: &str) -> Outcome {
    run(INCAST, &[("measure.congestion_interval", interval)])
}

#[test]
fn an_incast_has_victims_for_as_long_as_it_lasts() {
    let outcome = run(INCAST, &[]);
    assert_eq!((outcome.looks.looks, outcome.looks.interval_ns), (100, 20_000.0));
    // The last link takes a byte a nanosecond. Of the incast's 750 us, and of what it leaves in the buffers of 32 inputs and of
    // the second switch, the tree lasts until less than half a buffer waits. It forms in less than 10 us.
    let (least, most) = (750.0 + 31.0 * 8.192 - 10.0, 750.0 + 33.0 * 8.192 + 10.0);
    let time = victim_us(&outcome, VICTIM);
    assert!((least - 20.0..=most + 20.0).contains(&time), "{time} us: {least} to {most} us");
    let flows = text(&outcome, "congestion_flows", "flow");
    assert_eq!(flows.len(), 33);
    let others = flows.iter().filter(|flow| *flow != VICTIM);
    assert!(others.clone().all(|flow| victim_us(&outcome, flow) == 0.0));
    let contributed = real(&outcome, "congestion_flows", "contributor_ns");
    for (flow, ns) in flows.iter().zip(contributed).filter(|(flow, _)| *flow != VICTIM) {
        assert!((ns * 1e-3 - time).abs() <= 40.0, "{flow}: {ns} ns");
    }
}

#[test]
fn a_tree_is_dated_from_the_first_look_that_finds_it() {
    let outcome = run(INCAST, &[]);
    let rows = |name| real(&outcome, "congestion_trees", name).iter();
    let roots = text(&outcome, "congestion_trees", "root").iter();
    let rows: Vec<_> = roots.zip(rows("time_ns").zip(rows("until_ns").zip(rows("since_ns")))).collect();
    let of_root: Vec<_> = rows.iter().filter(|(root, _)| *root == ROOT).collect();
    assert!(of_root.len() > 40, "{}", of_root.len());
    // The incast begins at 500 us, where a look is due that does not see it yet.
    assert!(of_root.iter().all(|(_, (_, (_, since)))| **since == 520_000.0));
    for (root, (time, (until, since))) in &rows {
        assert!(
            *since <= *time && **until == (**time + 20_000.0).min(2e6),
            "{root}: {since}, {time} to {until}"
        );
    }
    let seen: f64 = of_root.iter().map(|(_, (time, (until, _)))| *until - *time).sum();
    let place = text(&outcome, "links", "link").iter().position(|link| link == ROOT).unwrap();
    assert!((real(&outcome, "links", "root")[place] - seen / 2e6).abs() < 1e-12);
}

/// Half the interval changes the time by at most the interval, and the finest is close to all.
#[test]
fn times_do_not_depend_on_the_interval() {
    let intervals = [80.0, 40.0, 20.0, 10.0, 5.0, 2.5, 1.25, 0.625];
    let times: Vec<f64> =
        intervals.iter().map(|us| victim_us(&every(&format!("'{} ns'", us * 1e3)), VICTIM)).collect();
    for (pair, interval) in times.windows(2).zip(intervals) {
        assert!((pair[0] - pair[1]).abs() <= interval, "{times:?}");
    }
    let finest = times[times.len() - 1];
    assert!(
        times.iter().zip(intervals).all(|(time, interval)| (time - finest).abs() <= interval),
        "{times:?}"
    );
}

#[test]
fn times_are_those_within_the_measurement() {
    // From 1 ms on, in the middle of the incast, for 0.2 ms: a victim all the time.
    let during = run(INCAST, &[("run.warmup", "'1 ms'"), ("run.duration", "'200 us'")]);
    assert_eq!(victim_us(&during, VICTIM), 200.0);
    // Before it begins.
    let before = run(INCAST, &[("run.duration", "'400 us'")]);
    assert_eq!((before.looks.looks, victim_us(&before, VICTIM)), (100, 0.0));
}

#[test]
fn with_too_few_looks_there_are_no_times() {
    for (interval, looks) in [("'100 us'", 20), ("'106 us'", 19), ("'3 ms'", 1)] {
        let outcome = every(interval);
        assert_eq!(outcome.looks.looks, looks, "{interval}");
        let known = looks >= 20;
        for name in ["victim_ns", "contributor_ns"] {
            let times = real(&outcome, "congestion_flows", name);
            assert!(times.iter().all(|time| time.is_nan() != known), "{interval} {name}: {times:?}");
        }
        for name in ["root", "branch"] {
            let parts = real(&outcome, "links", name);
            assert!(parts.iter().all(|part| part.is_nan() != known), "{interval} {name}: {parts:?}");
        }
    }
}

#[test]
fn every_number_of_partitions_computes_the_same_times() {
    let steady = "{ precision = 0.5, batch = '20 us' }";
    for overrides in [&[][..], &[("run.warmup", "'333 us'")], &[("run.steady_state", steady)]] {
        let of = |partitions| run(INCAST, &[overrides, &[("run.partitions", partitions)]].concat());
        let alone = everything(&of("1"));
        for partitions in ["2", "3", "7"] {
            assert!(everything(&of(partitions)) == alone, "{overrides:?} in {partitions} partitions");
        }
    }
}

/// A drain that lasts 300 times as long as the measurement.
const LONG_DRAIN: &str = r#"
topology.hypercube.dimensions = 3
switch.virtual_lanes = 6
links.all.rate = "1 Gb/s"
links.hosts.rate = "400 Gb/s"
traffic = [{ pattern = "uniform", load = 0.9, message = "2 KiB" }]
run = { duration = "5 us", drain = "empty", drain_limit = "10 ms" }
"#;

#[test]
fn samples_of_a_long_drain_are_few() {
    let outcome = run(LONG_DRAIN, &[]);
    let mut times = real(&outcome, "congestion_trees", "time_ns").to_vec();
    times.dedup();
    // The first 5 us of the drain have a hundred; after that 70 for each factor of two.
    assert!((100..800).contains(&times.len()), "{}", times.len());
    assert!(times.last().is_some_and(|&last| last > 300_000.0), "{:?}", times.last());
    let apart: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(apart.first().is_some_and(|&first| (first - 50.0).abs() < 1e-6));
    let given = run(LONG_DRAIN, &[("measure.congestion_interval", "\"10 us\"")]);
    let mut times = real(&given, "congestion_trees", "time_ns").to_vec();
    times.dedup();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 10_000.0 - 1e-6), "a given interval stays");
    assert!(times.len() > 30);
}
