use std::net::Ipv4Addr;

use fabricsim_protocols::ordering::OptionError;
use fabricsim_wire::WireError;
use thiserror::Error;

/// Possible errors.
#[derive(Debug, Error)]
pub enum SocketError {
    /// A setting.
    #[error("{0}")]
    Setting(String),
    /// An option of the protocol.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A port.
    #[error("cannot bind UDP port {port}: {problem}; choose another port, or 0 for any free one")]
    Port {
        /// Its number.
        port: u16,
        /// Report of the operating system.
        problem: String,
    },
    /// A port of a loopback address.
    #[error("cannot bind UDP port {port} of {address}: {problem}; choose another loopback address")]
    Address {
        /// The address.
        address: Ipv4Addr,
        /// The port's number.
        port: u16,
        /// Report of the operating system.
        problem: String,
    },
    /// A packet that the format cannot express.
    #[error(transparent)]
    Packet(#[from] WireError),
    /// The operating system.
    #[error("the socket does not work: {0}")]
    Io(#[from] std::io::Error),
    /// Memory for the bytes of the transfer.
    #[error("cannot allocate memory for a transfer of {0} bytes")]
    Memory(u64),
    /// Deadline exceeded.
    #[error("not complete after {0} s: {1}")]
    Deadline(u64, String),
    /// Stopped by request before completion.
    #[error("stopped")]
    Stopped,
}
