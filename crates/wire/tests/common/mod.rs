//! What the tests of the crate share.

#![allow(dead_code, reason = "no test uses all of it")]

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A file of the reference material; `None` with a loud message if it is absent.
pub(crate) fn reference(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("FABRICSIM_REFERENCE").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference"),
        PathBuf::from,
    );
    let path = folder.join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            // not by eprintln!, which the test harness captures
            let _ = writeln!(std::io::stderr(), "SKIPPED: {}: {error}", path.display());
            None
        }
    }
}

/// Bytes of hexadecimal digits.
pub(crate) fn unhex(digits: &str) -> Vec<u8> {
    let digits: Vec<char> = digits.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).expect("two digits");
    digits.chunks(2).map(byte).collect()
}

/// Bytes that look random and are the same in every run (SplitMix64).
pub(crate) fn scrambled<const N: usize>(seed: u64) -> [u8; N] {
    let mut state = seed;
    std::array::from_fn(|_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as u8
    })
}

/// CRC of `width` bits, least significant bit first, computed bit by bit: the definition, independent of any table.
pub(crate) fn crc_by_bits(reflected: u32, width: u32, bytes: &[u8]) -> u32 {
    let ones = u32::MAX >> (32 - width);
    let mut state = ones;
    for byte in bytes {
        state ^= u32::from(*byte);
        for _ in 0..8 {
            state = if state & 1 == 1 { state >> 1 ^ reflected } else { state >> 1 };
        }
    }
    state ^ ones
}
