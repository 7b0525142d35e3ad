use super::*;

const LINE: f64 = 100_000.0;
const MTU: u32 = 4096;
const RTT: Time = Time::us(10);
/// Packets of the MTU in the bandwidth-delay product.
const PRODUCT: f64 = 125_000.0 / 4096.0;

fn source(spec: &Swift) -> SwiftSource {
    let mut source = SwiftSource::new(Arc::new(SwiftRules::new(spec, RTT, MTU)), LINE);
    source.on_sent(3, MTU, Time::us(1), Time::us(2), &mut |_, _, _, _| {});
    source
}

fn acknowledge(source: &mut SwiftSource, now: Time, rtt: Time, packets: u32) {
    let bytes = u64::from(packets) * u64::from(MTU);
    let acknowledged = Acknowledged { bytes, packets, marked: 0, rtt, hops: 2, telemetry: &[] };
    source.on_ack(3, &acknowledged, 0, now, &mut |_, _, _, _| {});
}

fn packets(source: &mut SwiftSource) -> f64 {
    source.window(3, Time::ZERO) as f64 / f64::from(MTU)
}

/// Scaling off, so that the target is 20 us.
fn plain() -> Swift {
    Swift { fs_range: Some(Time::ZERO), ..Swift::default() }
}

#[test]
fn a_flow_begins_with_what_fills_its_link() {
    let mut source = source(&plain());
    assert!((packets(&mut source) - PRODUCT).abs() < 1e-3);
    assert_eq!(source.window(4, Time::ZERO), u64::MAX, "nothing is known of another flow");
}

/// Algorithm 1, lines 8 to 11: ai packets for each window that is acknowledged.
#[test]
fn below_the_target_a_window_grows_by_a_packet_in_each_round_trip() {
    let mut source = source(&plain());
    acknowledge(&mut source, Time::us(20), Time::us(12), 10);
    assert!((packets(&mut source) - (PRODUCT + 10.0 / PRODUCT)).abs() < 1e-3);
}

/// Lines 12 and 13: by beta times the part of the delay beyond the target, at most by max_mdf, once in a round trip.
#[test]
fn beyond_the_target_it_shrinks_once_in_a_round_trip() {
    let mut source = source(&plain());
    acknowledge(&mut source, Time::us(40), Time::us(25), 1);
    let once = PRODUCT * (1.0 - 0.8 * 5.0 / 25.0);
    assert!((packets(&mut source) - once).abs() < 1e-3);
    acknowledge(&mut source, Time::us(50), Time::us(25), 1);
    assert!((packets(&mut source) - once).abs() < 1e-3, "10 us after the decrease");
    acknowledge(&mut source, Time::us(65), Time::us(400), 1);
    assert!((packets(&mut source) - once).abs() < 1e-3, "the round trip is longer by now");
    acknowledge(&mut source, Time::us(600), Time::us(400), 1);
    assert!((packets(&mut source) - once * 0.5).abs() < 1e-3, "not by more than max_mdf");
    assert_eq!(source.events(), 2);
}

/// Line 26: with a window below a packet, one is sent every round trip divided by the window.
#[test]
fn windows_below_a_packet_are_paced() {
    let mut source = source(&plain());
    let mut now = Time::us(100);
    while packets(&mut source) >= 0.5 {
        acknowledge(&mut source, now, Time::us(100), 1);
        now += Time::us(101);
    }
    let cwnd = packets(&mut source);
    source.on_sent(3, MTU, now, now, &mut |_, _, _, _| {});
    let wait = source.allowed_at(3, now).saturating_sub(now).0 as f64;
    // `window` returns whole bytes: half a thousandth of 0.5 packets is 1 byte.
    assert!((wait / (100e6 / cwnd) - 1.0).abs() < 5e-4, "{wait}");
    let level = source.level(3, now).unwrap();
    assert!((f64::from(level) - cwnd * 4096.0 * 8.0 / 100.0).abs() <= 1.0, "{level}");
}

