//! Sizes of messages.

use fabricsim_model::Random;
use fabricsim_spec::{MessageSize, SizeDistribution, WeightedSize};

/// A distribution of sizes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sizes {
    Fixed(u64),
    /// `min` to `min + span - 1`, equally likely.
    Uniform {
        min: u64,
        span: u64,
    },
    /// Size i if a number in (0, 1] is at most `up_to[i]` and above `up_to[i - 1]`.
    Choice {
        sizes: Vec<u64>,
        up_to: Vec<f64>,
        mean: f64,
    },
    /// Exponential, rounded up, cut.
    Exponential {
        mean: f64,
        max: u64,
    },
}

impl Sizes {
    /// The distribution of a message, whose values [`fabricsim_spec::check`] allows.
    pub(crate) fn new(message: &MessageSize) -> Self {
        match message {
            MessageSize::Fixed(bytes) => Self::Fixed(bytes.get()),
            MessageSize::Drawn(SizeDistribution::Uniform { min, max }) => {
                Self::Uniform { min: min.get(), span: max.get() - min.get() + 1 }
            }
            MessageSize::Drawn(SizeDistribution::Exponential { mean, max }) => {
                Self::Exponential { mean: mean.get() as f64, max: max.get() }
            }
            MessageSize::Drawn(SizeDistribution::Choice(choices)) => Self::choice(choices),
        }
    }

    fn choice(choices: &[WeightedSize]) -> Self {
        let sizes: Vec<u64> = choices.iter().map(|choice| choice.size.get()).collect();
        let total: f64 = choices.iter().map(|c| c.weight).sum();
        let mut sum = 0.0;
        let mut up_to: Vec<f64> = choices
            .iter()
            .map(|c| {
                sum += c.weight;
                sum / total
            })
            .collect();
        let last = choices.iter().rposition(|c| c.weight > 0.0).unwrap_or(0);
        up_to[last..].fill(1.0);
        let mean = sizes.iter().zip(choices).map(|(&size, c)| size as f64 * (c.weight / total)).sum();
        Self::Choice { sizes, up_to, mean }
    }

    /// The exact mean, in bytes.
    ///
    /// Exponential with mean m, rounded up and cut at M: the sum over k = 0 .. M-1 of P(X > k) = exp(-k/m) is a
    /// geometric series, (1 - exp(-M/m)) / (1 - exp(-1/m)).
    pub(crate) fn mean(&self) -> f64 {
        match self {
            Self::Fixed(size) => *size as f64,
            Self::Uniform { min, span } => *min as f64 + (*span - 1) as f64 / 2.0,
            Self::Choice { mean, .. } => *mean,
            Self::Exponential { mean, max } => libm::expm1(-(*max as f64) / mean) / libm::expm1(-1.0 / mean),
        }
    }

    /// The largest size that can be drawn.
    pub(crate) fn largest(&self) -> u64 {
        match self {
            Self::Fixed(size) => *size,
            Self::Uniform { min, span } => min + span - 1,
            Self::Choice { sizes, .. } => sizes.iter().copied().max().unwrap_or(1),
            Self::Exponential { max, .. } => *max,
        }
    }

