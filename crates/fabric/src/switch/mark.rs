//! Congestion marking: the lanes of an output that wait for credits, and the marking of packets that leave.

use fabricsim_model::{Observer, PacketKind};
use fabricsim_units::{Time, Vl};

use super::Switch;
use crate::congestion::Departure;
use crate::{PartitionContext, Ports, Slot};

impl Switch {
    /// Notifies the detector of the lanes that wait for credits: those for which a packet is ready and could be read, if
    /// `output`, whose link is free, has no space at the other end for the largest packet so far. A shorter one with data may go, but what is left of a full
    /// buffer does not make a root of a victim.
    #[inline(never)]
    pub(super) fn note_lanes_without_credits<R, B, O>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
    ) {
        let Some(detector) = &mut self.detector else { return };
        let port = self.first_port + output as u32;
        let least = context.rules.least_space;
        let (ports, now) = (&mut context.ports, context.now);
        let largest = detector.largest().max(least);
        let lanes = self.layout.lanes as u8;
        if (0..lanes).all(|lane| has_space_for(ports, (port, Vl(lane)), largest, now)) {
            return;
        }
        let (mut with, mut without) = (0_u16, 0_u16);
        let inputs = &self.outputs[output].inputs;
        let first = inputs.first_after(self.layout.ports - 1);
        let mut at = first;
        while let Some(input) = at {
            at = inputs.first_after(input).filter(|&next| Some(next) != first);
            if ports.receivers[self.first_port as usize + input].readable_at > now {
                continue;
            }
            let mut lanes = self.queues.request(self.outputs[output].row, input).lanes;
            while lanes != 0 {
                let lane = Vl(lanes.trailing_zeros() as u8);
                lanes &= lanes - 1;
                let slot = &context.arena[self.queues.at(self.outputs[output].row, input, lane).first()];
                let group = 1 << slot.hop.lanes.first.0;
                if slot.ready > now || with & group != 0 {
                    continue;
                }
                let blocks = credits_of_root(slot, largest, least);
                let allowed = ports.selectable(slot.hop.lanes, slot.flow());
                if allowed.iter().any(|lane| has_space_for(ports, (port, lane), blocks, now)) {
                    with |= group;
                } else {
                    without |= group;
                }
            }
        }
        detector.wait_for_credits(output, without & !with);
    }

    /// Marks the packet, which leaves on `out_lane`, if the lane of the output that it waited for is congested. Returns the
    /// additional delay of the credits of its buffer.
    #[inline(never)]
    pub(super) fn mark<R, B: Observer, O>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        (output, out_lane): (usize, Vl),
        (input, lane): (usize, Vl),
        packet: u32,
    ) -> Time {
        // A discarded packet notifies no receiver.
        let is_lost = self.loss_cause(output, input).is_some();
        let Some(detector) = &mut self.detector else { return Time::ZERO };
        let slot = &mut context.arena[packet];
        let sender = &context.ports.senders[self.first_port as usize + output];
        let departure = Departure {
            input,
            in_lane: lane,
            output,
            lane: slot.hop.lanes.first,
            blocks: slot.blocks,
            is_data: slot.packet.kind == PacketKind::Data,
            packet_time: sender.byte_time.duration(slot.packet.bytes),
        };
        let (id, rules) = (self.id, &context.rules);
        // A packet for a group notifies no source: no host answers it.
        let is_unicast = slot.packet.destination.group().is_none();
        let eligible = slot.packet.kind == PacketKind::Data && is_unicast && !is_lost;
        let left = detector.leaves(departure, eligible, || rules.stream_at(id, &slot.packet));
        if left.marked {
            slot.packet.fecn = true;
            context.observer.marked(context.now, sender.channel, out_lane, &slot.packet);
        }
        left.credits_late
    }

    /// Congestion detector, if there is one.
    pub fn detector(&self) -> Option<&crate::congestion::Detector> {
        self.detector.as_deref()
    }
}

/// Blocks of credits that make a root of the lane for which a packet waits: for data those of the largest packet so far.
pub(super) fn credits_of_root(slot: &Slot, largest: u32, least: u32) -> u32 {
    if slot.packet.kind == PacketKind::Data { largest } else { slot.blocks.max(least) }
}

/// True if a lane has credits for `blocks`, or for its whole buffer if that is smaller.
pub(super) fn has_space_for(ports: &mut Ports, (port, lane): (u32, Vl), blocks: u32, now: Time) -> bool {
    let blocks = blocks.min(ports.capacities[port as usize]);
    ports.has_space(port, lane, blocks, now)
}
