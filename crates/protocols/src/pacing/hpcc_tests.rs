use fabricsim_units::Rate;

use super::*;

const LINE: f64 = 100_000.0;
const RTT: Time = Time::us(8);
/// Bandwidth-delay product, bytes.
const PRODUCT: f64 = 100_000.0;

struct Harness {
    source: HpccSource,
    now: Time,
    sent: u64,
}

fn harness(spec: &Hpcc) -> Harness {
    let mut source = HpccSource::new(Arc::new(HpccRules::new(spec, RTT)), LINE);
    source.on_sent(3, 1000, Time::ZERO, Time::ns(80), &mut |_, _, _, _| {});
    Harness { source, now: Time::ZERO, sent: 0 }
}

impl Harness {
    fn hop(&self, output: u32, queued: u64) -> HopTelemetry {
        let byte_time = Rate::new(100_000_000_000).unwrap().byte_time();
        HopTelemetry { output, time: self.now, sent: self.sent, queued, byte_time }
    }

    /// After `elapsed` an acknowledgement of 1000 bytes arrives; meanwhile the link has sent `bytes`, and `queued` wait.
    fn after(&mut self, elapsed: Time, bytes: u64, queued: u64) {
        self.now += elapsed;
        self.sent += bytes;
        self.acknowledge(&[self.hop(7, queued)]);
    }

    fn acknowledge(&mut self, telemetry: &[HopTelemetry]) {
        let acknowledged = Acknowledged { bytes: 1000, packets: 1, marked: 0, rtt: RTT, hops: 1, telemetry };
        self.source.on_ack(3, &acknowledged, 0, self.now, &mut |_, _, _, _| {});
    }

    fn window(&mut self) -> f64 {
        self.source.window(3, self.now) as f64
    }
}

fn spec() -> Hpcc {
    Hpcc { additive_increase: Some(fabricsim_units::Bytes(80)), ..Hpcc::default() }
}

#[test]
fn a_flow_begins_at_the_rate_of_its_link() {
    let mut harness = harness(&spec());
    assert!((harness.window() - PRODUCT).abs() < 1.0);
    assert_eq!(harness.source.allowed_at(3, Time::ZERO), Time::ns(80), "1000 bytes at W / T");
}

/// Equation 2 and line 14: W = W_c / (U / eta) + W_AI, where U is queue over bandwidth-delay product, plus rate over bandwidth.
#[test]
fn the_window_follows_the_most_loaded_link() {
    let mut harness = harness(&spec());
    harness.after(Time::us(8), 100_000, 50_000);
    assert!((harness.window() - PRODUCT).abs() < 1.0, "the first telemetry is compared with nothing");
    // A whole T has passed, so that the mean is the measured 0.5 + 1.
    harness.after(Time::us(8), 100_000, 50_000);
    assert!((harness.window() - (PRODUCT / (1.5 / 0.95) + 80.0)).abs() < 2.0, "{}", harness.window());
}

/// Line 9: a shorter time counts in proportion.
#[test]
fn measurements_weigh_by_the_time_between_them() {
    let mut harness = harness(&spec());
    harness.after(Time::us(8), 100_000, 0);
    // A quarter of T at half the rate: U = 3/4 * 1 + 1/4 * 1/2.
    harness.after(Time::us(2), 12_500, 0);
    assert!((harness.window() - 1.0_f64.min(0.95 / 0.875) * PRODUCT).abs() < 100.0, "the window is capped");
    let flow = harness.source.flows.get(3).unwrap();
    assert!((flow.utilisation - 0.875).abs() < 1e-3, "{}", flow.utilisation);
}

/// Lines 16 to 19: below eta, maxStage rounds of W_AI, then a multiplicative increase; a round ends when what was sent at its
/// begin is acknowledged.
#[test]
fn additive_rounds_come_before_a_multiplicative_one() {
    let mut harness = harness(&Hpcc { max_stage: 2, ..spec() });
    harness.after(Time::us(8), 100_000, 100_000);
    harness.after(Time::us(8), 100_000, 100_000);
    let begin = PRODUCT / (2.0 / 0.95) + 80.0;
    assert!((harness.window() - begin).abs() < 2.0);
    let mut expected = begin;
    for stage in 0..3 {
        harness.source.on_sent(3, 1000, harness.now, harness.now, &mut |_, _, _, _| {});
        harness.after(Time::us(8), 50_000, 0);
        expected = if stage < 2 { expected + 80.0 } else { expected / (0.5 / 0.95) + 80.0 };
        assert!((harness.window() - expected).abs() < 3.0, "{stage}: {} {expected}", harness.window());
    }
}

/// Lines 20 to 27: within a round the window is computed from the same reference again.
#[test]
fn a_decrease_is_applied_once_in_a_round() {
    let mut harness = harness(&spec());
    harness.source.on_sent(3, 60_000, Time::ZERO, Time::ZERO, &mut |_, _, _, _| {});
    harness.after(Time::us(8), 100_000, 100_000);
    harness.after(Time::us(8), 100_000, 100_000);
    let once = harness.window();
    for _ in 0..5 {
        harness.after(Time::us(8), 100_000, 100_000);
        assert!((harness.window() - (once * 0.475 + 80.0)).abs() < 2.0, "{}", harness.window());
    }
    let flow = harness.source.flows.get(3).unwrap();
    assert!((flow.reference - once).abs() < 1.0, "61 kB were sent, and 7 kB are acknowledged");
}

