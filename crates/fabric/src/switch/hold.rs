//! Departure of a packet by an output that is held for it while it arrives: see [`crate::held`].

use fabricsim_model::{ByteLine, Observer};
use fabricsim_routing::RoutingFunction;
use fabricsim_units::{ByteTime, Time, Vl};

use super::Switch;
use crate::held::{last_of, leave_by, ramps};
use crate::release::return_ramp;
use crate::{AllFeatures, Outbox, PartitionContext};

impl Switch {
    /// [`Switch::free_input`] if outputs are held: blocks leave as they arrive, but not faster than `byte_time` allows.
    #[cold]
    #[inline(never)]
    pub(super) fn free_held_input<R: RoutingFunction, B: Observer, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        (port, lane): (u32, Vl),
        packet: u32,
        (byte_time, mut late): (ByteTime, Time),
        size: (u32, u32),
    ) {
        let own = ByteLine { from: context.now, byte_time };
        let (unit, how) = (context.ports.ramps.unit(), context.rules.credit_return);
        let slot = &context.arena[packet];
        let arrival =
            ByteLine { from: slot.arrived, byte_time: context.ports.receivers[port as usize].byte_time };
        let sender = &context.ports.senders[self.first_port as usize + slot.hop.port.index()];
        let free_at =
            if sender.is_paced() { context.now + sender.held(size.0, unit) } else { own.at(size.0) };
        let mut lines = std::mem::take(context.arena.arrivals(packet));
        if lines.is_empty() {
            lines.push(arrival);
        }
        leave_by(&mut lines, own, size.0, free_at);
        let mut is_free = true;
        if self.replicates && context.arena.copies.has(packet) {
            let end = last_of(&lines, size.0);
            match context.arena.copies.leave(packet, end) {
                Some(read_until) => late = late.max(read_until - end),
                None => is_free = false,
            }
        }
        if is_free {
            ramps(how, &lines, size, unit, |ramp| {
                return_ramp::<AllFeatures, R, B, O>(context, port, lane, ramp.later(late));
            });
        }
        *context.arena.lines(packet) = lines;
    }
}
