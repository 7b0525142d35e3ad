//! Arbitration among virtual lanes: shares of a link by the closed form of the weights.

use crate::common::star::{self, shares, star, weights};
use crate::common::tables::{numbers, texts};
use crate::common::{everything, run};

const CLASSES: &str = "service_classes = 3";

fn assert_shares(arbitration: &str, further: &[(&str, &str)], expected: &[f64]) {
    let mut set = vec![("switch.vl_arbitration", arbitration)];
    set.extend_from_slice(further);
    star::assert_shares(&star(CLASSES), &set, expected);
}

#[test]
fn shares_are_those_of_the_weights() {
    // Weights are whole packets of 16 units.
    assert_shares(&weights(&[], &[(0, 16), (1, 32), (2, 48)], 0), &[], &[1.0 / 6.0, 2.0 / 6.0, 3.0 / 6.0]);
    assert_shares(&weights(&[], &[(0, 16), (1, 16), (2, 16)], 0), &[], &[1.0 / 3.0; 3]);
    // A packet that exceeds the weight is sent whole: 17 units are two packets, 1 unit is one.
    assert_shares(&weights(&[], &[(0, 17), (1, 1), (2, 1)], 0), &[], &[0.5, 0.25, 0.25]);
    // A lane in two entries.
    assert_shares(&weights(&[], &[(0, 16), (1, 16), (0, 16), (2, 16)], 0), &[], &[0.5, 0.25, 0.25]);
}

#[test]
fn bytes_count_and_not_packets() {
    let small = [("traffic.0.message", "\"256 B\"")];
    assert_shares(&weights(&[], &[(0, 64), (1, 64), (2, 64)], 0), &small, &[1.0 / 3.0; 3]);
    // The control: the arbiter alone takes packets of all sizes in turn, a quarter of the bytes for the small ones.
    let alone = shares(&run(&star(CLASSES), &small));
    assert!((alone[0] - 1.0 / 9.0).abs() < 0.01, "{alone:?}");
}

#[test]
fn high_priority_has_its_limit() {
    let high = |limit| weights(&[(2, 255)], &[(0, 16), (1, 16)], limit);
    // A packet of low priority after a packet, and after 4096 bytes.
    assert_shares(&high(0), &[], &[0.25, 0.25, 0.5]);
    assert_shares(&high(1), &[], &[0.1, 0.1, 0.8]);
    assert_shares(&high(2), &[], &[1.0 / 18.0, 1.0 / 18.0, 8.0 / 9.0]);
    assert_shares(&high(255), &[], &[0.0, 0.0, 1.0]);
}

#[test]
fn what_a_lane_does_not_use_others_get() {
    let idle = [(
        "traffic.2",
        r#"{ sources = ["H2"], pattern = { to = "H3" }, injection = "poisson", load = 0.1, message = "1 KiB", service_class = 2 }"#,
    )];
    let found = shares(&run(
        &star(CLASSES),
        &[("switch.vl_arbitration", &weights(&[], &[(0, 16), (1, 32), (2, 255)], 0)), idle[0]],
    ));
    let rest = 1.0 - found[2];
    assert!((found[2] - 0.1).abs() < 0.02, "{found:?}");
    assert!(
        (found[0] - rest / 3.0).abs() < 0.004 && (found[1] - 2.0 * rest / 3.0).abs() < 0.004,
        "{found:?}"
    );
}

/// Two hosts of a lane share its part, whatever lanes their neighbours have.
#[test]
fn inputs_of_a_lane_take_turns() {
    let both = ("traffic.1.service_class", "0");
    let found = shares(&run(
        &star(CLASSES),
        &[("switch.vl_arbitration", &weights(&[], &[(0, 32), (1, 16), (2, 16)], 0)), both],
    ));
    assert!((found[0] - 1.0 / 3.0).abs() < 0.003 && (found[1] - 1.0 / 3.0).abs() < 0.003, "{found:?}");
}

