//! The narrow interface between a protocol and the rest of an adapter.

use fabricsim_model::{ExtensionHeaders, Label, LossCause, Observer, Packet, TransportHeaders};
use fabricsim_units::{HostId, Time};
use fabricsim_workload::{Arrival, Message};

/// Packet that an endpoint could send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Receiver.
    pub(crate) destination: HostId,
    /// Size in bytes.
    pub(crate) bytes: u32,
    /// The stream of messages that it carries data of: its service class, and the flow that may be rate-limited. `None` of a
    /// packet of the protocol itself.
    pub(crate) stream: Option<u16>,
    /// Its path, if the endpoint names it.
    pub(crate) path: NamedPath,
}

/// Path that an endpoint names for a packet. What it does not name follows from the stream, and from `routing.paths`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedPath {
    /// Service level, or service class.
    pub(crate) level: Option<u8>,
    /// LID of the destination, from 0.
    pub(crate) lid: Option<u8>,
}

impl NamedPath {
    /// Nothing.
    pub(crate) const NONE: Self = Self { level: None, lid: None };
}

impl Candidate {
    /// A packet of the adapter itself.
    pub(crate) fn of(packet: &Packet) -> Self {
        Self { destination: packet.destination, bytes: packet.bytes, stream: None, path: NamedPath::NONE }
    }
}

/// Packet that an endpoint sends.
#[derive(Clone, Debug)]
pub(crate) struct OutgoingPacket {
    /// The packet; its sender, its number and the time are the adapter's.
    pub(crate) packet: Packet,
    /// Header of an ordering protocol.
    pub(crate) label: Option<Label>,
    /// Headers of a queue pair.
    pub(crate) transport: Option<TransportHeaders>,
    /// Bytes of its payload, if its memory holds any.
    pub(crate) content: Option<Box<[u8]>>,
    /// True if a copy was sent before.
    pub(crate) retransmitted: bool,
}

/// A message that was sent wholly, and acknowledged where the protocol acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub(crate) struct Finished {
    /// The stream that it belongs to.
    pub(crate) stream: u16,
    /// Its number.
    pub(crate) tag: u32,
}

/// A protocol at an adapter: messages to packets and back. A state machine without clock or queue.
pub(crate) trait Endpoint {
    /// True if messages are finished when the receiver acknowledges them; else as their last byte leaves.
    const ACKNOWLEDGES: bool;

    /// True if another message may be opened: a response, or one that is none.
    fn has_room(&self, is_response: bool) -> bool;

    /// True if a message of one packet may be sent now without being opened: nothing is open, and the protocol adds nothing to it.
    #[inline(always)]
    fn passes_single_packets(&self) -> bool {
        false
    }

    /// True if a message is one packet.
    #[inline(always)]
    fn fits_in_packet(&self, _message: &Message) -> bool {
        false
    }

    /// Opens a message; only while there is room.
    fn open(&mut self, message: Message, is_response: bool, now: Time);

    /// True if there may be something to send right after a packet.
    fn has_more(&self) -> bool;

    /// An answer of the protocol that goes before everything else.
    fn answer(&self) -> Option<Candidate>;

    /// Sends the packet of [`Endpoint::answer`].
    fn send_answer(&mut self, now: Time) -> Option<OutgoingPacket>;

    /// Number of turns in which there may be a packet to send.
    fn turns(&self) -> usize;

    /// The packet that could be sent in a turn, from 0 to [`Endpoint::turns`] - 1: the first turn's is due first.
    fn candidate(&self, turn: usize) -> Option<Candidate>;

    /// Sends the packet of [`Endpoint::candidate`]. `draw` gives the receiver of the message's next packet, if it is another.
    fn send(
        &mut self,
        turn: usize,
        now: Time,
        draw: impl FnOnce(u16) -> Option<HostId>,
    ) -> Option<OutgoingPacket>;

    /// First lane of the service class of the protocol's own packets.
    fn service_class(&self) -> u8;

    /// Service class of the packet of [`Endpoint::answer`].
    fn answer_class(&self) -> u8 {
        self.service_class()
    }

    /// The packet as it is reported to observers: with the bytes of data that it carries.
    #[inline(always)]
    fn reported(&self, outgoing: &OutgoingPacket) -> Packet {
        outgoing.packet
    }

    /// A packet goes on the link.
    fn on_link<B: Observer>(&self, _outgoing: &OutgoingPacket, _now: Time, _observer: &mut B) {}

    /// Returns the cause if a packet that has reached the adapter is lost.
    fn lose<B: Observer>(
        &mut self,
        _packet: &Packet,
        _extensions: &ExtensionHeaders,
        _now: Time,
        _observer: &mut B,
    ) -> Option<LossCause> {
        None
    }

    /// A packet arrives. True if there may be something to send because of it.
    fn arrive<B: Observer>(
        &mut self,
        packet: &Packet,
        extensions: &ExtensionHeaders,
        now: Time,
        observer: &mut B,
    ) -> bool;

    /// Timers that have ended by now.
    fn expire<B: Observer>(&mut self, _now: Time, _observer: &mut B) {}

    /// Time at which the endpoint must be woken if no packet arrives and no message is opened before.
    fn wake_at(&self) -> Time {
        Time::MAX
    }

    /// A message that has been finished since the last call, where the protocol acknowledges.
    fn next_finished(&mut self) -> Option<Finished> {
        None
    }

    /// Data that has been delivered since the last call.
    fn arrivals(&mut self) -> impl Iterator<Item = Arrival>;

    /// [`Endpoint::next_finished`] and [`Endpoint::arrivals`] for an application whose messages follow from no others.
    fn discard_reports(&mut self) {
        while self.next_finished().is_some() {}
        self.arrivals().for_each(drop);
    }
}
