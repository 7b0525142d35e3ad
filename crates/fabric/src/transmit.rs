//! A packet leaves over a link: it occupies the link and uses credits.

mod far_end;

use fabricsim_model::{ByteLine, Crossing, Observer};
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::Switching;
use fabricsim_units::{Time, Vl};

use self::far_end::{lose_at_far_end, reach_far_end};
use crate::flow_control::{NO_ERRORS, refresh};
use crate::link_layer::Failed;
use crate::release::leaving_as;
use crate::{AllFeatures, FarEnd, Features, NONE, Outbox, PartitionContext};

/// Sends a packet: occupies the link, uses the credits, notifies the far end. Returns the time at which its last byte has
/// left.
#[inline(never)]
pub fn send<R: RoutingFunction, B: Observer, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    port: u32,
    index: u32,
    lane: Vl,
) -> Time {
    let slot = &context.arena[index];
    let size = (slot.packet.bytes, slot.blocks);
    transmit::<AllFeatures, R, B, O>(context, port, index, size, lane, false)
}

/// [`send`], inlined; `size` are the packet's bytes and blocks.
#[inline(always)]
pub fn send_as<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    port: u32,
    index: u32,
    size: (u32, u32),
    lane: Vl,
) -> Time {
    transmit::<F, R, B, O>(context, port, index, size, lane, false)
}

/// [`send`], inlined for the switch; `size` are the packet's bytes and blocks. If there is `more` to send, the port is
/// checked again as soon as the link is free. `F`: the link may have errors.
#[inline(always)]
pub(crate) fn transmit<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    port: u32,
    index: u32,
    (bytes, blocks): (u32, u32),
    lane: Vl,
    more: bool,
) -> Time {
    if F::OPTIONAL && context.ports.senders[port as usize].retry != NONE {
        return transmit_with_errors(context, port, index, (bytes, blocks), lane, more);
    }
    if F::OPTIONAL && context.ports.senders[port as usize].is_paced() {
        return transmit_paced(context, context.now, port, index, (bytes, blocks), lane, more);
    }
    transmit_at::<F, false, false, false, R, B, O>(
        context,
        context.now,
        port,
        index,
        (bytes, blocks),
        lane,
        more,
    )
}

/// [`transmit`] over a link with errors. The packet is sent as if it began later, by the time that the link layer takes for retransmitted
/// micropackets, and keeps the link from now on: its head must not arrive before all of it can follow.
#[cold]
#[inline(never)]
fn transmit_with_errors<R: RoutingFunction, B: Observer, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    port: u32,
    index: u32,
    size: (u32, u32),
    lane: Vl,
    more: bool,
) -> Time {
    let mut begin = context.now;
    if let Some(flow) = &mut context.ports.flow {
        flow.sent(port, lane, size.1);
        begin += refresh(context, port);
    }
    let sender = &context.ports.senders[port as usize];
    let (channel, is_paced) = (sender.channel, sender.is_paced());
    let failed = match sender.retry {
        NO_ERRORS => Failed::Nothing,
        number => context.ports.retries[number as usize].send(size.0 + sender.overhead),
    };
    let delay = match failed {
        Failed::Nothing => Time::ZERO,
        Failed::Retransmitted(failures, delay) => {
            context.observer.retried(context.now, channel, lane, failures);
            delay
        }
        Failed::Lost if is_paced => {
            return transmit_at::<AllFeatures, true, true, true, R, B, O>(
                context, begin, port, index, size, lane, more,
            );
        }
        Failed::Lost => {
            return transmit_at::<AllFeatures, false, true, true, R, B, O>(
                context, begin, port, index, size, lane, more,
            );
        }
    };
    let start = begin + delay;
    if is_paced {
        return transmit_at::<AllFeatures, true, false, true, R, B, O>(
            context, start, port, index, size, lane, more,
        );
    }
    transmit_at::<AllFeatures, false, false, true, R, B, O>(context, start, port, index, size, lane, more)
}

/// [`transmit_at`] where the switch sends the units of a packet at longer intervals than the link needs.
#[cold]
#[inline(never)]
fn transmit_paced<R: RoutingFunction, B: Observer, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    now: Time,
    port: u32,
    index: u32,
    size: (u32, u32),
    lane: Vl,
    more: bool,
) -> Time {
    transmit_at::<AllFeatures, true, false, false, R, B, O>(context, now, port, index, size, lane, more)
}

