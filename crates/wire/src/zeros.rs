//! Checksums of packets whose payload is all zeros, without a pass over it.
//!
//! A CRC's state after zero bits is a linear function of the state before: a matrix over GF(2). Those of 4, 8, 16, ... bytes are
//! computed when the program is compiled, each as the square of the one before.

/// Matrices of 4 · 2^k zero bytes.
type Powers = [Matrix; POWERS];

/// Image of each value of each four bits of a state.
type Matrix = [[u32; 16]; 8];

/// As many as the words of the longest packet have bits.
const POWERS: usize = 11;

static CRC32: Powers = powers(0xedb8_8320);
static CRC16: Powers = powers(0xd008);

/// State of ICRC's polynomial after `words` words of 4 zero bytes; at most 2047.
pub(crate) fn crc32_after(state: u32, words: usize) -> u32 {
    after(&CRC32, state, words)
}

/// The same for VCRC's polynomial.
pub(crate) fn crc16_after(state: u16, words: usize) -> u16 {
    after(&CRC16, state.into(), words) as u16
}

fn after(powers: &Powers, state: u32, words: usize) -> u32 {
    debug_assert!(words >> POWERS == 0);
    let used = powers.iter().enumerate().filter(|(k, _)| words >> k & 1 == 1);
    used.fold(state, |state, (_, matrix)| apply(matrix, state))
}

const fn apply(matrix: &Matrix, state: u32) -> u32 {
    let (mut image, mut digit) = (0, 0);
    while digit < 8 {
        image ^= matrix[digit][(state >> (4 * digit) & 0xf) as usize];
        digit += 1;
    }
    image
}

/// `reflected`: the polynomial, least significant bit first.
const fn powers(reflected: u32) -> Powers {
    let mut powers = [[[0; 16]; 8]; POWERS];
    let mut k = 0;
    while k < POWERS {
        let mut digit = 0;
        while digit < 8 {
            let mut value = 0;
            while value < 16 {
                let state = (value as u32) << (4 * digit);
                powers[k][digit][value] = if k == 0 {
                    after_word(reflected, state)
                } else {
                    apply(&powers[k - 1], apply(&powers[k - 1], state))
                };
                value += 1;
            }
            digit += 1;
        }
        k += 1;
    }
    powers
}

/// A state after 32 zero bits, by the definition.
const fn after_word(reflected: u32, mut state: u32) -> u32 {
    let mut step = 0;
    while step < 32 {
        state = state >> 1 ^ reflected & (state & 1).wrapping_neg();
        step += 1;
    }
    state
}
