//! Messages by reliable connections of InfiniBand, through a simulated fabric.

use crate::common::tables::{numbers, texts};
use crate::common::{everything, run, try_prepare};
use fabricsim_simulation::{Outcome, Status};

/// Two hosts at a switch; a byte takes a nanosecond. Packets carry up to 4096 bytes.
const PAIR: &str = r#"
[topology.single-switch]
hosts = 2
[links.all]
rate = "8 Gb/s"
latency = "100 ns"
buffer = "64 KiB"
[host]
mtu = "4142 B"
[queue_pairs]
timeout = 5
[[traffic]]
sources = ["H0"]
pattern = { to = "H1" }
injection = "saturating"
message = "10000 B"
messages = 5
[run]
duration = "10 ms"
drain = "empty"
"#;

/// Sum of a column over all rows in which the text column `of` has `value`.
fn sum(outcome: &Outcome, table: &str, (of, value): (&str, &str), column: &str) -> u64 {
    let rows = texts(outcome, table, of).into_iter().zip(numbers(outcome, table, column));
    rows.filter(|(text, _)| text == value).map(|(_, number)| number as u64).sum()
}

fn counter(outcome: &Outcome, host: &str, column: &str) -> u64 {
    sum(outcome, "queue_pairs", ("host", host), column)
}

/// All packets are accounted for, and every message has arrived once.
fn whole(outcome: &Outcome, messages: u64, bytes: u64) {
    let invariants = &outcome.invariants;
    assert!(
        invariants.packets_ok && invariants.credits_ok && invariants.in_flight == 0,
        "{}",
        outcome.defect
    );
    assert_eq!(outcome.status, Status::Ok);
    let counts = outcome.summary.queue_pairs.as_ref().unwrap_or_else(|| panic!("no queue pairs"));
    assert_eq!(counts.messages, messages);
    let delivered: f64 = numbers(outcome, "flows", "bytes").iter().sum();
    assert_eq!(delivered as u64, bytes);
}

#[test]
fn packets_have_their_headers() {
    for (verb, bytes) in [
        // LRH 8, BTH 12, ICRC 4, VCRC 2 for each of three packets, RETH 16 for the first of a WRITE, or for each.
        (("write", "drop"), 10_000 + 3 * 26 + 16),
        (("write", "hold"), 10_000 + 3 * 26 + 16),
        (("write", "place"), 10_000 + 3 * (26 + 16)),
        (("send", "drop"), 10_000 + 3 * 26),
    ] {
        let (verb, out_of_order) = verb;
        let outcome = run(PAIR, &[("queue_pairs.verb", verb), ("queue_pairs.out_of_order", out_of_order)]);
        whole(&outcome, 5, 50_000);
        let link = |name, column| sum(&outcome, "links", ("link", name), column);
        assert_eq!((link("H0->S0", "packets"), link("H0->S0", "bytes")), (15, 5 * bytes), "{verb}");
        // An acknowledgement with AETH for each message, or for several if they come while it waits.
        let acknowledgements = link("H1->S0", "packets");
        assert_eq!(link("H1->S0", "bytes"), 30 * acknowledgements);
        assert_eq!(counter(&outcome, "H1", "acknowledgements"), acknowledgements);
        assert!((1..=5).contains(&acknowledgements));
        assert_eq!((counter(&outcome, "H0", "messages"), counter(&outcome, "H0", "retransmitted")), (5, 0));
    }
}

#[test]
fn lost_packets_are_retransmitted() {
    let outcome =
        run(PAIR, &[("queue_pairs.loss", "0.1"), ("traffic.0.messages", "100"), ("run.duration", "1 s")]);
    whole(&outcome, 100, 1_000_000);
    let lost = outcome.invariants.lost.transport_loss;
    assert!(lost > 20, "{lost}");
    let [retransmitted, timeouts] =
        ["retransmitted", "timeouts"].map(|column| counter(&outcome, "H0", column));
    assert!(retransmitted > 20 && timeouts > 0, "{retransmitted} {timeouts}");
    assert!(counter(&outcome, "H1", "sequence_naks") > 0);
    assert_eq!(counter(&outcome, "H1", "executed"), 300);
}

fn completion(outcome: &Outcome) -> (f64, f64) {
    let summary = outcome.summary.queue_pairs.as_ref().unwrap_or_else(|| panic!("no queue pairs"));
    (summary.completion_ns.min, summary.completion_ns.max)
}

