//! Errors of readers: file, place, problem, what is allowed.

use thiserror::Error;

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The whole file.
    Whole,
    /// A line, from 1.
    Line(u64),
    /// A byte, from 0.
    Byte(u64),
}

/// An error in a trace.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{problem}", prefix(.file, *.place))]
pub struct TraceError {
    /// File.
    pub file: String,
    /// Place in it.
    pub place: Place,
    /// What is wrong, and what is allowed.
    pub problem: String,
}

fn prefix(file: &str, place: Place) -> String {
    match place {
        Place::Whole => format!("{file}: "),
        Place::Line(line) => format!("{file}:{line}: "),
        Place::Byte(byte) => format!("{file}: byte {byte}: "),
    }
}

impl TraceError {
    /// An error of the whole file.
    pub fn whole(file: &str, problem: impl Into<String>) -> Self {
        Self { file: file.to_owned(), place: Place::Whole, problem: problem.into() }
    }

    /// An error at a line.
    pub fn line(file: &str, line: u64, problem: impl Into<String>) -> Self {
        Self { file: file.to_owned(), place: Place::Line(line), problem: problem.into() }
    }

    /// An error at a byte.
    pub fn byte(file: &str, byte: u64, problem: impl Into<String>) -> Self {
        Self { file: file.to_owned(), place: Place::Byte(byte), problem: problem.into() }
    }

    /// The operating system's error about a file.
    pub fn system(file: &str, error: &std::io::Error) -> Self {
        Self::whole(file, format!("cannot read: {error}"))
    }
}

/// The start of text that is quoted in a message: at most 40 characters.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(160)]);
    let short: String = text.chars().take(40).collect();
    let dots = if short.len() < text.len() || bytes.len() > 160 { "..." } else { "" };
    format!("{:?}{dots}", short.trim_end_matches(['\r', '\n']))
}

/// "; did you mean ...?" if a name is near one that is known.
pub(crate) fn suggestion(name: &str, known: &[&str]) -> String {
    let best = known.iter().map(|one| (strsim::jaro_winkler(name, one), *one));
    let best = best.filter(|(score, _)| *score > 0.8).max_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, one)| format!("; did you mean \"{one}\"?")).unwrap_or_default()
}
