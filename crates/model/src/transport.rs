use std::num::NonZeroU16;

use fabricsim_wire::headers::Headers;

/// InfiniBand's transport headers of a packet of a queue pair, with what a simulator needs besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub struct TransportHeaders {
    /// BTH and extension headers.
    pub headers: Headers,
    /// Bytes of payload.
    pub payload: u32,
    /// True if a copy was sent before.
    pub retransmitted: bool,
    /// Number of the multicast group to which it goes, plus 1: it has a global route header. At its receivers, where its destination is a host, it tells
    /// the group.
    pub group: Option<NonZeroU16>,
    /// LID of the destination to which it is sent, from 0.
    pub path: u8,
    /// LID of the source from which it is sent, from 0.
    pub source_path: u8,
}
