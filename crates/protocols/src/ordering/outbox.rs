//! Requests of the state machines to their driver.

use fabricsim_units::HostId;

use super::{Flags, Header};

/// Slot of a stream among the open streams of a source endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, fabricsim_state::Value)]
pub struct StreamId(pub u16);

/// Reports of a source endpoint.
pub trait SourceOutbox<P> {
    /// An operation is visible in target memory, and has returned `result` (0 where results are not kept: see EOD).
    /// Once for each packet, in any order.
    fn acknowledged(&mut self, stream: StreamId, payload: P, result: u64);
    /// An acknowledgement, or the end of a timer, has freed a place in the window of a stream that has not ended: offer its
    /// next packets as far as [`super::Source::has_room`]. No other call reports a place that a timer frees.
    fn room(&mut self, stream: StreamId);
    /// All packets of a stream are acknowledged and its slot is free. Its connection may still be closing.
    fn finished(&mut self, stream: StreamId);
}

/// Requests of a target endpoint.
pub trait TargetOutbox<P> {
    /// Send an answer. It has no payload beyond the header.
    fn respond(&mut self, to: HostId, header: Header);
    /// Forward an operation to target memory, in the order of the calls; [`super::Target::visible`] reports its completion.
    fn deliver(&mut self, ticket: Ticket, payload: P);
}

/// An operation that came out of the reorder buffer or past it, for [`super::Target::visible`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub struct Ticket {
    /// The source.
    pub from: HostId,
    /// The request.
    pub header: Header,
    /// Slot of its connection, or [`Ticket::NONE`].
    pub(crate) connection: u32,
    /// Its replay buffer, or `u16::MAX`.
    pub(crate) replay: u16,
    /// True if it waited in the reorder buffer.
    pub reordered: bool,
}

impl Ticket {
    pub(crate) const NONE: u32 = u32::MAX;

    /// True if it was delivered without a connection (slow mode).
    pub const fn is_without_connection(&self) -> bool {
        self.connection == Self::NONE
    }

    /// True if it is the synchronization operation of a synchronized transfer, or the last packet of another stream.
    pub const fn is_last(&self) -> bool {
        self.header.flags.has(Flags::LAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_tell_where_an_operation_comes_from() {
        let header = Header { flags: Flags::SYN, ..Header::default() };
        let ticket = Ticket { from: HostId(1), header, connection: 0, replay: 0, reordered: false };
        assert_eq!((ticket.is_without_connection(), ticket.is_last()), (false, false));
        let last = Header { flags: Flags::SYN.with(Flags::LAST), ..header };
        let ticket = Ticket { connection: Ticket::NONE, header: last, ..ticket };
        assert_eq!((ticket.is_without_connection(), ticket.is_last()), (true, true));
    }
}
