//! Links with an MTU of their own: sources cut messages at the smallest of their path, and switches discard what exceeds it.

use crate::common::tables::{numbers, texts};
use crate::common::{balanced_and_empty, everything, run, try_prepare};
use fabricsim_simulation::Outcome;

/// Two switches with two hosts each. H(0).0 sends to its neighbour at the switch and over the link between the switches, in turn.
const LINE: &str = r#"
topology.mesh = { dimensions = [2], hosts_per_switch = 2 }
[links.all]
rate = "8 Gb/s"
latency = "100 ns"
buffer = "64 KiB"
[host]
mtu = "4 KiB"
[[traffic]]
sources = ["H(0).0"]
pattern = { to = "H(0).1" }
injection = "saturating"
message = "10000 B"
messages = 5
[[traffic]]
sources = ["H(0).0"]
pattern = { to = "H(1).0" }
injection = "saturating"
message = "10000 B"
messages = 5
[measure]
port_counters = true
[run]
duration = "1 ms"
drain = "empty"
"#;

/// Four switches in a ring, a host each. The link from S(0) to S(1) fails, and packets go the other way around, over S(3).
const RING: &str = r#"
topology.torus = { dimensions = [4], hosts_per_switch = 1 }
[links.all]
rate = "8 Gb/s"
latency = "100 ns"
buffer = "16 KiB"
[switch]
virtual_lanes = 4
[routing]
algorithm = "shortest-path"
[host]
mtu = "1000 B"
[[traffic]]
sources = ["H(0).0"]
pattern = { to = "H(1).0" }
injection = "saturating"
message = "40000 B"
messages = 3
[faults]
plan = [{ link = "S(0)-S(1)", at = "10 us" }]
reroute_after = "1 us"
[measure]
port_counters = true
[run]
allow_deadlock = true
duration = "1 ms"
drain = "empty"
"#;

/// Packets and bytes by direction of a link.
fn link(outcome: &Outcome, name: &str) -> (u64, u64) {
    let rows = texts(outcome, "links", "link").into_iter();
    let packets = numbers(outcome, "links", "packets").into_iter().zip(numbers(outcome, "links", "bytes"));
    let found = rows.zip(packets).filter(|(link, _)| link == name);
    found.fold((0, 0), |sum, (_, (packets, bytes))| (sum.0 + packets as u64, sum.1 + bytes as u64))
}

#[test]
fn sources_cut_messages_at_the_mtu_of_the_path() {
    // 10 000 bytes are 3 packets of 4096 bytes, 5 of 2048 and 10 of 1024.
    for (set, near, far) in [
        (&[][..], 3, 3),
        (&[("links.dimension.x.mtu", "\"2 KiB\"")][..], 3, 5),
        (&[("links.all.mtu", "\"2 KiB\"")], 5, 5),
        (&[("links.dimension.x.mtu", "\"2 KiB\""), ("links.named.\"H(1).0-S(1)\".mtu", "\"1 KiB\"")], 3, 10),
        (&[("links.all.mtu", "\"8 KiB\"")], 3, 3),
    ] {
        let outcome = run(LINE, set);
        balanced_and_empty(&outcome);
        assert_eq!(link(&outcome, "S(0)->H(0).1"), (5 * near, 50_000), "{set:?}");
        assert_eq!(link(&outcome, "S(0)->S(1)"), (5 * far, 50_000), "{set:?}");
        assert_eq!(outcome.invariants.dropped, 0);
    }
}

