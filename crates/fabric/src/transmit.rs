//! A packet leaves: over a link, and out of the buffer in which it was.

use fabricsim_model::{ByteLine, Crossing, Observer};
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::{CreditReturn, Switching};
use fabricsim_units::{ByteTime, Time, Vl};

use crate::flow_control::{NO_ERRORS, refresh};
use crate::held::ramps;
use crate::link_layer::Failed;
use crate::{
    AllFeatures, CommonFeatures, FarEnd, Features, NONE, Outbox, PartitionContext, Ports, Ramp, Rules,
};

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
    if LOST {
        lose_at_far_end(context, end, port, index, (bytes, blocks), lane);
        return end;
    }
    let is_stored = !F::PLAIN && context.rules.switching == Switching::StoreAndForward;
    let head = if is_stored { end } else { now };
    if let FarEnd::Switch(peer) = sender.far_end {
        slot.port = peer;
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
        && !(SPECIAL && context.ports.flow.is_some())
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

/// Notifies the far end of a link, which is not a switch of this partition, of a packet that leaves its port from `now` to `end`; `head` is the
/// time from which the link's latency counts.
#[inline(always)]
fn reach_far_end<F: Features, const SPECIAL: bool, R: RoutingFunction, B: Observer, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    (now, end, head): (Time, Time, Time),
    port: u32,
    index: u32,
    (bytes, blocks): (u32, u32),
    lane: Vl,
) {
    let sender = &context.ports.senders[port as usize];
    if SPECIAL && context.ports.flow.is_some() && sender.far_end.sink().is_some() {
        return deliver_by_packets(context, (now, end), port, index, (bytes, blocks), lane);
    }
    match sender.far_end {
        FarEnd::Switch(_) => {}
        FarEnd::Host(peer) => {
            let slot = &mut context.arena[index];
            (slot.port, slot.arrived) = (peer, now + sender.latency);
            context.out.deliver(end + sender.latency, peer, index);
            accept_held(context, now, port, index, (bytes, blocks), lane);
        }
        FarEnd::SlowHost(peer) => {
            // One link leads to a sink: its acceptance time is computed when the packet is sent.
            let slot = &mut context.arena[index];
            slot.port = peer;
            slot.arrived = now + sender.latency;
            let sink = &mut context.ports.sinks[sender.sink as usize];
            let (start, end) = sink.take(now + sender.latency, bytes, end + sender.latency);
            let base = start + (sender.sink_credit_delay - sender.latency);
            let spread = ByteTime::spread(end - start, bytes);
            let ramp = leaving(context.rules.credit_return, base, spread, bytes, blocks);
            let credits = &mut context.ports.lanes[port as usize * context.ports.lane_count + lane.index()];
            context.ports.ramps.give_back(credits, ramp);
            context.out.deliver(end, peer, index);
        }
        FarEnd::GatedHost(peer) => {
            let slot = &mut context.arena[index];
            (slot.port, slot.arrived) = (peer, now + sender.latency);
            context.out.deliver(end + sender.latency, peer, index);
            // It returns its credits as a switch does, for the lane and for all lanes together.
            context.ports.use_whole(port, blocks, context.now);
        }
        FarEnd::Remote => {
            let delay = sender.far_end_delay;
            if F::OPTIONAL && context.rules.holds_outputs {
                context.arena.arrives_after(index, delay);
            }
            send_to_partition(context, head + delay, port, index, blocks);
        }
    }
}

/// Returns the credits of a packet that begins to leave `port` at `now`, which may be held for it, to a host that accepts every byte as it comes.
#[cold]
#[inline(never)]
fn accept_held<R, B, O>(
    context: &mut PartitionContext<R, B, O>,
    now: Time,
    port: u32,
    index: u32,
    (bytes, blocks): (u32, u32),
    lane: Vl,
) {
    let Ports { senders, lanes, lane_count, ramps, .. } = &mut context.ports;
    let sender = &senders[port as usize];
    let credits = &mut lanes[port as usize * *lane_count + lane.index()];
    let own = ByteLine { from: now, byte_time: sender.byte_time };
    let (how, unit) = (context.rules.credit_return, ramps.unit());
    context.arena.accepted_by(index, own, how, (bytes, blocks), unit, |ramp| {
        ramps.give_back(credits, ramp.later(sender.sink_credit_delay));
    });
}

