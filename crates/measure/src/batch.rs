use std::ops::AddAssign;

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Minimum number of groups of batches of a confidence interval.
pub const FEWEST: usize = 10;

/// The packets of a time interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub struct Batch {
    /// Number of packets.
    pub packets: u64,
    /// Sum of their latencies, in picoseconds.
    pub latency: u128,
    /// Sum of their sizes, in bytes.
    pub bytes: u64,
}

impl AddAssign for Batch {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.latency += other.latency;
        self.bytes += other.bytes;
    }
}

/// A value with its confidence interval: the mean latency, unless its origin says otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The value; a mean latency in picoseconds.
    pub mean: f64,
    /// Half the width of the interval, in the same unit.
    pub half_width: f64,
    /// Number of groups, [`FEWEST`] or more.
    pub groups: usize,
    /// Batches in each group.
    pub batches_per_group: usize,
    /// Autocorrelation of neighbouring groups.
    pub correlation: f64,
    /// True if neighbouring groups are still correlated. Then the interval is too narrow.
    pub correlated: bool,
}

/// The confidence interval of the mean latency by batch means (Law, Simulation Modeling and Analysis, section 9.5.3).
///
/// Batches differ in their number of packets, so the mean is a ratio estimate, and the residuals `s_i - m c_i` of the
/// sums `s_i` about the mean `m` take the place of the deviations (Law, section 9.5.3, regenerative method). With
/// batches of equal size that is the textbook interval. While the lag-1 autocorrelation of neighbouring groups is
/// larger than that of white noise would be in one case of twenty, groups are merged in pairs, as long as
/// [`FEWEST`] with packets remain. Batches left over are dropped at the front.
///
/// `None` with packets in fewer than [`FEWEST`] batches: how much the mean varies is not known then, and with all packets in one batch
/// the residuals are zero. `confidence` is between 0 and 1.
pub fn interval(batches: &[Batch], confidence: f64) -> Option<Interval> {
    let mut size = 1;
    let mut found = grouped(batches, size, confidence)?;
    while found.correlated {
        size *= 2;
        let Some(merged) = grouped(batches, size, confidence) else { break };
        found = merged;
    }
    Some(found)
}

/// The interval from groups of `size` batches; `None` if fewer than [`FEWEST`] have packets.
fn grouped(batches: &[Batch], size: usize, confidence: f64) -> Option<Interval> {
    let used = &batches[batches.len() % size..];
    let groups = used.len() / size;
    let all = total(used);
    let busy = used.chunks_exact(size).filter(|group| group.iter().any(|batch| batch.packets > 0)).count();
    if busy < FEWEST || !(0.0..1.0).contains(&confidence) {
        return None;
    }
    let mean = all.latency as f64 / all.packets as f64;
    let per_group = all.packets as f64 / groups as f64;
    let residuals: Vec<f64> =
        used.chunks_exact(size).map(|group| residual(group, mean) / per_group).collect();
    let squares: f64 = residuals.iter().map(|z| z * z).sum();
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let n = groups as f64;
    let correlation = if squares > 0.0 { products / squares } else { 0.0 };
    Some(Interval {
        mean,
        half_width: student(groups - 1, confidence) * (squares / (n * (n - 1.0))).sqrt(),
        groups,
        batches_per_group: size,
        correlation,
        correlated: squares > 0.0 && correlation + 1.0 / n > WHITE_NOISE / n.sqrt(),
    })
}

/// The 95 % point of the normal distribution. The lag-1 autocorrelation of n independent values about their mean has
/// mean -1/n and standard deviation 1/sqrt(n) (Kendall & Stuart, volume 3, section 48.3).
const WHITE_NOISE: f64 = 1.645;

fn total(batches: &[Batch]) -> Batch {
    let mut sum = Batch::default();
    for &batch in batches {
        sum += batch;
    }
    sum
}

fn residual(group: &[Batch], mean: f64) -> f64 {
    let sum = total(group);
    sum.latency as f64 - mean * sum.packets as f64
}

