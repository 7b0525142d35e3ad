//! InfiniBand's reliable connection: requester and responder as state machines (IBA volume 1, section 9.7), and the states of a queue pair.
//!
//! They know no clock, no memory and no network. Packets are [`fabricsim_wire::headers::Headers`] with the place of their payload in its message;
//! what a state machine wants of its driver goes to an outbox. `docs/design/transport.md` shows who calls whom.

mod attributes;
#[cfg(test)]
mod checks;
pub mod communication;
mod data;
mod migration;
mod mutation;
mod requester;
mod responder;
mod segment;
mod shared_receive_queue;
mod state;
#[cfg(test)]
mod tests;
mod unreliable;
mod work;

pub use attributes::Attributes;
pub use migration::{MigrationError, MigrationEvent, MigrationState, PathMigration};
pub use requester::{MAX_MESSAGE, PostError, Requester, RequesterOptions, RequesterOutbox};
pub use responder::{
    Access, Atomic, Ignored, OutOfOrder, Placement, Receive, Responder, ResponderOptions, ResponderOutbox,
};
pub use segment::{Segment, packets, segment};
pub use shared_receive_queue::{SharedQueueFull, SharedReceiveQueue, Taken};
pub use state::{QueuePairKind, QueuePairState, TransitionError, check_transition};
pub use unreliable::{
    DatagramAddress, GRH_BYTES, ReceivedDatagram, UcOptions, UcRequester, UcResponder, UdOptions,
    UdRequester, UdResponder, UnreliableCounters, UnreliablePostError,
};
pub use work::{Completion, Extra, Received, Remote, Status, Verb, Work};

use fabricsim_wire::headers::Headers;

/// An idle end of a reliable connection takes at most 256 bytes.
#[cfg(not(test))]
const _: () = assert!(size_of::<Requester>() + size_of::<Responder>() <= 256);

/// Size of a packet of a connection: what a link has to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSize {
    /// [`Packet::message`].
    pub message: u64,
    /// Bytes of its transport headers.
    pub headers: u32,
    /// [`Packet::offset`].
    pub offset: u32,
    /// [`Packet::length`].
    pub length: u32,
}

/// A packet of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Transport headers.
    pub headers: Headers,
    /// Identifier of the work request whose data it carries, or for which it carries data; 0 for acknowledgements.
    pub message: u64,
    /// Place of the payload in its message, in bytes.
    pub offset: u32,
    /// Bytes of payload.
    pub length: u32,
}

impl Packet {
    /// Its size.
    #[inline(always)]
    pub fn size(&self) -> PacketSize {
        let headers = self.headers.len() as u32;
        PacketSize { message: self.message, headers, offset: self.offset, length: self.length }
    }
}
