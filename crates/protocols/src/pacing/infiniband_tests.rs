use super::*;
use fabricsim_spec::{Cct, CctiTimer, LinearCct};
use proptest::prelude::*;

const PACKET: Time = Time::ns(1000);

fn spec() -> InfiniBandCongestion {
    InfiniBandCongestion {
        cct: Cct::Linear(LinearCct { step: 1.0, entries: 16 }),
        ccti_timer: CctiTimer::Time(Time::us(20)),
        ..InfiniBandCongestion::default()
    }
}

fn source(spec: &InfiniBandCongestion) -> InfiniBandSource {
    InfiniBandSource::new(Arc::new(InfiniBandRules::new(spec)), Time::ns(2000))
}

fn notify(source: &mut InfiniBandSource, now: Time) {
    source.on_mark(7, now, &mut |_, _, _, _| {});
}

#[test]
fn without_a_notification_nothing_waits() {
    let mut source = source(&spec());
    source.on_sent(7, 1000, Time::ZERO, PACKET, &mut |_, _, _, _| {});
    assert_eq!(source.allowed_at(7, PACKET), Time::ZERO);
}

#[test]
fn the_delay_follows_the_index() {
    let mut source = source(&spec());
    for n in 1..=3 {
        notify(&mut source, Time::ns(n));
    }
    assert_eq!(source.level(7, Time::ns(10)), Some(3));
    source.on_sent(7, 1000, Time::ns(10), Time::ns(1010), &mut |_, _, _, _| {});
    assert_eq!(source.allowed_at(7, Time::ns(1010)), Time::ns(4010));
    assert_eq!(source.allowed_at(8, Time::ns(1010)), Time::ZERO, "another flow is free");
}

#[test]
fn the_timer_lowers_the_index_at_whole_periods() {
    let mut source = source(&spec());
    notify(&mut source, Time::us(19));
    notify(&mut source, Time::us(19));
    assert_eq!(source.level(7, Time::ns(19_999)), Some(2));
    assert_eq!(source.level(7, Time::us(20)), Some(1));
    assert_eq!(source.level(7, Time::us(40)), Some(0));
    assert_eq!(source.level(7, Time::us(400)), Some(0));
}

#[test]
fn a_timer_can_start_with_the_notification() {
    let spec = InfiniBandCongestion { timer_starts: TimerStart::Notification, ..spec() };
    let mut source = source(&spec);
    notify(&mut source, Time::us(19));
    assert_eq!(source.level(7, Time::ns(38_999)), Some(1));
    assert_eq!(source.level(7, Time::us(39)), Some(0));
}

#[test]
fn a_timer_can_start_with_each_notification() {
    let spec = InfiniBandCongestion { timer_starts: TimerStart::EachNotification, ..spec() };
    let mut source = source(&spec);
    notify(&mut source, Time::us(10));
    notify(&mut source, Time::us(29));
    assert_eq!(source.level(7, Time::us(30)), Some(2));
    assert_eq!(source.level(7, Time::us(49)), Some(1));
    assert_eq!(source.level(7, Time::us(69)), Some(0));
}

#[test]
fn limit_minimum_and_increase_hold() {
    let spec = InfiniBandCongestion {
        ccti_increase: 4,
        ccti_limit: Some(10),
        ccti_min: 2,
        trigger_threshold: 10,
        ..spec()
    };
    let mut source = source(&spec);
    source.on_sent(7, 1000, Time::ZERO, PACKET, &mut |_, _, _, _| {});
    assert_eq!(source.allowed_at(7, PACKET), PACKET + PACKET * 2, "the minimum delays always");
    for n in 1..=3 {
        notify(&mut source, Time::ns(n));
    }
    assert_eq!((source.level(7, Time::ns(5)), source.events()), (Some(10), 2));
    assert_eq!(source.level(7, Time::ms(10)), Some(2));
}

#[test]
fn a_delay_can_be_that_of_the_largest_packet() {
    let spec = InfiniBandCongestion { delay_relative_to: DelayRelativeTo::Mtu, ..spec() };
    let mut source = source(&spec);
    notify(&mut source, Time::ns(1));
    source.on_sent(7, 1000, Time::ns(10), Time::ns(1010), &mut |_, _, _, _| {});
    assert_eq!(source.allowed_at(7, Time::ns(1010)), Time::ns(3010));
}

#[test]
fn a_wait_ends_early_when_the_timer_lowers_the_index() {
    let mut source = source(&spec());
    (0..15).for_each(|_| notify(&mut source, Time::us(10)));
    source.on_sent(7, 1000, Time::us(18), Time::us(19), &mut |_, _, _, _| {});
    // 15 packet times until 34 us; from 20 us on it is 14, until 33 us.
    assert_eq!(source.allowed_at(7, Time::us(19)), Time::us(33));
}

