//! Datagrams at an adapter: nothing is acknowledged.

use fabricsim_model::{ExtensionHeaders, Observer, Packet, PacketKind};
use fabricsim_protocols::{Datagram, Outgoing};
use fabricsim_units::{HostId, Time};
use fabricsim_workload::{Arrival, Message};

use super::mtu::Mtus;
use super::{Candidate, Endpoint, NamedPath, OutgoingPacket};

/// The endpoint of unacknowledged packets.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct DatagramEndpoint {
    #[state(fixed)]
    host: HostId,
    #[state(fixed)]
    mtus: Mtus,
    datagram: Datagram,
    arrived: Option<Arrival>,
}

impl DatagramEndpoint {
    pub(crate) fn new(host: HostId, mtu: u32, open_messages: usize) -> Self {
        Self { host, mtus: Mtus::new(mtu), datagram: Datagram::new(open_messages), arrived: None }
    }

    /// Sets the largest packets by destination.
    pub(crate) fn set_path_mtus(&mut self, paths: &[u32], groups: u32) {
        self.mtus.set_paths(paths, groups);
    }

    /// Messages being sent.
    pub(crate) fn messages(&self) -> &[Outgoing] {
        self.datagram.messages()
    }

    /// Responses being sent.
    pub(crate) fn responses(&self) -> usize {
        self.datagram.responses()
    }

    /// True if there is nothing to send.
    pub(crate) fn is_idle(&self) -> bool {
        self.datagram.is_empty()
    }

    /// True if all messages created before `time` are sent.
    pub(crate) fn has_finished_before(&self, time: Time) -> bool {
        self.datagram.messages().iter().all(|message| message.created >= time)
    }
}

impl Endpoint for DatagramEndpoint {
    const ACKNOWLEDGES: bool = false;

    #[inline(always)]
    fn has_room(&self, is_response: bool) -> bool {
        if is_response { self.datagram.has_room_for_response() } else { self.datagram.has_room() }
    }

    #[inline(always)]
    fn passes_single_packets(&self) -> bool {
        self.datagram.passes_messages()
    }

    #[inline(always)]
    fn fits_in_packet(&self, message: &Message) -> bool {
        message.bytes <= u64::from(self.mtus.to(message.destination))
    }

    #[inline(always)]
    fn open(&mut self, message: Message, is_response: bool, _now: Time) {
        let Message { created, destination, bytes, stream, tag } = message;
        self.datagram.open(Outgoing {
            created,
            destination,
            left: bytes,
            stream,
            tag,
            mtu: self.mtus.to(destination),
            is_response,
            is_begun: false,
        });
    }

    #[inline(always)]
    fn has_more(&self) -> bool {
        !self.datagram.is_empty()
    }

    #[inline(always)]
    fn answer(&self) -> Option<Candidate> {
        None
    }

    #[inline(always)]
    fn send_answer(&mut self, _now: Time) -> Option<OutgoingPacket> {
        None
    }

    #[inline(always)]
    fn turns(&self) -> usize {
        self.datagram.messages().len()
    }

    #[inline(always)]
    fn candidate(&self, turn: usize) -> Option<Candidate> {
        let number = self.datagram.in_turn(turn);
        let (destination, bytes) = self.datagram.next_packet(number);
        let stream = Some(self.datagram.messages()[number].stream);
        Some(Candidate { destination, bytes, stream, path: NamedPath::NONE })
    }

    #[inline(always)]
    fn send(
        &mut self,
        turn: usize,
        now: Time,
        draw: impl FnOnce(u16) -> Option<HostId>,
    ) -> Option<OutgoingPacket> {
        let number = self.datagram.in_turn(turn);
        let (destination, bytes) = self.datagram.next_packet(number);
        let Outgoing { created, left, stream, tag, is_begun, .. } =
            self.datagram.sent(number, |stream| draw(stream).map(|to| (to, self.mtus.to(to))));
        let packet = Packet {
            created,
            stream,
            tag,
            first: !is_begun,
            last: left <= u64::from(bytes),
            ..Packet::new(PacketKind::Data, (self.host, destination), bytes, now)
        };
        Some(OutgoingPacket { packet, label: None, transport: None, content: None, retransmitted: false })
    }

    #[inline(always)]
    fn service_class(&self) -> u8 {
        0
    }

    fn arrive<B: Observer>(&mut self, packet: &Packet, _: &ExtensionHeaders, _: Time, _: &mut B) -> bool {
        let Packet { kind, source, stream, tag, bytes, .. } = *packet;
        self.arrived = (kind == PacketKind::Data).then_some(Arrival { source, stream, tag, bytes });
        false
    }

    #[inline]
    fn arrivals(&mut self) -> impl Iterator<Item = Arrival> {
        self.arrived.take().into_iter()
    }
}
