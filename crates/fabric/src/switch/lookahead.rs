//! Lookahead routing: the hop of a packet is chosen as its head arrives, in parallel with the rest of the router's pipeline (Dally & Towles,
//! "Principles and Practices of Interconnection Networks", 2004, section 16.7.2), so by the loads of that time.

use fabricsim_routing::RoutingFunction;
use fabricsim_units::{PortNo, Time};

use super::Switch;
use crate::{Outbox, PartitionContext};

impl Switch {
    /// Chooses the hops of packets as their heads arrive, `router_delay` before they can be sent. Packets then arrive twice: with the
    /// latency of the link alone, and that much later. `router_delay` is more than zero; without one there is no lookahead.
    pub fn with_lookahead(mut self, router_delay: Option<Time>) -> Self {
        self.lookahead = router_delay;
        self.has_arrival_features |= router_delay.is_some();
        self.has_optional_features |= router_delay.is_some();
        self
    }

    /// True if the head of the packet has arrived just now, with lookahead: its hop is to be chosen, and it can be sent later.
    #[inline]
    pub(super) fn awaits<R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        input: usize,
        packet: u32,
    ) -> bool {
        let Some(delay) = self.lookahead else { return false };
        let slot = &mut context.arena[packet];
        // Until then it is the time at which it could leave its last switch, or zero.
        if slot.ready == context.now {
            return false;
        }
        slot.ready = context.now + delay;
        context.out.arrive(slot.ready, self.first_port + input as u32, packet);
        self.undecided.push((input, packet));
        true
    }

    /// Chooses the hop of a packet that can be sent later.
    #[inline(never)]
    pub(super) fn look_ahead<R: RoutingFunction, B, O>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        input: usize,
        packet: u32,
    ) {
        let slot = &context.arena[packet];
        if slot.destination().group().is_none() {
            let hop = self.hop_of_class(context, PortNo(input as u16), slot.lane, packet);
            self.assign(context, packet, hop);
        }
    }
}
