//! Forwarding of the packet that an output has chosen.

use fabricsim_model::{Grant, LossCause, Observer};
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::Queueing;
use fabricsim_units::{Time, Vl};

use super::Switch;
use super::queues::QueuePosition;
use crate::transmit::{return_space, transmit};
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
        let QueuePosition { input, lane, output, queue, .. } = position;
        let next = context.arena[packet].next;
        self.dequeue::<F>(position, next);
        let more = !self.outputs[output].inputs.is_empty();
        self.forward::<F, R, B, O>(context, position, packet, out_lane, more);
        if !F::PLAIN && next != NONE && self.layout.queueing == Queueing::Fifo {
            self.expose::<F, R, B, O>(context, input, lane, next);
        }
        if F::OPTIONAL && self.head_delay.is_some() && next != NONE {
            self.delay_head(context, queue, next);
        }
        if F::OPTIONAL && self.lifetimes.is_some() && next != NONE {
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
        let QueuePosition { input, lane, output, queue, request } = position;
        let port = self.first_port + output as u32;
        let in_port = self.first_port + input as u32;
        let slot = &mut context.arena[packet];
        slot.packet.hops += 1;
        let (bytes, blocks, waited_for) = (slot.packet.bytes, slot.blocks, slot.hop.lanes.first);
        let by_age = F::OPTIONAL
            && self.aging.as_mut().is_some_and(|aging| aging.send(&mut slot.packet.age, position));
        let mut lost =
            if F::OPTIONAL && self.failures.is_some() { self.loss_cause(output, input) } else { None };
        if F::OPTIONAL && self.lifetimes.is_some() {
            lost = self.expired(output, out_lane).or(lost);
        }
        if F::OPTIONAL && lost.is_none() && self.exceeds_mtu(output, bytes) {
            lost = Some(LossCause::LinkMtu);
            let channel = context.ports.senders[port as usize].channel;
            context.observer.lost_at(context.now, channel, out_lane, LossCause::LinkMtu);
            // Nothing wakes the output, since its link stays free.
            self.dirty.set(output);
        }
        if F::OPTIONAL && lost.is_none() {
            let grant = Grant {
                input: context.ports.receivers[in_port as usize].channel,
                lane,
                output: context.ports.senders[port as usize].channel,
                waited: context.now - slot.arrived,
                age: slot.packet.age as u8,
            };
            context.observer.forwarded(context.now, &grant);
        }
        if F::OPTIONAL
            && let Some(arbitration) = &mut self.vl_arbitration
        {
            arbitration.charge(output, input, out_lane, lost.is_none().then_some(bytes));
        }
        let state = &mut self.outputs[output];
        state.queued -= blocks;
        let queued = state.queued;
        self.last_output = output;
        if !by_age {
            state.last_input = input as u16;
            self.requests[request].last_lane = lane.0;
        }
        if F::OPTIONAL && self.telemetry.is_some() {
            self.collect(context, output, packet, queued);
        }
        self.forget_missed(position);
        let byte_time = context.ports.senders[port as usize].byte_time;
        let watched = !F::PLAIN
            && self
                .detector
                .as_mut()
                .is_some_and(|detector| !detector.leaves_quietly(input, (output, waited_for), blocks));
        let late =
            if watched { self.mark(context, (output, out_lane), (input, lane), packet) } else { Time::ZERO };
        let is_staged = F::OPTIONAL && self.unstage(context, position, (bytes, blocks), byte_time);
        if F::OPTIONAL && !is_staged {
            self.free_input(context, (in_port, lane), packet, (byte_time, late), (bytes, blocks));
        } else if !is_staged {
            return_space::<F, R, B, O>(context, in_port, lane, (byte_time, late), (bytes, blocks));
        }
        let end = if let Some(cause) = lost {
            context.out.discard(packet, cause);
            context.now
        } else {
            let end = transmit::<F, R, B, O>(context, port, packet, (bytes, blocks), out_lane, more);
            let receiver = &mut context.ports.receivers[in_port as usize];
            if F::PLAIN {
                debug_assert!(matches!(receiver.reads, ReadPorts::One));
                receiver.readable_at = end;
            } else {
                receiver.occupy(end);
            }
            end
        };
        if F::OPTIONAL && self.head_delay.is_some() {
            self.leave_queue(queue, end);
        }
    }
}
