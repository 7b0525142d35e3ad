//! Hosts of different service classes or levels that saturate one link, and what they get of it.

use fabricsim_simulation::Outcome;

use super::run;
use super::tables::{numbers, texts};

/// Three hosts saturate the link of a fourth, each with a service class of its own; `classes` is the key of the switch that gives
/// these their three lanes.
pub fn star(classes: &str) -> String {
    let flow = |number: usize| {
        format!(
            r#"
[[traffic]]
sources = ["H{number}"]
pattern = {{ to = "H3" }}
injection = "saturating"
message = "4 KiB"
service_class = {number}
"#
        )
    };
    let traffic: String = (0..3).map(flow).collect();
    format!(
        r#"
topology.single-switch = {{ hosts = 4 }}
[links.all]
rate = "100 Gb/s"
latency = "10 ns"
buffer = "16 KiB"
[switch]
virtual_lanes = 3
{classes}
[host]
mtu = "1 KiB"
{traffic}
[run]
warmup = "20 us"
duration = "400 us"
"#
    )
}

/// Entries of a table of arbitration: lanes and weights.
pub fn entries(weights: &[(u8, u8)]) -> String {
    let all: Vec<String> =
        weights.iter().map(|(vl, weight)| format!("{{ vl = {vl}, weight = {weight} }}")).collect();
    format!("[{}]", all.join(", "))
}

/// Tables of arbitration, of high and of low priority.
pub fn weights(high: &[(u8, u8)], low: &[(u8, u8)], limit: u8) -> String {
    format!("{{ high = {}, low = {}, high_limit = {limit} }}", entries(high), entries(low))
}

/// Parts of 100 Gb/s that flows got, in the order of their sources and destinations.
pub fn shares(outcome: &Outcome) -> Vec<f64> {
    assert!(outcome.invariants.packets_ok && outcome.invariants.credits_ok, "{}", outcome.defect);
    let rates = numbers(outcome, "flows", "accepted_gbps");
    let total: f64 = rates.iter().sum();
    assert!(total > 99.0, "the link is full: {rates:?}");
    let ends = texts(outcome, "flows", "source").into_iter().zip(texts(outcome, "flows", "destination"));
    let mut found: Vec<((String, String), f64)> = ends.zip(rates).collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found.into_iter().map(|(_, rate)| rate / total).collect()
}

/// Holds the shares against those expected. A turn of bytes is at most a packet more or less in the measurement: 1 KiB of 5 MB.
pub fn assert_shares(experiment: &str, set: &[(&str, &str)], expected: &[f64]) {
    let found = shares(&run(experiment, set));
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 0.003, "{set:?}: {found} instead of {expected}");
    }
}
