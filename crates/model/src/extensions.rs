//! What features keep beside a packet: most experiments have none of it, so that it is no part of [`crate::Packet`].

use fabricsim_units::{ByteTime, Time};

use crate::Label;

/// Values that travel with a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtensionHeaders {
    /// Fields of a transport protocol.
    pub label: Option<Label>,
    /// On an acknowledgement of congestion control: what it acknowledges.
    pub echo: Option<Echo>,
    /// State of the outputs that a packet left by, in order; on an acknowledgement: of the packet that it acknowledges.
    pub telemetry: Vec<HopTelemetry>,
}

impl ExtensionHeaders {
    /// True if there is nothing beside the packet.
    pub fn is_empty(&self) -> bool {
        self.label.is_none() && self.echo.is_none() && self.telemetry.is_empty()
    }
}

/// What an acknowledgement of packets says to the pacer of their source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echo {
    /// Bytes of the packets that it acknowledges.
    pub bytes: u64,
    /// Number of those packets.
    pub packets: u32,
    /// Number of those that were marked (FECN).
    pub marked: u32,
    /// Time at which the first byte of the newest of them left its source.
    pub sent: Time,
    /// Time at which the last byte of that packet was taken by the receiver.
    pub arrived: Time,
    /// Switches that it passed.
    pub hops: u16,
}

/// State of an output as a packet leaves by it: an entry of in-band network telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopTelemetry {
    /// Sending port in the fabric.
    pub output: u32,
    /// Time at which the packet's first byte leaves.
    pub time: Time,
    /// Bytes that the output has sent so far, those of the packet included.
    pub sent: u64,
    /// Bytes that wait in the switch for the output, the packet itself left out.
    pub queued: u64,
    /// Time of a byte on its link.
    pub byte_time: ByteTime,
}
