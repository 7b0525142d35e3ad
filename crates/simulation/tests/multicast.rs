//! Multicast: packets that switches replicate, against counts and times by hand, with every kind of switch, and in every number of partitions.

use crate::common::tables::{numbers, texts};
use crate::common::{balanced_and_empty, balanced_and_ok, everything, prepare, run};
use fabricsim_routing::Verdict;
use fabricsim_simulation::{Control, Outcome, Status, simulate};

/// Three switches in a line with two hosts each. A packet of 1000 B takes 1 us on a link, 100 ns of latency, and 100 ns in a switch.
const LINE: &str = r#"
topology.mesh = { dimensions = [3], hosts_per_switch = 2 }
[links.all]
rate = "8 Gb/s"
latency = "100 ns"
buffer = "8 KiB"
reads = 4
[switch]
router_delay = "100 ns"
flow_control_unit = "8 B"
[host]
mtu = "1000 B"
[[multicast_groups]]
name = "all"
members = ["*"]
[[multicast_groups]]
name = "ends"
members = ["H(0).0", "H(2).1"]
[[traffic]]
sources = ["H(0).0"]
pattern = { multicast = "all" }
injection = "saturating"
message = "1000 B"
[measure]
flows = "pairs"
[run]
duration = "100 us"
drain = "empty"
"#;

fn balanced(outcome: &Outcome) {
    balanced_and_empty(outcome);
    balanced_and_ok(outcome);
}

/// Destinations of the table `flows` with their accepted rates in Gb/s and mean network latencies in ns.
fn flows(outcome: &Outcome) -> Vec<(String, f64, f64)> {
    let rates = numbers(outcome, "flows", "accepted_gbps");
    let latencies = numbers(outcome, "flows", "network_mean_ns");
    let rows = texts(outcome, "flows", "destination").into_iter().zip(rates).zip(latencies);
    rows.map(|((to, rate), latency)| (to, rate, latency)).collect()
}

/// Every member but the sender receives every packet, at the full rate of the sender's link. The times are those of the route.
#[test]
fn every_member_receives_every_packet() {
    let outcome = run(LINE, &[]);
    balanced(&outcome);
    let found = &outcome.invariants;
    assert_eq!((found.replicated, found.delivered), (4 * found.injected, 5 * found.injected));
    let rows = flows(&outcome);
    assert_eq!(rows.len(), 5);
    for (to, rate, latency) in rows {
        // Links and switches on the way; cut-through, so the packet's time counts once.
        let switches = 1.0 + f64::from(to.as_bytes()[2] - b'0');
        let expected = 1000.0 + 100.0 * (switches + 1.0) + 100.0 * switches;
        assert!((latency - expected).abs() < 1e-6, "{to}: {latency} ns, by hand {expected}");
        assert!((rate - 8.0).abs() < 0.1, "{to}: {rate}");
    }
    // The same as messages to each of five hosts: a fifth of the rate.
    let unicast = run(LINE, &[("traffic.0.pattern", "\"uniform\"")]);
    for (to, rate, _) in flows(&unicast) {
        assert!((rate - 8.0 / 5.0).abs() < 0.3, "{to}: {rate}");
    }
}

/// A packet crosses each link of the tree once, and no other; a host that is no member may send.
#[test]
fn a_packet_crosses_each_link_of_the_tree_once() {
    for (source, crossed) in [
        ("H(0).0", vec!["H(0).0->S(0)", "S(0)->S(1)", "S(1)->S(2)", "S(2)->H(2).1"]),
        ("H(1).1", vec!["H(1).1->S(1)", "S(0)->H(0).0", "S(1)->S(0)", "S(1)->S(2)", "S(2)->H(2).1"]),
    ] {
        let sources = format!("[\"{source}\"]");
        let changes = [
            ("traffic.0.pattern", "{ multicast = \"ends\" }"),
            ("traffic.0.sources", sources.as_str()),
            ("traffic.0.messages", "30"),
        ];
        let outcome = run(LINE, &changes);
        balanced(&outcome);
        let (links, bytes) = (texts(&outcome, "links", "link"), numbers(&outcome, "links", "bytes"));
        let mut found: Vec<(String, f64)> = links.into_iter().zip(bytes).filter(|row| row.1 > 0.0).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(found, crossed.iter().map(|&link| (link.to_owned(), 30_000.0)).collect::<Vec<_>>());
        let totals = &outcome.totals;
        assert_eq!(totals.links_crossed(), 30 * crossed.len() as u64);
    }
}

