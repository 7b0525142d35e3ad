//! Priority flow control: lossless with headroom, thresholds by closed form, and the same deadlocks as with credits.

use crate::common::tables::{numbers, texts};
use crate::common::{DEADLOCKING_RING, balanced, balanced_and_ok, run};
use fabricsim_simulation::{Outcome, Status};
use fabricsim_units::Time;

/// Two hosts at two switches, links of 8 Gb/s: a byte takes 1 ns. The receiver takes half the rate.
const SLOW: &str = r#"
topology.mesh = { dimensions = [2], hosts_per_switch = 1 }
[links.all]
rate = "8 Gb/s"
latency = "500 ns"
buffer = "64 KiB"
[switch]
flow_control = "pause"
[switch.pause]
xoff = "32 KiB"
xon = "16 KiB"
[host]
mtu = "1024 B"
[host.sink]
rate = "4 Gb/s"
[[traffic]]
sources = ["H(0).0"]
pattern = { to = "H(1).0" }
injection = "saturating"
message = "1024 B"
[run]
warmup = "500 us"
duration = "5 ms"
"#;

fn of_link(outcome: &Outcome, name: &str, column: &str) -> f64 {
    let names = texts(outcome, "links", "link");
    let row = names.iter().position(|found| found == name).unwrap_or_else(|| panic!("{name}: {names:?}"));
    numbers(outcome, "links", column)[row]
}

/// The buffer of the receiver fills from XON to XOFF and empties again at half the rate, and so does each before it. Between the event and its effect
/// the round trip, the frame, and on the average half a packet before it, the level goes on to change.
#[test]
fn frames_are_sent_as_often_as_thresholds_and_round_trip_say() {
    for (xoff, xon) in [(32, 16), (40, 8), (48, 16)] {
        let sizes = [xoff, xon].map(|kib| format!("'{kib} KiB'"));
        let outcome = run(SLOW, &[("switch.pause.xoff", &sizes[0]), ("switch.pause.xon", &sizes[1])]);
        balanced_and_ok(&outcome);
        assert_eq!(outcome.invariants.lost.total(), 0);
        let delivered = outcome.summary.hosts.accepted_load;
        assert!((delivered - 0.5).abs() < 0.001, "half of the rate: {delivered}");
        // A cycle changes the level by the distance of the thresholds and what the delays add, up and down again, by half a byte a nanosecond.
        let delay = 1000.0 + 84.0;
        let cycle = 2.0 * (f64::from((xoff - xon) * 1024) + delay) / 0.5;
        let expected = 2.0 * 5e6 / cycle;
        let frames = of_link(&outcome, "H(1).0->S(1)", "flow_control");
        // Levels change by whole packets: by up to three in each half of a cycle.
        let share = 3.0 * 1024.0 / f64::from((xoff - xon) * 1024);
        assert!((frames / expected - 1.0).abs() < share, "{xoff} {xon}: {frames} {expected}");
        assert!(of_link(&outcome, "S(1)->S(0)", "flow_control") > 0.0, "the pause spreads");
        assert!(of_link(&outcome, "S(0)->H(0).0", "flow_control") > 0.0, "and reaches the source");
        assert_eq!(of_link(&outcome, "H(0).0->S(0)", "flow_control"), 0.0, "nothing comes back");
    }
}

/// Seven hosts send to one at full rate, with packets whose size wastes most of a block.
const INCAST: &str = r#"
topology.single-switch.hosts = 8
[links.all]
rate = "8 Gb/s"
latency = "500 ns"
buffer = "16 KiB"
[switch]
flow_control = "pause"
router_delay = "100 ns"
credit_delay = "50 ns"
[host]
mtu = "1024 B"
[[traffic]]
sources = ["H1", "H2", "H3", "H4", "H5", "H6", "H7"]
pattern = { to = "H0" }
injection = "saturating"
message = "65 B"
[[traffic]]
sources = ["H0"]
pattern = "uniform"
injection = "saturating"
message = "1024 B"
[run]
duration = "1 ms"
"#;

