//! Packets that bit errors damage, on links and in switches, where nothing retransmits them: as many as the closed form says, and each
//! counted by its cause.

use crate::common::tables::{numbers, texts};
use crate::common::{ALL, everything, run, try_prepare};
use fabricsim_simulation::{Outcome, Status};

/// A line of three switches with a host each; packets of 1000 bytes cross four links and three switches.
const LINE: &str = r#"
topology.mesh = { dimensions = [3], hosts_per_switch = 1 }
[links]
errors = "lose"
[links.all]
rate = "32 Gb/s"
latency = "20 ns"
buffer = "16 KiB"
[host]
mtu = "1000 B"
[[traffic]]
sources = ["H(0).0"]
pattern = { to = "H(2).0" }
injection = "poisson"
load = 0.8
message = "1000 B"
[run]
duration = "20 ms"
drain = "empty"
"#;

fn balanced(outcome: &Outcome) {
    let invariants = &outcome.invariants;
    assert!(invariants.packets_ok && invariants.credits_ok, "{invariants:?}");
    assert_eq!((outcome.defect.as_str(), outcome.status, invariants.in_flight), ("", Status::Ok, 0));
    let lost = invariants.lost;
    assert_eq!(invariants.injected, invariants.delivered + lost.vcrc + lost.icrc, "{invariants:?}");
}

/// Packets that were sent over a link, and those that were damaged on it.
fn link(outcome: &Outcome, name: &str) -> (f64, f64) {
    let names = texts(outcome, "links", "link");
    let row = names.iter().position(|found| found == name).unwrap_or_else(|| panic!("{name}: {names:?}"));
    (numbers(outcome, "links", "packets")[row], numbers(outcome, "links", "damaged")[row])
}

/// True if `lost` of `packets` is within four standard deviations of a binomial distribution.
fn is_binomial(lost: f64, packets: f64, chance: f64) -> bool {
    (lost - packets * chance).abs() < 4.0 * (packets * chance * (1.0 - chance)).sqrt()
}

/// Each link loses its packets with the chance that one of their bits fails, overhead included.
#[test]
fn links_lose_packets_as_often_as_the_closed_form_says() {
    const LINKS: [&str; 4] = ["H(0).0->S(0)", "S(0)->S(1)", "S(1)->S(2)", "S(2)->H(2).0"];
    for (rate, overhead) in [("1e-6", 0), ("1e-5", 0), ("1e-5", 250), ("1e-4", 0)] {
        let overhead_text = format!("\"{overhead} B\"");
        let overrides =
            [("links.all.bit_error_rate", rate), ("links.all.packet_overhead", overhead_text.as_str())];
        let outcome = run(LINE, &overrides);
        balanced(&outcome);
        let chance = 1.0 - (1.0 - rate.parse::<f64>().unwrap()).powi(8 * (1000 + overhead));
        let mut all = 0.0;
        for (number, name) in LINKS.iter().enumerate() {
            let (packets, damaged) = link(&outcome, name);
            assert!(is_binomial(damaged, packets, chance), "{rate} {name}: {damaged} of {packets}, {chance}");
            // What is lost on a link is not sent over the next one.
            let next =
                LINKS.get(number + 1).map_or(outcome.totals.delivered as f64, |next| link(&outcome, next).0);
            assert!((packets - damaged - next).abs() <= 1.0, "{rate} {name}: {packets} {damaged} {next}");
            all += damaged;
        }
        assert!(all > 0.0 && (outcome.invariants.lost.vcrc as f64 - all).abs() <= 4.0, "{all}");
    }
    let without = run(LINE, &[]);
    balanced(&without);
    assert_eq!(without.totals.lost.total(), 0);
    let retried = run(LINE, &[("links.errors", "retry"), ("links.all.bit_error_rate", "1e-5")]);
    assert_eq!(retried.totals.lost.total(), 0, "a link layer that retransmits loses nothing");
}

