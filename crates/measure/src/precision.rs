//! Precision of the numbers that a steady state waits for.

use std::ops::AddAssign;

use fabricsim_spec::SteadyMetric;
use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::Serialize;

use crate::batch::{Batch, Interval, interval};
use crate::histogram::Histogram;
use crate::input::gbps;

/// Packets that must be expected beyond a quantile before it has an interval.
const FEWEST_BEYOND: f64 = 10.0;

/// The packets delivered in a batch of steady-state detection, of a partition or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub struct DeliveredBatch {
    /// Their sums.
    pub sums: Batch,
    /// Their latencies, in picoseconds; empty unless a quantile is waited for.
    pub latencies: Histogram<7>,
}

impl AddAssign for DeliveredBatch {
    fn add_assign(&mut self, other: Self) {
        self.sums += other.sums;
        self.latencies.merge(&other.latencies);
    }
}

/// The precision that a measurement with steady-state detection reached.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ReachedPrecision {
    /// Number of the summary that it is about, in whose unit value and interval are.
    #[schemars(title = "metric")]
    pub metric: &'static str,
    /// Its value over the batches of the measurement; none with fewer than ten, or of a latency with packets in fewer than ten.
    #[schemars(title = "value")]
    pub value: Option<f64>,
    /// Half the width of its confidence interval; none as well if a quantile has no upper bound yet.
    #[schemars(title = "half the width of the confidence interval")]
    pub half_width: Option<f64>,
    /// Half the width relative to the value.
    #[schemars(title = "relative half width", extend("x-unit" = "fraction"))]
    pub relative: Option<f64>,
    /// Half the width that was required, relative to the value.
    #[schemars(title = "required relative half width", extend("x-unit" = "fraction"))]
    pub required: f64,
    /// True if the interval is narrow enough, and its batches are not correlated.
    #[schemars(title = "reached")]
    pub reached: bool,
    /// Batches (after merging correlated ones).
    #[schemars(title = "batches")]
    pub batches: usize,
    /// True if the batches are still correlated. Then the interval is too narrow.
    #[schemars(title = "batches are correlated")]
    pub correlated: bool,
}

impl ReachedPrecision {
    /// Of `metric` with its interval of [`interval_of`], from batches of `length`.
    pub(crate) fn of(metric: SteadyMetric, found: Option<Interval>, required: f64, length: Time) -> Self {
        let in_unit = |value: f64| match metric {
            SteadyMetric::AcceptedGbps => gbps(value, length),
            _ => value * 1e-3,
        };
        let bounded = found.filter(|found| found.half_width.is_finite());
        Self {
            metric: metric.name(),
            value: found.map(|found| in_unit(found.mean)),
            half_width: bounded.map(|found| in_unit(found.half_width)),
            relative: bounded.map(|found| found.half_width / found.mean),
            required,
            reached: found.is_some_and(|found| is_precise(&found, required)),
            batches: found.map_or(0, |found| found.groups),
            correlated: found.is_some_and(|found| found.correlated),
        }
    }
}

/// True if half the width of the interval is at most the part `required` of the value, and its batches are not correlated.
pub(crate) fn is_precise(found: &Interval, required: f64) -> bool {
    !found.correlated && found.half_width <= required * found.mean
}

/// The confidence interval of a number over batches of equal length, in picoseconds, or for a throughput in bytes per batch. `None` with fewer than ten
/// batches, or for a latency with packets in fewer than ten.
pub(crate) fn interval_of(
    metric: SteadyMetric,
    batches: &[DeliveredBatch],
    confidence: f64,
) -> Option<Interval> {
    let each = |of: fn(&DeliveredBatch) -> Batch| batches.iter().map(of).collect::<Vec<_>>();
    match metric.per_mille() {
        Some(per_mille) => quantile(per_mille, batches, confidence),
        None if metric == SteadyMetric::AcceptedGbps => {
            let bytes =
                |batch: &DeliveredBatch| Batch { packets: 1, latency: batch.sums.bytes.into(), bytes: 0 };
            interval(&each(bytes), confidence).filter(|found| found.mean > 0.0)
        }
        None => interval(&each(|batch| batch.sums), confidence),
    }
}

