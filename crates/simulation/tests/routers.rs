//! Performance counters of routers, against what other tables say of the same runs.

use crate::common::{everything, run};
use fabricsim_model::{Data, Table};
use fabricsim_simulation::{Outcome, Status};

/// Packets of nine flits on a torus of 4x3 routers like the SeaStar, with small buffers; everybody sends 200 packets at once, and the
/// measurement lasts until all have arrived.
const TORUS: &str = r#"
[topology.torus]
dimensions = [4, 3]
[links.all]
rate = "32 Gb/s"
latency = "10 ns"
buffer = "160 B"
[switch]
router_delay = "50 ns"
virtual_lanes = 4
service_classes = 2
flow_control_unit = "8 B"
queueing = "cioq"
staging = { buffer = "128 B" }
arbiter = "age-based"
age = { period = 8, bias = { dimension = { x = 2 } } }
[host]
mtu = "72 B"
[[traffic]]
pattern = "uniform"
injection = "saturating"
message = "72 B"
messages = 200
[[traffic]]
pattern = "uniform"
injection = "saturating"
message = "72 B"
messages = 50
service_class = 1
[run]
duration = "1 ms"
drain = "empty"
[measure]
router_counters = true
"#;

const PACKETS: f64 = 12.0 * 250.0;
const CYCLE_NS: f64 = 2.0;

fn table<'a>(outcome: &'a Outcome, name: &str) -> &'a Table {
    outcome.tables.iter().find(|table| table.name == name).unwrap()
}

fn numbers(outcome: &Outcome, name: &str, column: &str) -> Vec<f64> {
    let columns = &table(outcome, name).columns;
    match &columns.iter().find(|found| found.name == column).unwrap().data {
        Data::Real(values) => values.clone(),
        Data::Whole(values) => values.iter().map(|&value| value as f64).collect(),
        Data::Text(_) => panic!("{column} is text"),
    }
}

fn texts(outcome: &Outcome, name: &str, column: &str) -> Vec<String> {
    let columns = &table(outcome, name).columns;
    match &columns.iter().find(|found| found.name == column).unwrap().data {
        Data::Text(values) => values.clone(),
        other => panic!("{other:?}"),
    }
}

fn sum(outcome: &Outcome, column: &str) -> f64 {
    numbers(outcome, "router_ports", column).iter().sum()
}

/// Sum of a mean over the packets that outputs chose.
fn total(outcome: &Outcome, mean: &str) -> f64 {
    let counts = numbers(outcome, "router_ports", "granted");
    let means = numbers(outcome, "router_ports", mean);
    means.iter().zip(&counts).filter(|(_, count)| **count > 0.0).map(|(mean, count)| mean * count).sum()
}

/// Sum over the packets of a function of the routers that they pass: one more than their hops.
fn by_routers(outcome: &Outcome, value: impl Fn(f64) -> f64) -> f64 {
    let hops = numbers(outcome, "hops", "hops");
    let packets = numbers(outcome, "hops", "packets");
    hops.iter().zip(packets).map(|(hops, packets)| value(hops + 1.0) * packets).sum()
}

