//! A packet leaves a buffer: its space is returned to the sender before it, in credits or by flow-control packets.

use fabricsim_model::Observer;
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::CreditReturn;
use fabricsim_units::{ByteTime, Time, Vl};

use crate::{Features, Outbox, PartitionContext, Ramp, Rules};

/// The ramp of a packet that leaves a buffer from `base` on (at its sender's end of the link).
#[inline]
pub fn leaving(how: CreditReturn, base: Time, byte_time: ByteTime, bytes: u32, blocks: u32) -> Ramp {
    match how {
        CreditReturn::Block => Ramp { base, byte_time, bytes, blocks },
        CreditReturn::Packet => {
            Ramp { base: base + byte_time.duration(bytes), byte_time: ByteTime::default(), bytes, blocks }
        }
    }
}

/// [`leaving`] by the rules of the experiment.
#[inline(always)]
pub(crate) fn leaving_as<F: Features>(
    rules: &Rules,
    base: Time,
    byte_time: ByteTime,
    bytes: u32,
    blocks: u32,
) -> Ramp {
    let how = if F::PLAIN { CreditReturn::Block } else { rules.credit_return };
    leaving(how, base, byte_time, bytes, blocks)
}

/// Returns the buffer space of a packet that starts to leave receiving port `port` now, at `byte_time` a byte, later by
/// `late` than it could be.
/// `F`: flow-control packets may do that.
#[inline(always)]
pub fn return_space<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    port: u32,
    lane: Vl,
    (byte_time, late): (ByteTime, Time),
    size: (u32, u32),
) {
    let ramp = leaving_as::<F>(&context.rules, context.now + late, byte_time, size.0, size.1);
    return_ramp::<F, R, B, O>(context, port, lane, ramp);
}

/// Returns the buffer space of blocks that leave receiving port `port`.
#[inline(always)]
pub(crate) fn return_ramp<F: Features, R, B, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    port: u32,
    lane: Vl,
    ramp: Ramp,
) {
    if F::OPTIONAL && context.ports.have_control_frames() {
        return release_by_packets(context, port, lane, ramp);
    }
    let receiver = &context.ports.receivers[port as usize];
    let ramp = ramp.later(receiver.credit_latency);
    match receiver.upstream {
        Some(sender) => {
            if let Some(at) = context.ports.credit::<F>(sender, lane, ramp, context.now) {
                context.ports.ensure_wake(sender, at, &mut context.out);
            }
        }
        None => context.out.remote_credit(receiver.channel, lane, ramp),
    }
}

/// Blocks leave the input buffer of `port`, which announces them by flow-control packets, or resumes a lane by a pause frame.
#[cold]
#[inline(never)]
pub(crate) fn release_by_packets<R, B, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    port: u32,
    lane: Vl,
    ramp: Ramp,
) {
    let now = context.now;
    let at = match (&mut context.ports.flow, &mut context.ports.pause) {
        (Some(flow), _) => flow.release(port, lane, ramp, now),
        (None, Some(pause)) => pause.release(port, lane, ramp, now),
        (None, None) => None,
    };
    if let Some(at) = at {
        context.out.control(at, port);
    }
}
