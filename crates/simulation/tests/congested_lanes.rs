//! Roots and victims of congestion on ports with several virtual lanes: a port and lane is a root if it is over its threshold and has
//! credits, and a victim if it has none, whatever the port's other lanes do (annex A10 of the InfiniBand Architecture
//! Specification, and the tutorial's figure 13).

use std::collections::BTreeMap;

use crate::common::prepare;
use fabricsim_model::{Observer, Packet};
use fabricsim_units::{HostId, Time, Vl};

/// Figures 12 and 13: B, C and D, at the second switch, and A, at the first, send to R. P sends to Q, over the same link as A. Port r,
/// `S(1)->H(1).0`, is the root; port x, `S(0)->S(1)`, is a victim. On the other lane, S sends to T over port x.
const FIGURE_13: &str = r#"
[topology.mesh]
dimensions = [2]
hosts_per_switch = 6
[links.all]
rate = "8 Gb/s"
latency = "5 ns"
buffer = "64000 B"
reads = 0
[switch]
router_delay = "50 ns"
virtual_lanes = 2
service_classes = 2
[host]
mtu = "2000 B"
[congestion_control]
algorithm = "infiniband"
[congestion_control.infiniband]
threshold = 8
reset_threshold = 9
marking_rate = 0
ccti_increase = 0
ccti_timer = "20 us"
victim_mask = "none"
[[traffic]]
name = "contributors"
sources = ["H(0).0", "H(1).2", "H(1).3", "H(1).4"]
pattern = { to = "H(1).0" }
injection = "saturating"
message = "20000 B"
[[traffic]]
name = "victim"
sources = ["H(0).1"]
pattern = { to = "H(1).1" }
injection = "saturating"
message = "20000 B"
[[traffic]]
name = "busy"
sources = ["H(0).2"]
pattern = { to = "H(1).5" }
injection = "saturating"
message = "20000 B"
service_class = 1
[run]
duration = "1 s"
"#;

/// Marks by port and lane, and notifications by source.
#[derive(Clone, Debug, Default)]
struct Marks {
    by_lane: BTreeMap<(u32, u8), u64>,
    notified: BTreeMap<HostId, u64>,
    delivered: BTreeMap<HostId, u64>,
}

impl Observer for Marks {
    fn marked(&mut self, now: Time, port: u32, lane: Vl, _: &Packet) {
        if now >= SETTLED {
            *self.by_lane.entry((port, lane.0)).or_default() += 1;
        }
    }
    fn notified(&mut self, _: Time, host: HostId, _: HostId) {
        *self.notified.entry(host).or_default() += 1;
    }
    fn delivered(&mut self, now: Time, packet: &Packet) {
        if now >= SETTLED {
            *self.delivered.entry(packet.source).or_default() += u64::from(packet.bytes);
        }
    }
}

/// From then on all buffers are full.
const SETTLED: Time = Time::ms(1);

/// Marks from the time at which all buffers are full, by the port's name and the lane.
fn marks(overrides: &[(&str, &str)]) -> (BTreeMap<(String, u8), u64>, Marks) {
    let prepared = prepare(FIGURE_13, overrides);
    let mut engine = prepared.engine(Marks::default);
    engine.advance(Time::ms(5), &mut |_, _| true);
    let marks = engine.finish().remove(0);
    let name = |(&(port, lane), &count): (&(u32, u8), &u64)| ((prepared.graph.port_name(port), lane), count);
    (marks.by_lane.iter().map(name).collect(), marks)
}

const NO_VICTIM: (&str, &str) = ("traffic.1.start", "900 ms");
const NOT_BUSY: (&str, &str) = ("traffic.2.start", "900 ms");
const X: &str = "S(0)->S(1)";
const R: &str = "S(1)->H(1).0";

/// A threshold of less than a packet, where only the heads of queues wait for an output.
const LOW: [(&str, &str); 3] = [
    ("links.all.buffer", "20000 B"),
    ("congestion_control.infiniband.threshold", "15"),
    ("congestion_control.infiniband.reset_threshold", "15"),
];

const MODEST: [(&str, &str); 3] =
    [("traffic.2.injection", "constant"), ("traffic.2.load", "0.4"), ("traffic.2.message", "2000 B")];

/// Variants that change how packets wait and what is counted. (With the arbiters `oldest-first` and `random`, r takes the
/// packets of port x in bursts, and port x has credits in between.)
const VARIANTS: [&[(&str, &str)]; 7] = [
    &[],
    &[LOW[0], LOW[1], LOW[2], ("switch.queueing", "cioq")],
    &[LOW[0], LOW[1], LOW[2], ("switch.queueing", "fifo")],
    &[LOW[0], LOW[1], LOW[2], ("switch.queueing", "fifo"), ("switch.allocation", "separable")],
    // A lane that waits for others while it has credits is a root: the busy lane leaves it time.
    &[MODEST[0], MODEST[1], MODEST[2], ("switch.priority_classes", "[1]")],
    &[("congestion_control.infiniband.threshold_on", "buffer")],
    &[("switch.send_when", "largest-packet-fits")],
];