/// Occupies the link from now on, and sends the packet at `now`. `PACED`: the switch sends its units at longer intervals than
/// the link needs. `LOST`: a bit error damages it, and it is lost at the far end. `SPECIAL`: the port may send flow-control packets.
#[inline(always)]
fn transmit_at<
    F: Features,
    const PACED: bool,
    const LOST: bool,
    const SPECIAL: bool,
    R: RoutingFunction,
    B: Observer,
    O: Outbox,
>(
    context: &mut PartitionContext<R, B, O>,
    now: Time,
    port: u32,
    index: u32,
    (bytes, blocks): (u32, u32),
    lane: Vl,
    more: bool,
) -> Time {
    capture(context, now, port, index, lane);
    let own = ByteLine { from: now, byte_time: context.ports.senders[port as usize].byte_time };
    let is_held = F::OPTIONAL && context.rules.holds_outputs;
    let tail = if is_held { context.arena.leaves_by(index, own, bytes) } else { Time::ZERO };
    let slot = &mut context.arena[index];
    slot.lane = lane;
    let sender = &mut context.ports.senders[port as usize];
    let end = if F::OPTIONAL { own.at(bytes).max(tail) } else { own.at(bytes) };
    let carried_until =
        sender.occupy_link::<F, PACED, SPECIAL>((now, end, tail), bytes, context.ports.ramps.unit());
    sender.last_lane = lane;
    if more {
        sender.wake(port, sender.busy_until, &mut context.out);
    }
    context.observer.transmitted(sender.channel, lane, bytes, context.now, carried_until);
    if sender.stalled_since != Time::MAX {
        sender.end_stall(context.now, &mut context.observer);
    }
    let credits = &mut context.ports.lanes[port as usize * context.ports.lane_count + lane.index()];
    context.ports.ramps.take(credits, blocks);
    let has_pauses = SPECIAL && context.ports.pause.is_some();
    if has_pauses {
        // A lane that is not paused stays open.
        context.ports.ramps.put_back(credits, blocks);
    }
    if LOST {
        lose_at_far_end(context, end, port, index, (bytes, blocks), lane);
        return end;
    }
    let is_stored = !F::PLAIN && context.rules.switching == Switching::StoreAndForward;
    let head = if is_stored { end } else { now };
    if let FarEnd::Switch(peer) = sender.far_end {
        // With pause frames it is in no buffer before it has arrived.
        slot.port = if has_pauses { NONE } else { peer };
        let delay = sender.far_end_delay;
        context.out.arrive(head + delay, peer, index);
        if F::MAY_ADAPT {
            context.ports.use_whole(port, blocks, context.now);
        }
        if is_held {
            context.arena.arrives_after(index, delay);
        }
        return end;
    }
    if let FarEnd::Host(peer) = sender.far_end
        && !(SPECIAL && (has_pauses || context.ports.flow.is_some()))
        && !is_held
    {
        // A sink that accepts every byte as it comes has no state: its credits follow from the sending alone.
        slot.port = peer;
        let base = now + sender.sink_credit_delay;
        let ramp = leaving_as::<F>(&context.rules, base, sender.byte_time, bytes, blocks);
        context.ports.ramps.give_back(credits, ramp);
        context.out.deliver(end + sender.latency, peer, index);
        return end;
    }
    reach_far_end::<F, SPECIAL, R, B, O>(context, (now, end, head), port, index, (bytes, blocks), lane);
    end
}

/// Reports that a packet for a multicast group is sent by `port` now.
#[cold]
#[inline(never)]
pub fn report_multicast<R, B: Observer, O>(context: &mut PartitionContext<R, B, O>, port: u32, lane: Vl) {
    let channel = context.ports.senders[port as usize].channel;
    context.observer.multicast(context.now, channel, lane);
}

/// [`report_crossing`] if the observer captures the link now.
#[inline(always)]
fn capture<R, B: Observer, O>(
    context: &mut PartitionContext<R, B, O>,
    now: Time,
    port: u32,
    index: u32,
    lane: Vl,
) {
    if B::CAPTURES && context.observer.captures(now, context.ports.senders[port as usize].channel) {
        report_crossing(context, now, port, index, lane);
    }
}

/// Reports a packet whose first byte leaves at `now` to an observer that captures it.
#[inline(never)]
fn report_crossing<R, B: Observer, O>(
    context: &mut PartitionContext<R, B, O>,
    now: Time,
    port: u32,
    index: u32,
    lane: Vl,
) {
    let path = if context.rules.paths > 1 { context.arena[index].route_state.path() } else { 0 };
    let content = context.arena.crossing(index, lane, path);
    let port = context.ports.senders[port as usize].channel;
    context.observer.crossed(&Crossing { time: now, port, content });
}