/// A packet that meets a failed link is lost, and no later one shows that it is missing: the timer ends 4.096 us x 2^n after the packet, or
/// after the last of them, was sent.
#[test]
fn the_timer_retransmits_what_nothing_else_does() {
    let down = |until: &str| {
        let plan = format!("{{ plan = [{{ link = \"S0-H1\", at = \"0 s\", until = \"{until}\" }}] }}");
        run(PAIR, &[("faults", &plan), ("traffic.0.messages", "1"), ("traffic.0.message", "1000 B")])
    };
    let free = run(PAIR, &[("traffic.0.messages", "1"), ("traffic.0.message", "1000 B")]);
    whole(&free, 1, 1000);
    // Two links of 100 ns, the switch, and the packet of 1042 bytes once: the switch sends it on as it comes.
    let (without, _) = completion(&free);
    for (until, timeouts) in [("50 us", 1), ("140 us", 2), ("300 us", 3)] {
        let outcome = down(until);
        whole(&outcome, 1, 1000);
        assert_eq!(counter(&outcome, "H0", "timeouts"), timeouts, "{until}");
        assert_eq!(counter(&outcome, "H0", "retransmitted"), timeouts);
        // The time from the packet on: 4.096 us x 2^5 for each.
        assert!(
            (completion(&outcome).0 - without - 131_072.0 * timeouts as f64).abs() < 0.001,
            "{:?}",
            completion(&outcome)
        );
    }
}

#[test]
fn retries_are_limited() {
    let plan = r#"{ plan = [{ link = "S0-H1", at = "0 s" }] }"#;
    for retries in [0, 2, 7] {
        let outcome = run(PAIR, &[("faults", plan), ("queue_pairs.retry_count", &retries.to_string())]);
        let invariants = &outcome.invariants;
        assert!(invariants.packets_ok && invariants.credits_ok, "{}", outcome.defect);
        assert_eq!((counter(&outcome, "H0", "messages"), counter(&outcome, "H0", "failed")), (0, 5));
        assert_eq!(counter(&outcome, "H0", "timeouts"), 1 + retries);
        assert_eq!(sum(&outcome, "queue_pairs", ("host", "H0"), "error"), 1);
        assert!(
            outcome.warnings.iter().any(|warning| warning.contains("5 messages failed")),
            "{:?}",
            outcome.warnings
        );
        assert_eq!(invariants.in_flight, 0);
    }
}

/// A receiver with one receive request, which is there again after 100 us: each other message is refused until then, and tried again
/// after 120 us, the least of InfiniBand's times that is not shorter than 100 us.
#[test]
fn a_receiver_that_is_not_ready_is_tried_again() {
    let set = [
        ("queue_pairs.verb", "send"),
        ("queue_pairs.receives", "1"),
        ("queue_pairs.receive_delay", "100 us"),
        ("queue_pairs.min_rnr_timer", "100 us"),
        ("host.open_messages", "8"),
    ];
    let outcome = run(PAIR, &set);
    whole(&outcome, 5, 50_000);
    assert_eq!((counter(&outcome, "H1", "rnr_naks"), counter(&outcome, "H0", "timeouts")), (4, 0));
    let (_, last) = completion(&outcome);
    // Five messages of 10.1 us, and four times the first packet of 4.1 us, the way there and back of 0.4 us, and the wait.
    assert!((548_000.0..551_000.0).contains(&last), "{last}");
    // The controls: enough receive requests; a WRITE needs none.
    for set in [[("queue_pairs.verb", "send"), ("queue_pairs.receives", "5")], [set[1], set[2]]] {
        let outcome = run(PAIR, &set);
        whole(&outcome, 5, 50_000);
        assert_eq!(counter(&outcome, "H1", "rnr_naks"), 0);
    }
    // Without retries for it, the first refused message ends all.
    let impatient = [set[0], set[1], set[2], set[4], ("queue_pairs.rnr_retry", "0")];
    let outcome = run(PAIR, &impatient);
    assert_eq!((counter(&outcome, "H0", "messages"), counter(&outcome, "H0", "failed")), (1, 4));
}

/// An acknowledgement with every other packet as well: a message of three packets has two.
#[test]
fn acknowledgements_are_requested_within_messages() {
    let outcome = run(PAIR, &[("queue_pairs.ack_every", "2"), ("traffic.0.messages", "1")]);
    whole(&outcome, 1, 10_000);
    assert_eq!(counter(&outcome, "H1", "acknowledgements"), 2);
}

/// Routes that differ from packet to packet: what overtakes is retransmitted, or held, with as many packets executed in any case.
const OVERTAKING: &str = r#"
topology.dragonfly = { p = 2, a = 4, h = 2 }
[links.all]
rate = "64 Gb/s"
latency = "5 ns"
buffer = "4 KiB"
[links.kind.global]
latency = "200 ns"
buffer = "8 KiB"
[switch]
virtual_lanes = 6
[routing]
algorithm = "par-6/2"
[host]
mtu = "302 B"
[queue_pairs]
timeout = 8
[[traffic]]
pattern = { group-offset = 1 }
injection = "saturating"
message = "4 KiB"
messages = 20
[run]
duration = "20 ms"
drain = "empty"
"#;

