//! Partitions of InfiniBand: packets are lost at hosts that are not in theirs.

use crate::common::tables::{numbers, texts};
use crate::common::{everything, run};
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

/// Groups have all hosts as members. H0 sends 40 packets, and of four copies that of H4, which is in no partition, is lost; H2, a limited
/// member, loses those for H3 and H4.
#[test]
fn switches_that_check_what_leaves_discard_copies_for_groups_as_hosts_do() {
    let groups = ("multicast_groups", r#"[{ name = "all", members = ["*"] }]"#);
    for (rule, at_hosts, at_switch) in [("off", 120, 0), ("in", 120, 0), ("out", 0, 120), ("both", 0, 120)] {
        let outcome = enforced(rule, &[groups, ("traffic.0.pattern", r#"{ multicast = "all" }"#)]);
        let invariants = &outcome.invariants;
        assert!(invariants.packets_ok && invariants.credits_ok, "{rule}: {}", outcome.defect);
        let lost = &invariants.lost;
        assert_eq!((lost.p_key, lost.p_key_switch, invariants.in_flight), (at_hosts, at_switch, 0), "{rule}");
        assert_eq!((invariants.injected, invariants.delivered), (120, 240), "{rule}");
        let discarded = counted(&outcome, "PortXmitConstraintErrors");
        let expected = [("S0".to_owned(), 4, 40), ("S0".to_owned(), 5, 80)];
        assert_eq!(discarded, if at_switch > 0 { expected.to_vec() } else { vec![] }, "{rule}");
    }
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

/// Limited members that send to each other: a switch discards all of it, and returns the space of a packet at once. So credits can come exactly
/// at the end of a window of the run's partitions, which has the length of the shortest link.
const ALL_LIMITED: &str = r#"
[topology.xgft]
children = [2, 2, 4]
parents = [1, 1, 2]
[switch]
partition_enforcement = "out"
[links.all]
buffer = "512 B"
[host]
mtu = "500 B"
[[partitions]]
name = "first"
key = 11200
limited = ["*"]
[[traffic]]
partition = "first"
pattern = "bit-complement"
injection = "saturating"
message = "835 B"
[[jobs]]
ranks = 9
[jobs.program.fft]
elements = 243
[run]
duration = "8 us"
"#;

#[test]
fn credits_at_the_end_of_a_window_wake_their_sender() {
    let one = run(ALL_LIMITED, &[]);
    assert!(one.invariants.lost.p_key_switch > 300, "{:?}", one.invariants);
    for partitions in ["2", "3", "7"] {
        assert_eq!(
            everything(&run(ALL_LIMITED, &[("run.partitions", partitions)])),
            everything(&one),
            "{partitions}"
        );
    }
}

#[test]
fn sources_are_members() {
    let text = HOSTS.replace(r#"sources = ["H0", "H2"]"#, r#"sources = ["H0", "H4"]"#);
    let experiment = fabricsim_spec::read(&text, "e.toml", &[]).unwrap();
    let error = fabricsim_engine::Prepared::new(experiment, std::path::Path::new("."), "e.toml").unwrap_err();
    assert!(error.to_string().contains("traffic.0.partition: H4 is no member of `storage`"), "{error}");
}

/// A number of messages each, so that all of them are lost or accepted within the measurement.
const FINITE: [(&str, &str); 3] =
    [("traffic.0.messages", "40"), ("traffic.1.messages", "40"), ("measure.port_counters", "true")];

fn enforced(rule: &str, more: &[(&str, &str)]) -> Outcome {
    let rule = format!("\"{rule}\"");
    let set: Vec<(&str, &str)> =
        FINITE.iter().copied().chain([("switch.partition_enforcement", rule.as_str())]).collect();
    run(HOSTS, &[&set, more].concat())
}

/// Nodes and ports with a counter above zero.
fn counted(outcome: &Outcome, name: &str) -> Vec<(String, u64, u64)> {
    let nodes = texts(outcome, "port_counters", "node").into_iter();
    let ports = numbers(outcome, "port_counters", "port").into_iter().map(|port| port as u64);
    let counts = numbers(outcome, "port_counters", name).into_iter().map(|count| count as u64);
    let all = nodes.zip(ports).zip(counts).map(|((node, port), count)| (node, port, count));
    all.filter(|(_, _, count)| *count > 0).collect()
}

/// A switch that checks what leaves discards just the packets that their receivers would not accept: of H0 those for H4, of H2 those for
/// H3 and H4.
#[test]
fn a_switch_discards_what_the_host_would_not_accept() {
    let expected = flows(&enforced("off", &[]));
    for rule in ["off", "in", "out", "both"] {
        let outcome = enforced(rule, &[]);
        assert_eq!(flows(&outcome), expected, "{rule}");
        let lost = &outcome.invariants.lost;
        let (at_hosts, at_switch) = (lost.p_key, lost.p_key_switch);
        // The control: without the check at outputs, the hosts do it.
        let checks = matches!(rule, "out" | "both");
        assert_eq!((at_hosts == 0, at_switch == 0), (checks, !checks), "{rule}: {lost:?}");
        let discarded = counted(&outcome, "PortXmitConstraintErrors");
        assert_eq!(discarded.iter().map(|(.., count)| count).sum::<u64>(), at_switch, "{rule}");
        assert_eq!(counted(&outcome, "PortRcvConstraintErrors"), [], "all send with a key of theirs");
        if checks {
            let places: Vec<_> = discarded.iter().map(|(node, port, _)| (node.as_str(), *port)).collect();
            assert_eq!(places, [("S0", 4), ("S0", 5)]);
            let sent = counted(&outcome, "PortXmitPkts");
            let at_h4 = sent.iter().any(|(node, port, _)| (node.as_str(), *port) == ("S0", 5));
            assert!(!at_h4, "nothing leaves for H4: {sent:?}");
        }
    }
    let invariants = enforced("both", &[]).invariants;
    assert_eq!(invariants.injected, 120);
    assert_eq!(enforced("off", &[]).invariants.lost.p_key, invariants.lost.p_key_switch);
}

#[test]
fn enforcement_does_not_depend_on_partitions_of_the_run() {
    let names = ["H(0).0", "H(1).0", "H(2).0", "H(3).0", "H(4).0"];
    let list = |hosts: &[usize]| {
        format!("[{}]", hosts.iter().map(|&host| format!("{:?}", names[host])).collect::<Vec<_>>().join(", "))
    };
    let (full, limited, all) = (list(&[0, 1]), list(&[2, 3]), list(&[0, 2]));
    let last = list(&[4]);
    let places = [
        ("partitions.0.members", full.as_str()),
        ("partitions.0.limited", &limited),
        ("traffic.0.sources", &all),
        ("traffic.1.sources", &last),
    ];
    let text = HOSTS.replace(
        "topology.single-switch = { hosts = 5 }",
        "topology.mesh = { dimensions = [5], hosts_per_switch = 1 }",
    );
    let with = |partitions: &str| {
        let more = [("switch.partition_enforcement", "\"both\""), ("run.partitions", partitions)];
        run(&text, &[&places[..], &FINITE[..], &more[..]].concat())
    };
    let one = with("1");
    assert!(one.invariants.lost.p_key_switch > 0 && one.invariants.lost.p_key == 0);
    let one = everything(&one);
    for partitions in ["2", "3", "5"] {
        assert_eq!(everything(&with(partitions)), one, "{partitions}");
    }
}

/// A manager sets the tables of the four members, and nothing else: with enforcement, the port of the switch to each of the five hosts
/// as well, and the same table there as at the member.
#[test]
fn a_subnet_manager_sets_the_tables() {
    let managed = [
        ("routing", r#"{ algorithm = "opensm", engine = "minhop" }"#),
        ("subnet_manager", r#"{ sweep_interval = "0 s" }"#),
        ("run.duration", "\"1 ms\""),
    ];
    let requests = |outcome: &Outcome| outcome.subnet.as_ref().map_or(0, |subnet| subnet.requests);
    let expected = flows(&enforced("off", &[]));
    let off = enforced("off", &managed);
    for (rule, sets) in [("off", 0), ("in", 5 + 4), ("out", 5 + 4), ("both", 5 + 4)] {
        let outcome = enforced(rule, &managed);
        assert_eq!(flows(&outcome), expected, "{rule}");
        assert_eq!(requests(&outcome), requests(&off) + sets, "{rule}");
        assert_eq!(outcome.invariants.lost.p_key_switch > 0, matches!(rule, "out" | "both"), "{rule}");
    }
    let none = run(
        &HOSTS.split("[[partitions]]").next().map(|head| format!(
            "{head}[[traffic]]\nsources = [\"H4\"]\npattern = \"uniform\"\nload = 0.1\nmessage = \"1 KiB\"\n[run]\nduration = \"1 ms\"\n"
        )).unwrap_or_default(),
        &managed[..2],
    );
    assert_eq!(requests(&none) + 4, requests(&off), "the tables of four members");
    let configured = [managed[0], ("subnet_manager", r#"{ start = "configured", sweep_interval = "0 s" }"#)];
    let outcome = enforced("both", &configured);
    assert_eq!(flows(&outcome), expected);
    assert!(outcome.invariants.lost.p_key_switch > 0 && outcome.invariants.lost.p_key == 0);
}
