use super::*;

const LINE: f64 = 100_000.0;
const MTU: u32 = 4096;
/// The network for which the factors are given: all scales are 1.
const RTT: Time = Time::us(12);

fn source(spec: &Nscc) -> NsccSource {
    let mut source = NsccSource::new(Arc::new(NsccRules::new(spec, RTT, MTU)), LINE);
    source.on_sent(3, MTU, Time::us(1), Time::us(2), &mut |_, _, _, _| {});
    source
}

/// A source whose window is 100 kB, and which does not adapt quickly.
fn settled() -> NsccSource {
    let mut source = source(&Nscc { quick_adapt: 1000.0, eta: 0.0, ..Nscc::default() });
    let flow = source.flows.get(3).unwrap();
    (flow.window, flow.adjusted) = (100_000.0, Time::us(100));
    source
}

fn acknowledge(source: &mut NsccSource, now: Time, delay: Time, marked: bool, packets: u32) {
    let bytes = u64::from(packets) * u64::from(MTU);
    let marked = if marked { packets } else { 0 };
    let acknowledged = Acknowledged { bytes, packets, marked, rtt: RTT + delay, hops: 2, telemetry: &[] };
    source.on_ack(3, &acknowledged, 30_000, now, &mut |_, _, _, _| {});
}

fn window(source: &mut NsccSource) -> f64 {
    source.flows.get(3).unwrap().window
}

#[test]
fn a_flow_begins_with_the_largest_window() {
    assert!((window(&mut source(&Nscc::default())) - 225_000.0).abs() < 1.0, "1.5 bandwidth-delay products");
}

/// No mark, delay below the target: alpha times what is acknowledged times the distance to the target, over the window, once eight
/// packets are acknowledged.
#[test]
fn proportional_increase() {
    let mut source = settled();
    (0..7).for_each(|_| acknowledge(&mut source, Time::us(101), Time::us(6), false, 1));
    assert!((window(&mut source) - 100_000.0).abs() < 1e-6);
    acknowledge(&mut source, Time::us(101), Time::us(6), false, 1);
    let alpha = 4.0 * 4096.0 / 12e6;
    let expected = 100_000.0 + alpha * 8.0 * 4096.0 * 6e6 / 100_000.0;
    assert!((window(&mut source) - expected).abs() < 1e-6, "{}", window(&mut source));
}

/// No mark, delay beyond the target: five packets in a round trip.
#[test]
fn fair_increase() {
    let mut source = settled();
    acknowledge(&mut source, Time::us(101), Time::us(20), false, 8);
    let expected = 100_000.0 + 5.0 * 4096.0 * 8.0 * 4096.0 / 100_000.0;
    assert!((window(&mut source) - expected).abs() < 1e-6, "{}", window(&mut source));
}

/// Mark without delay: packets are to take another path, and the window stays.
#[test]
fn a_mark_alone_changes_nothing() {
    let mut source = settled();
    (0..20).for_each(|_| acknowledge(&mut source, Time::us(101), Time::us(6), true, 1));
    assert!((window(&mut source) - 100_000.0).abs() < 1e-6);
}

/// Mark and delay: gamma times the part of the mean delay beyond the target, at most a half, once in a round trip.
#[test]
fn multiplicative_decrease() {
    let mut source = settled();
    source.flows.get(3).unwrap().delay = 24e6;
    acknowledge(&mut source, Time::us(101), Time::us(24), true, 1);
    let expected = 100_000.0 * (1.0 - 0.8 * 0.5);
    assert!((window(&mut source) - expected).abs() < 1e-6, "{}", window(&mut source));
    acknowledge(&mut source, Time::us(110), Time::us(24), true, 1);
    assert!((window(&mut source) - expected).abs() < 1e-6, "9 us later");
    source.flows.get(3).unwrap().delay = 1e12;
    acknowledge(&mut source, Time::us(114), Time::us(24), true, 1);
    assert!((window(&mut source) - expected * 0.5).abs() < 1e-6, "a half at most");
    assert_eq!(source.events(), 2);
}

