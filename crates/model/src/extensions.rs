//! Optional headers of a packet. Most experiments use none, so they are kept apart from [`crate::Packet`].

use fabricsim_units::{ByteTime, Time};

use crate::{Label, TransportHeaders};

/// Optional headers and metadata of a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub struct ExtensionHeaders {
    /// Fields of an ordering protocol.
    pub label: Option<Label>,
    /// Headers of a queue pair.
    pub transport: Option<TransportHeaders>,
    /// Bytes of the payload of a queue pair's packet, if its memory holds any.
    pub content: Option<Box<[u8]>>,
    /// Acknowledged packets, on an acknowledgement of congestion control.
    pub echo: Option<Echo>,
    /// In-band telemetry: state of the outputs that the packet left by, in order. An acknowledgement carries that of the packet
    /// that it acknowledges.
    pub telemetry: Vec<HopTelemetry>,
    /// Times at which its bytes arrive at the next switch: each at the latest of these lines, in ascending order of [`ByteLine::byte_time`].
    /// Empty if they arrive as its link carries them.
    pub arrivals: Vec<ByteLine>,
}

impl ExtensionHeaders {
    /// True if the packet has none.
    pub fn is_empty(&self) -> bool {
        self.label.is_none()
            && self.transport.is_none()
            && self.content.is_none()
            && self.echo.is_none()
            && self.telemetry.is_empty()
            && self.arrivals.is_empty()
    }
}

/// Content of an acknowledgement for the pacer of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub struct Echo {
    /// Bytes of the packets that it acknowledges.
    pub bytes: u64,
    /// Number of those packets.
    pub packets: u32,
    /// Number of those that were marked (FECN).
    pub marked: u32,
    /// Time at which the first byte of the newest of them left its source.
    pub sent: Time,
    /// Time at which the receiver accepted the last byte of that packet.
    pub arrived: Time,
    /// Switches that it passed.
    pub hops: u16,
}

/// A time for each byte of a packet that grows by the same from byte to byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct ByteLine {
    /// Time before the first byte.
    pub from: Time,
    /// Time from a byte to the next one.
    pub byte_time: ByteTime,
}

impl ByteLine {
    /// Time of the last of `bytes`.
    #[inline]
    pub fn at(self, bytes: u32) -> Time {
        self.from + self.byte_time.duration(bytes)
    }
}

/// State of an output as a packet leaves by it: an entry of in-band network telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct HopTelemetry {
    /// Sending port in the fabric.
    pub output: u32,
    /// Time at which the packet's first byte leaves.
    pub time: Time,
    /// Bytes that the output has sent so far, those of the packet included.
    pub sent: u64,
    /// Bytes that wait in the switch for the output, without the packet itself.
    pub queued: u64,
    /// Time of a byte on its link.
    pub byte_time: ByteTime,
}
