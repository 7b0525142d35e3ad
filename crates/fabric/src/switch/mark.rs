//! Congestion: what a switch does to a packet that leaves.

use fabricsim_model::{Observer, PacketKind};
use fabricsim_units::{Time, Vl};

use super::Switch;
use crate::Context;
use crate::congestion::Departure;

impl Switch {
    /// Marks the packet if its output is congested; returns how late the credits of its buffer are returned.
    #[inline(never)]
    pub(super) fn mark<R, B: Observer, O>(
        &mut self,
        context: &mut Context<R, B, O>,
        output: usize,
        (input, lane): (usize, Vl),
        packet: u32,
    ) -> Time {
        let Some(detector) = &mut self.detector else { return Time::ZERO };
        let slot = &mut context.arena[packet];
        let sender = &context.ports.senders[self.first_port as usize + output];
        let departure = Departure {
            input,
            in_lane: lane,
            output,
            lane: slot.hop.lanes.first,
            blocks: slot.blocks,
            had_credits: sender.stalled_since == Time::MAX,
            packet_time: sender.byte_time.duration(slot.packet.bytes),
        };
        let (id, rules) = (self.id, &context.rules);
        let eligible = slot.packet.kind == PacketKind::Data;
        let left = detector.leaves(departure, eligible, || rules.stream_at(id, &slot.packet));
        if left.marked {
            slot.packet.fecn = true;
            context.observer.marked(context.now, sender.channel, departure.lane, &slot.packet);
        }
        left.credits_late
    }

    /// What watches for congestion, if anything does.
    pub fn detector(&self) -> Option<&crate::congestion::Detector> {
        self.detector.as_deref()
    }
}
