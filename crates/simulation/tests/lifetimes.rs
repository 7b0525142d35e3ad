//! Lifetimes of packets in switches and stalled lanes, against times by hand, and in every number of partitions.

use crate::common::{balanced_and_ok, everything, prepare, run};
use fabricsim_model::LossCause::{self, HeadOfQueueLifetime, SwitchLifetime, VlStalled};
use fabricsim_session::{EventKind, Subscription};
use fabricsim_simulation::{Control, Run, Status};
use fabricsim_units::Time;

/// Two switches in a line, a host each. The n-th packet (from 0) of 1000 bytes can be sent on by the first switch at n us + 200 ns, over a
/// link that has failed: it waits there.
const LINE: &str = r#"
topology.mesh = { dimensions = [2], hosts_per_switch = 1 }
[links.all]
rate = "8 Gb/s"
latency = "100 ns"
buffer = "64 KiB"
[switch]
flow_control_unit = "8 B"
router_delay = "100 ns"
[host]
mtu = "1000 B"
[[traffic]]
sources = ["H(0).0"]
pattern = { to = "H(1).0" }
injection = "saturating"
message = "1000 B"
[faults]
waiting = "hold"
plan = [{ link = "S(0)-S(1)", at = "0 s" }]
[run]
duration = "100 us"
drain = "empty"
drain_limit = "1 ms"
"#;

const HEAD: (&str, &str) = ("switch.head_of_queue_lifetime", "\"5500 ns\"");

/// Times in nanoseconds at which packets are lost, with the causes.
fn losses(text: &str, overrides: &[(&str, &str)]) -> Vec<(u64, LossCause)> {
    let prepared = prepare(text, overrides);
    let mut run = Run::with_feed(&prepared, &Control::default());
    run.session().subscribe(Subscription {
        deliveries: false,
        marks: false,
        completions: false,
        losses: true,
        capacity: 100_000,
    });
    run.advance_to(Time::MAX, &Control::default());
    let events = run.session().events().first;
    balanced_and_ok(&run.finish(&Control::default()));
    let of = |kind| if let EventKind::Lost(cause) = kind { cause } else { panic!("{kind:?}") };
    events.iter().map(|event| (event.time.0 / 1000, of(event.kind))).collect()
}

/// Every packet is at the head of its queue for the whole lifetime, from when the packet before it was discarded.
#[test]
fn a_head_that_waits_is_discarded_after_its_lifetime() {
    for queueing in ["voq", "fifo", "cioq"] {
        let found = losses(LINE, &[HEAD, ("switch.queueing", queueing)]);
        // The buffer has room for 65 packets, and for one more each of the 18 times until 100 us; staging buffers for some more.
        let sent = found.len() as u64;
        assert!(sent == 65 + 18 || queueing == "cioq" && sent > 65 + 18, "{queueing}: {sent}");
        let expected: Vec<_> = (0..sent).map(|n| (200 + 5_500 * (n + 1), HeadOfQueueLifetime)).collect();
        assert_eq!(found, expected, "{queueing}");
    }
    let outcome = run(LINE, &[]);
    assert_eq!(
        (outcome.totals.lost.total(), outcome.totals.in_flight),
        (0, 65),
        "they wait without a lifetime"
    );
}

/// A packet is discarded a fixed time after it came to the switch; one that was not at the head by then, as it comes there.
#[test]
fn a_packet_that_is_in_the_switch_too_long_is_discarded() {
    let limit = |time| ("switch.lifetime_limit", time);
    let expected: Vec<_> = (0..100).map(|n| (200 + 1_000 * n + 20_000, SwitchLifetime)).collect();
    assert_eq!(losses(LINE, &[limit("\"20 us\"")]), expected);
    // Both: the first packet waits at the head only; the others have waited behind it.
    let found = losses(LINE, &[limit("\"7 us\""), HEAD]);
    let mut expected: Vec<_> = (0..100).map(|n| (200 + 1_000 * n + 7_000, SwitchLifetime)).collect();
    expected[0] = (5_700, HeadOfQueueLifetime);
    assert_eq!(found, expected);
}

/// After three packets in a row the lane is stalled for eight lifetimes, to 60.7 us: packets 3 to 16, which wait, are lost at once, and
/// those up to 60, which arrive at 60.2 us, as they come. Then three more are lost by the lifetime, and the lane is stalled once more.
#[test]
fn a_lane_that_discards_packets_in_a_row_is_stalled() {
    let found = losses(LINE, &[HEAD, ("switch.vl_stall_count", "3")]);
    let arrival = |n: u64| 200 + 1_000 * n;
    let mut expected: Vec<_> = (0..3).map(|n| (200 + 5_500 * (n + 1), HeadOfQueueLifetime)).collect();
    expected.extend((3..=60).map(|n| (arrival(n).max(16_700), VlStalled)));
    let second = arrival(61);
    expected.extend((0..3).map(|n| (second + 5_500 * (n + 1), HeadOfQueueLifetime)));
    expected.extend((64..100).map(|n| (arrival(n).max(second + 16_500), VlStalled)));
    assert_eq!(found, expected);
}

