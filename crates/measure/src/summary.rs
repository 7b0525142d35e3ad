use std::collections::BTreeMap;

use fabricsim_spec::CongestionAlgorithm;
use serde::Serialize;

use crate::moments::Moments;
use crate::{Histogram, JobSummary, StreamSummary, TransportSummary, Window};

/// A run is saturated when it accepts less than this fraction of what is offered. The rest is for packets in flight
/// at the ends of the window, and for chance.
pub const SATURATED: f64 = 0.98;

/// The figures of a run. NaN (`null` in JSON) if not available.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Start of the measurement, in nanoseconds; NaN if it never began.
    pub measured_from_ns: f64,
    /// Length of the measurement, in nanoseconds.
    pub measured_ns: f64,
    /// Load that the sources offered within the window, as a fraction of the link rates of the hosts that offered
    /// messages.
    pub offered_load: f64,
    /// Load that was delivered within the window, as a fraction of the link rates of the hosts that offered messages.
    pub accepted_load: f64,
    /// Offered load of the whole fabric, in Gb/s.
    pub offered_gbps: f64,
    /// Accepted load of the whole fabric, in Gb/s.
    pub accepted_gbps: f64,
    /// Packets delivered within the window.
    pub packets: u64,
    /// Bytes delivered within the window.
    pub bytes: u64,
    /// Packets created within the window and delivered: the population of latency and hops.
    pub latency_packets: u64,
    /// From creation to delivery.
    pub latency_ns: Latency,
    /// From the first byte on the wire to delivery.
    pub network_latency_ns: Latency,
    /// Confidence interval of the mean latency; `None` with fewer than ten batches.
    pub latency_confidence: Option<Confidence>,
    /// Links between switches that packets crossed: one less than the switches that they passed.
    pub hops: Hops,
    /// Jain's fairness index over the accepted throughput of the flows that take part.
    pub jain: f64,
    /// Flows that take part: they offered or delivered packets within the window.
    pub flow_count: usize,
    /// Flows that get less than [`STARVING`](crate::STARVING) of their offered load and of the mean accepted load of flows.
    pub starving: usize,
    /// True if less than [`SATURATED`] of the offered load is accepted.
    pub saturated: bool,
    /// Reason why it counts as saturated.
    pub saturation: Option<String>,
    /// With steady-state detection: true if the latency settled before the measurement.
    pub steady: Option<bool>,
    /// Activity of congestion control; `None` without any.
    pub congestion: Option<CongestionSummary>,
    /// Activity of ordering protocols; left out if nothing is acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportSummary>,
    /// From the begin of the first job to the end of the last, in nanoseconds; NaN if one is incomplete, `None` without
    /// jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_time_ns: Option<f64>,
    /// The jobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobSummary>,
    /// Streams of messages, if messages follow from others: entries of the traffic list, responses, jobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamSummary>,
    /// Performance counters of routers by direction (`"+x"`, `"-x"`, ..., `"host"`); left out unless requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routers: Option<BTreeMap<String, RouterSummary>>,
    /// The flows, while there are at most [`MOST_FLOWS`](crate::MOST_FLOWS); empty otherwise.
    pub flows: Vec<FlowSummary>,
}

/// Figures of congestion control, of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CongestionSummary {
    /// Algorithm of the congestion control.
    pub algorithm: CongestionAlgorithm,
    /// Packets marked (FECN).
    pub marked: u64,
    /// Notifications received by sources (BECN).
    pub notified: u64,
    /// Packets without data received: notifications and acknowledgements.
    pub control_packets: u64,
    /// Their bytes.
    pub control_bytes: u64,
    /// Time in which links of hosts were idle only because of congestion control, summed over hosts, in seconds.
    pub throttled_s: f64,
    /// With InfiniBand the mean over flows and time of the index CCTI, 0 for a flow that is not rate-limited. NaN without
    /// flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ccti_mean: Option<f64>,
    /// With InfiniBand the largest CCTI of a flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ccti_max: Option<f64>,
    /// With DCQCN the mean over flows and time of the rate that is allowed, in Mb/s, that of its link for a flow that is not
    /// rate-limited. NaN without flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_mean_mbps: Option<f64>,
    /// With DCQCN the lowest rate that a flow was allowed, in Mb/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_min_mbps: Option<f64>,
    /// Number of times in the whole run that a notification found or brought a flow to its trigger threshold.
    pub events: u64,
}

/// Performance counters of the routers' ports in one direction, in cycles of their clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RouterSummary {
    /// Cycles stalled for lack of credits per packet sent on lanes 0 and 1 (Abts & Weisser, SC07, equation 17).
    pub stalled_per_packet: f64,
    /// Cycles for which the heads of input buffers were blocked per packet received on lanes 0 and 1.
    pub blocked_per_packet: f64,
    /// Q: mean time that packets waited for the ports, beyond the delay of a switch.
    pub queueing_cycles: f64,
    /// Mean age of packets as they left.
    pub age_mean: f64,
}

/// Figures of a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Name of the source.
    pub source: String,
    /// Name of the destination; `*` for all destinations of the source.
    pub destination: String,
    /// Load that the source offered within the window, in Gb/s; NaN if destinations are drawn.
    pub offered_gbps: f64,
    /// Load that was delivered within the window, in Gb/s.
    pub accepted_gbps: f64,
    /// From creation to delivery.
    pub latency_ns: Latency,
}

/// A distribution of latencies, in nanoseconds. Mean, smallest and largest are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Median (to 0.4 %, of a flow to 1.6 %, as the other quantiles).
    pub p50: f64,
    /// 99 of 100 are not larger.
    pub p99: f64,
    /// 999 of 1000 are not larger.
    pub p999: f64,
    /// Largest.
    pub max: f64,
}

/// A confidence interval by batch means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Confidence {
    /// Half the width of the interval of the mean latency, in nanoseconds.
    pub half_width_ns: f64,
    /// The same relative to the mean.
    pub relative: f64,
    /// Confidence level.
    pub level: f64,
    /// Batches (after merging correlated ones).
    pub batches: usize,
    /// Length of a batch, in nanoseconds.
    pub batch_ns: f64,
    /// Autocorrelation of neighbouring batches.
    pub correlation: f64,
    /// True if the batches are still correlated. Then the interval is too narrow.
    pub correlated: bool,
}

/// Hops of packets: links between switches. The links of hosts are none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Hops {
    /// Mean.
    pub mean: f64,
    /// Fewest; `None` without packets.
    pub min: Option<usize>,
    /// Most; `None` without packets.
    pub max: Option<usize>,
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

impl Hops {
    /// Of the numbers of packets by hops.
    pub(crate) fn of(packets: &[u64]) -> Self {
        let count: u64 = packets.iter().sum();
        let hops: u128 = packets.iter().enumerate().map(|(hops, &n)| hops as u128 * u128::from(n)).sum();
        Self {
            mean: hops as f64 / count as f64,
            min: packets.iter().position(|&n| n > 0),
            max: packets.iter().rposition(|&n| n > 0),
        }
    }
}

/// Start of a window in nanoseconds, NaN if it is closed.
pub(crate) fn start_ns(window: Window) -> f64 {
    if window.from == Window::CLOSED.from { f64::NAN } else { window.from.as_ns_f64() }
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

    #[test]
    fn hops_of_few_and_of_none() {
        assert_eq!(Hops::of(&[0, 1, 0, 3]), Hops { mean: 2.5, min: Some(1), max: Some(3) });
        assert!(Hops::of(&[]).mean.is_nan() && Hops::of(&[]).min.is_none());
    }
}