/// Section 3.1.2: alpha / sqrt(window) + beta, from fs_range at fs_min_cwnd to 0 at fs_max_cwnd.
#[test]
fn the_target_is_scaled_with_hops_and_flows() {
    let spec = Swift {
        base_target: Some(Time::us(25)),
        hop_target: Time::us(1),
        fs_range: Some(Time::us(100)),
        ..Swift::default()
    };
    let rules = SwiftRules::new(&spec, RTT, MTU);
    let us = |cwnd, hops| rules.target(cwnd, hops) * 1e-6;
    assert!((us(100.0, 0) - 25.0).abs() < 1e-9);
    assert!((us(5000.0, 3) - 28.0).abs() < 1e-9);
    assert!((us(0.1, 0) - 125.0).abs() < 1e-9);
    assert!((us(0.01, 0) - 125.0).abs() < 1e-9);
    // (1 / sqrt(1) - 1 / sqrt(100)) / (1 / sqrt(0.1) - 1 / sqrt(100)) of 100 us.
    assert!((us(1.0, 0) - (25.0 + 100.0 * 0.9 / (10.0_f64.sqrt() - 0.1))).abs() < 1e-9);
}

#[test]
fn what_is_lost_halves_the_window_once_in_a_round_trip() {
    let mut source = source(&plain());
    source.on_loss(3, Time::us(30), &mut |_, _, _, _| {});
    source.on_loss(3, Time::us(31), &mut |_, _, _, _| {});
    assert!((packets(&mut source) - PRODUCT / 2.0).abs() < 1e-3);
}

#[test]
fn rates_are_reported_without_gaps_while_they_are_below_the_link() {
    let mut source = source(&plain());
    let mut reported = Vec::new();
    let mut report = |_: FlowKey, from: Time, to: Time, level: u32| reported.push((from, to, level));
    let late = Acknowledged { bytes: 1, packets: 1, marked: 0, rtt: Time::us(40), hops: 2, telemetry: &[] };
    source.on_ack(3, &late, 0, Time::us(50), &mut report);
    source.on_ack(3, &late, 0, Time::us(60), &mut report);
    source.report(Time::us(70), &mut report);
    // The window of 125 kB less 0.8 * 20 / 40 of it, in 40 us.
    assert_eq!(reported, [(Time::us(50), Time::us(60), 15_000), (Time::us(60), Time::us(70), 15_000)]);
}

/// Line 26: a window of a whole packet is not paced.
#[test]
fn a_window_of_one_packet_is_not_paced() {
    let mut source = source(&Swift { max_cwnd: 1.0, ..plain() });
    assert!((packets(&mut source) - 1.0).abs() < 1e-9);
    source.on_sent(3, MTU, Time::us(5), Time::us(6), &mut |_, _, _, _| {});
    assert_eq!(source.allowed_at(3, Time::us(6)), Time::ZERO);
}

/// Line 7: a round trip below the target, not one that is on it.
#[test]
fn on_the_target_a_window_stays() {
    let mut source = source(&plain());
    acknowledge(&mut source, Time::us(40), Time::us(20), 10);
    assert!((packets(&mut source) - PRODUCT).abs() < 1e-3, "{}", packets(&mut source));
    assert_eq!(source.events(), 0);
    acknowledge(&mut source, Time::us(41), Time::us(20) - Time::ps(1), 10);
    assert!((packets(&mut source) - (PRODUCT + 10.0 / PRODUCT)).abs() < 1e-3);
}

/// Line 11: a window below a packet grows by ai for each packet that is acknowledged.
#[test]
fn windows_below_a_packet_grow_with_each_packet() {
    let mut source = source(&Swift { ai: 0.125, ..plain() });
    source.flows.get(3).unwrap().cwnd = 0.25;
    acknowledge(&mut source, Time::us(40), Time::us(12), 3);
    assert!((packets(&mut source) - 0.625).abs() < 1e-3, "{}", packets(&mut source));
}
