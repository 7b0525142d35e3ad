//! Counters of ports by their names in InfiniBand.

mod common;

use std::collections::BTreeMap;

use common::tables::{numbers, texts};
use common::{everything, run};
use fabricsim_simulation::Outcome;

/// Two hosts share the link of a third.
const INCAST: &str = r#"
topology.single-switch = { hosts = 3 }
[links.all]
rate = "100 Gb/s"
latency = "10 ns"
buffer = "16 KiB"
[host]
mtu = "1 KiB"
[[traffic]]
sources = ["H0", "H1"]
pattern = { to = "H2" }
injection = "saturating"
message = "4 KiB"
[measure]
port_counters = true
[run]
warmup = "20 us"
duration = "400 us"
"#;

/// A counter by node and port.
fn counter(outcome: &Outcome, name: &str) -> BTreeMap<(String, u64), f64> {
    let ports = numbers(outcome, "port_counters", "port").into_iter().map(|port| port as u64);
    let places = texts(outcome, "port_counters", "node").into_iter().zip(ports);
    places.zip(numbers(outcome, "port_counters", name)).collect()
}

fn at(outcome: &Outcome, name: &str, (node, port): (&str, u64)) -> f64 {
    counter(outcome, name)[&(node.to_owned(), port)]
}

/// H0 and H1 send half of the time each, and wait for credits in the other half; all that they send the switch receives, and H2.
#[test]
fn waiting_is_counted_in_words_like_data() {
    let outcome = run(INCAST, &[]);
    let words = 400e-6 * 100e9 / 32.0;
    for (host, port) in [("H0", 1), ("H1", 2)] {
        let (sent, waited) =
            (at(&outcome, "PortXmitData", (host, 1)), at(&outcome, "PortXmitWait", (host, 1)));
        // Within a packet of 256 words.
        assert!((sent - words / 2.0).abs() <= 256.0, "{sent}");
        assert!((sent + waited - words).abs() <= 512.0, "{sent} {waited}");
        assert_eq!(sent, at(&outcome, "PortRcvData", ("S0", port)));
        assert_eq!(at(&outcome, "PortXmitPkts", (host, 1)), at(&outcome, "PortRcvPkts", ("S0", port)));
        assert_eq!(at(&outcome, "PortXmitData", ("S0", port)), 0.0);
    }
    let last = ("S0", 3);
    assert!((at(&outcome, "PortXmitData", last) - words).abs() <= 256.0);
    assert_eq!(at(&outcome, "PortXmitWait", last), 0.0, "the sink takes packets as they come");
    assert_eq!(at(&outcome, "PortXmitPkts", last), at(&outcome, "PortRcvPkts", ("H2", 1)));
}

/// An error of a link is counted where the packet arrives, and a discarded packet where it would have left.
#[test]
fn errors_are_counted_at_the_port_that_notices_them() {
    let outcome = run(
        INCAST,
        &[
            ("links.all.bit_error_rate", "1e-6"),
            ("links.errors", "\"lose\""),
            ("traffic.0.sources", "[\"H0\"]"),
        ],
    );
    let errors = counter(&outcome, "PortRcvErrors");
    let damaged: f64 = numbers(&outcome, "links", "damaged").iter().sum();
    assert!(damaged > 10.0, "{damaged}");
    assert_eq!(errors.values().sum::<f64>(), damaged);
    assert_eq!(errors, counter(&outcome, "SymbolErrorCounter"));
    assert_eq!(errors[&("H0".to_owned(), 1)], 0.0, "nothing arrives there");
    assert!(errors[&("S0".to_owned(), 1)] > 0.0 && errors[&("H2".to_owned(), 1)] > 0.0);
}

#[test]
fn failures_are_counted_at_both_ends() {
    let plan = r#"[{ link = "H1-S0", at = "50 us", until = "60 us" }, { link = "H1-S0", at = "70 us", until = "80 us" }]"#;
    let outcome = run(INCAST, &[("faults", &format!("{{ plan = {plan} }}"))]);
    let downs = counter(&outcome, "LinkDownedCounter");
    let of = |node: &str, port| downs[&(node.to_owned(), port)];
    assert_eq!((of("H1", 1), of("S0", 2), of("H0", 1), of("S0", 1)), (2.0, 2.0, 0.0, 0.0));
}

#[test]
fn there_are_none_without_the_key_and_partitions_do_not_matter() {
    assert!(texts(&run(INCAST, &[("measure.port_counters", "false")]), "port_counters", "node").is_empty());
    let one = everything(&run(INCAST, &[]));
    for partitions in ["2", "3", "7"] {
        assert_eq!(everything(&run(INCAST, &[("run.partitions", partitions)])), one);
    }
}
