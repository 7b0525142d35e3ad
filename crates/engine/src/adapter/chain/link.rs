//! The chain's end at the link: the lane of a packet is chosen, and the packet is put on the link.

use fabricsim_fabric::{Arena, Outbox, PartitionContext, Slot, report_multicast, send};
use fabricsim_model::{Observer, Packet, PacketKind};
use fabricsim_routing::{Destination, RoutingFunction};
use fabricsim_units::{HostId, Time, Vl};

use super::Chain;
use crate::adapter::{Candidate, Endpoint, OutgoingPacket};

/// Where a packet begins: its service class or level, its lane on the host's link, and which of its destination's LIDs it is sent to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) class: u8,
    pub(super) lane: Vl,
    pub(super) path: u8,
}

impl Chain {
    /// The service class of a packet.
    #[inline(always)]
    pub(super) fn class<E: Endpoint>(&self, endpoint: &E, candidate: Candidate) -> u8 {
        match (candidate.path.level, candidate.stream) {
            (Some(level), _) => level,
            (None, Some(stream)) => self.service_classes[usize::from(stream)],
            (None, None) => endpoint.service_class(),
        }
    }

    /// The flow of packets to a host or multicast group, by which lanes may be selected.
    #[inline(always)]
    pub(super) fn flow_to(&self, destination: HostId) -> u32 {
        self.id.0.wrapping_mul(31).wrapping_add(destination.0)
    }

    /// The lane and path on which a packet of a service class can be sent now; or the time at which there may be
    /// credits for it.
    #[inline(always)]
    pub(super) fn choose_lane<R: RoutingFunction, B, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        Candidate { destination, bytes, stream, path: named }: Candidate,
        class: u8,
    ) -> Result<Entry, Time> {
        let blocks = bytes.div_ceil(context.ports.ramps.unit());
        let is_group = destination.group().is_some();
        let path = match (named.lid, &self.paths) {
            (Some(lid), _) => lid,
            (None, Some(paths)) if !is_group => paths.next(destination, stream),
            _ => 0,
        };
        let of_policy = |routing: &R| {
            if is_group {
                return routing.tree_injection(self.id, class);
            }
            routing.injection_lanes(self.id, Destination { host: destination, path }, class)
        };
        let lanes = context.injection_lanes.unwrap_or_else(|| of_policy(&context.routing));
        debug_assert_eq!(lanes, of_policy(&context.routing));
        let flow = self.flow_to(destination);
        let chosen = context.ports.choose_lane(self.port, lanes, blocks, context.now, flow);
        if chosen.is_err() {
            context.ports.senders[self.port as usize].stall(context.now, lanes.first);
        }
        chosen.map(|lane| Entry { class, lane, path })
    }

    #[inline(always)]
    pub(super) fn send_outgoing<E: Endpoint, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        endpoint: &E,
        mut outgoing: OutgoingPacket,
        entry: Entry,
        context: &mut PartitionContext<R, B, O>,
    ) {
        let now = context.now;
        let is_data = outgoing.packet.kind == PacketKind::Data;
        outgoing.packet.sequence = self.sent as u32;
        if is_data && !outgoing.retransmitted {
            context.observer.injected(now, &endpoint.reported(&outgoing));
        }
        endpoint.on_link(&outgoing, now, &mut context.observer);
        let OutgoingPacket { packet, label, mut transport, content, retransmitted } = outgoing;
        if let Some(transport) = &mut transport {
            transport.path = entry.path;
        }
        let attach = |arena: &mut Arena, index| {
            arena.attach_headers(index, label.as_ref(), transport.as_ref(), content);
        };
        let end = self.put_on_link(packet, attach, entry, context);
        if !is_data {
            return;
        }
        if !self.is_plain
            && let Some(pacing) = &mut self.pacing
        {
            pacing.sent(&packet, retransmitted, (now, end), &mut context.observer);
        }
        if !E::ACKNOWLEDGES && packet.last && self.app.is_closed() {
            self.left(now, end, &packet, &mut context.observer);
        }
    }

    /// Puts a packet on the link; `attach` stores its extension headers. Returns the time at which its last byte has left.
    #[inline(always)]
    pub(super) fn put_on_link<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        mut packet: Packet,
        attach: impl FnOnce(&mut Arena, u32),
        Entry { class, lane, path }: Entry,
        context: &mut PartitionContext<R, B, O>,
    ) -> Time {
        packet.sequence = self.sent as u32;
        packet.service_level = class;
        if let Some(paths) = &mut self.paths
            && packet.destination.group().is_none()
        {
            paths.sent(packet.destination, path, packet.bytes);
        }
        if context.rules.has_levels_of_paths && packet.destination.group().is_none() {
            let to = Destination { host: packet.destination, path };
            packet.service_level = context.routing.service_level(self.id, to, class);
        }
        self.sent += 1;
        let blocks = packet.bytes.div_ceil(context.ports.ramps.unit());
        let mut slot = Slot::new(packet, blocks);
        slot.route_state = slot.route_state.with_path(path);
        let index = context.arena.insert(slot);
        attach(&mut context.arena, index);
        if packet.destination.group().is_some() {
            report_multicast(context, self.port, lane);
        }
        send(context, self.port, index, lane)
    }
}
