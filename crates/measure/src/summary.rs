//! Distributions of latencies in the summary.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Histogram;
use crate::moments::Moments;

/// A distribution of latencies. Mean, smallest and largest are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Latency {
    /// Mean.
    #[schemars(extend("x-unit" = "ns"))]
    pub mean: f64,
    /// Smallest.
    #[schemars(extend("x-unit" = "ns"))]
    pub min: f64,
    /// Median (to 0.4 %, of a flow to 1.6 %, as the other quantiles).
    #[schemars(extend("x-unit" = "ns"))]
    pub p50: f64,
    /// 99 of 100 are not larger.
    #[schemars(extend("x-unit" = "ns"))]
    pub p99: f64,
    /// 999 of 1000 are not larger.
    #[schemars(extend("x-unit" = "ns"))]
    pub p999: f64,
    /// Largest.
    #[schemars(extend("x-unit" = "ns"))]
    pub max: f64,
}

impl Latency {
    /// Of `count` values in picoseconds.
    pub(crate) fn of<const BITS: u32>(
        count: u64,
        moments: &Moments,
        histogram: Option<&Histogram<BITS>>,
    ) -> Self {
        let ns = |ps: u64| ps as f64 * 1e-3;
        let quantile = |per_mille| {
            let found = histogram.filter(|_| count > 0).and_then(|histogram| histogram.quantile(per_mille));
            found.map_or(f64::NAN, |value| ns(value.clamp(moments.min, moments.max)))
        };
        let extreme = |value| if count > 0 { ns(value) } else { f64::NAN };
        Self {
            mean: moments.sum as f64 / count as f64 * 1e-3,
            min: extreme(moments.min),
            p50: quantile(500),
            p99: quantile(990),
            p999: quantile(999),
            max: extreme(moments.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_of_few_and_of_none() {
        let (mut moments, mut histogram) = (Moments::default(), Histogram::<7>::new());
        assert!(Latency::of(0, &moments, Some(&histogram)).p50.is_nan());
        moments.record(1_000_001);
        histogram.record(1_000_001);
        let one = Latency::of(1, &moments, Some(&histogram));
        assert_eq!(
            (one.mean, one.min, one.p50, one.p999, one.max),
            (1000.001, 1000.001, 1000.001, 1000.001, 1000.001)
        );
    }
}
