use super::*;

const LINE: f64 = 40_000.0;

/// A timer that does not expire in a test.
const NEVER: Time = Time::ms(1000);

fn source() -> DcqcnSource {
    source_of(&Dcqcn::default())
}

fn source_of(spec: &Dcqcn) -> DcqcnSource {
    DcqcnSource::new(Arc::new(DcqcnRules::new(spec)), LINE)
}

fn notify(source: &mut DcqcnSource, now: Time) {
    source.on_mark(3, now, &mut |_, _, _, _| {});
}

fn send(source: &mut DcqcnSource, bytes: u32, now: Time) {
    source.on_sent(3, bytes, now, now, &mut |_, _, _, _| {});
}

#[test]
fn the_first_notification_halves_the_rate() {
    let mut source = source();
    notify(&mut source, Time::us(1));
    assert_eq!(source.level(3, Time::us(2)), Some(20_000));
    source.on_sent(3, 1000, Time::us(2), Time::ns(2200), &mut |_, _, _, _| {});
    assert_eq!(source.allowed_at(3, Time::us(2)), Time::ns(2400), "8000 bits at 20 Gb/s");
    assert_eq!(source.allowed_at(4, Time::us(2)), Time::ZERO);
}

#[test]
fn fast_recovery_halves_the_distance_to_the_target() {
    let mut source = source();
    notify(&mut source, Time::us(1));
    for (at, rate) in [(55, 20_000), (56, 30_000), (111, 35_000), (166, 37_500), (221, 38_750)] {
        assert_eq!(source.level(3, Time::us(at)), Some(rate), "{at} us");
    }
}

#[test]
fn notifications_cut_less_when_they_were_few() {
    let mut source = source();
    notify(&mut source, Time::us(1));
    notify(&mut source, Time::us(2));
    assert_eq!(source.level(3, Time::us(3)), Some(10_000), "alpha is still 1");
    let alpha = (1.0_f64 - 1.0 / 256.0).powi(100);
    let before = f64::from(source.level(3, Time::us(2) + Time::us(5500)).unwrap());
    notify(&mut source, Time::us(2) + Time::us(5500));
    let after = f64::from(source.level(3, Time::us(5503)).unwrap());
    // Rates are reported in whole Mb/s of about 20 Gb/s.
    assert!((after / before - (1.0 - 0.5 * alpha)).abs() < 1e-4, "{before} {after}");
}

#[test]
fn rates_are_told_without_gaps() {
    let mut source = source();
    let mut reported = Vec::new();
    let mut report = |_: FlowKey, from: Time, to: Time, level: u32| {
        reported.push((from.0 / 1_000_000, to.0 / 1_000_000, level));
    };
    source.on_mark(3, Time::us(1), &mut report);
    source.on_sent(3, 1000, Time::us(60), Time::us(61), &mut report);
    source.report(Time::us(112), &mut report);
    assert_eq!(reported, [(1, 56, 20_000), (56, 111, 30_000), (111, 112, 35_000)]);
}

#[test]
fn no_rate_is_told_of_an_empty_interval() {
    let mut source = source();
    let mut reported = Vec::new();
    let mut report = |_: FlowKey, from: Time, to: Time, level: u32| reported.push((from, to, level));
    for at in [1, 1, 2, 2] {
        source.on_mark(3, Time::us(at), &mut report);
    }
    source.report(Time::us(2), &mut report);
    assert_eq!(reported, [(Time::us(1), Time::us(2), 10_000)]);
}

#[test]
fn rates_stay_within_bounds_and_recover_to_the_line() {
    let mut source = source();
    (1..200).for_each(|n| notify(&mut source, Time::ns(n)));
    assert_eq!(source.level(3, Time::us(1)), Some(40));
    assert_eq!(source.level(3, Time::ms(900)), Some(40_000));
    source.report(Time::ms(900), &mut |_, _, _, _| {});
    assert_eq!(source.level(3, Time::ms(900)), None);
}

/// Equation 1: the rate is cut by alpha as it was before the notification raises it. Equation 2: alpha shrinks when the timer,
/// which each notification restarts, expires. With g = 1/2 alpha is 1, 1/2 at 56 us, 3/4 and 7/8 after two notifications.
#[test]
fn alpha_grows_after_the_cut_and_shrinks_by_its_timer() {
    let mut source = source_of(&Dcqcn { g: 0.5, rate_timer: NEVER, ..Dcqcn::default() });
    for (at, rate) in [
        (Time::us(1), 20_000.0),
        (Time::us(57), 20_000.0 * (1.0 - 0.5 / 2.0)),
        (Time::us(58), 15_000.0 * (1.0 - 0.75 / 2.0)),
        // The timer would have expired at 112 us, had it not been restarted.
        (Time::ns(112_500), 9375.0 * (1.0 - 0.875 / 2.0)),
        // Alpha is 15/16, and has been halved twice.
        (Time::us(223), 5273.4375 * (1.0 - 0.234375 / 2.0)),
    ] {
        notify(&mut source, at);
        assert_eq!(source.level(3, at), Some(rate as u32), "{at:?}");
    }
    assert_eq!(source.events(), 5);
}

