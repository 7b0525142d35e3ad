//! Partitions of InfiniBand: packets are lost at hosts that are not in theirs.

mod common;

use common::tables::{numbers, texts};
use common::{everything, run};
use fabricsim_simulation::Outcome;

/// H0 and H1 are full members, H2 and H3 limited ones, H4 is none. H0 and H2 send to all others in the partition, H4 in the default one.
const HOSTS: &str = r#"
topology.single-switch = { hosts = 5 }
[links.all]
rate = "100 Gb/s"
latency = "10 ns"
buffer = "16 KiB"
[host]
mtu = "1 KiB"
[[partitions]]
name = "storage"
key = 1
members = ["H0", "H1"]
limited = ["H2", "H3"]
[[traffic]]
sources = ["H0", "H2"]
pattern = "uniform"
injection = "poisson"
load = 0.4
message = "1 KiB"
partition = "storage"
[[traffic]]
sources = ["H4"]
pattern = "uniform"
injection = "poisson"
load = 0.4
message = "1 KiB"
[measure]
flows = "pairs"
[run]
duration = "100 us"
drain = "empty"
"#;

/// Flows that delivered something, in the order of their names.
fn flows(outcome: &Outcome) -> Vec<String> {
    let invariants = &outcome.invariants;
    assert!(
        invariants.packets_ok && invariants.credits_ok && invariants.in_flight == 0,
        "{}",
        outcome.defect
    );
    let ends = texts(outcome, "flows", "source").into_iter().zip(texts(outcome, "flows", "destination"));
    let rates = numbers(outcome, "flows", "accepted_gbps");
    let found = ends.zip(rates).filter(|(_, rate)| *rate > 0.0).map(|((from, to), _)| format!("{from}{to}"));
    let mut found: Vec<String> = found.collect();
    found.sort();
    found
}

#[test]
fn members_accept_packets_but_limited_ones_not_of_each_other() {
    let outcome = run(HOSTS, &[]);
    let expected = "H0H1 H0H2 H0H3 H2H0 H2H1 H4H0 H4H1 H4H2 H4H3";
    assert_eq!(flows(&outcome).join(" "), expected);
    let invariants = &outcome.invariants;
    assert!(invariants.lost.p_key > 50, "{invariants:?}");
    assert_eq!(invariants.injected, invariants.delivered + invariants.lost.p_key);
    // The control: in the default partition all accept all.
    let all = run(
        HOSTS,
        &[(
            "traffic.0",
            r#"{ sources = ["H0", "H2"], pattern = "uniform", injection = "poisson", load = 0.4, message = "1 KiB" }"#,
        )],
    );
    assert_eq!((flows(&all).len(), all.invariants.lost.p_key), (12, 0));
}

#[test]
fn a_transport_gets_answers_from_members_only() {
    let set = [
        ("transport", r#"{ mode = "ordered" }"#),
        ("traffic.0.pattern", r#"{ to = "H1" }"#),
        ("congestion_control", r#"{ algorithm = "infiniband" }"#),
    ];
    let outcome = run(HOSTS, &set);
    assert_eq!(outcome.invariants.lost.p_key, 0);
    assert!(flows(&outcome).contains(&"H2H1".to_owned()));
}

#[test]
fn results_do_not_depend_on_partitions_of_the_run() {
    let one = everything(&run(HOSTS, &[]));
    for partitions in ["2", "3", "7"] {
        assert_eq!(everything(&run(HOSTS, &[("run.partitions", partitions)])), one, "{partitions}");
    }
}

#[test]
fn sources_are_members() {
    let text = HOSTS.replace(r#"sources = ["H0", "H2"]"#, r#"sources = ["H0", "H4"]"#);
    let experiment = fabricsim_spec::read(&text, "e.toml", &[]).unwrap();
    let error = fabricsim_engine::Prepared::new(experiment, std::path::Path::new("."), "e.toml").unwrap_err();
    assert!(error.to_string().contains("traffic.0.partition: H4 is no member of `storage`"), "{error}");
}