/// The buffer of a packet is free when the last copy has left: one slow receiver slows all.
#[test]
fn the_slowest_member_sets_the_pace() {
    let slow = ("links.named", r#"{ "S(2)-H(2).1" = { rate = "2 Gb/s" } }"#);
    let outcome = run(LINE, &[slow, ("run.duration", "1 ms")]);
    balanced(&outcome);
    for (to, rate, _) in flows(&outcome) {
        assert!((rate - 2.0).abs() < 0.2, "{to}: {rate}");
    }
}

/// New trees go around a failed link; without them its part of the tree loses every packet.
#[test]
fn trees_go_around_failed_links() {
    let ring = ("topology", "{ torus = { dimensions = [5], hosts_per_switch = 2 } }");
    let plan = ("faults.plan", r#"[{ link = "S(0)-S(1)", at = "20 us" }]"#);
    let after = |time| {
        let routing = ("routing", "{ algorithm = \"shortest-path\" }");
        let members = ("multicast_groups.0.members", "[\"H(1).*\", \"H(3).1\"]");
        let outcome = run(
            LINE,
            &[ring, plan, routing, members, ("run.allow_deadlock", "true"), ("faults.reroute_after", time)],
        );
        balanced(&outcome);
        outcome.invariants.lost.link_failed
    };
    let (quick, slow) = (after("\"5 us\""), after("\"40 us\""));
    // A packet in a microsecond, to be copied behind the link; and at most two on the way as it fails.
    assert!((5..=7).contains(&quick) && (40..=42).contains(&slow), "{quick} {slow}");
}

/// Each tree is free of cycles, but two with different roots need not be: the check says so, and the run. In service classes of their own they
/// do not deadlock.
#[test]
fn trees_may_deadlock_together() {
    let alone = ("traffic.1.pattern", "\"uniform\"");
    let classes =
        [("switch.virtual_lanes", "2"), ("switch.service_classes", "2"), ("traffic.1.service_class", "1")];
    for (changes, is_free) in [(&[][..], false), (&[alone], true), (&classes, true)] {
        let prepared = prepare(MESH, changes);
        let verdict = prepared.check_deadlock();
        assert_eq!(matches!(verdict, Verdict::Free { .. }), is_free, "{verdict:?}");
        let outcome = simulate(&prepared, &Control::default());
        assert_eq!(outcome.status, if is_free { Status::Ok } else { Status::Deadlock }, "{changes:?}");
    }
}

/// Two groups on a mesh, the tree of one around its second row, of the other around its third.
const MESH: &str = r#"
topology.mesh = { dimensions = [4, 4], hosts_per_switch = 1 }
[links.all]
rate = "8 Gb/s"
latency = "10 ns"
buffer = "1000 B"
[switch]
flow_control_unit = "8 B"
[host]
mtu = "1000 B"
[[multicast_groups]]
name = "above"
members = ["H(*,0).0", "H(0,2).0", "H(3,2).0"]
[[multicast_groups]]
name = "below"
members = ["H(*,3).0", "H(0,1).0", "H(3,1).0"]
[[traffic]]
sources = ["H(0,2).0", "H(3,2).0"]
pattern = { multicast = "above" }
injection = "poisson"
load = 0.7
message = { uniform = ["500 B", "1000 B"] }
[[traffic]]
sources = ["H(0,1).0", "H(3,1).0"]
pattern = { multicast = "below" }
injection = "poisson"
load = 0.7
message = { uniform = ["500 B", "1000 B"] }
[run]
duration = "200 us"
allow_deadlock = true
"#;

/// Two groups beside uniform traffic on a torus, one of them with another service class.
const TORUS: &str = r#"
topology.torus = { dimensions = [4, 3], hosts_per_switch = 2 }
[links.all]
rate = "32 Gb/s"
latency = "20 ns"
buffer = "4 KiB"
[switch]
virtual_lanes = 12
service_classes = 2
router_delay = "50 ns"
[routing]
algorithm = "shortest-path"
lane_policy = "hops"
[host]
mtu = "256 B"
[[multicast_groups]]
name = "many"
members = ["H(*,0).*", "H(1,*).0"]
[[multicast_groups]]
name = "few"
members = ["H(0,0).1", "H(2,1).0", "H(3,2).1"]
[[traffic]]
pattern = { multicast = "many" }
injection = "poisson"
load = 0.02
message = "1 KiB"
[[traffic]]
sources = ["H(0,*).1", "H(3,2).0"]
pattern = { multicast = "few" }
injection = "poisson"
load = 0.05
message = { uniform = ["64 B", "600 B"] }
service_class = 1
[[traffic]]
pattern = "uniform"
injection = "poisson"
load = 0.3
message = "1 KiB"
[measure]
flows = "pairs"
bin = "5 us"
[run]
duration = "20 us"
drain = "empty"
allow_deadlock = true
"#;

const FAULTS: &str = r#"[{ link = "S(0,0)-S(1,0)", at = "3 us", until = "9 us" }, { switch = "S(1,2)", at = "5 us", until = "12 us" },
    { link = "S(3,2)-H(3,2).1", at = "2 us", until = "14 us" }]"#;

/// Changes of [`TORUS`]: kinds of switches, and features beside multicast.
const SWITCHES: [&[(&str, &str)]; 26] = [
    &[],
    &[("switch.queueing", "\"fifo\"")],
    &[("switch.queueing", "\"fifo\""), ("links.all.reads", "2")],
    &[("switch.queueing", "\"cioq\""), ("switch.staging", "{ buffer = \"1 KiB\" }")],
    &[
        ("switch.allocation", "\"separable\""),
        ("switch.queueing", "\"fifo\""),
        ("switch.speculative", "true"),
    ],
    &[("switch.queueing", "\"fifo\""), ("switch.allocation", "\"separable\"")],
    &[("switch.switching", "\"store-and-forward\""), ("switch.credit_return", "\"packet\"")],
    &[("switch.arbiter", "\"random\"")],
    &[("switch.flow_control", "\"packets\"")],
    &[("switch.head_of_queue_lifetime", "\"2 us\"")],
    &[
        ("topology", "{ dragonfly = { p = 2, a = 4, h = 2 } }"),
        ("routing", "{ algorithm = \"ugal-l\" }"),
        ("multicast_groups.0.members", "[\"H(*,0).*\"]"),
        ("multicast_groups.1.members", "[\"H(3,*).1\"]"),
        ("traffic.1.sources", "[\"H(5,*).0\"]"),
    ],
    &[("routing", "{ algorithm = \"dimension-order\" }")],
    &[
        ("routing", "{ algorithm = \"opensm\", engine = \"lash\", lmc = 1, paths = \"in-turn\" }"),
        ("switch.service_classes", "1"),
        ("traffic.1.service_class", "0"),
    ],
    &[
        ("switch.service_classes", "1"),
        ("routing", "{ algorithm = \"shortest-path\" }"),
        ("switch.sl2vl", "[0, 9]"),
    ],
    &[("switch.arbiter", "\"age-based\"")],
    &[("links.dimension.y.mtu", "\"128 B\"")],
    &[
        (
            "partitions",
            r#"[{ name = "p", key = 1, members = ["H(*,0).*"], limited = ["H(*,1).*", "H(*,2).*"] }]"#,
        ),
        ("traffic.0.partition", "\"p\""),
        ("switch.partition_enforcement", "\"both\""),
    ],
    &[("faults.plan", FAULTS)],
    &[("faults.plan", FAULTS), ("faults.reroute_after", "\"1 us\"")],
    &[("faults.plan", FAULTS), ("faults.waiting", "\"hold\""), ("faults.reroute_after", "\"1 us\"")],
    &[("links.errors", "\"lose\""), ("links.all.bit_error_rate", "1e-6"), ("switch.bit_error_rate", "1e-6")],
    &[("links.all.bit_error_rate", "1e-6")],
    &[("congestion_control.algorithm", "\"infiniband\"")],
    &[("congestion_control.algorithm", "\"dcqcn\"")],
    &[("host.sink", "{ rate = \"20 Gb/s\" }")],
    &[
        (
            "host.vl_arbitration",
            "{ low = [[0, 10], [1, 10], [2, 10], [3, 10], [4, 10], [5, 10], [6, 200], [7, 200], [8, 200], [9, 200], [10, 200], [11, 200]] }",
        ),
        (
            "switch.vl_arbitration",
            "{ low = [[0, 10], [1, 10], [2, 10], [3, 10], [4, 10], [5, 10], [6, 200], [7, 200], [8, 200], [9, 200], [10, 200], [11, 200]] }",
        ),
    ],
];

/// Every kind of switch replicates, beside other features, with the same results in every number of partitions; all credits are back.
#[test]
fn every_kind_of_switch_replicates() {
    for changes in SWITCHES {
        let whole = run(TORUS, changes);
        balanced(&whole);
        let found = &whole.invariants;
        assert!(found.replicated > 0 && found.injected > 0, "{changes:?}");
        for partitions in ["2", "3", "7"] {
            let mut changes = changes.to_vec();
            changes.push(("run.partitions", partitions));
            assert_eq!(everything(&run(TORUS, &changes)), everything(&whole), "{changes:?}");
        }
    }
}