#[test]
fn packets_that_overtake_are_dropped_held_or_placed() {
    let hosts = 72;
    let count = |out_of_order, more: &[(&str, &str)]| {
        let set = [&[("queue_pairs.out_of_order", out_of_order)], more].concat();
        let outcome = run(OVERTAKING, &set);
        whole(&outcome, hosts * 20, hosts * 20 * 4096);
        let counts = outcome.summary.queue_pairs.unwrap_or_else(|| panic!("no queue pairs")).counts;
        assert_eq!(counts.executed, hosts * 20 * 16, "{out_of_order}");
        (counts.retransmitted, counts.held)
    };
    let (retransmitted, held) = count("drop", &[]);
    assert!(retransmitted > 20_000 && held == 0, "{retransmitted} {held}");
    for out_of_order in ["hold", "place"] {
        let (retransmitted, held) = count(out_of_order, &[]);
        assert!(retransmitted == 0 && held > 1000, "{out_of_order}: {retransmitted} {held}");
        // What is further ahead than can be held is dropped.
        let (retransmitted, held) = count(out_of_order, &[("queue_pairs.reorder_packets", "2")]);
        assert!(retransmitted > 1000 && held > 0, "{out_of_order}: {retransmitted} {held}");
        let (retransmitted, _) = count(out_of_order, &[("queue_pairs.loss", "0.01")]);
        assert!(retransmitted > 200, "{out_of_order}: {retransmitted}");
    }
}

/// Requests and responses, several queue pairs and service classes, losses, congestion control: on a mesh in any number of partitions.
const MESH: &str = r#"
topology.mesh = { dimensions = [3, 3], hosts_per_switch = 1 }
[links.all]
rate = "32 Gb/s"
latency = "20 ns"
buffer = "16 KiB"
[switch]
virtual_lanes = 2
service_classes = 2
[host]
mtu = "1070 B"
[queue_pairs]
timeout = 3
per_pair = 2
loss = 0.01
[[traffic]]
pattern = "uniform"
injection = "window"
window = 4
message = "7 kB"
messages = 20
[traffic.response]
message = "3000 B"
service_class = 1
[run]
duration = "10 ms"
drain = "empty"
"#;

#[test]
fn partitions_of_the_run_do_not_matter() {
    for set in [
        &[][..],
        &[
            ("queue_pairs.verb", "send"),
            ("queue_pairs.receives", "2"),
            ("queue_pairs.receive_delay", "3 us"),
            ("queue_pairs.min_rnr_timer", "10 us"),
        ],
        &[("queue_pairs.out_of_order", "place"), ("switch.virtual_lanes", "4")],
        &[("queue_pairs.out_of_order", "hold"), ("queue_pairs.reorder_packets", "3")],
        &[("congestion_control.algorithm", "infiniband")],
        &[("congestion_control.algorithm", "swift")],
    ] {
        let one = run(MESH, set);
        let requests = 9 * 20;
        whole(&one, 2 * requests, requests * 10_000);
        let one = everything(&one);
        for partitions in ["2", "3", "7"] {
            assert!(
                everything(&run(MESH, &[set, &[("run.partitions", partitions)]].concat())) == one,
                "{set:?} {partitions}"
            );
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let message = |set: &[(&str, &str)]| try_prepare(PAIR, set).err().unwrap_or_default();
    for (set, expected) in [
        (&[("queue_pairs.path_mtu", "1000 B")][..], "queue_pairs.path_mtu: 1000 B is not allowed"),
        (&[("host.mtu", "4 KiB"), ("queue_pairs.path_mtu", "4 KiB")], "packets take up to 4142 B"),
        (&[("host.mtu", "256 B")], "host.mtu: 256 B is too small for queue pairs: give at least 302 B"),
        (&[("transport.mode", "ordered")], "transport.mode: is not for queue pairs"),
        (&[("queue_pairs.retry_count", "8")], "queue_pairs.retry_count"),
        (&[("queue_pairs.timeout", "32")], "queue_pairs.timeout"),
        (&[("links.hosts.mtu", "256 B")], "too little for the packets of queue pairs"),
        (
            &[("queue_pairs.verb", "send"), ("queue_pairs.out_of_order", "place")],
            "queue_pairs.out_of_order: `place` is for `verb = \"write\"`: give `hold`",
        ),
        (&[("queue_pairs.reorder_packets", "1")], "queue_pairs.reorder_packets"),
    ] {
        assert!(message(set).contains(expected), "{set:?}: {}", message(set));
    }
}

/// A message of more than 1 GiB takes two work requests, and is complete with the last packet of the second.
#[test]
fn messages_longer_than_a_work_request_are_complete_once() {
    let bytes = (1 << 30) + 10_000;
    let long = [
        ("traffic.0.message", format!("{bytes} B")),
        ("traffic.0.messages", "1".to_owned()),
        ("run.duration", "2 s".to_owned()),
        // The only acknowledgement is that of the last packet: 4.3 s.
        ("queue_pairs.timeout", "20".to_owned()),
    ];
    let outcome = run(PAIR, &long.each_ref().map(|(key, value)| (*key, value.as_str())));
    whole(&outcome, 1, bytes);
    let (shortest, longest) = completion(&outcome);
    assert_eq!(shortest, longest);
    assert!(shortest > bytes as f64, "a byte takes a nanosecond: {shortest}");
}