/// The rate of each of six flows from three hosts to two, and that of the weights: at either output, lane 0 has a weight, and lanes 1 and 2 have 16.
fn rates_at_two_outputs(weight: u8, reads: &str) -> Vec<(f64, f64)> {
    let flows = [(0, 3, 0), (0, 4, 1), (1, 3, 1), (1, 4, 0), (2, 3, 2), (2, 4, 2)];
    let entry = |(from, to, class)| {
        format!(
            r#"{{ sources = ["H{from}"], pattern = {{ to = "H{to}" }}, injection = "saturating", message = "1 GiB", service_class = {class} }}"#
        )
    };
    let traffic = format!("[{}]", flows.map(entry).join(", "));
    let arbitration = weights(&[], &[(0, weight), (1, 16), (2, 16)], 0);
    let outcome = run(
        &star(CLASSES),
        &[
            ("topology", "{ single-switch = { hosts = 5 } }"),
            ("traffic", &traffic),
            ("host.open_messages", "2"),
            ("links.all.reads", reads),
            ("switch.vl_arbitration", &arbitration),
        ],
    );
    let (rates, sources) = (numbers(&outcome, "flows", "accepted_gbps"), texts(&outcome, "flows", "source"));
    let ends = sources.into_iter().zip(texts(&outcome, "flows", "destination"));
    let expected = |(from, to): (String, String)| {
        let is_lane_0 = matches!((from.as_str(), to.as_str()), ("H0", "H3") | ("H1", "H4"));
        100.0 * f64::from(if is_lane_0 { weight } else { 16 }) / f64::from(weight + 32)
    };
    rates.into_iter().zip(ends.map(expected)).collect()
}

/// Where inputs serve several outputs, shares are those of the weights if they are read for several at once. If not, a lane may miss its
/// turns; none starves.
#[test]
fn shares_hold_at_several_outputs_of_the_same_inputs() {
    for weight in [16, 48, 112] {
        for (rate, expected) in rates_at_two_outputs(weight, "2") {
            assert!((rate - expected).abs() < 0.3, "{weight}: {rate} instead of {expected}");
        }
        for (rate, expected) in rates_at_two_outputs(weight, "1") {
            assert!(rate > 0.5 * expected, "{weight}: {rate} instead of {expected}");
        }
    }
}

#[test]
fn equal_in_any_number_of_partitions() {
    let arbitration = weights(&[(2, 255)], &[(0, 16), (1, 32)], 3);
    let mesh = ("topology", "{ mesh = { dimensions = [2, 2] } }");
    let traffic = (
        "traffic",
        r#"[{ pattern = "uniform", injection = "saturating", message = "2 KiB" }, { pattern = "uniform", injection = "poisson", load = 0.3, message = "512 B", service_class = 2 }]"#,
    );
    let set = [("switch.vl_arbitration", arbitration.as_str()), mesh, traffic];
    let one = everything(&run(&star(CLASSES), &set));
    for partitions in ["2", "3", "7"] {
        let all = [&set[..], &[("run.partitions", partitions)]].concat();
        assert_eq!(one, everything(&run(&star(CLASSES), &all)), "{partitions}");
    }
}

/// A host with three messages of different lanes, each to a host of its own: its own link is full.
const SPREAD: &str = r#"[
    { sources = ["H0"], pattern = { to = "H1" }, injection = "saturating", message = "1 GiB", service_class = 0 },
    { sources = ["H0"], pattern = { to = "H2" }, injection = "saturating", message = "1 GiB", service_class = 1 },
    { sources = ["H0"], pattern = { to = "H3" }, injection = "saturating", message = "1 GiB", service_class = 2 },
]"#;

/// An adapter has tables of its own; without them, the messages that it sends take turns.
#[test]
fn adapters_arbitrate_by_their_tables() {
    let spread = [("traffic", SPREAD), ("host.open_messages", "3")];
    let with = |tables: &str, expected: &[f64]| {
        let set = [&spread[..], &[("host.vl_arbitration", tables)]].concat();
        star::assert_shares(&star(CLASSES), &set, expected);
    };
    with(&weights(&[], &[(0, 16), (1, 32), (2, 48)], 0), &[1.0 / 6.0, 2.0 / 6.0, 3.0 / 6.0]);
    with(&weights(&[(2, 255)], &[(0, 16), (1, 16)], 1), &[0.1, 0.1, 0.8]);
    star::assert_shares(&star(CLASSES), &spread, &[1.0 / 3.0; 3]);
}

/// With congestion control and with acknowledgements, adapters send more than data.
#[test]
fn adapters_with_protocols_arbitrate() {
    let tables = weights(&[], &[(0, 16), (1, 32), (2, 48)], 0);
    let base = [("traffic", SPREAD), ("host.open_messages", "3"), ("host.vl_arbitration", &tables)];
    for further in
        [("congestion_control", r#"{ algorithm = "infiniband" }"#), ("transport", r#"{ mode = "ordered" }"#)]
    {
        let set = [&base[..], &[further, ("run.drain", "\"empty\""), ("run.partitions", "2")]].concat();
        let outcome = run(&star(CLASSES), &set);
        assert!(outcome.invariants.packets_ok && outcome.invariants.credits_ok, "{}", outcome.defect);
        let rates = numbers(&outcome, "flows", "accepted_gbps");
        assert!(rates[0] < 0.7 * rates[1] && rates[1] < 0.9 * rates[2], "{further:?}: {rates:?}");
    }
}
