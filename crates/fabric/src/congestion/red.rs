use fabricsim_model::Random;

/// Marking of DCQCN's congestion point: none up to `k_min`, all from `k_max` on, in between with a probability that
/// grows to `p_max` (Zhu et al., SIGCOMM 2015, figure 5).
#[derive(Clone, Copy, Debug, PartialEq, fabricsim_state::Value)]
pub struct RedRule {
    /// Queue up to which nothing is marked, in blocks.
    pub k_min: u32,
    /// Queue from which on all is marked, in blocks.
    pub k_max: u32,
    /// Probability just below `k_max`.
    pub p_max: f64,
}

/// Marking by chance.
#[derive(Clone, Copy, Debug, fabricsim_state::State)]
pub struct Red {
    #[state(fixed)]
    rule: RedRule,
}

impl Red {
    /// The same rule for all outputs and lanes of a switch.
    pub fn new(rule: RedRule) -> Self {
        Self { rule }
    }

    /// True if a packet is marked that leaves while `waiting` blocks wait, itself included.
    #[inline]
    pub fn marks(&self, waiting: u32, random: impl FnOnce() -> Random) -> bool {
        let RedRule { k_min, k_max, p_max } = self.rule;
        if waiting <= k_min {
            return false;
        }
        if waiting >= k_max {
            return true;
        }
        let part = f64::from(waiting - k_min) / f64::from(k_max - k_min);
        random().unit() < part * p_max
    }

    /// Blocks up to which nothing is marked.
    #[inline]
    pub fn quiet_up_to(&self) -> u32 {
        self.rule.k_min
    }

    /// True if packets may be marked at this queue.
    pub fn is_congested(&self, waiting: u32) -> bool {
        waiting > self.rule.k_min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probability_grows_with_the_queue() {
        let red = Red::new(RedRule { k_min: 100, k_max: 200, p_max: 0.5 });
        let share = |waiting| {
            let marks = (0..10_000).filter(|&i| red.marks(waiting, || Random::new(1, 2, i))).count();
            marks as f64 / 10_000.0
        };
        assert_eq!((share(100), share(200), share(5000)), (0.0, 1.0, 1.0));
        // Five standard deviations of a binomial share are at most 0.025.
        assert!((share(150) - 0.25).abs() < 0.025);
        assert!((share(199) - 0.495).abs() < 0.025);
    }
}
