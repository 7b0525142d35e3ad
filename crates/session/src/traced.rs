//! Packets on all links, without their content.

use fabricsim_model::{Crossing, CrossingContent, Packet};
use fabricsim_units::{Time, Vl};

/// Something that has begun to cross a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Traced {
    /// Time at which its first byte left.
    pub time: Time,
    /// Sending port.
    pub port: u32,
    /// Its size in bytes.
    pub bytes: u32,
    /// The packet and its lane; none of management datagrams and flow-control packets.
    pub packet: Option<(Packet, Vl)>,
}

impl From<&Crossing<'_>> for Traced {
    fn from(&Crossing { time, port, content }: &Crossing<'_>) -> Self {
        let (bytes, packet) = match content {
            CrossingContent::Packet { packet, lane, .. } => (packet.bytes, Some((*packet, lane))),
            CrossingContent::Bytes { bytes, .. } | CrossingContent::FlowControl { bytes, .. } => {
                (bytes.len() as u32, None)
            }
        };
        Self { time, port, bytes, packet }
    }
}
