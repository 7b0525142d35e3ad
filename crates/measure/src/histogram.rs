/// A histogram of whole numbers whose buckets are as wide as their value is large: `2^BITS` buckets per power of two
/// (the scheme of HdrHistogram), `BITS` from 0 to 16. Numbers below `2^(BITS + 1)` have a bucket each; above, a
/// bucket's width is at most `2^-BITS` of its numbers, so that its middle is within `2^-(BITS + 1)` of each of them.
///
/// Only the powers of two from the lowest to the highest occupied one are kept: histograms with equal content compare equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub struct Histogram<const BITS: u32> {
    first: usize,
    counts: Vec<u64>,
}

/// An occupied bucket: `count` numbers from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Lowest number of the bucket.
    pub low: u64,
    /// Highest number of the bucket.
    pub high: u64,
    /// Number of recorded values.
    pub count: u64,
}

impl<const BITS: u32> Histogram<BITS> {
    /// An empty histogram.
    pub const fn new() -> Self {
        Self { first: 0, counts: Vec::new() }
    }

    /// Counts one occurrence of `value`.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let bucket = Self::bucket(value);
        match self.counts.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => *self.grow(bucket, bucket) += 1,
        }
    }

    #[inline]
    fn bucket(value: u64) -> usize {
        let magnitude = (value | (1 << BITS)).ilog2();
        let shift = magnitude - BITS;
        ((shift as usize) << BITS) + (value >> shift) as usize
    }

    fn bounds(bucket: usize) -> (u64, u64) {
        let shift = (bucket >> BITS).saturating_sub(1);
        let low = ((bucket - (shift << BITS)) as u64) << shift;
        (low, low + ((1 << shift) - 1))
    }

    #[cold]
    fn grow(&mut self, low: usize, high: usize) -> &mut u64 {
        let (wanted, low, end) = (low, low >> BITS << BITS, ((high >> BITS) + 1) << BITS);
        if self.counts.is_empty() {
            self.first = low;
        }
        if low < self.first {
            let mut counts = vec![0; self.first - low];
            counts.append(&mut self.counts);
            self.counts = counts;
            self.first = low;
        }
        if end > self.first + self.counts.len() {
            self.counts.resize(end - self.first, 0);
        }
        &mut self.counts[wanted - self.first]
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.is_empty() {
            return;
        }
        self.grow(other.first, other.first + other.counts.len() - 1);
        let offset = other.first - self.first;
        for (mine, theirs) in self.counts[offset..].iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }

    /// Returns the number of recorded values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The occupied buckets in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(i, &count)| {
            let (low, high) = Self::bounds(self.first + i);
            Bucket { low, high, count }
        })
    }

    /// Returns the number of values in the bucket of `value` and in those below it.
    pub fn count_up_to(&self, value: u64) -> u64 {
        self.buckets().take_while(|bucket| bucket.low <= value).map(|bucket| bucket.count).sum()
    }

    /// The number that the part `share` of the values does not exceed, if the values of a bucket are spread evenly over it. Infinite if `share` is
    /// above 1, the lowest number of the lowest occupied bucket if it is below 0; `None` when nothing was recorded.
    pub fn at_share(&self, share: f64) -> Option<f64> {
        let rank = share * self.count() as f64;
        let mut below = 0.0;
        for bucket in self.buckets() {
            let count = bucket.count as f64;
            if below + count >= rank {
                let width = (bucket.high - bucket.low) as f64 + 1.0;
                return Some(bucket.low as f64 + width * ((rank - below).max(0.0) / count));
            }
            below += count;
        }
        (below > 0.0).then_some(f64::INFINITY)
    }

    /// The middle of the bucket that holds the smallest number which at least `per_mille` thousandths of the
    /// numbers do not exceed; `None` when nothing was recorded. `per_mille` is from 1 to 1000.
    pub fn quantile(&self, per_mille: u32) -> Option<u64> {
        let rank = (u128::from(self.count()) * u128::from(per_mille)).div_ceil(1000);
        let mut below = 0;
        self.buckets().find_map(|bucket| {
            below += u128::from(bucket.count);
            (below >= rank).then_some(bucket.low + (bucket.high - bucket.low) / 2)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of<const BITS: u32>(values: &[u64]) -> Histogram<BITS> {
        let mut histogram = Histogram::new();
        for &value in values {
            histogram.record(value);
        }
        histogram
    }

    #[test]
    fn buckets_are_contiguous() {
        let mut next = 0;
        for bucket in 0..(62 << 3) {
            let (low, high) = Histogram::<3>::bounds(bucket);
            assert_eq!(low, next);
            assert_eq!((Histogram::<3>::bucket(low), Histogram::<3>::bucket(high)), (bucket, bucket));
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends at the largest number");
    }

    #[test]
    fn small_numbers_are_exact() {
        let histogram = of::<2>(&[0, 1, 7, 7, 8]);
        let found: Vec<_> = histogram.buckets().map(|b| (b.low, b.high, b.count)).collect();
        assert_eq!(found, [(0, 0, 1), (1, 1, 1), (7, 7, 2), (8, 9, 1)]);
        assert_eq!(Histogram::<2>::new().quantile(500), None);
    }

    #[test]
    fn values_of_a_bucket_are_spread_evenly() {
        let histogram = of::<2>(&[4, 16, 17, 18, 19]);
        assert_eq!(
            (histogram.count_up_to(3), histogram.count_up_to(4), histogram.count_up_to(17)),
            (0, 1, 5)
        );
        assert_eq!(histogram.at_share(-0.1), Some(4.0));
        assert_eq!(histogram.at_share(0.6), Some(18.0));
        assert_eq!(histogram.at_share(1.0), Some(20.0));
        assert_eq!(histogram.at_share(1.01), Some(f64::INFINITY));
        assert_eq!(Histogram::<2>::new().at_share(0.5), None);
    }

    proptest! {
        #[test]
        fn quantiles_are_within_half_a_bucket_of_the_sorted_list(
            mut values in prop::collection::vec(0_u64..1 << 50, 1..300), per_mille in 1_u32..=1000,
        ) {
            let (coarse, fine) = (of::<3>(&values).quantile(per_mille), of::<7>(&values).quantile(per_mille));
            values.sort_unstable();
            let rank = (values.len() * per_mille as usize).div_ceil(1000);
            let exact = values[rank - 1];
            prop_assert!(coarse.unwrap().abs_diff(exact) <= exact >> 4, "{coarse:?} for {exact}");
            prop_assert!(fine.unwrap().abs_diff(exact) <= exact >> 8, "{fine:?} for {exact}");
        }

        #[test]
        fn merging_equals_recording_everything(
            a in prop::collection::vec(any::<u64>(), 0..50), b in prop::collection::vec(any::<u64>(), 0..50),
        ) {
            let mut merged = of::<5>(&a);
            merged.merge(&of::<5>(&b));
            let mut other_way = of::<5>(&b);
            other_way.merge(&of::<5>(&a));
            prop_assert_eq!(&merged, &other_way);
            prop_assert_eq!(merged, of::<5>(&[a, b].concat()));
        }
    }
}