#[test]
fn telemetry_of_another_path_is_not_compared() {
    let mut harness = harness(&spec());
    harness.after(Time::us(8), 100_000, 0);
    harness.now += Time::us(8);
    let other = harness.hop(9, 1 << 30);
    harness.acknowledge(&[other]);
    assert!((harness.window() - PRODUCT).abs() < 1.0);
    let longer = [harness.hop(9, 1 << 30), harness.hop(7, 1 << 30)];
    harness.acknowledge(&longer);
    assert!((harness.window() - PRODUCT).abs() < 1.0);
}

#[test]
fn an_acknowledgement_without_telemetry_is_passed_over() {
    let mut harness = harness(&spec());
    harness.after(Time::us(4), 50_000, 50_000);
    harness.acknowledge(&[]);
    harness.after(Time::us(8), 100_000, 50_000);
    assert!((harness.window() - (PRODUCT / (1.5 / 0.95) + 80.0)).abs() < 2.0, "{}", harness.window());
}

#[test]
fn the_default_increase_is_the_share_of_each_flow_in_the_room_above_eta() {
    let source = HpccSource::new(Arc::new(HpccRules::new(&Hpcc::default(), RTT)), LINE);
    assert!((source.additive - PRODUCT * 0.05 / 100.0).abs() < 1e-6);
}

/// Lines 5 to 9: the time that counts is that of the most loaded link, the first of several; where nothing moved there is none, and the mean stays.
#[test]
fn measurements_weigh_by_the_time_of_the_most_loaded_link() {
    let mut harness = harness(&spec());
    harness.after(Time::us(8), 100_000, 0);
    let utilisation = |harness: &mut Harness, expected: f64| {
        let flow = harness.source.flows.get(3).unwrap();
        assert!((flow.utilisation - expected).abs() < 1e-9, "{} {expected}", flow.utilisation);
    };
    harness.after(Time::us(2), 12_500, 0);
    utilisation(&mut harness, 0.75 + 0.25 * 0.5);
    harness.after(Time::us(2), 0, 0);
    utilisation(&mut harness, 0.875);
    harness.after(Time::us(4), 25_000, 0);
    utilisation(&mut harness, 0.5 * 0.875 + 0.5 * 0.5);
    // Two links at half of their rate: the first in 2 us, the second in 4 us.
    let mut two = self::harness(&spec());
    two.acknowledge(&[two.hop(7, 0), two.hop(8, 0)]);
    let mut hops = [two.hop(7, 0), two.hop(8, 0)];
    (hops[0].time, hops[0].sent) = (Time::us(2), 12_500);
    (hops[1].time, hops[1].sent) = (Time::us(4), 25_000);
    two.acknowledge(&hops);
    utilisation(&mut two, 0.75 + 0.25 * 0.5);
}

/// Line 21: a round ends when more is acknowledged than was sent at its begin. A window that shrinks is an event, and the flow's rate is that of its
/// window: 22,680.5 bytes in 8 us are 22,680 Mb/s.
#[test]
fn a_round_ends_behind_what_was_sent_at_its_begin() {
    let mut harness = harness(&spec());
    harness.source.on_sent(3, 3000, Time::ZERO, Time::ZERO, &mut |_, _, _, _| {});
    harness.after(Time::us(8), 100_000, 100_000);
    assert_eq!((harness.source.events(), harness.source.level(3, harness.now)), (0, None));
    let first = PRODUCT * 0.475 + 80.0;
    let second = first * 0.475 + 80.0;
    let third = second * 0.475 + 80.0;
    // 2, 3, 4, 5 and 6 kB are acknowledged; 4 kB were sent before, and nothing since.
    for (window, reference, events) in
        [(first, first, 1), (second, first, 2), (second, first, 2), (second, second, 2), (third, third, 3)]
    {
        harness.after(Time::us(8), 100_000, 100_000);
        let flow = harness.source.flows.get(3).unwrap();
        assert!((flow.window - window).abs() < 1e-3, "{} {window}", flow.window);
        assert!((flow.reference - reference).abs() < 1e-3, "{} {reference}", flow.reference);
        assert_eq!(harness.source.events(), events);
        if (window - second).abs() < 1.0 {
            assert_eq!(harness.source.level(3, harness.now), Some(22_680));
        }
        // The next round ends behind these.
        if events == 2 && (reference - second).abs() < 1.0 {
            assert_eq!(harness.source.flows.get(3).unwrap().updated_at, 4000);
        }
    }
    let mut reported = Vec::new();
    let (now, end) = (harness.now, harness.now + Time::us(5));
    harness.source.report(end, &mut |key, from, to, level| reported.push((key, from, to, level)));
    assert_eq!(reported, [(3, now, end, third as u32)]);
    assert_eq!(harness.source.level(4, end), None, "nothing is known of another flow");
}
