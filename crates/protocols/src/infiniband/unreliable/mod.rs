//! Services without acknowledgements: Unreliable Connection (IBA volume 1, section 9.8.2) and Unreliable Datagram (section 9.8.3).
//!
//! A work request completes when its last packet is sent. What is lost, comes twice or does not fit is dropped silently, and counted.

mod connection;
mod datagram;
mod receive_connection;
mod receive_datagram;

pub use connection::{UcOptions, UcRequester};
pub use datagram::{DatagramAddress, UdOptions, UdRequester};
pub use receive_connection::UcResponder;
pub use receive_datagram::{GRH_BYTES, ReceivedDatagram, UdResponder};

/// A request that an unreliable service does not take (`EINVAL`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreliablePostError {
    /// The message is too long.
    #[error("a message of {length} B is longer than {longest} B, the longest allowed")]
    TooLong {
        /// Its length in bytes.
        length: u32,
        /// The limit in bytes: of a datagram the MTU.
        longest: u32,
    },
    /// The service has no such operation.
    #[error("{service} has no {operation}; allowed: {allowed}")]
    NoOperation {
        /// Name of the service.
        service: &'static str,
        /// Name of the operation.
        operation: &'static str,
        /// Operations of the service.
        allowed: &'static str,
    },
}

/// What a responder has dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnreliableCounters {
    /// Messages executed.
    pub messages: u64,
    /// Messages that do not end: a packet was lost, or does not fit, or the memory of the receive request may not be used any more.
    pub aborted: u64,
    /// Gaps in the packet numbers, including packets that come again or late.
    pub gaps: u64,
    /// Packets of messages whose first packet is missing or was refused.
    pub orphans: u64,
    /// Messages without a receive request.
    pub no_receive: u64,
    /// Packets of a wrong length, or messages longer than their receive request.
    pub wrong_length: u64,
    /// WRITEs whose key, range or permission is wrong.
    pub refused: u64,
    /// Packets of another partition.
    pub p_key: u64,
    /// Datagrams with another queue key: `qkey_viol` of a port.
    pub q_key: u64,
    /// Packets with an opcode that the service does not have.
    pub malformed: u64,
}