/// A whole window without a queue: then by a quarter of what is acknowledged.
#[test]
fn fast_increase_where_there_is_no_queue() {
    let mut source = settled();
    acknowledge(&mut source, Time::us(101), Time::ZERO, false, 20);
    let before = window(&mut source);
    acknowledge(&mut source, Time::us(101), Time::ZERO, false, 8);
    assert!((window(&mut source) - before - 0.25 * 8.0 * 4096.0).abs() < 1e-6, "{}", window(&mut source));
    acknowledge(&mut source, Time::us(101), Time::us(2), false, 1);
    assert!(!source.flows.get(3).unwrap().grows_fast);
}

/// As much as a window, and no more, is not enough.
#[test]
fn fast_increase_begins_beyond_a_window() {
    for (packets, expected) in [(20, false), (21, true)] {
        let mut source = settled();
        source.flows.get(3).unwrap().window = 20.0 * 4096.0;
        acknowledge(&mut source, Time::us(101), Time::ZERO, false, packets);
        assert_eq!(source.flows.get(3).unwrap().grows_fast, expected, "{packets} packets");
    }
}

/// Far beyond the target: what got through since the last period, base round trip and target long, becomes the window, and what was
/// in flight says nothing more.
#[test]
fn quick_adapt_sets_the_window_to_what_got_through() {
    let mut source = source(&Nscc { delay_weight: 1.0, eta: 0.0, ..Nscc::default() });
    acknowledge(&mut source, Time::us(20), Time::us(60), true, 1);
    assert!(window(&mut source) > 100_000.0, "the first period has only begun");
    acknowledge(&mut source, Time::us(30), Time::us(60), true, 3);
    acknowledge(&mut source, Time::us(45), Time::us(60), true, 1);
    assert!((window(&mut source) - 4.0 * 4096.0).abs() < 1e-6, "{}", window(&mut source));
    acknowledge(&mut source, Time::us(46), Time::us(60), true, 5);
    assert!((window(&mut source) - 4.0 * 4096.0).abs() < 1e-6, "30 kB were in flight");
}

/// In every period of adjustment, a round trip, the window grows by eta.
#[test]
fn a_period_adds_eta() {
    let mut source = settled();
    source.eta = 600.0;
    acknowledge(&mut source, Time::us(113), Time::us(12), true, 1);
    assert!((window(&mut source) - 100_600.0).abs() < 1e-6);
}

/// A flow whose delay is that of the last acknowledgement, after the first period of quick adapt has begun at 20 us; it ends at 44 us.
fn adapting() -> NsccSource {
    let mut source = source(&Nscc { delay_weight: 1.0, eta: 0.0, ..Nscc::default() });
    source.largest = 225_000.0;
    acknowledge(&mut source, Time::us(20), Time::us(60), true, 1);
    source
}

/// An acknowledgement of `bytes` with a mark.
fn deliver(source: &mut NsccSource, bytes: u64, now: Time, delay: Time) {
    let acknowledged =
        Acknowledged { bytes, packets: 1, marked: 1, rtt: RTT + delay, hops: 2, telemetry: &[] };
    source.on_ack(3, &acknowledged, 30_000, now, &mut |_, _, _, _| {});
}

/// Quick adapt requires a delay beyond four targets of 12 us, and that less than an eighth of the largest window, 28,125 bytes, got through.
#[test]
fn quick_adapt_requires_a_long_delay_and_little_that_got_through() {
    for (bytes, delay, adapts) in [
        (28_124, Time::us(49), true),
        (28_125, Time::us(49), false),
        (28_124, Time::us(48), false),
        (28_124, Time::us(13), false),
        (28_124, Time::us(4), false),
        (100_000, Time::us(49), false),
    ] {
        let mut source = adapting();
        deliver(&mut source, bytes, Time::us(45), delay);
        let flow = source.flows.get(3).unwrap();
        assert_eq!(flow.to_ignore > 0.0, adapts, "{bytes} B, {delay:?}");
        assert_eq!((flow.window - bytes as f64).abs() < 1e-6, adapts, "{}", flow.window);
    }
}

