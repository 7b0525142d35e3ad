//! Errors of calls.

use std::fmt;

/// Number of an error, as `errno.h` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Errno {
    /// An argument, an object or an attribute is not valid.
    Inval,
    /// A queue is full, or a limit is reached.
    NoMem,
    /// The object is in use by others.
    Busy,
    /// Not supported by this adapter.
    OpNotSupp,
    /// Another end listens on the service.
    AddrInUse,
}

impl Errno {
    /// Name in `errno.h`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inval => "EINVAL",
            Self::NoMem => "ENOMEM",
            Self::Busy => "EBUSY",
            Self::OpNotSupp => "EOPNOTSUPP",
            Self::AddrInUse => "EADDRINUSE",
        }
    }

    /// Number on Linux.
    pub const fn number(self) -> i32 {
        match self {
            Self::Inval => 22,
            Self::NoMem => 12,
            Self::Busy => 16,
            Self::OpNotSupp => 95,
            Self::AddrInUse => 98,
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A call that failed: it has changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{errno}: {message}")]
pub struct VerbsError {
    /// Number of the error.
    pub errno: Errno,
    /// What is wrong, with which object, and what is allowed.
    pub message: String,
}

pub(crate) fn invalid(message: impl Into<String>) -> VerbsError {
    VerbsError { errno: Errno::Inval, message: message.into() }
}

pub(crate) fn full(message: impl Into<String>) -> VerbsError {
    VerbsError { errno: Errno::NoMem, message: message.into() }
}

pub(crate) fn busy(message: impl Into<String>) -> VerbsError {
    VerbsError { errno: Errno::Busy, message: message.into() }
}

pub(crate) fn unsupported(message: impl Into<String>) -> VerbsError {
    VerbsError { errno: Errno::OpNotSupp, message: message.into() }
}
