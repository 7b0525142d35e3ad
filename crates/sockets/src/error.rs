use fabricsim_protocols::ordering::OptionError;
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
