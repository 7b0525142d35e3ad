//! GOAL schedules as text and in LogGOPSim's binary form.

mod binary;
mod line;
mod text;
mod write;

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::{Schedule, TraceError};

pub use binary::read_binary;
pub use text::read_text;
pub use write::{write_binary, write_text};

/// First eight bytes of a binary schedule: the number 4223 (LogGOPSim's `Parser.hpp`).
pub(crate) const MAGIC: [u8; 8] = 4223u64.to_le_bytes();

/// First eight bytes of a binary schedule that LogGOPSim has used up (`--save-mem`).
pub(crate) const INVALIDATED: [u8; 8] = 2342u64.to_le_bytes();

/// Reads a schedule from a file, text or binary; the first bytes decide.
pub fn read(path: &Path) -> Result<Schedule, TraceError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| TraceError::system(&name, &error))?;
    read_from(&mut BufReader::with_capacity(1 << 18, file), &name)
}

/// Reads a schedule, text or binary, from `input`; `file` is its name for messages.
pub fn read_from<R: Read + Seek>(input: &mut BufReader<R>, file: &str) -> Result<Schedule, TraceError> {
    let mut first = [0; 8];
    let mut count = 0;
    while count < first.len() {
        match input.read(&mut first[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(TraceError::system(file, &error)),
        }
    }
    input.seek(SeekFrom::Start(0)).map_err(|error| TraceError::system(file, &error))?;
    let mut swapped = first;
    swapped.reverse();
    if count == 8 && swapped == MAGIC {
        return Err(TraceError::byte(file, 0, "foreign byte order: a binary schedule is little endian"));
    }
    if count == 8 && (first == MAGIC || first == INVALIDATED) {
        return read_binary(input, file);
    }
    read_text(input, file)
}