/// The confidence interval of a quantile: the part of the packets that do not exceed it is a mean, whose interval by batch means, `h` on both
/// sides, is that of the probability; the quantiles of probability `q - h` and `q + h` bound the quantile `q` (Heidelberger & Lewis, Operations Research 32,
/// 1984; Law, Simulation Modeling and Analysis, section 9.5.3, for the mean). The longer side counts as half the width: infinite while `q + h` is above 1,
/// and while there are too few packets for [`FEWEST_BEYOND`] to be expected beyond the quantile: the parts of few packets do not vary.
fn quantile(per_mille: u32, batches: &[DeliveredBatch], confidence: f64) -> Option<Interval> {
    let mut all = Histogram::new();
    for batch in batches {
        all.merge(&batch.latencies);
    }
    let bucket = all.quantile(per_mille)?;
    let shares = |batch: &DeliveredBatch| Batch {
        packets: batch.latencies.count(),
        latency: batch.latencies.count_up_to(bucket).into(),
        bytes: 0,
    };
    let shares: Vec<Batch> = batches.iter().map(shares).collect();
    let share = interval(&shares, confidence)?;
    let probability = f64::from(per_mille) * 1e-3;
    let at = |share: f64| all.at_share(share);
    let beyond = all.count() as f64 * (1.0 - probability);
    let (low, value, high) =
        (at(probability - share.half_width)?, at(probability)?, at(probability + share.half_width)?);
    let half_width = if beyond < FEWEST_BEYOND { f64::INFINITY } else { (value - low).max(high - value) };
    Some(Interval { mean: value, half_width, ..share })
}

#[cfg(test)]
mod tests {
    use fabricsim_model::Random;

    use super::*;

    /// Latencies of an exponential distribution of mean 1 us.
    fn exponential(seed: u64, batches: usize, per_batch: usize) -> Vec<DeliveredBatch> {
        let mut random = Random::new(seed, 1, 0);
        let batch = |_| {
            let mut batch = DeliveredBatch::default();
            for _ in 0..per_batch {
                let latency = (-random.unit().ln() * 1e6) as u64;
                batch.sums += Batch { packets: 1, latency: latency.into(), bytes: 100 };
                batch.latencies.record(latency);
            }
            batch
        };
        (0..batches).map(batch).collect()
    }

    /// A quantile of an exponential distribution is -ln(1 - q). Of 400 intervals of 95 % some 380 hold it: fewer than 365 or more than 393 would be
    /// 3.4 standard deviations away.
    #[test]
    fn intervals_of_quantiles_hold_the_quantile_as_often_as_they_say() {
        for (metric, exact) in [
            (SteadyMetric::LatencyP50, 0.5_f64.ln() * -1e6),
            (SteadyMetric::LatencyP99, 0.01_f64.ln() * -1e6),
        ] {
            let holds = |seed: &u64| {
                let found = interval_of(metric, &exponential(*seed, 20, 1000), 0.95).unwrap();
                assert!(found.half_width > 0.0 && found.half_width < 0.5 * found.mean, "{found:?}");
                (found.mean - exact).abs() <= found.half_width
            };
            let held = (0..400).filter(holds).count();
            assert!((365..=396).contains(&held), "{}: {held}", metric.name());
        }
    }

    #[test]
    fn a_quantile_beyond_the_packets_has_no_upper_bound() {
        let few = exponential(1, 10, 20);
        let found = interval_of(SteadyMetric::LatencyP999, &few, 0.95).unwrap();
        assert!(found.half_width.is_infinite() && !is_precise(&found, 0.9));
        let row = ReachedPrecision::of(SteadyMetric::LatencyP999, Some(found), 0.9, Time::ns(1));
        assert!(row.value.is_some() && row.half_width.is_none() && !row.reached);
        for (packets, is_bounded) in [(999, false), (1000, true)] {
            let mut equal = vec![DeliveredBatch::default(); 10];
            (0..packets).for_each(|i| equal[i % 10].latencies.record(5));
            let found = interval_of(SteadyMetric::LatencyP99, &equal, 0.95).unwrap();
            assert_eq!(found.half_width.is_finite(), is_bounded, "{packets} equal latencies: {found:?}");
        }
    }

    #[test]
    fn throughput_is_bytes_over_the_time_of_batches() {
        let batches: Vec<_> = (0..10)
            .map(|i| DeliveredBatch {
                sums: Batch { packets: 1, latency: 1, bytes: if i % 2 == 0 { 1200 } else { 1300 } },
                ..DeliveredBatch::default()
            })
            .collect();
        let found = interval_of(SteadyMetric::AcceptedGbps, &batches, 0.95);
        let row = ReachedPrecision::of(SteadyMetric::AcceptedGbps, found, 0.05, Time::ns(100));
        assert!((row.value.unwrap() - 100.0).abs() < 1e-9);
        // Student's t of nine degrees of freedom times 50 B times sqrt(1 / 9), in Gb/s of 100 ns.
        assert!((row.half_width.unwrap() - 2.262_157 * 50.0 / 3.0 * 0.08).abs() < 1e-6);
        assert!(row.reached && !row.correlated && row.batches == 10);
        let silent = vec![DeliveredBatch::default(); 10];
        assert_eq!(interval_of(SteadyMetric::AcceptedGbps, &silent, 0.95), None);
    }

    #[test]
    fn without_batches_there_is_no_precision() {
        let row = ReachedPrecision::of(SteadyMetric::LatencyMean, None, 0.02, Time::ns(1));
        assert_eq!((row.value, row.half_width, row.reached, row.batches), (None, None, false, 0));
    }
}