#[test]
fn a_victim_lane_is_not_marked_beside_a_busy_lane() {
    for variant in VARIANTS {
        let of = |more: &[(&str, &str)]| marks(&[variant, &[NO_VICTIM], more].concat()).0;
        let (alone, extensions) = (of(&[NOT_BUSY]), of(&[]));
        let at_x = |found: &BTreeMap<(String, u8), u64>| found.get(&(X.to_owned(), 0)).copied().unwrap_or(0);
        for found in [&alone, &extensions] {
            assert!(found[&(R.to_owned(), 0)] > 100, "{variant:?}: r is a root: {found:?}");
        }
        assert_eq!(at_x(&alone), 0, "{variant:?}: x is a victim: {alone:?}");
        assert_eq!(at_x(&extensions), 0, "{variant:?}: and is one beside a busy lane: {extensions:?}");
    }
}

/// Messages whose last packet has 100 bytes. For that one there may be space where there is none for a full packet, which waits at
/// another input.
const SHORT_LAST: [(&str, &str); 3] =
    [("traffic.0.message", "20100 B"), ("traffic.1.message", "20100 B"), ("traffic.2.message", "20100 B")];

#[test]
fn short_last_packets_of_a_victim_lane_are_not_marked() {
    for variant in VARIANTS {
        let (found, sent) = marks(&[variant, &SHORT_LAST, &[NO_VICTIM, NOT_BUSY]].concat());
        assert!(sent.delivered[&HostId(0)] > 900_000, "A sends: {sent:?}");
        assert!(found[&(R.to_owned(), 0)] > 100, "{variant:?}: r is a root: {found:?}");
        assert_eq!(found.get(&(X.to_owned(), 0)), None, "{variant:?}: x is a victim: {found:?}");
    }
    let beside = marks(&[&SHORT_LAST[..], &[NO_VICTIM]].concat()).0;
    assert_eq!(beside.get(&(X.to_owned(), 0)), None, "x is a victim beside a busy lane: {beside:?}");
}

#[test]
fn a_congested_lane_is_marked_beside_a_victim_lane() {
    for variant in &VARIANTS[..3] {
        let (found, _) = marks(variant);
        assert!(found.get(&(X.to_owned(), 1)).is_some_and(|&marks| marks > 100), "{variant:?}: {found:?}");
    }
}

#[test]
fn masked_victims_are_marked_and_threshold_zero_marks_nothing() {
    for variant in &VARIANTS[..4] {
        let of = |key, value| marks(&[variant, &[(key, value)][..]].concat()).0;
        let masked = of("congestion_control.infiniband.victim_mask", "all");
        assert!(masked.get(&(X.to_owned(), 0)).is_some_and(|&marks| marks > 100), "{variant:?}: {masked:?}");
        assert_eq!(of("congestion_control.infiniband.threshold", "0"), BTreeMap::new(), "{variant:?}");
    }
}

/// The tutorial's figure 13, with the sources slowed down: only A's packets are marked, so P keeps its rate beside a busy lane.
#[test]
fn congestion_control_slows_the_contributor_and_not_the_victim() {
    let prepared = prepare(
        FIGURE_13,
        &[
            ("congestion_control.infiniband.ccti_increase", "1"),
            ("traffic.1.injection", "constant"),
            ("traffic.1.load", "0.3"),
            ("traffic.2.injection", "constant"),
            ("traffic.2.load", "0.3"),
        ],
    );
    let mut engine = prepared.engine(Marks::default);
    engine.advance(Time::ms(31), &mut |_, _| true);
    let marks = engine.finish().remove(0);
    // 8 Gb/s for 30 ms.
    let share = |host| marks.delivered[&HostId(host)] as f64 / 30e6;
    let (a, p, s) = (share(0), share(1), share(2));
    assert!((a - 0.25).abs() < 0.05, "A is one of four contributors: {a}");
    assert!((p - 0.3).abs() < 0.01 && (s - 0.3).abs() < 0.01, "P and S have what they send: {p}, {s}");
    let contributor = marks.notified[&HostId(0)];
    let victim = marks.notified.get(&HostId(1)).copied().unwrap_or(0);
    assert!(victim * 20 < contributor, "P {victim}, A {contributor}");
}

/// With allocation in rounds a packet that may take several lanes is bound to one of them while it waits, and waits for that one
/// from then on.
#[test]
fn packets_bound_to_a_lane_are_counted_there() {
    let rounds = [
        ("switch.queueing", "fifo"),
        ("switch.allocation", "separable"),
        ("switch.service_classes", "1"),
        ("traffic.2.service_class", "0"),
        ("links.all.buffer", "20000 B"),
        ("congestion_control.infiniband.threshold", "15"),
        ("congestion_control.infiniband.reset_threshold", "15"),
    ];
    let (found, _) = marks(&rounds);
    assert!(
        [0, 1].iter().all(|&lane| found[&(R.to_owned(), lane)] > 100),
        "both lanes of r are roots: {found:?}"
    );
}
