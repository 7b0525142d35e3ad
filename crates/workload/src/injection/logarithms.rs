//! Whole parts of multiples of logarithms, without a logarithm in nearly all cases.

/// Middles of parts of the range from 1 to 2.
const PARTS: usize = 128;
/// Largest difference of an estimate from the logarithm: the remainder of the series, r^4 / 4 with r at most 1/256, is 6e-11, and rounding adds 1e-14.
const ERROR: f64 = 1e-10;

/// Natural logarithms of the middles of parts of the range from 1 to 2, with the reciprocals of the middles.
#[derive(Clone, Debug)]
pub(super) struct Logarithms(Box<[(f64, f64); PARTS]>);

impl Logarithms {
    pub(super) fn new() -> Self {
        let part = |i: usize| {
            let middle = 1.0 + (i as f64 + 0.5) / PARTS as f64;
            (1.0 / middle, libm::log(middle))
        };
        Self(Box::new(std::array::from_fn(part)))
    }

    /// The logarithm of `x` to [`ERROR`]; `x` is positive, and a normal number.
    #[inline(always)]
    fn estimate(&self, x: f64) -> f64 {
        let bits = x.to_bits();
        let exponent = (bits >> 52) as i32 - 1023;
        let (reciprocal, log) = self.0[(bits >> 45) as usize % PARTS];
        let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
        let r = mantissa * reciprocal - 1.0;
        f64::from(exponent) * std::f64::consts::LN_2 + log + r * (1.0 + r * (-0.5 + r * (1.0 / 3.0)))
    }

    /// The whole part of `log(x) * factor`, both of which are negative or zero, as [`libm::log`] gives it: estimated, and computed if the estimate is too near to a whole
    /// number.
    #[inline(always)]
    pub(super) fn whole_part(&self, x: f64, factor: f64) -> u64 {
        let estimate = self.estimate(x) * factor;
        let whole = estimate as u64;
        let rest = estimate - whole as f64;
        // Rounding of the product is less than a part in 10^15 of at most 37 times the factor.
        let margin = -2.0 * ERROR * factor;
        if rest > margin && rest < 1.0 - margin { whole } else { compute(x, factor) }
    }
}

#[cold]
#[inline(never)]
fn compute(x: f64, factor: f64) -> u64 {
    (libm::log(x) * factor) as u64
}

#[cfg(test)]
mod tests {
    use fabricsim_model::Random;

    use super::*;

    fn numbers() -> impl Iterator<Item = f64> {
        let mut random = Random::new(3, 1, 4);
        let edges = (0..54).flat_map(|place| {
            let power = (1_u64 << place) as f64 / (1_u64 << 53) as f64;
            [power, power * (1.0 + f64::EPSILON), (power * 1.5).min(1.0)]
        });
        let drawn: Vec<f64> = (0..200_000).map(|_| random.unit()).collect();
        edges.filter(|&x| x <= 1.0).chain(drawn)
    }

    #[test]
    fn estimates_are_as_near_as_they_must_be() {
        let logarithms = Logarithms::new();
        let error = |x| (logarithms.estimate(x) - libm::log(x)).abs();
        let largest = numbers().map(error).fold(0.0, f64::max);
        assert!(largest < 0.7 * ERROR && largest > 0.1 * ERROR, "{largest}");
    }

    /// Also for numbers whose multiple is whole, or nearly, and for factors so large that no estimate is near enough.
    #[test]
    fn whole_parts_are_those_of_the_logarithm() {
        let logarithms = Logarithms::new();
        for p in [1.0, 1.0 - 1e-12, 0.75, 0.5, 0.3, 0.025, 1e-4, 1e-9, 1e-12] {
            let factor = 1.0 / libm::log1p(-p);
            let whole = (1..50).flat_map(|n| {
                let x = libm::pow(1.0 - p, f64::from(n));
                [x, x * (1.0 + f64::EPSILON), x * (1.0 - f64::EPSILON)]
            });
            for x in numbers().chain(whole.filter(|&x| x > 1e-16 && x <= 1.0)) {
                assert_eq!(logarithms.whole_part(x, factor), compute(x, factor), "{x}, {p}");
            }
        }
    }

    /// Where messages are created slot by slot, hardly any needs the logarithm.
    #[test]
    fn estimates_are_nearly_always_enough() {
        let (logarithms, factor) = (Logarithms::new(), 1.0 / libm::log1p(-0.025));
        let is_near = |x: &f64| {
            let estimate = logarithms.estimate(*x) * factor;
            (estimate - estimate.round()).abs() <= -2.0 * ERROR * factor
        };
        let mut random = Random::new(5, 9, 2);
        assert!((0..200_000).map(|_| random.unit()).filter(is_near).count() < 10);
    }
}