/// A loss counts as a delay that is too long, and its event is counted; the rate is that of the new window: 8192 bytes in 12 us are 5461 Mb/s.
#[test]
fn a_loss_sets_the_window_to_what_got_through() {
    let mut source = source(&Nscc { eta: 0.0, ..Nscc::default() });
    acknowledge(&mut source, Time::us(20), Time::ZERO, false, 1);
    source.on_loss(3, Time::us(44), &mut |_, _, _, _| {});
    assert_eq!((source.level(3, Time::us(44)), source.events()), (None, 0), "the period has not ended");
    acknowledge(&mut source, Time::us(44), Time::ZERO, false, 2);
    let mut reported = Vec::new();
    let mut report = |key: FlowKey, from: Time, to: Time, level: u32| reported.push((key, from, to, level));
    source.on_loss(3, Time::us(45), &mut report);
    assert!((window(&mut source) - 2.0 * 4096.0).abs() < 1e-6, "{}", window(&mut source));
    assert_eq!((source.level(3, Time::us(45)), source.events()), (Some(5461), 1));
    source.on_loss(4, Time::us(46), &mut report);
    source.report(Time::us(50), &mut report);
    source.report(Time::us(52), &mut report);
    assert_eq!(reported, [(3, Time::us(45), Time::us(50), 5461), (3, Time::us(50), Time::us(52), 5461)]);
    assert_eq!(
        (source.level(4, Time::us(46)), source.events()),
        (None, 1),
        "nothing is known of another flow"
    );
}

/// A window that changes changes the rate: eight packets at a delay of 20 us add 6710 bytes to 100 kB, and 106,710 bytes in 12 us are 71,140 Mb/s.
#[test]
fn the_rate_follows_the_window() {
    let mut source = settled();
    assert_eq!((source.level(3, Time::us(101)), source.window(3, Time::us(101))), (None, 100_000));
    acknowledge(&mut source, Time::us(101), Time::us(20), false, 8);
    assert_eq!((source.level(3, Time::us(101)), source.window(3, Time::us(101))), (Some(71_140), 106_710));
    assert_eq!(source.window(4, Time::us(101)), u64::MAX, "nothing is known of another flow");
}

/// A queue is one from a twelfth of the target on: 1 us.
#[test]
fn a_delay_of_a_twelfth_of_the_target_is_a_queue() {
    for (delay, counted) in
        [(Time::ZERO, 4096.0), (Time::ns(999), 4096.0), (Time::us(1), 0.0), (Time::us(6), 0.0)]
    {
        let mut source = settled();
        acknowledge(&mut source, Time::us(101), delay, false, 1);
        assert_eq!(source.flows.get(3).unwrap().without_queue, counted, "{delay:?}");
    }
}

/// The mean delay takes a quarter of each new one.
#[test]
fn the_mean_delay_forgets_in_proportion() {
    let mut source = source(&Nscc { delay_weight: 0.25, quick_adapt: 1000.0, ..Nscc::default() });
    for expected in [2e6, 3.5e6, 4.625e6] {
        acknowledge(&mut source, Time::us(20), Time::us(8), false, 1);
        let delay = source.flows.get(3).unwrap().delay;
        assert!((delay - expected).abs() < 1e-3, "{delay}");
    }
}

/// What was in flight when the window was set says nothing more: 30 kB, of which each acknowledgement takes its part, that of the packet that has set it included.
#[test]
fn what_was_in_flight_is_ignored_to_its_last_byte() {
    let mut source = adapting();
    deliver(&mut source, 4000, Time::us(45), Time::us(60));
    for left in [26_000.0, 22_000.0, 18_000.0, 14_000.0, 10_000.0, 6_000.0, 2_000.0, 0.0, 0.0] {
        assert_eq!(source.flows.get(3).unwrap().to_ignore, left);
        deliver(&mut source, 4000, Time::us(46), Time::us(60));
    }
}