#[test]
fn a_transport_cuts_messages_as_well() {
    let set = [("transport", r#"{ mode = "ordered" }"#), ("links.dimension.x.mtu", "\"2 KiB\"")];
    let outcome = run(LINE, &set);
    balanced_and_empty(&outcome);
    assert_eq!(outcome.invariants.dropped, 0);
    let all = run(LINE, &set[..1]);
    // Each packet has an answer: two more each way for each of five messages.
    assert_eq!(outcome.totals.injected, all.totals.injected + 2 * 2 * 5);
}

/// MTUs that no packet meets change nothing at all.
#[test]
fn large_links_change_nothing() {
    let plain = everything(&run(LINE, &[]));
    assert_eq!(everything(&run(LINE, &[("links.all.mtu", "\"4 KiB\"")])), plain);
}

/// A message keeps the MTU with which it was begun. Its packets of 1000 bytes are lost at the first switch of the detour whose link carries
/// 500 only; the messages after it are cut anew.
#[test]
fn a_switch_discards_what_its_link_does_not_carry() {
    let small = ("links.named.\"S(3)-S(2)\".mtu", "\"500 B\"");
    let outcome = run(RING, &[small]);
    balanced_and_empty(&outcome);
    let lost = &outcome.invariants.lost;
    assert!(lost.link_mtu > 20, "{lost:?}");
    // Of the first message 40 packets; of the others 80 each, all of which arrive.
    assert_eq!(outcome.totals.injected, 40 + 2 * 80);
    assert_eq!(outcome.totals.delivered, 2 * 80 + 40 - lost.link_mtu - lost.link_failed);
    let ports = texts(&outcome, "port_counters", "node").into_iter();
    let discards = numbers(&outcome, "port_counters", "PortXmitDiscards");
    let found: Vec<_> = ports.zip(discards).filter(|(_, count)| *count > 0.0).collect();
    assert_eq!(found, [("S(3)".to_owned(), lost.link_mtu as f64)]);
    // The controls: links that carry all, and messages that were cut for the small link from the start.
    let large = run(RING, &[]);
    assert_eq!((large.invariants.lost.link_mtu, large.totals.injected), (0, 120));
    let all = run(RING, &[("links.all.mtu", "\"500 B\"")]);
    assert_eq!((all.invariants.lost.link_mtu, all.totals.injected), (0, 240));
}

#[test]
fn partitions_of_the_run_do_not_matter() {
    let small = ("links.named.\"S(3)-S(2)\".mtu", "\"500 B\"");
    for (text, set) in [(RING, small), (LINE, ("links.dimension.x.mtu", "\"2 KiB\""))] {
        let one = everything(&run(text, &[set]));
        for partitions in ["2", "3", "4"] {
            assert_eq!(everything(&run(text, &[set, ("run.partitions", partitions)])), one, "{partitions}");
        }
    }
}

/// The routes of a manager: the paths are known after its first sweep, and anew after that which follows a failure.
#[test]
fn hosts_learn_the_paths_of_a_subnet_manager() {
    let managed = [
        ("routing", r#"{ algorithm = "opensm", engine = "minhop" }"#),
        ("subnet_manager", r#"{ start = "configured" }"#),
        ("faults", r#"{ plan = [{ link = "S(0)-S(1)", at = "10 us" }] }"#),
        ("links.named.\"S(3)-S(2)\".mtu", "\"500 B\""),
        ("traffic.0.load", "0.05"),
        ("traffic.0.injection", "\"poisson\""),
        ("traffic.0.messages", "200"),
        ("traffic.0.message", "\"1000 B\""),
        ("run.duration", "\"10 ms\""),
    ];
    let outcome = run(RING, &managed);
    balanced_and_empty(&outcome);
    let lost = &outcome.invariants.lost;
    // After the sweep each message is two packets.
    assert!(outcome.totals.injected > 250, "{} {lost:?}", outcome.totals.injected);
    assert!(outcome.totals.delivered > 200);
    let large =
        run(RING, &managed.iter().copied().filter(|(key, _)| !key.contains("mtu")).collect::<Vec<_>>());
    assert_eq!((large.totals.injected, large.invariants.lost.link_mtu), (200, 0));
}

#[test]
fn what_links_do_not_carry_is_refused_where_it_cannot_be_cut() {
    let message = |set: &[(&str, &str)]| try_prepare(LINE, set).err().unwrap_or_default();
    let small = ("links.dimension.x.mtu", "\"16 B\"");
    let answers = ("transport", r#"{ mode = "ordered", answer = "20 B" }"#);
    let found = message(&[small, answers]);
    assert!(
        found.contains("transport.answer: 20 B is more than S(0)-S(1) carries: give at most 16 B"),
        "{found}"
    );
    let separable = ("switch", r#"{ queueing = "fifo", allocation = "separable" }"#);
    assert!(
        message(&[small, separable]).contains("not with `switch.allocation"),
        "{}",
        message(&[small, separable])
    );
    assert!(message(&[("links.hosts.mtu", "\"0 B\"")]).contains("links.hosts.mtu: 0 B is not allowed"));
}