fn close(ours: f64, expected: f64) -> bool {
    (ours - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

const SWITCHES: [(&str, &str); 5] = [
    ("cioq", "age-based"),
    ("cioq", "round-robin"),
    ("voq", "age-based"),
    ("fifo", "oldest-first"),
    ("voq", "random"),
];

fn each_switch(check: impl Fn(&Outcome, &str)) {
    for (queueing, arbiter) in SWITCHES {
        let outcome = run(TORUS, &[("switch.queueing", queueing), ("switch.arbiter", arbiter)]);
        assert_eq!(outcome.status, Status::Ok);
        assert_eq!(outcome.summary.latency.latency_packets as f64, PACKETS);
        check(&outcome, &format!("{queueing}, {arbiter}"));
    }
}

/// The waits of packets in all routers are all that their latency has beyond links, routers and their own length.
#[test]
fn waits_make_up_the_latency() {
    each_switch(|outcome, switch| {
        let latency = outcome.summary.latency.network_latency_ns.mean * PACKETS;
        // 72 bytes take 18 ns.
        let alone = by_routers(outcome, |routers| (routers + 1.0) * 10.0 + routers * 50.0 + 18.0);
        let waited = total(outcome, "queueing_cycles") * CYCLE_NS;
        assert!(waited > 0.2 * alone, "{switch}: {waited} of {alone}");
        assert!(close(waited, latency - alone), "{switch}: {waited}, {}", latency - alone);
    });
}

#[test]
fn every_router_counts_every_packet() {
    each_switch(|outcome, switch| {
        let passed = by_routers(outcome, |routers| routers);
        assert_eq!((sum(outcome, "packets"), sum(outcome, "flits")), (passed, 9.0 * passed), "{switch}");
        assert_eq!(sum(outcome, "granted"), passed, "{switch}");
        let groups = ["age_0_63", "age_64_127", "age_128_191", "age_192_255"];
        assert_eq!(groups.iter().map(|group| sum(outcome, group)).sum::<f64>(), passed, "{switch}");
        // Packets leave to hosts, and come from them, once each.
        let directions = texts(outcome, "router_dimensions", "direction");
        assert_eq!(directions, ["+x", "-x", "+y", "-y", "host"]);
        for column in ["packets", "granted"] {
            assert_eq!(numbers(outcome, "router_dimensions", column)[4], PACKETS, "{switch}");
        }
        assert_eq!(numbers(outcome, "router_dimensions", "ports"), [12.0; 5]);
    });
}

/// Stalls of the ports of routers are those of the table of links, in which hosts have some, too.
#[test]
fn stalls_are_those_of_links() {
    each_switch(|outcome, switch| {
        let from_router = |name: &String| name.starts_with('S');
        let links = texts(outcome, "links", "link");
        let stalled = numbers(outcome, "links", "stalled");
        let measured = outcome.summary.measured_ns / CYCLE_NS;
        let rows = links.iter().zip(&stalled).filter(|(name, _)| from_router(name));
        let expected = rows.map(|(_, part)| part * measured).sum::<f64>();
        assert!(expected > 0.0, "{switch}");
        assert!(close(sum(outcome, "stalled_cycles"), expected), "{switch}");
    });
}

#[test]
fn heads_are_blocked_only_before_staging_buffers() {
    each_switch(|outcome, switch| {
        let blocked = sum(outcome, "blocked_cycles");
        assert_eq!(blocked > 0.0, switch.starts_with("cioq"), "{switch}: {blocked}");
    });
}

/// With a clock that stands still, ages are the bias of all ports so far.
#[test]
fn ages_are_counted_as_packets_leave() {
    let outcome = run(TORUS, &[("switch.age.period", "0"), ("switch.age.bias", "{ all = 1 }")]);
    let ages = total(&outcome, "age_mean");
    assert!(close(ages, by_routers(&outcome, |routers| routers * (routers + 1.0) / 2.0)), "{ages}");
    assert_eq!(sum(&outcome, "age_64_127"), 0.0);
    let quick = run(TORUS, &[("switch.age.period", "1")]);
    assert!(sum(&quick, "age_64_127") > 0.0);
    assert!(total(&quick, "age_mean") > 2.0 * total(&run(TORUS, &[]), "age_mean"));
    let none = run(TORUS, &[("switch.arbiter", "round-robin")]);
    assert_eq!(total(&none, "age_mean"), 0.0);
}

/// Responses, on the upper half of the service classes' lanes, have a bias of their own. With a clock that stands still, ages
/// are sums of biases.
#[test]
fn responses_age_by_their_own_bias() {
    /// Sum of the ages of packets that came in on the lanes of requests, and on those of responses.
    fn ages(outcome: &Outcome) -> [f64; 2] {
        let [lanes, counts, means] =
            ["lane", "granted", "age_mean"].map(|column| numbers(outcome, "router_ports", column));
        let mut sums = [0.0; 2];
        for ((lane, count), mean) in lanes.iter().zip(counts).zip(means).filter(|found| found.0.1 > 0.0) {
            sums[usize::from(*lane >= 2.0)] += mean * count;
        }
        sums
    }
    let still = [("switch.age.period", "0"), ("switch.age.bias", "{ all = 1 }")];
    let same = ages(&run(TORUS, &still));
    assert!(same[0] > 0.0 && same[1] > 0.0, "{same:?}");
    for (bias, factor) in [("{ all = 3 }", 3.0), ("{ all = 0 }", 0.0)] {
        let [requests, responses] =
            ages(&run(TORUS, &[&still[..], &[("switch.age.response_bias", bias)]].concat()));
        assert!(
            close(requests, same[0]) && close(responses, factor * same[1]),
            "{bias}: {requests} {responses}"
        );
    }
}

#[test]
fn the_number_of_partitions_changes_nothing() {
    let one = run(TORUS, &[]);
    for partitions in ["2", "3", "7"] {
        let several = run(TORUS, &[("run.partitions", partitions)]);
        assert_eq!(everything(&several), everything(&one));
    }
}

#[test]
fn a_run_without_counters_is_the_same_run() {
    let (with, without) = (run(TORUS, &[]), run(TORUS, &[("measure.router_counters", "false")]));
    assert_eq!(with.totals, without.totals);
    assert!(with.summary.routers.is_some());
    assert!(without.summary.routers.is_none());
    assert!(without.tables.iter().all(|table| !table.name.starts_with("router")));
}

/// The measurement is a part of the run: busy and idle intervals at its ends are cut.
#[test]
fn a_window_cuts_intervals() {
    let change = [
        ("run.warmup", "2 us"),
        ("run.duration", "1 us"),
        ("run.drain", "none"),
        ("traffic.0.messages", "100000"),
    ];
    let outcome = run(TORUS, &change);
    let cycles = 500.0;
    for column in ["blocked_cycles", "stalled_cycles"] {
        let found = numbers(&outcome, "router_ports", column);
        assert!(found.iter().all(|&value| (0.0..=cycles).contains(&value)), "{column}");
    }
    assert!(numbers(&outcome, "router_ports", "stalled_cycles").iter().any(|&value| value > 0.0));
}

/// Packets that are still blocked or stalled at the end of a run count up to there: as in a run that goes on behind the
/// measurement.
#[test]
fn a_run_that_ends_with_its_window_counts_what_one_that_goes_on_counts_in_it() {
    let window = [("run.warmup", "2 us"), ("run.duration", "1 us")];
    let of = |drain| {
        let outcome = run(TORUS, &[window[0], window[1], ("run.drain", drain)]);
        ["blocked_cycles", "stalled_cycles"].map(|column| numbers(&outcome, "router_ports", column))
    };
    let (ends, goes_on) = (of("none"), of("empty"));
    assert!(ends[0].iter().any(|&value| value > 0.0));
    for (ends, goes_on) in ends.iter().flatten().zip(goes_on.iter().flatten()) {
        assert!(close(*ends, *goes_on), "{ends} {goes_on}");
    }
}

/// Clocks of different phases change which packets are the oldest; where ages do not decide, they change nothing.
#[test]
fn phases_of_age_clocks_matter_where_ages_decide() {
    let totals = |phase, arbiter| {
        run(TORUS, &[("switch.age.phase", phase), ("switch.arbiter", arbiter)]).totals.fingerprint
    };
    assert_ne!(totals("common", "age-based"), totals("random", "age-based"));
    assert_eq!(totals("common", "oldest-first"), totals("random", "oldest-first"));
}