/// Two-sided quantile of Student's t, to six decimal places: decisions must not hang on the last bits of a
/// machine's logarithm.
fn student(freedom: usize, confidence: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64)
        .map_or(f64::INFINITY, |t| (t.inverse_cdf(0.5 + confidence / 2.0) * 1e6).round() * 1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady::tests::{Noise, SCALE, batches};

    #[test]
    fn student_as_printed_in_tables() {
        let table =
            [(1, 0.95, 12.706), (9, 0.95, 2.262), (29, 0.95, 2.045), (9, 0.99, 3.250), (39, 0.9, 1.685)];
        for (freedom, confidence, printed) in table {
            assert!((student(freedom, confidence) - printed).abs() < 0.5e-3, "{freedom} {confidence}");
        }
    }

    #[test]
    fn by_hand() {
        let of = |latency| Batch { packets: 1, latency, bytes: 1 };
        let values: Vec<_> = [1, 9, 2, 8, 3, 7, 4, 6, 5, 5].map(of).to_vec();
        let found = interval(&values, 0.95).unwrap();
        assert_eq!(
            (found.mean, found.groups, found.batches_per_group, found.correlated),
            (5.0, 10, 1, false)
        );
        // Sum of squares about 5: 60.
        assert!((found.half_width - 2.262157 * (60.0_f64 / 90.0).sqrt()).abs() < 1e-6);
        assert_eq!(interval(&values[1..], 0.95), None);
        assert_eq!(interval(&[Batch::default(); 20], 0.95), None);
        assert_eq!(interval(&values, 1.0), None);
    }

    #[test]
    fn few_batches_with_packets_have_no_interval() {
        let of = |latency| Batch { packets: 1, latency, bytes: 1 };
        let busy = |count: usize| {
            let mut batches = vec![Batch::default(); 40];
            (0..count).for_each(|i| batches[3 * i] = of(1 + i as u128 % 2));
            batches
        };
        for count in [1, 2, 9] {
            assert_eq!(interval(&busy(count), 0.95), None, "packets in {count} of 40 batches");
        }
        let found = interval(&busy(10), 0.95).unwrap();
        assert_eq!((found.mean, found.groups), (1.5, 40));
        assert!(found.half_width > 0.0);
    }

    /// Eleven batches with packets are enough, the three groups that they would be merged into are not.
    #[test]
    fn groups_are_merged_as_long_as_enough_have_packets() {
        let mut batches = vec![Batch::default(); 40];
        (0..11).for_each(|i| batches[i] = Batch { packets: 1, latency: 1 + i as u128 / 6, bytes: 1 });
        let found = interval(&batches, 0.95).unwrap();
        assert!(found.correlated && found.batches_per_group == 1, "{found:?}");
    }

    /// Of ten groups an autocorrelation beyond 1.645/sqrt(10) - 1/10 = 0.42 is taken for correlation: the mean of that of white
    /// noise is -1/10.
    #[test]
    fn the_test_for_correlation_allows_for_the_mean_of_white_noise() {
        let of = |latency| Batch { packets: 1, latency, bytes: 1 };
        for (values, correlation, correlated) in [
            ([1, 1, 1, 3, 3, 3, 1, 1, 3, 3], 0.3, false),
            ([1, 1, 1, 3, 3, 3, 3, 3, 1, 1], 0.5, true),
            ([1, 1, 1, 1, 1, 3, 3, 3, 3, 3], 0.7, true),
        ] {
            let found = interval(&values.map(of), 0.95).unwrap();
            assert!((found.correlation - correlation).abs() < 1e-12, "{found:?}");
            assert_eq!(found.correlated, correlated, "{found:?}");
        }
    }

    /// Returns how many of `runs` intervals hold the true mean, and how many were taken for correlated.
    fn covered(runs: u64, count: usize, per_batch: u32, phi: f64, size: Option<usize>) -> u32 {
        let holds = |run: u64| {
            let batches = batches(&mut Noise::new(run, phi), count, per_batch);
            let found =
                size.map_or_else(|| interval(&batches, 0.95), |size| grouped(&batches, size, 0.95)).unwrap();
            (found.mean - SCALE).abs() <= found.half_width
        };
        (0..runs).map(|run| u32::from(holds(run))).sum()
    }

    /// Five standard deviations of a binomial count.
    fn margin(runs: u64, probability: f64) -> f64 {
        5.0 * (runs as f64 * probability * (1.0 - probability)).sqrt()
    }

    #[test]
    fn independent_batches_are_covered_as_promised() {
        // Exact for normal batches of any number.
        let found = f64::from(covered(2000, 20, 5, 0.0, Some(1)));
        assert!((found - 1900.0).abs() < margin(2000, 0.95), "{found}");
    }

    /// Variance of the mean of `n` successive values of an AR(1) sequence of unit variance (Law, equation 4.7 with
    /// rho_j = phi^j).
    fn variance_of_mean(n: f64, phi: f64) -> f64 {
        let sum = phi / (1.0 - phi) - phi * (1.0 - phi.powf(n)) / (n * (1.0 - phi).powi(2));
        (1.0 + 2.0 * sum) / n
    }

    /// Probability that the interval of `k` batches of `m` values holds the mean. What the batch variance
    /// underestimates: E(S^2 / k) = (V(m) - V(km)) / (k - 1), Var(mean) = V(km) (Law, equation 4.8).
    fn coverage(k: f64, m: f64, phi: f64) -> f64 {
        let (whole, batch) = (variance_of_mean(k * m, phi), variance_of_mean(m, phi));
        let ratio = (batch - whole) / (k - 1.0) / whole;
        let t = StudentsT::new(0.0, 1.0, k - 1.0).unwrap();
        2.0 * t.cdf(t.inverse_cdf(0.975) * ratio.sqrt()) - 1.0
    }

    #[test]
    fn correlated_batches_are_covered_as_theory_says() {
        for (k, m, phi) in [(20, 50, 0.9), (40, 10, 0.9), (10, 200, 0.8)] {
            let expected = coverage(k as f64, f64::from(m), phi);
            let found = f64::from(covered(2000, k, m, phi, Some(1)));
            assert!(
                (found - 2000.0 * expected).abs() < margin(2000, expected),
                "{k} {m} {phi}: {found} {expected}"
            );
        }
    }

    #[test]
    fn merging_correlated_batches_restores_the_coverage() {
        let (k, m, phi) = (160, 5, 0.9);
        let plain = coverage(k as f64, f64::from(m), phi);
        let merged = coverage(10.0, 80.0, phi);
        assert!(plain < 0.75 && merged > 0.93, "the case must be one where it matters: {plain} {merged}");
        // Groups of 5 and of 10 values have a correlation of 0.6 and 0.4, three and more standard deviations above
        // what is taken for noise: hardly a run stops there, so it is no worse than groups of 20.
        let least = coverage(40.0, 20.0, phi);
        let found = f64::from(covered(2000, k, m, phi, None));
        assert!(found > 2000.0 * least - margin(2000, least), "{found} {least}");
    }
}