/// Errors in three switches are found by the receiver: the packets cross all links.
#[test]
fn switches_damage_packets_as_often_as_the_closed_form_says() {
    for rate in ["1e-6", "1e-5"] {
        let outcome = run(LINE, &[("switch.bit_error_rate", rate)]);
        balanced(&outcome);
        let chance = 1.0 - (1.0 - rate.parse::<f64>().unwrap()).powi(8 * 1000 * 3);
        let (packets, damaged) = link(&outcome, "S(2)->H(2).0");
        let lost = outcome.invariants.lost;
        assert!((packets - outcome.totals.injected as f64).abs() <= 1.0, "all arrive");
        assert!(
            is_binomial(lost.icrc as f64, packets, chance),
            "{rate}: {} of {packets}, {chance}",
            lost.icrc
        );
        assert!(lost.icrc > 0 && lost.vcrc == 0 && damaged == 0.0);
    }
}

/// The space of a packet that is lost on a link returns as that of one that is not: with room for two packets the sender goes on at the
/// same rate.
#[test]
fn lost_packets_return_their_space() {
    for far_end in ["host = {}", "host.sink.rate = \"20 Gb/s\"", "switch.queueing = \"cioq\""] {
        let (key, value) = far_end.split_once(" = ").unwrap();
        let overrides = [
            ("links.all.bit_error_rate", "1e-4"),
            ("links.all.buffer", "\"2048 B\""),
            ("traffic.0.load", "1.0"),
            (key, value),
        ];
        let outcome = run(LINE, &overrides);
        balanced(&outcome);
        let sent = outcome.totals.injected as f64;
        let without = run(LINE, &overrides[1..]).totals.injected as f64;
        assert!(
            outcome.invariants.lost.vcrc > 10_000 && sent > 0.95 * without,
            "{far_end}: {sent} {without}"
        );
    }
}

/// A transport sends what was lost once more, until all messages have arrived.
#[test]
fn a_transport_recovers_what_errors_lose() {
    let overrides = [
        ("links.all.bit_error_rate", "1e-5"),
        ("switch.bit_error_rate", "1e-5"),
        ("transport", "{ mode = \"ordered\", timeout = \"50 us\" }"),
        ("traffic.0.load", "0.3"),
        ("run.duration", "\"1 ms\""),
    ];
    let outcome = run(LINE, &overrides);
    balanced(&outcome);
    let lost = outcome.invariants.lost;
    assert!(lost.vcrc > 20 && lost.icrc > 20, "{lost:?}");
    assert!(
        outcome.warnings.is_empty(),
        "all messages arrive before the drain's limit: {:?}",
        outcome.warnings
    );
}

/// Transports, jobs, responses, congestion control, with errors everywhere.
#[test]
fn losses_are_the_same_in_every_number_of_partitions() {
    let overrides = [
        ("links.errors", "lose"),
        ("links.all.bit_error_rate", "1e-5"),
        ("links.kind.global.bit_error_rate", "1e-4"),
        ("switch.bit_error_rate", "1e-5"),
        ("run.drain", "none"),
    ];
    let of = |partitions| run(ALL, &[&overrides[..], &[("run.partitions", partitions)]].concat());
    let alone = of("1");
    let lost = alone.invariants.lost;
    assert!(lost.vcrc > 20 && lost.icrc > 20, "{lost:?}");
    assert!(alone.invariants.packets_ok && alone.invariants.credits_ok && alone.defect.is_empty());
    for partitions in ["2", "3", "7"] {
        assert!(everything(&of(partitions)) == everything(&alone), "{partitions} partitions");
    }
}

#[test]
fn error_rates_are_refused_beyond_their_range() {
    let refused = |key, value| try_prepare(LINE, &[(key, value)]).unwrap_err();
    assert!(refused("switch.bit_error_rate", "0.01").contains("switch.bit_error_rate: 0.01 is not allowed"));
    assert!(refused("links.errors", "drop").contains("links.errors"));
}