    /// One number of `random` at most.
    #[inline(always)]
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::Fixed(size) => *size,
            Self::Uniform { min, span } => min + random.below(*span),
            Self::Choice { sizes, up_to, .. } => {
                let u = random.unit();
                sizes[up_to.partition_point(|&bound| bound < u)]
            }
            Self::Exponential { mean, max } => {
                let x = -libm::log(random.unit()) * mean;
                (libm::ceil(x) as u64).clamp(1, *max)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_units::Bytes;

    use super::*;

    fn choice(list: &[(u64, f64)]) -> MessageSize {
        let weighted = |&(size, weight)| WeightedSize { size: Bytes(size), weight };
        MessageSize::Drawn(SizeDistribution::Choice(list.iter().map(weighted).collect()))
    }

    fn uniform(min: u64, max: u64) -> MessageSize {
        MessageSize::Drawn(SizeDistribution::Uniform { min: Bytes(min), max: Bytes(max) })
    }

    fn exponential(mean: u64, max: u64) -> MessageSize {
        MessageSize::Drawn(SizeDistribution::Exponential { mean: Bytes(mean), max: Bytes(max) })
    }

    /// Probability of every size, from the definitions.
    fn probabilities(message: &MessageSize) -> Vec<(u64, f64)> {
        match message {
            MessageSize::Fixed(size) => vec![(size.0, 1.0)],
            MessageSize::Drawn(SizeDistribution::Uniform { min, max }) => {
                (min.0..=max.0).map(|s| (s, 1.0 / (max.0 - min.0 + 1) as f64)).collect()
            }
            MessageSize::Drawn(SizeDistribution::Choice(list)) => {
                let total: f64 = list.iter().map(|c| c.weight).sum();
                list.iter().map(|c| (c.size.0, c.weight / total)).collect()
            }
            MessageSize::Drawn(SizeDistribution::Exponential { mean, max }) => {
                let above = |k: u64| if k >= max.0 { 0.0 } else { (-(k as f64) / mean.0 as f64).exp() };
                (1..=max.0).map(|s| (s, above(s - 1) - above(s))).collect()
            }
        }
    }

    #[test]
    fn mean_and_draws_follow_the_definitions() {
        let n = 200_000;
        for message in [
            MessageSize::Fixed(Bytes(64)),
            uniform(1, 100),
            uniform(7, 7),
            choice(&[(8, 0.0), (64, 3.0), (9, 0.0), (4096, 1.0), (5, 0.0)]),
            exponential(20, 50),
            exponential(20, 1000),
            exponential(1, 3),
        ] {
            let sizes = Sizes::new(&message);
            let table = probabilities(&message);
            let mean: f64 = table.iter().map(|&(s, p)| s as f64 * p).sum();
            let variance: f64 = table.iter().map(|&(s, p)| (s as f64 - mean).powi(2) * p).sum();
            // Rounding of at most 1000 additions, each of 2^-53.
            assert!((sizes.mean() / mean - 1.0).abs() < 1000.0 * f64::EPSILON, "{message:?}");
            let mut random = Random::new(1, 2, 3);
            let mut sum = 0;
            for _ in 0..n {
                let size = sizes.draw(&mut random);
                assert!(table.iter().any(|&(s, p)| s == size && p > 0.0), "{message:?} gives {size}");
                assert!(size <= sizes.largest());
                sum += size;
            }
            let error = (sum as f64 / f64::from(n) - mean).abs();
            // Five standard deviations of the mean of n draws.
            assert!(error <= 5.0 * (variance / f64::from(n)).sqrt(), "{message:?}: {error}");
        }
    }

    #[test]
    fn sizes_and_weights_outside_their_ranges_are_named() {
        let message = |size: &str| {
            let entry = format!("pattern = 'uniform'\nmessage = {size}");
            crate::testing::refused(&crate::testing::hosts(2), &entry)
        };
        for (size, expected) in [
            ("'0 B'", "message: 0 B is not allowed: give a size from 1 B to 256 TiB"),
            ("{ uniform = { min = '0 B', max = '8 B' } }", "message.uniform.min: 0 B"),
            ("{ exponential = { mean = '0 B', max = '8 B' } }", "message.exponential.mean: 0 B"),
            ("{ exponential = { mean = '8 B', max = '257 TiB' } }", "message.exponential.max: 257 TiB"),
            (
                "{ choice = [{ size = '8 B', weight = 1.0 }, { size = '8 B', weight = nan }] }",
                "message.choice.1.weight: ",
            ),
            (
                "{ choice = [{ size = '8 B', weight = 1.0 }, { size = '0 B', weight = 1.0 }] }",
                "message.choice.1.size: 0 B",
            ),
            ("{ uniform = { min = '9 B', max = '8 B' } }", "message.uniform.min: 9 B is out of range: "),
            ("{ choice = [] }", "message.choice: `choice` needs it"),
        ] {
            let error = message(size);
            assert!(error.contains(&format!("test.toml: traffic.0.{expected}")), "{error}");
        }
    }
}
