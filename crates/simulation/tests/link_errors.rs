//! Links with bit errors: the link layer sends again what fails, and costs what go-back-N costs.

use std::collections::BTreeSet;

use crate::common::observers::Deliveries;
use crate::common::{everything, prepare, run, try_prepare};
use fabricsim_model::Data;
use fabricsim_simulation::{Outcome, demands, describe, zero_load};
use fabricsim_units::{Bytes, HostId, Time};

/// Outcome of micropackets on a direction of a link: the numbers of packets and of failures.
fn link(outcome: &Outcome, name: &str) -> (f64, f64) {
    let table = outcome.tables.iter().find(|table| table.name == "links").unwrap();
    let column = |name| &table.columns.iter().find(|column| column.name == name).unwrap().data;
    let Data::Text(names) = column("link") else { panic!("links have names") };
    let row = names.iter().position(|found| found == name).unwrap_or_else(|| panic!("{name}: {names:?}"));
    let whole = |name| match column(name) {
        Data::Whole(values) => values[row] as f64,
        _ => panic!("{name} is not a count"),
    };
    (whole("packets"), whole("retries"))
}

/// One link with errors, always busy: 4 ns a micropacket, 32 ns there and back with one each way.
const SATURATED: &str = r#"
[topology.single-switch]
hosts = 2
[links.all]
rate = "32 Gb/s"
latency = "12 ns"
buffer = "64 KiB"
[links.retry]
delay = "20 ns"
[[traffic]]
sources = ["H0"]
pattern = { to = "H1" }
injection = "saturating"
message = "2048 B"
[run]
warmup = "10 us"
duration = "5 ms"
"#;

#[test]
fn a_saturated_link_carries_what_go_back_n_carries() {
    let (micropacket, round_trip, duration) = (4.0, 52.0, 5e6);
    for (bytes, rate) in [(2048.0, 1e-6), (2048.0, 1e-4), (64.0, 1e-5), (64.0, 1e-3), (72.0, 1e-3)] {
        let overrides = [
            ("links.named.\"H0-S0\".bit_error_rate", rate.to_string()),
            ("traffic.0.message", format!("\"{bytes} B\"")),
        ];
        let overrides: Vec<_> = overrides.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let outcome = run(SATURATED, &overrides);
        let (packets, retries) = link(&outcome, "H0->S0");
        // The time of a packet: its own, and a round trip for each failure, whose number is negative binomial.
        let m = (bytes / 16.0_f64).ceil();
        let p = 1.0 - (1.0_f64 - rate).powi(168);
        let q = 1.0 - p;
        let mean = bytes * micropacket / 16.0 + m * p / q * round_trip;
        let deviation = (m * p).sqrt() / q * round_trip;
        let expected = duration / mean;
        let slack = 4.0 * deviation / mean * expected.sqrt() + 2.0;
        assert!((packets - expected).abs() < slack, "{rate}: {packets} packets, {expected} +- {slack}");
        let failures = expected * m * p / q;
        assert!((retries - failures).abs() < 5.0 * (failures / q).sqrt(), "{rate}: {retries} {failures}");
        if bytes % 16.0 == 0.0 {
            let theory = q / (q + p * round_trip / micropacket);
            assert!((mean * theory / (bytes * micropacket / 16.0) - 1.0).abs() < 1e-9, "as the formula says");
        }
        assert_eq!(link(&outcome, "S0->H1").1, 0.0, "the other link has no errors");
        assert!(outcome.invariants.packets_ok && outcome.invariants.credits_ok);
    }
}

/// A packet that is alone comes late by whole round trips, of each link its own.
#[test]
fn every_failure_costs_a_round_trip() {
    let overrides = [
        ("traffic.0.injection", "constant"),
        ("traffic.0.load", "0.05"),
        ("traffic.0.message", "256 B"),
        ("links.all.bit_error_rate", "1e-4"),
    ];
    let prepared = prepare(SATURATED, &overrides);
    let mut engine = prepared.engine(Deliveries::default);
    engine.advance(Time::ms(1), &mut |_, _| true);
    let deliveries = engine.observers().next().map(std::mem::take).unwrap().0;
    let latencies: Vec<u64> = deliveries.iter().map(|(at, packet)| (*at - packet.created).0).collect();
    let least = *latencies.iter().min().unwrap();
    assert_eq!(least, zero_load(&prepared, HostId(0), HostId(1), Bytes(256)).0);
    let round_trips: Vec<u64> = latencies
        .iter()
        .map(|latency| {
            assert_eq!((latency - least) % 52_000, 0, "{latency}");
            (latency - least) / 52_000
        })
        .collect();
    let mean = round_trips.iter().sum::<u64>() as f64 / round_trips.len() as f64;
    // Two links, 16 micropackets on each.
    let p = 1.0 - (1.0_f64 - 1e-4).powi(168);
    let expected = 32.0 * p / (1.0 - p);
    let deviation = (expected / (1.0 - p) / round_trips.len() as f64).sqrt();
    assert!(round_trips.len() > 700 && (mean - expected).abs() < 4.0 * deviation, "{mean} {expected}");
}

const TORUS: &str = r#"
[topology.torus]
dimensions = [4, 4]
[links.all]
rate = "25.6 Gb/s"
latency = "5 ns"
buffer = "4 KiB"
bit_error_rate = 1e-5
[links.dimension.x]
bit_error_rate = 1e-4
[links.hosts]
bit_error_rate = 0
[switch]
virtual_lanes = 2
[[traffic]]
pattern = "uniform"
injection = "poisson"
load = 0.4
message = { uniform = { min = "1 B", max = "3 KiB" } }
messages = 200
[run]
duration = "1 ms"
drain = "empty"
"#;