/// With the headroom of the formula nothing is lost; the control is a headroom of a fifth of that. Of what the formula asks for, more than half is
/// needed here.
#[test]
fn headroom_is_enough_and_not_much_more() {
    let lossless = run(INCAST, &[]);
    balanced_and_ok(&lossless);
    assert_eq!(lossless.invariants.lost.total(), 0);
    assert!(lossless.warnings.is_empty(), "{:?}", lossless.warnings);
    let with = |headroom: u64| {
        let xoff = format!("'{} B'", 16384 - headroom);
        let outcome = run(INCAST, &[("switch.pause.xoff", &xoff)]);
        balanced(&outcome);
        (outcome.invariants.lost.buffer_overflow, outcome.warnings.join("\n"))
    };
    let (lost, warning) = with(1024);
    assert!(lost > 0, "{warning}");
    assert!(warning.contains("packets may be lost"), "{warning}");
    // 2 x 500 ns, 100 ns, 50 ns, a packet and the frame before the pause, and a packet begun: 3282 B, in blocks of which 127 of 128 may be lost.
    let needed = 3282 * 127 / 64;
    assert_eq!(with(needed + 128).0, 0);
    assert!(with(needed / 2 - 128).0 > 0);
}

/// A ring without a second lane stops as it does with credits, and with one it goes on.
#[test]
fn rings_stop_as_with_credits() {
    let pause = [
        ("switch.flow_control", "'pause'"),
        ("links.all.buffer", "'8 KiB'"),
        ("traffic.0.sources", "['*']"),
        ("run.duration", "20 ms"),
        ("run.allow_deadlock", "true"),
    ];
    let ring = |more: &[(&str, &str)]| {
        let outcome = run(DEADLOCKING_RING, &[&pause[..], more].concat());
        balanced(&outcome);
        assert_eq!(outcome.invariants.lost.total(), 0);
        outcome
    };
    let stopped = ring(&[]);
    assert_eq!((stopped.status, stopped.deadlock.len()), (Status::Deadlock, 6), "{:?}", stopped.deadlock);
    assert_eq!(ring(&[("switch.virtual_lanes", "2")]).status, Status::Ok);
    // The same with thresholds that keep much of the buffers empty.
    assert_eq!(
        ring(&[("switch.pause.xoff", "'1 KiB'"), ("switch.pause.xon", "'512 B'")]).status,
        Status::Deadlock
    );
}

/// Pauses are of a priority: one that is congested does not stop another on the same links, and would if both were one.
#[test]
fn a_pause_stops_its_priority_only() {
    let text = SLOW.replace("[[traffic]]\nsources = [\"H(0).0\"]", "[[traffic]]\nname = \"hot\"\nsources = [\"H(0).0\"]")
        .replace("hosts_per_switch = 1", "hosts_per_switch = 2")
        .replace("[run]", "[[traffic]]\nname = \"victim\"\nsources = [\"H(0).1\"]\npattern = { to = \"H(1).1\" }\nload = 0.3\nmessage = \"1024 B\"\n[run]");
    let victim = |overrides: &[(&str, &str)]| {
        let outcome = run(&text, overrides);
        balanced(&outcome);
        let entries = texts(&outcome, "entries", "entry");
        let row = entries.iter().position(|name| name == "victim").unwrap_or_else(|| panic!("{entries:?}"));
        numbers(&outcome, "entries", "latency_mean_ns")[row]
    };
    let apart =
        [("switch.virtual_lanes", "2"), ("switch.service_classes", "2"), ("traffic.1.service_class", "1")];
    let (together, apart) = (victim(&[]), victim(&apart));
    assert!(together > 2.0 * apart, "{together} {apart}");
}

/// While a link has failed no frame crosses it; afterwards the fabric goes on, and nothing but what was on the link is lost. The same bits in several
/// partitions.
#[test]
fn pauses_outlive_a_failed_link() {
    let more =
        format!("{SLOW}[faults]\nplan = [{{ link = \"S(0)-S(1)\", at = \"2 ms\", until = \"3 ms\" }}]\n");
    let fingerprints: Vec<u64> = (1..=3)
        .map(|partitions| {
            let outcome = run(&more, &[("run.partitions", &partitions.to_string())]);
            balanced_and_ok(&outcome);
            let lost = outcome.invariants.lost;
            assert_eq!(lost.total(), lost.link_failed, "{lost:?}");
            assert!(outcome.end >= Time::ms(5));
            let delivered = outcome.summary.hosts.accepted_load;
            assert!(
                delivered > 0.39 && delivered < 0.42,
                "half of the rate in four of five milliseconds: {delivered}"
            );
            outcome.totals.fingerprint
        })
        .collect();
    assert_eq!(fingerprints[0], fingerprints[1]);
    assert_eq!(fingerprints[0], fingerprints[2]);
}