/// A packet leaves the partition: it may be sent on at a switch of another one at `at`.
#[inline(always)]
fn send_to_partition<R, B, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    at: Time,
    port: u32,
    index: u32,
    blocks: u32,
) {
    let channel = context.ports.senders[port as usize].channel;
    let extensions = context.arena.take_boxed(index);
    let slot = context.arena.remove(index);
    context.ports.use_whole(port, blocks, context.now);
    context.out.remote_packet(at, channel, slot, extensions);
}

/// A packet whose last byte leaves `port` at `end` is lost as it arrives at the far end, which returns its space.
#[cold]
#[inline(never)]
fn lose_at_far_end<R, B, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    end: Time,
    port: u32,
    index: u32,
    (bytes, blocks): (u32, u32),
    lane: Vl,
) {
    let sender = &context.ports.senders[port as usize];
    let (arrival, far_end) = (end + sender.latency, sender.far_end);
    // All its blocks at once: the far end knows only from its last bytes, the CRC, that it does not keep it.
    let base = end + sender.sink_credit_delay;
    let ramp = Ramp { base, byte_time: ByteTime::default(), bytes, blocks };
    context.arena[index].port = NONE;
    if let Some(flow) = &mut context.ports.flow {
        if let Some(at) = flow.lose(port, lane, blocks, context.now) {
            context.out.control(at, port);
        }
        context.ports.use_whole(port, blocks, context.now);
        return context.out.lose(arrival, port, index);
    }
    // The sender computes its credits by itself, as behind a sink.
    if far_end.sink().is_some() {
        let credits = &mut context.ports.lanes[port as usize * context.ports.lane_count + lane.index()];
        context.ports.ramps.give_back(credits, ramp);
    } else {
        context.ports.use_whole(port, blocks, context.now);
        if let Some(at) = context.ports.credit::<CommonFeatures>(port, lane, ramp, context.now) {
            context.ports.ensure_wake(port, at, &mut context.out);
        }
    }
    context.out.lose(arrival, port, index);
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
fn leaving_as<F: Features>(rules: &Rules, base: Time, byte_time: ByteTime, bytes: u32, blocks: u32) -> Ramp {
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
    if F::OPTIONAL && context.ports.flow.is_some() {
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

/// A packet that leaves `port` from `now` to `last` goes to a host that announces the space of its sink by flow-control packets.
#[cold]
#[inline(never)]
fn deliver_by_packets<R, B, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    (now, last): (Time, Time),
    port: u32,
    index: u32,
    (bytes, blocks): (u32, u32),
    lane: Vl,
) {
    let sender = &context.ports.senders[port as usize];
    let Some(peer) = sender.far_end.sink() else { return };
    let (how, latency) = (context.rules.credit_return, sender.latency);
    let own = ByteLine { from: now, byte_time: sender.byte_time };
    let sink = match sender.far_end {
        FarEnd::SlowHost(_) => Some(&mut context.ports.sinks[sender.sink as usize]),
        _ => None,
    };
    let accepted = sink.map(|sink| sink.take(now + latency, bytes, last + latency));
    let (_, end) = accepted.unwrap_or((now + latency, last + latency));
    let slot = &mut context.arena[index];
    (slot.port, slot.arrived) = (peer, now + latency);
    context.out.deliver(end, peer, index);
    context.ports.use_whole(port, blocks, context.now);
    if let Some((start, end)) = accepted {
        let ramp = leaving(how, start, ByteTime::spread(end - start, bytes), bytes, blocks);
        return release_by_packets(context, peer, lane, ramp);
    }
    let is_held = context.rules.holds_outputs;
    let lines = if is_held { std::mem::take(context.arena.lines(index)) } else { Vec::new() };
    let (of, unit) = (if lines.is_empty() { &[own][..] } else { &lines }, context.ports.ramps.unit());
    ramps(how, of, (bytes, blocks), unit, |ramp| {
        release_by_packets(context, peer, lane, ramp.later(latency));
    });
    if is_held {
        *context.arena.lines(index) = lines;
    }
}

/// Blocks leave the input buffer of `port`, which announces them by flow-control packets.
#[cold]
#[inline(never)]
fn release_by_packets<R, B, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    port: u32,
    lane: Vl,
    ramp: Ramp,
) {
    if let Some(flow) = &mut context.ports.flow
        && let Some(at) = flow.release(port, lane, ramp, context.now)
    {
        context.out.control(at, port);
    }
}
