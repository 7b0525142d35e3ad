use std::error::Error;
use std::fmt;

/// Maximum bits of a sequence number: the size of its field in the sideband of a [`Micropacket`](super::Micropacket).
pub const MAX_SEQUENCE_BITS: u8 = 9;

/// Number of micropackets that may be in flight without an acknowledgement, and their numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    size: u16,
    mask: u16,
}

/// Reason why there is no such window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowError {
    /// Sequence numbers have from 1 to [`MAX_SEQUENCE_BITS`] bits.
    Bits(u8),
    /// Sequence numbers of the given bits allow a window of at most one micropacket less than there are numbers. A full window
    /// of all numbers could not be distinguished from an empty one.
    Size {
        /// The requested size.
        size: u16,
        /// The bits of a sequence number.
        bits: u8,
        /// The largest size.
        largest: u16,
    },
}

impl Window {
    /// A window of `size` micropackets, numbered with `bits` bits: 1 <= `size` < 2^`bits`.
    pub fn new(size: u16, bits: u8) -> Result<Self, WindowError> {
        if !(1..=MAX_SEQUENCE_BITS).contains(&bits) {
            return Err(WindowError::Bits(bits));
        }
        let mask = (1 << bits) - 1;
        if !(1..=mask).contains(&size) {
            return Err(WindowError::Size { size, bits, largest: mask });
        }
        Ok(Self { size, mask })
    }

    /// Maximum number of micropackets in flight without an acknowledgement.
    pub fn size(self) -> u16 {
        self.size
    }

    /// `number + n`, around the end of the numbers.
    pub(super) fn add(self, number: u16, n: u16) -> u16 {
        number.wrapping_add(n) & self.mask
    }

    /// Returns the distance from `from` to `to`.
    pub(super) fn distance(self, from: u16, to: u16) -> u16 {
        to.wrapping_sub(from) & self.mask
    }

    /// True if `number` comes after `expected` rather than before it. Far from it that is a guess, for which
    /// nothing but speed depends on it.
    pub(super) fn ahead(self, expected: u16, number: u16) -> bool {
        (1..=self.mask / 2).contains(&self.distance(expected, number))
    }
}

impl fmt::Display for WindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bits(bits) => {
                write!(f, "sequence numbers of {bits} bits are not allowed: give 1 to {MAX_SEQUENCE_BITS}")
            }
            Self::Size { size, bits, largest } => {
                write!(f, "a window of {size} cannot be numbered with {bits} bits: give 1 to {largest}")
            }
        }
    }
}

impl Error for WindowError {}
