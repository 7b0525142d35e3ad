//! A port sends flow-control packets.

use fabricsim_model::{Crossing, CrossingContent, Observer};
use fabricsim_units::{ByteTime, Time, Vl};
use fabricsim_wire::fcp::{Fcp, FcpOp};

use super::Credits;
use super::ports::NO_ERRORS;
use crate::link_layer::Failed;
use crate::{CommonFeatures, FarEnd, Outbox, PartitionContext, Ramp};

/// Bytes of a flow-control packet on a link: with its checksum and the delimiters.
pub const WIRE_BYTES: u32 = 8;

/// The event of a port's flow control: sends a packet for each lane that has something to announce, or waits until the link is free.
#[cold]
#[inline(never)]
pub fn send_flow_control<R, B: Observer, O: Outbox>(context: &mut PartitionContext<R, B, O>, port: u32) {
    let now = context.now;
    let Some(mut flow) = context.ports.flow.take() else { return };
    if flow.is_due(port, now) {
        let busy_until = context.ports.senders[port as usize].busy_until;
        if busy_until <= now {
            let end = send_all(context, &mut flow, port);
            let sender = &mut context.ports.senders[port as usize];
            sender.busy_until = end;
            if let Some(at) = flow.finish(port, end > now, now) {
                context.out.control(at, port);
            }
        } else {
            flow.wait(port, busy_until);
            if busy_until < Time::MAX {
                context.out.control(busy_until, port);
            }
        }
    }
    context.ports.flow = Some(flow);
}

/// Sends the packets, one after the other from now on. Returns the time at which the last has left.
fn send_all<R, B: Observer, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    flow: &mut super::FlowControl,
    port: u32,
) -> Time {
    let now = context.now;
    let sender = &context.ports.senders[port as usize];
    let (time, latency, channel, retry) =
        (sender.link_byte_time.duration(WIRE_BYTES), sender.latency, sender.channel, sender.retry);
    let (mut end, mut count) = (now + refresh_with(context, flow, port), 0);
    for lane in (0..context.ports.lane_count as u8).map(Vl) {
        let Some(announcement) = flow.announce(port, lane, now) else { continue };
        if B::CAPTURES && context.observer.captures(end, channel) {
            report(&mut context.observer, (end, channel), lane, announcement.counters);
        }
        end += time;
        count += 1;
        let errors = &mut context.ports.retries;
        let arrives = !flow.loses(port)
            && (retry >= NO_ERRORS || errors[retry as usize].send(WIRE_BYTES) != Failed::Lost);
        flow.settle(port, lane, &announcement, arrives);
        if arrives {
            credit(context, port, lane, announcement.released, end + latency);
            recover(context, flow, port, lane, (announcement.lost, end + latency));
        }
    }
    if count > 0 {
        context.observer.flow_controlled(now, channel, count);
    }
    end
}

/// Sends the flow-control packets of a port without news that are due. Returns the time for which they keep its link from now on.
#[cold]
#[inline(never)]
pub fn refresh<R, B: Observer, O>(context: &mut PartitionContext<R, B, O>, port: u32) -> Time {
    let Some(mut flow) = context.ports.flow.take() else { return Time::ZERO };
    let busy = refresh_with(context, &mut flow, port);
    context.ports.flow = Some(flow);
    busy
}

fn refresh_with<R, B: Observer, O>(
    context: &mut PartitionContext<R, B, O>,
    flow: &mut super::FlowControl,
    port: u32,
) -> Time {
    let sender = &context.ports.senders[port as usize];
    let (wire, channel) = (sender.link_byte_time.duration(WIRE_BYTES), sender.channel);
    let (every, observer) = (flow.refresh_time(port), &mut context.observer);
    flow.refresh(port, (sender.busy_until, context.now), wire, |first, count| {
        observer.flow_refreshed(first, every, channel, count);
    })
}

fn ramp(base: Time, blocks: u32, unit: u32) -> Ramp {
    Ramp { base, byte_time: ByteTime::default(), bytes: blocks * unit, blocks }
}

/// The sender at the other end may send `blocks` more from `at` on, and the processing time of credits.
fn credit<R, B, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    port: u32,
    lane: Vl,
    blocks: u32,
    at: Time,
) {
    if blocks == 0 {
        return;
    }
    let ramp = ramp(at + context.rules.credit_delay, blocks, context.ports.ramps.unit());
    let receiver = &context.ports.receivers[port as usize];
    match receiver.upstream {
        Some(sender) => {
            if let Some(at) = context.ports.credit::<CommonFeatures>(sender, lane, ramp, context.now) {
                context.ports.ensure_wake(sender, at, &mut context.out);
            }
        }
        None => context.out.remote_credit(receiver.channel, lane, ramp),
    }
}

/// The receiver at the other end learns at `at` that it will not receive `blocks`.
fn recover<R, B, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    flow: &mut super::FlowControl,
    port: u32,
    lane: Vl,
    (blocks, at): (u32, Time),
) {
    if blocks == 0 {
        return;
    }
    let ramp = ramp(at, blocks, context.ports.ramps.unit());
    let sender = &context.ports.senders[port as usize];
    match sender.far_end {
        FarEnd::Switch(peer) | FarEnd::Host(peer) | FarEnd::SlowHost(peer) | FarEnd::GatedHost(peer) => {
            if let Some(at) = flow.release(peer, lane, ramp, context.now) {
                context.out.control(at, peer);
            }
        }
        FarEnd::Remote => context.out.remote_release(sender.channel, lane, ramp),
    }
}

/// Reports a flow-control packet whose first byte leaves at `time` to an observer that captures it.
fn report<B: Observer>(observer: &mut B, (time, port): (Time, u32), lane: Vl, credits: Credits) {
    let fcp = Fcp {
        op: FcpOp::Normal,
        total_blocks_sent: credits.total_blocks_sent,
        vl: lane,
        credit_limit: credits.credit_limit,
    };
    let mut bytes = [0; Fcp::WIRE_LEN];
    if fcp.emit_packet(&mut bytes).is_ok() {
        let content = CrossingContent::FlowControl { bytes: &bytes, comment: "" };
        observer.crossed(&Crossing { time, port, content });
    }
}
