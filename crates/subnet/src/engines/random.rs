//! The generator behind `random()` of the GNU C library (additive feedback, 31 words), which `scatter_ports` draws from.

/// Distance of the second summand.
const LAG: usize = 31;
const NEAR: usize = 3;

/// A stream of numbers of 31 bits.
pub(super) struct Random {
    state: Vec<u32>,
    at: usize,
}

impl Random {
    /// The stream after `srandom(seed)`.
    pub(super) fn new(seed: u32) -> Self {
        let mut word = i64::from(seed.max(1) as i32);
        let mut state = vec![word as u32];
        for _ in 1..LAG {
            word = (16807 * word) % 0x7fff_ffff;
            if word < 0 {
                word += 0x7fff_ffff;
            }
            state.push(word as u32);
        }
        let mut random = Self { state, at: NEAR };
        for _ in 0..LAG * 10 {
            random.next();
        }
        random
    }

    /// The next number.
    pub(super) fn next(&mut self) -> u32 {
        let near = self.state[(self.at + LAG - NEAR) % LAG];
        let value = self.state[self.at].wrapping_add(near);
        self.state[self.at] = value;
        self.at = (self.at + 1) % LAG;
        value >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `random()` without `srandom` (seed 1) begins with these numbers.
    #[test]
    fn the_published_stream() {
        let mut random = Random::new(1);
        assert_eq!([random.next(), random.next(), random.next()], [1804289383, 846930886, 1681692777]);
    }
}