/// Twice two packets are lost by the lifetime; the packets that are sent in between start the count anew.
#[test]
fn a_packet_that_is_sent_starts_the_count_anew() {
    let plan = r#"[{ link = "S(0)-S(1)", at = "0 s", until = "14 us" }, { link = "S(0)-S(1)", at = "30 us", until = "44 us" }]"#;
    let of = |plan, count| {
        let outcome = run(LINE, &[HEAD, ("switch.vl_stall_count", count), ("faults.plan", plan)]);
        balanced_and_ok(&outcome);
        let lost = outcome.invariants.lost;
        (lost.head_of_queue_lifetime, lost.vl_stalled > 0)
    };
    assert_eq!(of(plan, "3"), (4, false));
    assert_eq!(of(plan, "2"), (2, true), "two in a row stall the lane, beyond the second failure");
    let whole = r#"[{ link = "S(0)-S(1)", at = "0 s", until = "28 us" }]"#;
    assert!(of(whole, "3").1, "as many without one that is sent do");
}

/// A discarded packet returns its credits: the host goes on sending.
#[test]
fn the_space_of_discarded_packets_is_returned() {
    let small = ("links.hosts", r#"{ buffer = "2000 B" }"#);
    let outcome = run(LINE, &[HEAD, small]);
    balanced_and_ok(&outcome);
    // Two in the buffer, and one more for each of those that are lost before 100 us.
    let measured = (100_000 - 200) / 5_500;
    assert_eq!((outcome.totals.injected, outcome.totals.lost.total()), (2 + measured, 2 + measured));
    assert_eq!(run(LINE, &[small]).totals.injected, 2);
    let table = outcome.tables.iter().find(|table| table.name == "links").unwrap();
    let discarded = crate::common::tables::numbers(&outcome, "links", "discarded");
    let links = crate::common::tables::texts(&outcome, "links", "link");
    let row = links.iter().position(|link| link == "S(0)->S(1)").unwrap_or_else(|| panic!("{table:?}"));
    // Those after 100 us are not in the measurement.
    let measured = measured as f64;
    assert_eq!((discarded[row], discarded.iter().sum::<f64>()), (measured, measured));
}

/// Every packet goes two switches further round a ring without a second lane, through buffers of one packet.
const RING: &str = r#"
[topology.ring]
switches = 6
hosts_per_switch = 3
[links.all]
rate = "8 Gb/s"
buffer = "512 B"
[host]
mtu = "512 B"
[switch]
arbiter = "fixed-priority"
[switch.staging]
buffer = "512 B"
[[traffic]]
sources = ["H(*).0"]
pattern = "tornado"
injection = "poisson"
load = 0.8
message = "512 B"
[run]
duration = "2 ms"
allow_deadlock = true
"#;

#[test]
fn a_deadlock_ends_with_a_lifetime() {
    for queueing in ["voq", "fifo", "cioq"] {
        let queueing = ("switch.queueing", queueing);
        let stuck = run(RING, &[queueing]);
        assert_eq!(stuck.status, Status::Deadlock);
        let lifetime = ("switch.head_of_queue_lifetime", "\"20 us\"");
        let outcome = run(RING, &[queueing, lifetime]);
        balanced_and_ok(&outcome);
        let lost = outcome.invariants.lost.head_of_queue_lifetime;
        assert!(lost > 6 && outcome.end == Time::ms(2), "{lost}");
        let (before, now) = (stuck.totals.delivered, outcome.totals.delivered);
        assert!(now > 10 * before && now > 100, "it stops after {before} packets, or delivers {now}");
    }
}

/// A torus beyond saturation.
const TORUS: &str = r#"
[topology.torus]
dimensions = [4, 4]
[links.all]
rate = "32 Gb/s"
latency = "20 ns"
buffer = "2 KiB"
[switch]
virtual_lanes = 4
router_delay = "50 ns"
[host]
mtu = "512 B"
[[traffic]]
pattern = { hot-spot = { hosts = ["H(0,0).0"], fraction = 0.3 } }
injection = "poisson"
load = 0.9
message = "1 KiB"
[run]
warmup = "5 us"
duration = "30 us"
[measure]
flows = "pairs"
"#;

/// A lifetime that does not end changes nothing.
#[test]
fn lifetimes_that_do_not_end_change_nothing() {
    for switch in [
        "queueing = \"voq\"",
        "queueing = \"fifo\"",
        "queueing = \"cioq\"",
        "arbiter = \"oldest-first\"",
        "credit_return = \"packet\"",
    ] {
        let text = TORUS.replace("[switch]", &format!("[switch]\n{switch}"));
        let long = [
            ("switch.head_of_queue_lifetime", "\"1073741.824 us\""),
            ("switch.lifetime_limit", "\"1 s\""),
            ("switch.vl_stall_count", "7"),
        ];
        assert!(everything(&run(&text, &long)) == everything(&run(&text, &[])), "{switch}");
        let short = [("switch.head_of_queue_lifetime", "\"1 us\"")];
        assert!(run(&text, &short).totals.lost.by_lifetimes() > 0, "they would be seen: {switch}");
    }
}

#[test]
fn results_do_not_depend_on_partitions() {
    for queueing in ["voq", "fifo", "cioq"] {
        let of = |partitions| {
            let overrides = [
                ("switch.queueing", queueing),
                ("switch.head_of_queue_lifetime", "\"700 ns\""),
                ("switch.lifetime_limit", "\"4 us\""),
                ("switch.vl_stall_count", "2"),
                ("run.partitions", partitions),
            ];
            run(TORUS, &overrides)
        };
        let alone = of("1");
        balanced_and_ok(&alone);
        let lost = alone.invariants.lost;
        assert!(lost.head_of_queue_lifetime > 0 && lost.vl_stalled > 0, "{lost:?}");
        for partitions in ["2", "3", "7"] {
            assert!(everything(&of(partitions)) == everything(&alone), "{queueing}, {partitions} partitions");
        }
    }
}