/// The same packets arrive as without errors, each once.
#[test]
fn nothing_is_lost() {
    let delivered = |rate: &str| {
        let overrides = [("links.all.bit_error_rate", rate), ("links.dimension.x.bit_error_rate", rate)];
        let mut engine = prepare(TORUS, &overrides).engine(Deliveries::default);
        engine.advance(Time::ms(10), &mut |_, _| true);
        let totals = engine.totals();
        assert_eq!((totals.injected, totals.in_flight), (totals.delivered, 0));
        assert_eq!(engine.check_credits(), Ok(()));
        let deliveries = engine.observers().next().map(std::mem::take).unwrap().0;
        let packets: BTreeSet<_> =
            deliveries.iter().map(|(_, p)| (p.source, p.sequence, p.destination, p.bytes)).collect();
        assert_eq!(packets.len(), deliveries.len());
        packets
    };
    let without = delivered("0");
    assert!(without.len() > 3000);
    assert!(["1e-6", "1e-5", "1e-3"].iter().all(|rate| delivered(rate) == without));
}

#[test]
fn errors_do_not_depend_on_partitions_and_are_counted_where_they_happen() {
    let of = |partitions| run(TORUS, &[("run.partitions", partitions)]);
    let alone = of("1");
    for partitions in ["2", "3", "7"] {
        assert!(everything(&of(partitions)) == everything(&alone), "{partitions} partitions");
    }
    let (x, y) = (link(&alone, "S(0,0)->S(1,0)"), link(&alone, "S(0,0)->S(0,1)"));
    assert!(x.1 > 3.0 * y.1 && y.1 > 0.0, "{x:?} {y:?}");
    assert_ne!(run(TORUS, &[("seed", "2")]).totals.fingerprint, alone.totals.fingerprint);
}

#[test]
fn without_errors_retries_change_nothing() {
    let clean = [("links.all.bit_error_rate", "0"), ("links.dimension.x.bit_error_rate", "0")];
    let other = [clean[0], clean[1], ("links.retry.delay", "1 us"), ("links.retry.window", "1")];
    assert!(everything(&run(TORUS, &clean)) == everything(&run(TORUS, &other)));
}

#[test]
fn what_is_wrong_is_named() {
    for (key, value, expected) in [
        (
            "links.retry.window",
            "3",
            "links.retry.window: 3 micropackets do not cover the round trip of link S(0,0)-S(1,0), which takes 20 ns \
             at 5 ns a micropacket: give at least 4, or leave it out",
        ),
        ("links.retry.data", "0 B", "links.retry.data: 0 B is not allowed: give a size from 1 B to 4096 B"),
        (
            "links.retry.bits",
            "127",
            "links.retry.bits: 127 is not allowed: give at least 128, the bits of the 16 B of data",
        ),
        ("links.retry.delay", "1 s", "links.retry.delay: 1 s is not allowed: give at most 1 ms"),
        (
            "links.all.bit_error_rate",
            "0.01",
            "links.all.bit_error_rate: 0.01 is not allowed: give a number from 0 to 0.001",
        ),
        (
            "links.dimension.x.bit_error_rate",
            "-1e-9",
            "links.dimension.x.bit_error_rate: -0.000000001 is not allowed",
        ),
        ("links.all.bit_error_rate", "nan", "links.all.bit_error_rate: NaN is not allowed"),
    ] {
        let error = try_prepare(TORUS, &[(key, value)]).err().unwrap_or_else(|| panic!("{key} = {value}"));
        assert!(error.contains(expected), "{error}");
    }
    assert!(try_prepare(TORUS, &[("links.retry.window", "4")]).is_ok());
}

#[test]
fn what_errors_cost_is_known_without_a_run() {
    let overrides = [("links.named.\"H0-S0\".bit_error_rate", "1e-3")];
    let prepared = prepare(SATURATED, &overrides);
    let description = describe(&prepared);
    let errors = description.bit_errors.unwrap();
    let failure = 1.0 - 0.999_f64.powi(168);
    let throughput = (1.0 - failure) / (1.0 - failure + failure * 52.0 / 4.0);
    assert_eq!(errors.links, 1);
    assert!((errors.failure - failure).abs() < 1e-12);
    assert!((errors.throughput - throughput).abs() < 1e-12);
    let packet = description.zero_load.unwrap().packet.0;
    let wait = packet.div_ceil(16) as f64 * failure / (1.0 - failure) * 52e3;
    assert!((errors.wait_ps - wait).abs() < 1e-3, "{} {wait}", errors.wait_ps);
    assert_eq!(description.json()["bit_errors"]["links"], 1);

    let tables = demands(&prepared, None, "e.toml").unwrap().tables;
    let links = tables.iter().find(|table| table.name == "links").unwrap();
    let Data::Real(rates) = &links.columns.iter().find(|column| column.name == "gbps").unwrap().data else {
        panic!("rates are real");
    };
    let bound = rates.iter().copied().fold(f64::MAX, f64::min);
    assert!((bound - 32.0 * throughput).abs() < 1e-9);
    let carried = link(&run(SATURATED, &overrides), "H0->S0").0 * 2048.0 * 8.0 / 5e6;
    assert!((carried / bound - 1.0).abs() < 0.01, "{carried} of {bound}");
}

#[test]
fn links_without_errors_are_not_told_of() {
    let description = describe(&prepare(SATURATED, &[]));
    assert_eq!(description.bit_errors, None);
    assert!(description.json().get("bit_errors").is_none());
}
