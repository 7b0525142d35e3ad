//! Integers of capture files, in either byte order.

use super::CaptureProblem;

/// Order of the bytes of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Big,
    Little,
}

impl Order {
    /// The integer at byte `at`; 0 where the bytes end.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let bytes = chunk(bytes, at);
        match self {
            Self::Big => u16::from_be_bytes(bytes),
            Self::Little => u16::from_le_bytes(bytes),
        }
    }

    /// The integer at byte `at`; 0 where the bytes end.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = chunk(bytes, at);
        match self {
            Self::Big => u32::from_be_bytes(bytes),
            Self::Little => u32::from_le_bytes(bytes),
        }
    }

    /// The integer at byte `at`; 0 where the bytes end.
    pub(super) fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let bytes = chunk(bytes, at);
        match self {
            Self::Big => u64::from_be_bytes(bytes),
            Self::Little => u64::from_le_bytes(bytes),
        }
    }
}

fn chunk<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

/// The first `len` bytes and the rest.
pub(super) fn split(bytes: &[u8], len: usize) -> Result<(&[u8], &[u8]), CaptureProblem> {
    bytes.split_at_checked(len).ok_or(CaptureProblem::Truncated { need: len, have: bytes.len() })
}
