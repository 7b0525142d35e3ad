//! Errors of parsing and emitting.

use thiserror::Error;

/// Reason why bytes are not the format that they were parsed as, or why a meaning cannot be emitted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum WireError {
    /// The bytes end inside a format, or the buffer is too small for it.
    #[error("{what}: {have} bytes, must be at least {need}")]
    Truncated {
        /// Name of the format.
        what: &'static str,
        /// Bytes that the format takes.
        need: usize,
        /// Bytes there are.
        have: usize,
    },
    /// A field has a value that the format excludes.
    #[error("{what} = {value}: must be {allowed}")]
    Value {
        /// Name of the field.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// A length in a header differs from the number of bytes.
    #[error("{what} = {stated} bytes, but there are {have}")]
    Length {
        /// Name of the field.
        what: &'static str,
        /// Length according to the field, in bytes.
        stated: usize,
        /// Bytes there are.
        have: usize,
    },
    /// The extension headers are not those of the opcode.
    #[error("opcode {opcode:#04x} is followed by {expected}, not by {given}")]
    Extensions {
        /// The opcode in BTH.
        opcode: u8,
        /// Headers that the opcode requires.
        expected: String,
        /// Headers that were given.
        given: String,
    },
    /// The packet has no headers above LRH that this format can express.
    #[error("packet has next header {next}: must be 2 (local) or 3 (global)")]
    Raw {
        /// LRH.LNH.
        next: u8,
    },
}

/// Fails unless `have` bytes hold a format of `need` bytes.
pub(crate) fn need(what: &'static str, need: usize, have: usize) -> Result<(), WireError> {
    if have < need { Err(WireError::Truncated { what, need, have }) } else { Ok(()) }
}
