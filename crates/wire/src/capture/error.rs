use std::fmt;

use thiserror::Error;

/// Reason why a capture file cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub struct CaptureError {
    /// Name of the file.
    pub file: String,
    /// Number of the record, from 1, if the problem is in one.
    pub record: Option<usize>,
    /// What is wrong.
    pub problem: CaptureProblem,
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.record {
            Some(record) => write!(f, "{}: record {record}: {}", self.file, self.problem),
            None => write!(f, "{}: {}", self.file, self.problem),
        }
    }
}

/// What is wrong with a capture file.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CaptureProblem {
    /// The first bytes are those of no format.
    #[error("not a capture file: must be pcap, pcapng or ERF")]
    Format,
    /// The file ends inside a record.
    #[error("ends after {have} of {need} bytes")]
    Truncated {
        /// Length of the record, as far as it is known.
        need: usize,
        /// Bytes there are.
        have: usize,
    },
    /// A length is not possible.
    #[error("{what} = {value}: must be {allowed}")]
    Value {
        /// Name of the field.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// A record belongs to an interface that the file has not described.
    #[error("interface {id} is not described before: there are {count}")]
    Interface {
        /// Number of the interface.
        id: u32,
        /// Number of interfaces.
        count: usize,
    },
}
