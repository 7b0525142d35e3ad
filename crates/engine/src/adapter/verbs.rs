//! A channel adapter that a program uses by verbs, as the endpoint of an adapter.

use std::num::NonZeroU16;

use fabricsim_model::{ExtensionHeaders, Observer, Packet, PacketKind, TransportHeaders};
use fabricsim_protocols::infiniband::{GRH_BYTES, PacketSize};
use fabricsim_units::{HostId, Time};
use fabricsim_verbs::{AddressVector, Device, Outgoing};
use fabricsim_wire::headers::Operation;
use fabricsim_workload::{Arrival, Message};

use super::queue_pairs::endpoint::{size, size_on_link, transport};
use super::{Candidate, Endpoint, NamedPath, OutgoingPacket};

/// The device of a host. Its programs are outside the engine: they call it between two advances.
#[derive(Clone, Debug)]
pub(crate) struct VerbsEndpoint {
    host: HostId,
    pub(crate) device: Device,
    /// Stream of its packets, for measurement.
    stream: u16,
    /// [`Device::changes`] when the device was noted last, and whether it is noted.
    changes: u64,
    is_noted: bool,
}

impl VerbsEndpoint {
    pub(crate) fn new(device: Device, stream: u16) -> Self {
        Self { host: device.host(), device, stream, changes: 0, is_noted: false }
    }

    /// True if programs may have something to see, and the device is not noted: now it is.
    #[inline]
    pub(crate) fn note_changes(&mut self) -> bool {
        let changes = self.device.changes();
        std::mem::replace(&mut self.changes, changes) != changes && self.note()
    }

    /// True if the device was not noted: now it is.
    #[inline]
    pub(crate) fn note(&mut self) -> bool {
        !std::mem::replace(&mut self.is_noted, true)
    }

    /// Programs have looked.
    pub(crate) fn forget(&mut self) {
        self.is_noted = false;
    }

    fn candidate_of(&self, (address, size): (AddressVector, PacketSize)) -> Candidate {
        let destination = address.host;
        let bytes = size_on_link(size) + route_header(destination);
        let path = NamedPath { level: Some(address.sl), lid: address.path };
        Candidate { destination, bytes, stream: Some(self.stream), path }
    }

    /// Inlined, so that the packet is built where it goes.
    #[inline(always)]
    fn outgoing(&self, sent: Outgoing, kind: PacketKind, now: Time) -> OutgoingPacket {
        let Outgoing { address, packet, is_retransmitted, content, wr_id } = sent;
        let destination = address.host;
        let operation = packet.headers.bth.opcode.operation();
        let sent = Packet {
            stream: self.stream,
            tag: wr_id.map_or(u32::MAX, |id| id as u32),
            first: packet.offset == 0,
            last: operation.is_some_and(ends_message),
            ..Packet::new(kind, (self.host, destination), size(&packet) + route_header(destination), now)
        };
        let group = destination.group().and_then(|group| NonZeroU16::new(group + 1));
        let transport = Some(TransportHeaders {
            group,
            source_path: address.source_path,
            ..transport(&packet, is_retransmitted)
        });
        OutgoingPacket { packet: sent, label: None, transport, content, retransmitted: is_retransmitted }
    }
}

/// Bytes of the global route header of a packet: those for multicast groups have one.
fn route_header(destination: HostId) -> u32 {
    if destination.group().is_some() { GRH_BYTES } else { 0 }
}

/// True if a packet is the last of its message.
fn ends_message(operation: Operation) -> bool {
    !matches!(
        operation,
        Operation::SendFirst
            | Operation::SendMiddle
            | Operation::WriteFirst
            | Operation::WriteMiddle
            | Operation::ReadResponseFirst
            | Operation::ReadResponseMiddle
    )
}

impl Endpoint for VerbsEndpoint {
    const ACKNOWLEDGES: bool = true;

    fn has_room(&self, _is_response: bool) -> bool {
        false
    }

    fn open(&mut self, _: Message, _: bool, _: Time) {}

    /// There may be a timer, which counts only where nothing can be sent.
    fn has_more(&self) -> bool {
        true
    }

    #[inline]
    fn answer(&self) -> Option<Candidate> {
        self.device.answer().map(|answer| self.candidate_of(answer))
    }

    fn send_answer(&mut self, now: Time) -> Option<OutgoingPacket> {
        let sent = self.device.send_answer(now)?;
        Some(self.outgoing(sent, PacketKind::Transport, now))
    }

    fn turns(&self) -> usize {
        self.device.turns()
    }

    #[inline]
    fn candidate(&self, turn: usize) -> Option<Candidate> {
        self.device.candidate(turn).map(|packet| self.candidate_of(packet))
    }

    fn send(
        &mut self,
        turn: usize,
        now: Time,
        _: impl FnOnce(u16) -> Option<HostId>,
    ) -> Option<OutgoingPacket> {
        let sent = self.device.send(turn, now)?;
        Some(self.outgoing(sent, PacketKind::Data, now))
    }

    fn service_class(&self) -> u8 {
        0
    }

    #[inline]
    fn reported(&self, outgoing: &OutgoingPacket) -> Packet {
        let bytes = outgoing.transport.map_or(outgoing.packet.bytes, |transport| transport.payload);
        Packet { bytes, ..outgoing.packet }
    }

    fn arrive<B: Observer>(
        &mut self,
        packet: &Packet,
        extensions: &ExtensionHeaders,
        now: Time,
        observer: &mut B,
    ) -> bool {
        let Some(TransportHeaders { headers, payload, group, path, source_path, .. }) = extensions.transport
        else {
            return false;
        };
        let before = self.device.progress();
        let data = (payload, extensions.content.as_deref());
        match group {
            None => {
                let reverse = AddressVector {
                    host: packet.source,
                    path: Some(source_path),
                    sl: packet.service_level,
                    source_path: path,
                };
                self.device.receive(reverse, &headers, data, now);
            }
            Some(group) => self.device.receive_copy((packet.source, group.get() - 1), &headers, data, now),
        }
        if packet.kind == PacketKind::Data && self.device.progress() > before {
            observer.delivered(now, &Packet { bytes: payload, ..*packet });
        }
        true
    }

    fn expire<B: Observer>(&mut self, now: Time, _observer: &mut B) {
        if self.device.wake_at() <= now {
            self.device.expire(now);
        }
    }

    fn wake_at(&self) -> Time {
        self.device.wake_at()
    }

    fn arrivals(&mut self) -> impl Iterator<Item = Arrival> {
        std::iter::empty()
    }
}

#[cfg(test)]
mod tests;