#[test]
fn levels_are_told_without_gaps_and_flows_forgotten() {
    let mut source = source(&spec());
    let mut reported = Vec::new();
    let mut report =
        |_: FlowKey, from: Time, to: Time, level: u32| reported.push((from.0 / 1000, to.0 / 1000, level));
    source.on_mark(7, Time::us(5), &mut report);
    source.on_mark(7, Time::us(15), &mut report);
    source.report(Time::us(30), &mut report);
    source.report(Time::us(90), &mut report);
    assert_eq!(reported, [(5_000, 15_000, 1), (15_000, 20_000, 2), (20_000, 30_000, 1), (30_000, 40_000, 1)]);
    assert_eq!(source.level(7, Time::us(90)), None);
}

#[test]
fn a_level_that_the_timer_does_not_lower_is_reported_once() {
    let spec = InfiniBandCongestion { ccti_min: 2, ..spec() };
    let mut source = source(&spec);
    let mut reported = Vec::new();
    let mut report =
        |_: FlowKey, from: Time, to: Time, level: u32| reported.push((from.0 / 1000, to.0 / 1000, level));
    source.on_mark(7, Time::us(5), &mut report);
    source.report(Time::us(90), &mut report);
    source.report(Time::us(190), &mut report);
    assert_eq!(reported, [(5_000, 20_000, 3), (20_000, 90_000, 2), (90_000, 190_000, 2)]);
}

proptest! {
    /// Against a model that counts every tick: index, and the time at which a packet may go.
    #[test]
    fn as_a_model_that_steps(
        steps in prop::collection::vec((0_u64..60_000, 0_u8..3), 1..60),
        increase in 1_u8..5,
        period in 500_u64..30_000,
    ) {
        let spec = InfiniBandCongestion {
            ccti_increase: increase,
            ccti_timer: CctiTimer::Time(Time::ns(period)),
            ..spec()
        };
        let mut source = source(&spec);
        let (mut now, mut index, mut last_end) = (0_u64, 0_u64, None);
        for (wait, what) in steps {
            let before = now;
            now += wait;
            index = index.saturating_sub(now / period - before / period);
            match what {
                0 => {
                    notify(&mut source, Time::ns(now));
                    index = (index + u64::from(increase)).min(15);
                }
                1 if index > 0 => {
                    source.on_sent(7, 1000, Time::ns(now), Time::ns(now + 1000), &mut |_, _, _, _| {});
                    last_end = Some(now + 1000);
                }
                _ => {}
            }
            prop_assert_eq!(u64::from(source.level(7, Time::ns(now)).unwrap_or(0)), index);
            if let (Some(end), true) = (last_end, index > 0) {
                // Step by step to the first time at which the delay has passed.
                let (mut at, mut i) = (now, index);
                while end + i * 1000 > at {
                    let tick = (at / period + 1) * period;
                    if tick >= end + i * 1000 || i == 0 {
                        at = at.max(end + i * 1000);
                        break;
                    }
                    at = tick;
                    i -= 1;
                }
                prop_assert_eq!(source.allowed_at(7, Time::ns(now)), Time::ns(at));
            }
        }
    }
}

/// The timer does not lower the index below its minimum, so that the delay of the minimum never ends early.
#[test]
fn the_delay_of_the_minimum_is_waited_for() {
    let spec = InfiniBandCongestion {
        cct: Cct::Linear(LinearCct { step: 10.0, entries: 16 }),
        ccti_min: 2,
        ..spec()
    };
    let mut source = source(&spec);
    source.on_sent(7, 1000, Time::us(10), Time::us(11), &mut |_, _, _, _| {});
    // 20 packet times; the timer ends at 20 us.
    assert_eq!(source.allowed_at(7, Time::us(11)), Time::us(31));
    assert_eq!(source.allowed_at(7, Time::us(25)), Time::us(31));
    assert_eq!(source.allowed_at(7, Time::us(40)), Time::us(40));
    // From 3 it is lowered to 2 at 20 us.
    notify(&mut source, Time::us(12));
    assert_eq!(source.allowed_at(7, Time::us(12)), Time::us(31));
}

/// The timer that starts with a notification is one that the flow's index needs: further notifications do not restart it.
#[test]
fn a_timer_that_runs_is_not_restarted() {
    let spec = InfiniBandCongestion { timer_starts: TimerStart::Notification, ..spec() };
    let mut source = source(&spec);
    notify(&mut source, Time::us(10));
    notify(&mut source, Time::us(29));
    for (at, index) in [(29, 2), (30, 1), (49, 1), (50, 0)] {
        assert_eq!(source.level(7, Time::us(at)), Some(index), "{at} us");
    }
    // The index was at its minimum: the timer starts anew.
    notify(&mut source, Time::us(55));
    assert_eq!((source.level(7, Time::us(74)), source.level(7, Time::us(75))), (Some(1), Some(0)));
}

/// A flow is free when its index is at the minimum and its last packet has left.
#[test]
fn a_flow_is_kept_until_its_last_packet_has_left() {
    let mut source = source(&spec());
    notify(&mut source, Time::us(10));
    source.on_sent(7, 1000, Time::us(20), Time::us(21), &mut |_, _, _, _| {});
    for (now, level) in [(Time::us(20), Some(0)), (Time::us(21) - Time::ps(1), Some(0)), (Time::us(21), None)]
    {
        source.report(now, &mut |_, _, _, _| {});
        assert_eq!(source.level(7, now), level, "{now:?}");
    }
}
