//! Replication of packets for multicast groups: a packet that arrives becomes one copy for each port of its group's table, but for the
//! one that it has come in by. The copies leave independently, in turn with other packets.

use fabricsim_model::{Hop, LossCause, Observer};
use fabricsim_routing::{At, RoutingFunction};
use fabricsim_spec::Queueing;
use fabricsim_units::{ByteTime, PortNo, Time, Vl};

use super::Switch;
use crate::release::return_space;
use crate::{AllFeatures, NONE, Outbox, PartitionContext};

impl Switch {
    /// Configures a switch that replicates packets for multicast groups.
    #[must_use]
    pub fn with_multicast(mut self) -> Self {
        self.has_optional_features = true;
        self.has_arrival_features = true;
        self.replicates = true;
        self
    }

    /// Admits the copies of an arrived packet.
    #[cold]
    #[inline(never)]
    pub(super) fn replicate<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        (input, group): (usize, u16),
        packet: u32,
    ) {
        let mut slots = std::mem::take(&mut self.copies);
        self.copy(context, (input, group), packet, &mut slots);
        let slot = &context.arena[packet];
        let (lane, size) = (slot.lane, (slot.packet.bytes, slot.blocks));
        let port = self.first_port + input as u32;
        if slots.is_empty() {
            context.arena[packet].packet.hops += 1;
            context.out.discard(packet, LossCause::NoRoute);
        }
        self.discard_refused(context, &mut slots);
        if slots.is_empty() {
            return_space::<AllFeatures, R, B, O>(
                context,
                port,
                lane,
                (ByteTime::default(), Time::ZERO),
                size,
            );
        } else {
            context.arena.copies.share((port, lane), size.1, &slots);
        }
        for copy in slots.drain(..) {
            if let Some(aging) = &mut self.aging {
                aging.receive(&mut context.arena, input, copy, context.now);
            }
            if self.layout.queueing == Queueing::Cioq {
                self.admit_staged(context, input, copy);
            } else {
                self.admit::<AllFeatures, R, B, O>(context, input, copy);
                self.queue_sole_copy(context, copy);
            }
        }
        self.copies = slots;
    }

    /// Puts the copies of a packet in slots of their own, each with its hop; none if the group has no other port here.
    fn copy<R: RoutingFunction, B, O>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        (input, group): (usize, u16),
        packet: u32,
        slots: &mut Vec<u32>,
    ) {
        let in_port = PortNo(input as u16);
        let original = context.arena[packet];
        let at = At { switch: self.id, in_port, lane: original.lane };
        let tables = std::sync::Arc::clone(&context.multicast);
        for &port in tables.ports(self.id, group).iter().filter(|&&port| port != in_port) {
            let hop = context.routing.tree_hop(at, port, original.packet.service_level);
            if slots.is_empty() {
                context.arena[packet].hop = hop;
                slots.push(packet);
            } else {
                let slot = crate::Slot { hop, next: NONE, ..original };
                let copy = context.arena.insert_copy(packet, slot);
                if context.rules.holds_outputs {
                    let lines = context.arena.arrivals(packet).clone();
                    *context.arena.lines(copy) = lines;
                }
                slots.push(copy);
                let copies = &mut context.arena.copies;
                copies.made += 1;
                copies.shared_links += u64::from(original.packet.hops) + 1;
            }
        }
    }

    /// Loses the copies whose ports do not let them pass because of their P_Key.
    fn discard_refused<R, B: Observer, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        slots: &mut Vec<u32>,
    ) {
        let mut refused = std::mem::take(&mut context.refused_ports);
        if refused.is_empty() {
            return;
        }
        let cause = LossCause::PartitionKeyAtSwitch;
        slots.retain(|&copy| {
            let slot = &mut context.arena[copy];
            let (port, lane) = (slot.hop.port, slot.lane);
            let passes = !refused.contains(&port);
            if !passes {
                slot.packet.hops += 1;
                let channel = context.ports.senders[(self.first_port + u32::from(port.0)) as usize].channel;
                context.observer.lost_at(context.now, channel, lane, cause);
                context.out.discard(copy, cause);
            }
            passes
        });
        refused.clear();
        context.refused_ports = refused;
    }

    /// Queues a copy that is the only packet for its output. With one queue for all outputs the next copy is behind it.
    fn queue_sole_copy<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        copy: u32,
    ) {
        let output = context.arena[copy].hop.port.index();
        if self.layout.queueing == Queueing::Fifo && self.outputs[output].sole == copy {
            self.enqueue_sole::<AllFeatures, R, B, O>(context, output);
            self.dirty.set(output);
        }
    }

    /// The hop of a copy, which it has had since it was made.
    #[inline]
    pub(super) fn hop_of_copy<R, B, O>(
        &self,
        context: &PartitionContext<R, B, O>,
        packet: u32,
    ) -> Option<Hop> {
        let slot = &context.arena[packet];
        (self.replicates && slot.destination().group().is_some()).then_some(slot.hop)
    }

    /// Returns the buffer space of a packet that begins to be read from the input buffer of `port` now, at `byte_time` a byte; of copies when the
    /// last begins to be read.
    #[inline]
    pub(super) fn free_input<R: RoutingFunction, B: Observer, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        (port, lane): (u32, Vl),
        packet: u32,
        (byte_time, late): (ByteTime, Time),
        size: (u32, u32),
    ) {
        if context.rules.holds_outputs {
            return self.free_held_input(context, (port, lane), packet, (byte_time, late), size);
        }
        let mut late = late;
        if self.replicates && context.arena.copies.has(packet) {
            let end = context.now + byte_time.duration(size.0);
            let Some(read_until) = context.arena.copies.leave(packet, end) else { return };
            late = late.max(read_until - end);
        }
        return_space::<AllFeatures, R, B, O>(context, port, lane, (byte_time, late), size);
    }
}
