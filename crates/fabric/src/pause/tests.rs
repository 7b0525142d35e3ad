use fabricsim_units::{ByteTime, Time, Vl};
use proptest::prelude::*;

use super::*;
use crate::Ramp;

const UNIT: u32 = 64;
const LANE: Vl = Vl(1);

/// One port with two lanes: a buffer of 20 blocks, XOFF 10, XON 4.
fn control() -> PauseControl {
    let thresholds = PauseThresholds { capacity: 20, xoff: 10, xon: 4 };
    PauseControl::new(2, UNIT, std::iter::once((thresholds, thresholds)))
}

/// All blocks at once.
fn ramp(base: u64, blocks: u32) -> Ramp {
    Ramp { base: Time(base), byte_time: ByteTime::default(), bytes: blocks * UNIT, blocks }
}

/// Admits a packet; the time of the event that this asks for.
fn admit(control: &mut PauseControl, blocks: u32, now: u64) -> Option<u64> {
    let admission = control.admit(0, LANE, blocks, Time(now));
    assert!(admission.has_space);
    admission.control.map(|at| at.0)
}

fn release(control: &mut PauseControl, ramp: Ramp, now: u64) -> Option<u64> {
    control.release(0, LANE, ramp, Time(now)).map(|at| at.0)
}

fn send(control: &mut PauseControl, now: u64) -> PauseFrame {
    assert!(control.is_due(0, Time(now)), "{now}");
    let frame = control.frame(0, Time(now));
    control.sent(0, frame);
    frame
}

const PAUSED: PauseFrame = PauseFrame { paused: 0b10, resumed: 0 };
const RESUMED: PauseFrame = PauseFrame { paused: 0, resumed: 0b10 };

#[test]
fn a_lane_is_paused_above_xoff_and_resumed_at_xon() {
    let mut control = control();
    assert_eq!(admit(&mut control, 10, 100), None, "as much as XOFF");
    assert_eq!(admit(&mut control, 1, 200), Some(201));
    assert_eq!(admit(&mut control, 1, 200), None, "the event is scheduled");
    assert_eq!(send(&mut control, 201), PAUSED);
    assert_eq!(admit(&mut control, 1, 300), None, "a frame was sent");
    // 13 blocks are here: 9 have to leave.
    assert_eq!(release(&mut control, ramp(400, 8), 400), None);
    assert_eq!(release(&mut control, ramp(500, 1), 450), Some(500));
    assert_eq!(send(&mut control, 500), RESUMED);
    assert_eq!(control.accounted(0, 1), (16, 20));
    assert_eq!(control.accounted(0, 0), (20, 20), "the other lane has its own buffer");
}

#[test]
fn what_has_left_before_the_link_is_free_pauses_nothing() {
    let mut control = control();
    assert_eq!(admit(&mut control, 11, 100), Some(101));
    assert!(control.is_due(0, Time(101)));
    control.wait(0, Time(300));
    assert_eq!(release(&mut control, ramp(200, 1), 200), None);
    assert!(control.is_due(0, Time(300)));
    assert!(control.frame(0, Time(300)).is_empty());
}

#[test]
fn a_packet_without_space_is_not_admitted() {
    let mut control = control();
    admit(&mut control, 15, 100);
    assert!(!control.admit(0, LANE, 6, Time(200)).has_space);
    assert!(control.admit(0, LANE, 5, Time(200)).has_space);
    assert!(control.admit(0, Vl(0), 6, Time(200)).has_space);
}

#[test]
fn frames_take_effect_in_order() {
    let mut control = control();
    control.approach(0, Time(50), PAUSED);
    control.approach(0, Time(90), RESUMED);
    assert_eq!(control.take_frame(0, Time(49)), None);
    assert_eq!(control.take_frame(0, Time(90)), Some(PAUSED));
    assert_eq!(control.take_frame(0, Time(90)), Some(RESUMED));
    assert_eq!(control.take_frame(0, Time(90)), None);
}

proptest! {
    /// Whatever comes and goes: blocks are conserved, and after the events that are due the lane is paused exactly if more than XOFF is in the buffer,
    /// or more than XON since it was paused.
    #[test]
    fn what_the_other_end_was_told_follows_the_buffer(
        steps in prop::collection::vec((1_u32..6, 1_u64..50, any::<bool>()), 1..200),
    ) {
        let (mut control, mut now, mut held, mut paused) = (control(), 0, 0, false);
        for (blocks, wait, arrives) in steps {
            now += wait;
            if arrives && held + blocks <= 20 {
                let _ = control.admit(0, LANE, blocks, Time(now));
                held += blocks;
            } else if !arrives && held >= blocks {
                let _ = control.release(0, LANE, ramp(now, blocks), Time(now));
                held -= blocks;
            }
            if control.is_due(0, Time(now + 1)) {
                let frame = control.frame(0, Time(now + 1));
                control.sent(0, frame);
                prop_assert!(!frame.is_empty());
                paused = frame == PAUSED;
                let _ = control.next(0, Time(now + 1));
            }
            prop_assert!(if paused { held > 4 } else { held <= 10 }, "{held} {paused}");
            prop_assert_eq!(control.accounted(0, 1), (20 - held, 20));
        }
    }

    /// Packets that leave side by side, each over some time, while the link is busy now and then: blocks are conserved, and in the end, when all have
    /// left, no lane is paused.
    #[test]
    fn a_lane_is_resumed_whatever_leaves_beside_each_other(
        steps in prop::collection::vec((1_u32..6, 1_u64..40, any::<bool>(), any::<bool>()), 1..200),
    ) {
        let (mut control, mut now, mut waiting) = (control(), 0, 0);
        let mut paused = false;
        let rate = ByteTime::spread(Time(UNIT.into()), UNIT);
        let leave = |control: &mut PauseControl, blocks: u32, now: u64| {
            let ramp = Ramp { base: Time(now), byte_time: rate, bytes: blocks * UNIT, blocks };
            let _ = control.release(0, LANE, ramp, Time(now));
        };
        let look = |control: &mut PauseControl, paused: &mut bool, now: u64, is_busy: bool| {
            if !control.is_due(0, Time(now)) {
                return;
            }
            let frame = control.frame(0, Time(now));
            if !frame.is_empty() && is_busy {
                return control.wait(0, Time(now + 30));
            }
            control.sent(0, frame);
            *paused = (*paused || frame.paused != 0) && frame.resumed == 0;
            let _ = control.next(0, Time(now));
        };
        for (blocks, wait, arrives, is_busy) in steps {
            for _ in 0..wait {
                now += 1;
                look(&mut control, &mut paused, now, is_busy);
            }
            if arrives && control.admit(0, LANE, blocks, Time(now)).has_space {
                waiting += blocks;
            } else if waiting >= blocks {
                leave(&mut control, blocks, now);
                waiting -= blocks;
            }
        }
        if waiting > 0 {
            leave(&mut control, waiting, now);
        }
        for _ in 0..3000 {
            now += 1;
            look(&mut control, &mut paused, now, false);
        }
        prop_assert!(!paused);
        prop_assert_eq!(control.accounted(0, 1), (20, 20));
    }
}
