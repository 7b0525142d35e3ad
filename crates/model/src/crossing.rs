use fabricsim_units::{Time, Vl};

use crate::{Echo, Label, Packet, TransportHeaders};

/// Something that begins to cross a link, for captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing<'a> {
    /// Time at which its first byte leaves; at or after the time of the report, since a link with errors may delay it.
    pub time: Time,
    /// Sending port in the fabric, as in the other reports of an observer.
    pub port: u32,
    /// What it is.
    pub content: CrossingContent<'a>,
}

/// Content of a [`Crossing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossingContent<'a> {
    /// A simulated packet, of which there are no bytes.
    Packet {
        /// The packet, with the switches that it has passed and the marks that it has as it leaves.
        packet: &'a Packet,
        /// Virtual lane on this link.
        lane: Vl,
        /// Which of its destination's LIDs it is sent to, from 0.
        path: u8,
        /// Fields of its ordering protocol.
        label: Option<&'a Label>,
        /// Headers of its queue pair.
        transport: Option<&'a TransportHeaders>,
        /// Bytes of its payload, if they are known.
        payload: Option<&'a [u8]>,
        /// Content of an acknowledgement of congestion control.
        echo: Option<&'a Echo>,
    },
    /// Bytes of a packet, from LRH to VCRC.
    Bytes {
        /// The bytes.
        bytes: &'a [u8],
        /// Text for the reader of the capture; empty for none.
        comment: &'a str,
    },
    /// Bytes of a flow-control packet with its checksum. They are captured on an interface of their own.
    FlowControl {
        /// The bytes.
        bytes: &'a [u8],
        /// Text for the reader of the capture; empty for none.
        comment: &'a str,
    },
}
