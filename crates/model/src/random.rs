/// Random number streams, one for each entity, so that the draws of entities are independent.
///
/// SplitMix64 (Steele, Lea, Flood 2014): the n-th number is a hash of `key + n * golden ratio`, which makes the
/// stream counter-based: it can be copied, moved to another partition and continued.
#[derive(Clone, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Random {
    state: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The stream of an entity. `purpose` keeps different uses within an entity apart.
    pub fn new(seed: u64, purpose: u64, entity: u64) -> Self {
        let key = mix(mix(seed.wrapping_add(GOLDEN)) ^ mix(purpose.wrapping_mul(GOLDEN).wrapping_add(1)));
        Self { state: mix(key ^ mix(entity.wrapping_mul(GOLDEN).wrapping_add(2))) }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Skips the next `n` numbers.
    #[must_use]
    pub fn after(mut self, n: u64) -> Self {
        self.state = self.state.wrapping_add(n.wrapping_mul(GOLDEN));
        self
    }

    /// A number from 0 to `n - 1`, all equally likely (bias below `n` / 2^64); `n` is 1 or more.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A number in (0, 1]: never zero, so that its logarithm exists.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_can_be_left_out() {
        let mut one = Random::new(1, 2, 3);
        let mut other = one.clone().after(1000);
        (0..1000).for_each(|_| _ = one.bits());
        assert_eq!(one.bits(), other.bits());
    }

    #[test]
    fn streams_differ_and_are_uniform() {
        let mut a = Random::new(1, 0, 7);
        let mut b = Random::new(1, 0, 8);
        assert_ne!(a.bits(), b.bits());
        let n = 100_000;
        let mean = (0..n).map(|_| a.unit()).sum::<f64>() / f64::from(n);
        // The mean of n uniform numbers has standard deviation sqrt(1/12n); five of them.
        assert!((mean - 0.5).abs() < 5.0 * (1.0 / (12.0 * f64::from(n))).sqrt());
        let mut counts = [0_u32; 10];
        (0..n).for_each(|_| counts[b.below(10) as usize] += 1);
        assert!(counts.iter().all(|&c| (f64::from(c) - 1e4).abs() < 5.0 * 9e3_f64.sqrt()));
    }
}
