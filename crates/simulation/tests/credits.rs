//! Exact times at a link whose sender waits for credits, and at outputs of another rate than their inputs.

use crate::common::observers::Deliveries;
use crate::common::prepare;
use fabricsim_model::Observer;
use fabricsim_units::{Time, Vl};

/// Times at which packets start on the link from the first switch to the second.
#[derive(Default)]
struct Starts {
    channel: u32,
    at: Vec<u64>,
}

impl Observer for Starts {
    fn transmitted(&mut self, port: u32, _lane: Vl, _bytes: u32, start: Time, _end: Time) {
        if port == self.channel {
            self.at.push(start.0);
        }
    }
}

const CHAIN: &str = r#"
[topology.mesh]
dimensions = [2]
[links.all]
rate = "8 Gb/s"
latency = "70 ns"
[links.hosts]
buffer = "1 MiB"
[switch]
router_delay = "30 ns"
flow_control_unit = "64 B"
credit_delay = "11 ns"
[[traffic]]
sources = ["H(0).0"]
pattern = { to = "H(1).0" }
injection = "saturating"
message = "600 B"
[run]
duration = "1 s"
"#;

fn starts(overrides: &[(&str, &str)]) -> Vec<u64> {
    let prepared = prepare(CHAIN, overrides);
    let graph = &prepared.graph;
    let channel =
        (0..2 * graph.links.len() as u32).find(|&port| graph.port_name(port) == "S(0)->S(1)").unwrap();
    let mut engine = prepared.engine(|| Starts { channel, at: Vec::new() });
    engine.advance(Time::us(200), &mut |_, _| true);
    assert_eq!(engine.check_credits(), Ok(()));
    engine.observers().next().unwrap().at.clone()
}

/// Time between packets, which must be the same for all but the first few.
fn period(overrides: &[(&str, &str)]) -> u64 {
    let starts = starts(overrides);
    let periods: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).skip(10).collect();
    assert!(periods.len() > 50 && periods.iter().all(|&p| p == periods[0]), "{periods:?}");
    periods[0]
}

/// A packet of 600 B takes 10 blocks, the last of 24 B. From the start of a packet to that of the next one that needs
/// its i-th block: the link's latency and the router's delay until it leaves the buffer, i blocks, and the credit's
/// latency and delay. A byte takes 1 ns.
#[test]
fn the_round_trip_of_a_credit_is_exact() {
    let around = 70 + 30 + 70 + 11;
    for (blocks, missing) in [(10, 10), (11, 9), (14, 6), (19, 1)] {
        let buffer = format!("{} B", blocks * 64);
        let bytes = (missing * 64).min(600);
        let block = period(&[("links.all.buffer", &buffer)]);
        assert_eq!(block, 1000 * (around + bytes).max(600), "{blocks} blocks");
        let packet = period(&[("links.all.buffer", &buffer), ("switch.credit_return", "packet")]);
        assert_eq!(packet, 1000 * (around + 600), "{blocks} blocks, by packet");
        let stored = period(&[("links.all.buffer", &buffer), ("switch.switching", "store-and-forward")]);
        assert_eq!(stored, 1000 * (around + 600 + bytes), "{blocks} blocks, stored");
    }
    assert_eq!(period(&[("links.all.buffer", "1280 B")]), 600_000, "two packets are enough");
    assert_eq!(period(&[("links.all.packet_overhead", "8 B")]), 608_000, "the overhead occupies the link");
}

/// A host of 8 Gb/s on a fabric of 32 Gb/s, to a sink that pauses every 20 us for 20 us: what has piled up meanwhile
/// then leaves packet after packet at the output's rate, in whatever queue it was.
#[test]
fn who_has_waited_long_enough_does_not_wait_for_its_bytes() {
    let jammed = [
        ("links.all.rate", "32 Gb/s"),
        ("links.named.\"H(0).0-S(0)\".rate", "8 Gb/s"),
        ("links.all.buffer", "2560 B"),
        ("links.named.\"H(1).0-S(1)\".buffer", "2560 B"),
        ("host.sink", "{ pause_every = \"20 us\", pause_for = \"20 us\" }"),
    ];
    for queueing in ["fifo", "voq"] {
        let starts = starts(&[&jammed[..], &[("switch.queueing", queueing)]].concat());
        // A pause of 20 us is 33 packets of 600 ns; five pauses end in 200 us, and the buffers ahead hold some.
        let gaps = || starts.windows(2).map(|pair| pair[1] - pair[0]);
        let follow = gaps().filter(|&gap| gap == 150_000).count();
        assert!(follow > 4 * 20, "{queueing}: {follow} {:?}", gaps().collect::<Vec<_>>());
        // One packet after each pause catches up with the host.
        let between = gaps().filter(|gap| (150_001..600_000).contains(gap)).count();
        assert!(between <= 5, "{queueing}: {between} {:?}", gaps().collect::<Vec<_>>());
    }
}

/// A source that is on and off sends small packets into buffers of 64 MiB, whose credits never run short.
#[test]
fn ramps_kept_do_not_grow_with_the_buffers() {
    let kept = |buffer| {
        let overrides = [
            ("links.all.buffer", buffer),
            ("links.hosts.buffer", buffer),
            ("traffic.0.message", "64 B"),
            ("traffic.0.injection", "on-off"),
            ("traffic.0.on", "20 us"),
            ("traffic.0.off", "20 us"),
        ];
        let prepared = prepare(CHAIN, &overrides);
        let mut engine = prepared.engine(Deliveries::default);
        engine.advance(Time::ms(4), &mut |_, _| true);
        assert_eq!(engine.check_credits(), Ok(()));
        let delivered = engine.observers().next().unwrap().0.len();
        assert!(delivered > 20_000, "{delivered}");
        engine.credit_ramps()
    };
    let (small, large) = (kept("64 KiB"), kept("64 MiB"));
    // Ended ones are collected with the first credit for a switch's packet after 256; sinks give a few more back in between.
    assert!(small <= 2 * 256, "{small}");
    assert_eq!(small, large);
}
