//! Formats of traces.

use std::path::Path;

use crate::error::suggestion;
use crate::{Schedule, TraceError, chakra, dumpi, goal, ti};

/// What a trace does not state.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Floating-point operations of a processor in a second: for traces that count them.
    pub flops_per_s: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { flops_per_s: 1e9 }
    }
}

/// A format of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A GOAL schedule, text or binary: one file.
    Goal,
    /// SimGrid's time-independent trace: a list of files, or one file.
    Ti,
    /// A Chakra execution trace: a file for each rank.
    Chakra,
    /// A DUMPI trace: a binary file for each rank, and one with facts about the run.
    Dumpi,
}

impl Format {
    /// All formats with their names.
    pub const ALL: [(&'static str, Self); 4] =
        [("goal", Self::Goal), ("ti", Self::Ti), ("chakra", Self::Chakra), ("dumpi", Self::Dumpi)];

    /// The format of a name.
    pub fn of(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, format)| format).ok_or_else(|| {
            // OTF2 archives are read in Python.
            let names: Vec<&str> = Self::ALL.map(|(known, _)| known).into_iter().chain(["otf2"]).collect();
            format!("no format {name:?}: expected {}{}", names.join(", "), suggestion(name, &names))
        })
    }

    /// Reads a trace.
    pub fn read(self, path: &Path, options: &Options) -> Result<Schedule, TraceError> {
        match self {
            Self::Goal => goal::read(path),
            Self::Ti => ti::read(path, options),
            Self::Chakra => chakra::read(path),
            Self::Dumpi => dumpi::read(path),
        }
    }
}
