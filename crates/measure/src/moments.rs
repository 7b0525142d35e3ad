use std::ops::AddAssign;

/// Exact mean and extremes of whole numbers. Their number is counted elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub(crate) struct Moments {
    pub(crate) sum: u128,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Default for Moments {
    fn default() -> Self {
        Self { sum: 0, min: u64::MAX, max: 0 }
    }
}

impl Moments {
    #[inline]
    pub(crate) fn record(&mut self, value: u64) {
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }
}

impl AddAssign for Moments {
    fn add_assign(&mut self, other: Self) {
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

/// Standard deviation of a population from the number, sum and sum of squares; NaN when there is nothing.
pub(crate) fn deviation(count: u64, sum: u128, squares: u128) -> f64 {
    match (u128::from(count) * squares).checked_sub(sum * sum) {
        Some(scaled) if count > 0 => (scaled as f64).sqrt() / count as f64,
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_few() {
        let (mut a, mut b) = (Moments::default(), Moments::default());
        for value in [2, 4, 4, 4, 5] {
            a.record(value);
        }
        for value in [5, 7, 9] {
            b.record(value);
        }
        a += b;
        assert_eq!(a, Moments { sum: 40, min: 2, max: 9 });
        assert_eq!(deviation(8, a.sum, 4 + 16 + 16 + 16 + 25 + 25 + 49 + 81), 2.0);
        assert!(deviation(0, 0, 0).is_nan());
    }
}
