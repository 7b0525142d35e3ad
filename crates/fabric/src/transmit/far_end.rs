//! The far end of a link: it is notified of the packet, and a host's sink returns the credits.

use fabricsim_model::{ByteLine, Observer};
use fabricsim_routing::RoutingFunction;
use fabricsim_units::{ByteTime, Time, Vl};

use crate::held::ramps;
use crate::release::{leaving, release_by_packets};
use crate::{CommonFeatures, FarEnd, Features, NONE, Outbox, PartitionContext, Ports, Ramp, pause};

/// Notifies the far end of a link, which is not a switch of this partition, of a packet that leaves its port from `now` to `end`; `head` is the
/// time from which the link's latency counts.
#[inline(always)]
pub(super) fn reach_far_end<F: Features, const SPECIAL: bool, R: RoutingFunction, B: Observer, O: Outbox>(
    context: &mut PartitionContext<R, B, O>,
    (now, end, head): (Time, Time, Time),
    port: u32,
    index: u32,
    (bytes, blocks): (u32, u32),
    lane: Vl,
) {
    let sender = &context.ports.senders[port as usize];
    if SPECIAL && context.ports.pause.is_some() && sender.far_end.sink().is_some() {
        return pause::deliver(context, (now, end), port, index, (bytes, blocks), lane);
    }
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
pub(super) fn lose_at_far_end<R, B, O: Outbox>(
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
    if context.ports.pause.is_some() {
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
