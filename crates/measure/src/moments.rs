use std::ops::AddAssign;

/// Count, mean, spread and extremes of whole numbers, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moments {
    pub(crate) count: u64,
    pub(crate) sum: u128,
    pub(crate) squares: u128,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Default for Moments {
    fn default() -> Self {
        Self { count: 0, sum: 0, squares: 0, min: u64::MAX, max: 0 }
    }
}

impl Moments {
    #[inline]
    pub(crate) fn record(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.squares += u128::from(value) * u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// NaN when there is nothing.
    pub(crate) fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }

    /// Standard deviation of the population; NaN when there is nothing.
    pub(crate) fn deviation(&self) -> f64 {
        let count = u128::from(self.count);
        match (count * self.squares).checked_sub(self.sum * self.sum) {
            Some(scaled) if count > 0 => (scaled as f64).sqrt() / count as f64,
            _ => f64::NAN,
        }
    }
}

impl AddAssign for Moments {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_few() {
        let mut a = Moments::default();
        for value in [2, 4, 4, 4, 5] {
            a.record(value);
        }
        let mut b = Moments::default();
        for value in [5, 7, 9] {
            b.record(value);
        }
        a += b;
        assert_eq!((a.count, a.mean(), a.deviation(), a.min, a.max), (8, 5.0, 2.0, 2, 9));
        assert!(Moments::default().mean().is_nan() && Moments::default().deviation().is_nan());
    }
}
