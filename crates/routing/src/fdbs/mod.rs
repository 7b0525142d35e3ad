//! Forwarding tables as text: the `.fdbs` files of the thesis of Zeru (2016), section 3.5.4 and appendix A.2, and of
//! the OMNeT++ InfiniBand model that it used.
//!
//! A row per switch: its name without `SW` (or its whole name, or its number from 0), a colon, then the port for
//! every LID from 0. No host has LID 0: its entry is 255. Host h of the graph has LID h + 1. Empty lines and lines
//! that start with `#` mean nothing.
//!
//! ```text
//! 11: 255 0 1 3 3 3 3 2 2
//! 12: 255 2 2 0 1 3 3 2 2
//! ```

mod parse;
mod verify;
mod write;

pub use parse::read;
pub use verify::verify;
pub(crate) use verify::verify_paths;
pub use write::{RowKeys, write};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod thesis;

/// The entry that stands for none.
const NONE: u32 = 255;

/// Prefix of switch names in the thesis, left out in its tables.
const PREFIX: &str = "SW";
