//! Forwarding of the packet that an output has chosen.

use fabricsim_model::{Grant, Observer};
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::Queueing;
use fabricsim_units::{Time, Vl};

use super::Switch;
use super::queues::Place;
use crate::transmit::{return_space, transmit};
use crate::{Context, NONE, Outbox};

impl Switch {
    /// Takes the packet chosen out of its queue and sends it.
    #[inline(always)]
    pub(super) fn grant<const ELABORATE: bool, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        place: Place,
        packet: u32,
        out_lane: Vl,
    ) {
        let Place { input, lane, output, .. } = place;
        let next = context.arena[packet].next;
        self.dequeue::<ELABORATE>(place, next);
        let more = !self.outputs[output].inputs.is_empty();
        self.forward::<ELABORATE, R, B, O>(context, place, packet, out_lane, more);
        if next != NONE && self.layout.queueing == Queueing::Fifo {
            self.expose::<ELABORATE, R, B, O>(context, input, lane, next);
        }
        if ELABORATE && self.head_delay.is_some() && next != NONE {
            self.delay_head(context, place.queue, next);
        }
    }

    /// Sends a packet from an input buffer to an output, for which there is `more` or not. Every packet that leaves the
    /// switch does so here.
    #[inline(always)]
    pub(super) fn forward<const ELABORATE: bool, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        place: Place,
        packet: u32,
        out_lane: Vl,
        more: bool,
    ) {
        let Place { input, lane, output, queue, request } = place;
        let port = self.first_port + output as u32;
        let in_port = self.first_port + input as u32;
        let slot = &mut context.arena[packet];
        slot.packet.hops += 1;
        let (bytes, blocks, waited_for) = (slot.packet.bytes, slot.blocks, slot.hop.lanes.first);
        let by_age =
            ELABORATE && self.aging.as_mut().is_some_and(|aging| aging.send(&mut slot.packet.age, place));
        if ELABORATE {
            let grant = Grant {
                input: context.ports.receivers[in_port as usize].channel,
                lane,
                output: context.ports.senders[port as usize].channel,
                waited: context.now - slot.arrived,
                age: slot.packet.age as u8,
            };
            context.observer.forwarded(context.now, &grant);
        }
        let state = &mut self.outputs[output];
        state.queued -= blocks;
        let queued = state.queued;
        self.last_output = output;
        if !by_age {
            state.last_input = input as u16;
            self.requests[request].last_lane = lane.0;
        }
        if ELABORATE && self.telemetry.is_some() {
            self.collect(context, output, packet, queued);
        }
        self.forget_missed(place);
        let byte_time = context.ports.senders[port as usize].byte_time;
        let watched = self
            .detector
            .as_mut()
            .is_some_and(|detector| !detector.leaves_quietly(input, (output, waited_for), blocks));
        let late =
            if watched { self.mark(context, (output, out_lane), (input, lane), packet) } else { Time::ZERO };
        if !(ELABORATE && self.unstage(context, place, (bytes, blocks), byte_time)) {
            return_space(context, in_port, lane, (byte_time, late), (bytes, blocks));
        }
        let end = transmit::<ELABORATE, R, B, O>(context, port, packet, (bytes, blocks), out_lane, more);
        context.ports.receivers[in_port as usize].occupy(end);
        if ELABORATE && self.head_delay.is_some() {
            self.leave_queue(queue, end);
        }
    }
}
