//! Errors of readers: file, line, what is wrong, what is allowed.

use thiserror::Error;

use crate::Guid;

/// An error in a file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{problem}", place(.file, *.line))]
pub struct FileError {
    /// File.
    pub file: String,
    /// Line, from 1; none if the error is about the whole file.
    pub line: Option<usize>,
    /// Problem.
    pub problem: Problem,
}

fn place(file: &str, line: Option<usize>) -> String {
    line.map_or_else(|| format!("{file}: "), |line| format!("{file}:{line}: "))
}

impl FileError {
    /// An error at a line.
    pub fn at(file: &str, line: usize, problem: Problem) -> Self {
        Self { file: file.to_owned(), line: Some(line), problem }
    }

    /// An error of the whole file.
    pub fn whole(file: &str, problem: Problem) -> Self {
        Self { file: file.to_owned(), line: None, problem }
    }
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Problem {
    /// Bytes that are no text.
    #[error("not UTF-8 text")]
    NotUtf8,
    /// A file of no known format.
    #[error("unknown format: must be one of {0}")]
    UnknownFormat(&'static str),
    /// A file without content.
    #[error("no {0} in the file")]
    Empty(&'static str),
    /// A line that does not parse.
    #[error("{found:?}: expected {expected}")]
    Syntax {
        /// What may stand there.
        expected: &'static str,
        /// Start of the text that stands there.
        found: String,
    },
    /// Two nodes or ports with the same GUID.
    #[error("duplicate GUID {guid}: line {first} has it already")]
    DuplicateGuid {
        /// GUID.
        guid: Guid,
        /// Line of the first.
        first: usize,
    },
    /// Two records of a node.
    #[error("duplicate node \"{name}\": line {first} declares it already")]
    DuplicateNode {
        /// Name in the file.
        name: String,
        /// Line of the first.
        first: usize,
    },
    /// A port number that the node does not have.
    #[error("port {port} of \"{node}\": must be 1 to {ports}")]
    PortRange {
        /// Port.
        port: u64,
        /// Node.
        node: String,
        /// Number of its ports.
        ports: u8,
    },
    /// A number of ports beyond the range.
    #[error("{0} ports: must be 1 to 254")]
    PortCount(u64),
    /// A port with two cables.
    #[error("port {port} of \"{node}\" has two cables: to {first} and to {second}")]
    TwoCables {
        /// Port.
        port: u8,
        /// Node.
        node: String,
        /// First peer.
        first: String,
        /// Second peer.
        second: String,
    },
    /// Two statements that exclude each other.
    #[error("{0}")]
    Contradiction(String),
    /// A LID that is not unicast.
    #[error("LID {0}: must be 1 to 49151")]
    LidRange(u64),
    /// Two ports with the same LID.
    #[error("LID {lid} of {port} belongs to {first} already")]
    DuplicateLid {
        /// LID.
        lid: u32,
        /// Second port.
        port: String,
        /// First port.
        first: String,
    },
    /// An LMC beyond the range.
    #[error("LMC {0}: must be 0 to 7")]
    LmcRange(u64),
    /// A GUID that no node of the subnet has.
    #[error("no {kind} with GUID {guid} in the subnet")]
    UnknownGuid {
        /// Kind of the node.
        kind: &'static str,
        /// GUID.
        guid: Guid,
    },
    /// A number beyond its range.
    #[error("{what} {value}: must be {allowed}")]
    Range {
        /// Name of the value.
        what: &'static str,
        /// Value.
        value: u64,
        /// Range.
        allowed: &'static str,
    },
    /// Two tables of a switch.
    #[error("second table of switch {guid}: line {first} begins the first")]
    DuplicateTable {
        /// Switch.
        guid: Guid,
        /// Line of the first.
        first: usize,
    },
    /// Two entries of a table for a LID.
    #[error("second entry for LID {0} of this switch")]
    DuplicateEntry(u16),
    /// A table with fewer entries than its last line states.
    #[error("{found} entries, but the table states {stated}: the file is truncated or edited")]
    EntryCount {
        /// Entries.
        found: usize,
        /// Stated.
        stated: usize,
    },
    /// A file that ends within a table or record.
    #[error("the file ends within {0}: it is truncated")]
    Truncated(&'static str),
}