/// Figure 7: F steps of fast recovery, then the target grows by R_AI with each.
#[test]
fn additive_increase_follows_fast_recovery() {
    let mut source = source();
    notify(&mut source, Time::us(1));
    notify(&mut source, Time::us(2));
    let (mut current, mut target) = (10_000.0, 20_000.0);
    for step in 1..=8 {
        if step > 5 {
            target += 40.0;
        }
        current = 0.5 * (current + target);
        assert_eq!(source.level(3, Time::us(2 + 55 * step)), Some(current as u32), "step {step}");
    }
}

/// Figure 7: once the timer and the byte counter are both beyond F, the target grows by R_HI times the steps beyond F of the one
/// that has fewer; before, by R_AI.
#[test]
fn hyper_increase_follows_when_timer_and_byte_counter_are_beyond_fast_recovery() {
    let mut source = source_of(&Dcqcn { byte_counter: fabricsim_units::Bytes(1000), ..Dcqcn::default() });
    notify(&mut source, Time::us(1));
    notify(&mut source, Time::us(2));
    send(&mut source, 6500, Time::us(3));
    // Six steps by bytes, of which the last is additive.
    let (mut target, mut current) = (20_040.0, 0.5 * (19_687.5 + 20_040.0));
    assert_eq!(source.level(3, Time::us(3)), Some(current as u32));
    for (step, increase) in [(1, 40.0), (2, 40.0), (3, 40.0), (4, 40.0), (5, 40.0), (6, 400.0), (7, 400.0)] {
        target += increase;
        current = 0.5 * (current + target);
        assert_eq!(source.level(3, Time::us(2 + 55 * step)), Some(current as u32), "step {step}");
    }
    // The seventh step by bytes: two beyond.
    send(&mut source, 500, Time::us(390));
    current = (current + target + 800.0) / 2.0;
    assert_eq!(source.level(3, Time::us(390)), Some(current as u32));
}

/// A cut restarts the byte counter, the timer, and the count of their steps.
#[test]
fn a_cut_restarts_timer_and_byte_counter() {
    let mut source = source_of(&Dcqcn {
        alpha_timer: NEVER,
        byte_counter: fabricsim_units::Bytes(1000),
        ..Dcqcn::default()
    });
    notify(&mut source, Time::us(1));
    send(&mut source, 999, Time::us(2));
    notify(&mut source, Time::us(50));
    send(&mut source, 999, Time::us(51));
    assert_eq!(source.level(3, Time::us(104)), Some(10_000), "neither has expired since");
    send(&mut source, 1, Time::us(104));
    assert_eq!(source.level(3, Time::us(104)), Some(15_000), "1000 bytes");
    assert_eq!(source.level(3, Time::us(105)), Some(17_500), "55 us after the cut");
    send(&mut source, 3000, Time::us(106));
    assert_eq!(source.level(3, Time::us(106)), Some(19_687), "the fifth step, if they counted together");
    notify(&mut source, Time::us(107));
    send(&mut source, 5000, Time::us(108));
    // Five steps of fast recovery from half of 19687.5 towards it, and none that is additive.
    let recovered = 19_687.5 * (1.0 - 0.5 / 32.0);
    assert_eq!(source.level(3, Time::us(108)), Some(recovered as u32));
}

/// Recovery towards the link's rate halves the distance, 16,384 Mb/s at first, and ends when less than 1 Mb/s is missing: then the flow is free.
#[test]
fn recovery_ends_less_than_a_megabit_below_the_line() {
    let line = 32_768.0;
    let rules = DcqcnRules::new(&Dcqcn { alpha_timer: NEVER, ..Dcqcn::default() });
    let mut source = DcqcnSource::new(Arc::new(rules), line);
    notify(&mut source, Time::us(1));
    let mut missing = 16_384;
    for step in 0..15 {
        let at = Time::us(1 + 55 * step);
        source.report(at, &mut |_, _, _, _| {});
        assert_eq!(source.level(3, at), Some(32_768 - missing), "step {step}");
        missing /= 2;
    }
    let at = Time::us(1 + 55 * 15);
    assert_eq!(source.level(3, at), Some(32_768), "half a megabit is missing");
    source.report(at, &mut |_, _, _, _| {});
    assert_eq!(source.level(3, at), None);
}
