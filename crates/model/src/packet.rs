use fabricsim_units::{HostId, Time};

/// A packet in flight. Small and plain: it is copied when it moves between partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Packet {
    /// Sender.
    pub source: HostId,
    /// Receiver.
    pub destination: HostId,
    /// Time at which the workload created its message.
    pub created: Time,
    /// Time at which its first byte left the sender.
    pub injected: Time,
    /// Size on the wire without the link's per-packet overhead, in bytes.
    pub bytes: u32,
    /// Number of the packet among those of its sender, from 0, modulo 2^32.
    pub sequence: u32,
    /// Number of the stream of messages that it belongs to: an entry of the traffic list, the responses to one, or a job.
    pub stream: u16,
    /// Switches passed so far.
    pub hops: u16,
    /// Number that the workload gave its message, for the receiver to distinguish messages of a sender; 0 if it is not
    /// needed.
    pub tag: u32,
    /// Age as counted by switches with age-based arbitration: bits 0 to 7 on a link, all of the age field (Abts &
    /// Weisser, SC07, table 1) within a switch.
    pub age: u16,
    /// Service level: what its sender chose for its traffic or its path.
    pub service_level: u8,
    /// Content of the packet.
    pub kind: PacketKind,
    /// Forward explicit congestion notification: true if a switch marked it as part of congestion.
    pub fecn: bool,
    /// Backward explicit congestion notification: notifies the receiver that packets it sent were marked.
    pub becn: bool,
    /// True for the first packet of a message.
    pub first: bool,
    /// True for the last packet of a message.
    pub last: bool,
}

impl Packet {
    /// An unmarked packet, the only one of its message, created and injected at `now`.
    #[inline(always)]
    pub fn new(kind: PacketKind, (source, destination): (HostId, HostId), bytes: u32, now: Time) -> Self {
        Self {
            source,
            destination,
            created: now,
            injected: now,
            bytes,
            sequence: 0,
            stream: 0,
            hops: 0,
            tag: 0,
            age: 0,
            service_level: 0,
            kind,
            fecn: false,
            becn: false,
            first: true,
            last: true,
        }
    }
}

/// Content of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub enum PacketKind {
    /// A part of a message.
    #[default]
    Data,
    /// A congestion notification (CNP).
    Notification,
    /// The acknowledgement of a message.
    Acknowledgement,
    /// A packet of the transport protocol that carries no data: ACK, NACK, FIN, FIN-ACK.
    Transport,
}

/// Header fields of a transport protocol, and values for measurement. Kept apart from the packet,
/// since most experiments have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub struct Label {
    /// The protocol's header.
    pub header: [u8; 16],
    /// Number of the packet in its message, from 0.
    pub number: u32,
    /// Packets of the message.
    pub packets: u32,
    /// Number of the message among those of its source; numbers wrap around.
    pub message: u32,
    /// Stream of the source that carries the message.
    pub stream: u16,
    /// True if a copy was sent before.
    pub retransmitted: bool,
}
