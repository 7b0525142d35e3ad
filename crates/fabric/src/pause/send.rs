//! A port sends pause frames, and one takes effect.

use fabricsim_model::Observer;
use fabricsim_units::{ByteTime, Time, Vl};

use super::control::Arrival;
use super::{PAUSE_BYTES, PauseControl, PauseFrame};
use crate::release::leaving;
use crate::{FarEnd, Outbox, PartitionContext};

/// The event of a port's pause frames: sends one if there is something to tell, or waits until the link is free.
#[cold]
#[inline(never)]
pub fn send_pauses<R, B: Observer, O: Outbox>(context: &mut PartitionContext<R, B, O>, port: u32) {
    let now = context.now;
    let Some(mut pause) = context.ports.pause.take() else { return };
    if pause.is_due(port, now) {
        let busy_until = context.ports.senders[port as usize].busy_until;
        let frame = pause.frame(port, now);
        if !frame.is_empty() && busy_until > now {
            pause.wait(port, busy_until);
            if busy_until < Time::MAX {
                context.out.control(busy_until, port);
            }
        } else {
            if !frame.is_empty() {
                send(context, &mut pause, port, frame);
            }
            if let Some(at) = pause.next(port, now) {
                context.out.control(at, port);
            }
        }
    }
    context.ports.pause = Some(pause);
}

fn send<R, B: Observer, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    pause: &mut PauseControl,
    port: u32,
    frame: PauseFrame,
) {
    let sender = &mut context.ports.senders[port as usize];
    let end = context.now + sender.link_byte_time.duration(PAUSE_BYTES);
    sender.busy_until = end;
    pause.sent(port, frame);
    context.observer.flow_controlled(context.now, sender.channel, 1);
    let at = end + sender.latency + context.rules.credit_delay;
    let receiver = &context.ports.receivers[port as usize];
    match receiver.upstream {
        Some(sender) => {
            pause.approach(sender, at, frame);
            context.out.hear(at, sender);
        }
        None => context.out.remote_pause(at, receiver.channel, frame),
    }
}

/// The event at which frames for a sending port take effect. True if the port may send more than before.
#[cold]
#[inline(never)]
pub fn hear_pause<R, B, O>(context: &mut PartitionContext<R, B, O>, port: u32) -> bool {
    let (now, ports) = (context.now, &mut context.ports);
    let mut resumed = 0;
    while let Some(frame) = ports.pause.as_mut().and_then(|pause| pause.take_frame(port, now)) {
        for lane in (0..ports.lane_count as u8).map(Vl) {
            if frame.paused >> lane.0 & 1 == 1 {
                ports.pause_lane(port, lane);
            } else if frame.resumed >> lane.0 & 1 == 1 {
                ports.resume_lane(port, lane);
            }
        }
        resumed |= frame.resumed;
    }
    resumed != 0
}

/// A packet that leaves `port` from `now` to `last` goes to a host: one that accepts every byte as it comes pauses nothing.
#[cold]
#[inline(never)]
pub(crate) fn deliver<R, B, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    (now, last): (Time, Time),
    port: u32,
    index: u32,
    (bytes, blocks): (u32, u32),
    lane: Vl,
) {
    let sender = &context.ports.senders[port as usize];
    let Some(peer) = sender.far_end.sink() else { return };
    let at = now + sender.latency;
    let mut end = last + sender.latency;
    if matches!(sender.far_end, FarEnd::SlowHost(_)) {
        let (start, accepted) = context.ports.sinks[sender.sink as usize].take(at, bytes, end);
        end = accepted;
        let rate = ByteTime::spread(end - start, bytes);
        let ramp = leaving(context.rules.credit_return, start, rate, bytes, blocks);
        let pause = context.ports.pause.as_mut();
        if let Some(at) = pause.and_then(|pause| pause.expect(peer, Arrival { at, lane, ramp }, context.now))
        {
            context.out.control(at, peer);
        }
    }
    let slot = &mut context.arena[index];
    (slot.port, slot.arrived) = (peer, at);
    context.out.deliver(end, peer, index);
}
