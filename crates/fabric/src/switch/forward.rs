//! Forwarding of the packet that an output has chosen.

use fabricsim_model::{Grant, LossCause, Observer, PacketKind};
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::Queueing;
use fabricsim_units::{Time, Vl};

use super::Switch;
use super::queues::QueuePosition;
use crate::release::return_space;
use crate::transmit::{report_multicast, transmit};
use crate::{Features, NONE, Outbox, PartitionContext, ReadPorts};

impl Switch {
    /// Removes the chosen packet from its queue and sends it.
    #[inline(always)]
    pub(super) fn grant<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        position: QueuePosition,
        packet: u32,
        out_lane: Vl,
    ) {
        let QueuePosition { input, lane, output, .. } = position;
        let next = context.arena[packet].next;
        self.dequeue::<F>(position, next);
        let more = !self.outputs[output].inputs.is_empty();
        let stalls_ahead = !F::OPTIONAL && !F::PLAIN && self.stalls_ahead && context.ports.whole.is_empty();
        self.forward::<F, R, B, O>(context, position, packet, out_lane, more && !stalls_ahead);
        if !more {
            self.close_row::<F>(output);
        }
        if stalls_ahead && more {
            self.wake_or_stall(context, output);
        }
        if !F::PLAIN && next != NONE && self.layout.queueing == Queueing::Fifo {
            self.expose::<F, R, B, O>(context, input, lane, next);
        }
        if F::OPTIONAL && self.head_delay.is_some() && next != NONE {
            self.delay_head(context, self.layout.queue(input, lane, output), next);
        }
        if F::OPTIONAL && self.lifetimes.is_some() && next != NONE {
            let queue = self.layout.queue(input, lane, output);
            let output = context.arena[next].hop.port.index();
            self.begin_lifetime(context, (queue, output), next);
        }
    }

    /// True if a packet is larger than what the link of an output carries (section 18.2.5.2: PortXmitDiscards).
    #[inline]
    fn exceeds_mtu(&self, output: usize, bytes: u32) -> bool {
        self.mtus.as_ref().is_some_and(|mtus| bytes > mtus[output])
    }

    /// Sends a packet from an input buffer to an output, for which there is `more` or not. Every packet that leaves the
    /// switch does so here.
    #[inline(always)]
    pub(super) fn forward<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        position: QueuePosition,
        packet: u32,
        out_lane: Vl,
        more: bool,
    ) {
        let QueuePosition { input, lane, output, .. } = position;
        let port = self.first_port + output as u32;
        let in_port = self.first_port + input as u32;
        let slot = &mut context.arena[packet];
        slot.packet.hops += 1;
        let (bytes, blocks, waited_for) = (slot.packet.bytes, slot.blocks, slot.hop.lanes.first);
        let by_age = F::OPTIONAL
            && self.aging.as_mut().is_some_and(|aging| aging.send(&mut slot.packet.age, position));
        let lost =
            if F::OPTIONAL { self.decide_loss(context, position, (packet, bytes), out_lane) } else { None };
        let was_owed = self.settle_owed(position);
        let state = &mut self.outputs[output];
        state.queued -= blocks;
        let queued = state.queued;
        self.last_output = output;
        if !by_age && !was_owed {
            state.last_input = input as u16;
            self.turn_mut::<F>(position).last_lane = lane.0;
        }
        if F::OPTIONAL && self.telemetry.is_some() {
            self.collect(context, output, packet, queued);
        }
        self.forget_missed::<F>(position);
        self.leave_buffer::<F, R, B, O>(context, position, packet, (waited_for, out_lane), (bytes, blocks));
        let end = if let Some(cause) = lost {
            context.out.discard(packet, cause);
            context.now
        } else {
            if F::OPTIONAL && self.replicates && context.arena[packet].destination().group().is_some() {
                report_multicast(context, port, out_lane);
            }
            let end = transmit::<F, R, B, O>(context, port, packet, (bytes, blocks), out_lane, more);
            let receiver = &mut context.ports.receivers[in_port as usize];
            if F::PLAIN {
                debug_assert!(matches!(receiver.reads, ReadPorts::One));
                receiver.readable_at = end;
            } else {
                let unit = context.ports.ramps.unit();
                receiver.occupy(context.ports.senders[port as usize].read_until(end, bytes, unit));
                if self.ahead != 0 {
                    self.reconsider_stalls(context, input);
                }
            }
            end
        };
        if F::OPTIONAL && self.head_delay.is_some() {
            self.leave_queue(self.layout.queue(input, lane, output), end);
        }
    }

    /// Cause for which a packet that leaves `position` is lost instead of sent: a failure, the end of its lifetime, or a link that does not carry
    /// its size. Reports the grant otherwise.
    #[inline(always)]
    fn decide_loss<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        position: QueuePosition,
        (packet, bytes): (u32, u32),
        out_lane: Vl,
    ) -> Option<LossCause> {
        let QueuePosition { input, lane, output, .. } = position;
        let channel = context.ports.senders[self.first_port as usize + output].channel;
        let mut lost = if self.failures.is_some() { self.loss_cause(output, input) } else { None };
        if self.lifetimes.is_some() {
            lost = self.expired(output, out_lane).or(lost);
        }
        if lost.is_none() && self.exceeds_mtu(output, bytes) {
            lost = Some(LossCause::LinkMtu);
            context.observer.lost_at(context.now, channel, out_lane, LossCause::LinkMtu);
            // Nothing wakes the output, since its link stays free.
            self.dirty.set(output);
        }
        if lost.is_none() {
            let slot = &context.arena[packet];
            let grant = Grant {
                input: context.ports.receivers[self.first_port as usize + input].channel,
                lane,
                output: channel,
                waited: context.now - slot.arrived,
                age: slot.packet.age as u8,
            };
            context.observer.forwarded(context.now, &grant);
        }
        if let Some(arbitration) = &mut self.vl_arbitration {
            arbitration.charge(position, out_lane, lost.is_none().then_some(bytes));
        }
        lost
    }

    /// The packet leaves its buffer: the input's, or a staging buffer, whose space comes back. `lanes` are the first one that it waited for and
    /// the one on which it goes.
    #[inline(always)]
    fn leave_buffer<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        position: QueuePosition,
        packet: u32,
        (waited_for, out_lane): (Vl, Vl),
        (bytes, blocks): (u32, u32),
    ) {
        let QueuePosition { input, lane, output, .. } = position;
        let in_port = self.first_port + input as u32;
        let byte_time = context.ports.senders[self.first_port as usize + output].byte_time;
        let watched = !F::PLAIN
            && self.detector.as_mut().is_some_and(|detector| {
                let is_data = context.arena[packet].packet.kind == PacketKind::Data;
                !detector.leaves_quietly(input, (output, waited_for), (blocks, is_data))
            });
        let late =
            if watched { self.mark(context, (output, out_lane), (input, lane), packet) } else { Time::ZERO };
        if F::OPTIONAL && self.unstage(context, position, (bytes, blocks), byte_time) {
            return;
        }
        if F::OPTIONAL {
            self.free_input(context, (in_port, lane), packet, (byte_time, late), (bytes, blocks));
        } else {
            return_space::<F, R, B, O>(context, in_port, lane, (byte_time, late), (bytes, blocks));
        }
    }
}
