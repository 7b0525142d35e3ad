//! The columns that perftest prints.

use fabricsim_units::Time;
use serde::Serialize;

use super::programs::Times;
use super::{Operation, Options, Quantity};

/// Figures of a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Figures {
    /// Of a test of latency.
    Latency(Latency),
    /// Of a test of bandwidth.
    Bandwidth(Bandwidth),
}

/// Latency of messages, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Bytes of a message.
    pub bytes: u32,
    /// Messages measured.
    pub iterations: u32,
    /// Least.
    pub t_min_us: f64,
    /// Largest.
    pub t_max_us: f64,
    /// Median.
    pub t_typical_us: f64,
    /// Mean.
    pub t_avg_us: f64,
    /// Standard deviation.
    pub t_stdev_us: f64,
    /// 99 % are not longer.
    pub p99_us: f64,
    /// 99.9 % are not longer.
    pub p999_us: f64,
}

/// Data rate, without headers; MiB are 2^20 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bandwidth {
    /// Bytes of a message.
    pub bytes: u32,
    /// Messages measured.
    pub iterations: u32,
    /// Largest rate from any post to any later completion, in MiB/s.
    pub bw_peak_mib_s: f64,
    /// Rate from the first post to the last completion, in MiB/s.
    pub bw_average_mib_s: f64,
    /// Messages, in millions per second.
    pub msg_rate_mpps: f64,
}

/// Bytes of a MiB.
const MIB: f64 = 1_048_576.0;

/// Tests of the peak look at this many posts only: the time would grow with their square.
const MOST_PEAKS: usize = 512;

pub(super) fn figures(times: &Times, options: &Options) -> Figures {
    match options.quantity {
        Quantity::Latency => Figures::Latency(latency(times, options)),
        Quantity::Bandwidth => Figures::Bandwidth(bandwidth(times, options)),
    }
}

fn latency(times: &Times, options: &Options) -> Latency {
    // perftest halves the time to and fro.
    let parts = if options.operation == Operation::Read { 1.0 } else { 2.0 };
    let pairs = times.posted.windows(2).map(|pair| (pair[1] - pair[0]).as_ns_f64() / 1000.0 / parts);
    let mut found: Vec<f64> = pairs.collect();
    found.sort_by(f64::total_cmp);
    let count = found.len().max(1) as f64;
    let at = |share: f64| {
        let place = (share * count).ceil().max(1.0) as usize - 1;
        found.get(place.min(found.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    };
    let mean = found.iter().sum::<f64>() / count;
    let variance = found.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
    Latency {
        bytes: options.bytes,
        iterations: options.iterations,
        t_min_us: at(0.0),
        t_max_us: at(1.0),
        t_typical_us: at(0.5),
        t_avg_us: mean,
        t_stdev_us: variance.sqrt(),
        p99_us: at(0.99),
        p999_us: at(0.999),
    }
}

fn bandwidth(times: &Times, options: &Options) -> Bandwidth {
    let Options { bytes, iterations, .. } = *options;
    let seconds = |from: Time, to: Time| to.saturating_sub(from).as_secs_f64();
    let first = times.posted.first().copied().unwrap_or_default();
    let last = times.ended.last().map_or(Time::ZERO, |(at, _)| *at);
    let messages = f64::from(iterations) / seconds(first, last);
    let step = times.posted.len().div_ceil(MOST_PEAKS).max(1);
    let mut peak = 0.0_f64;
    for (number, posted) in times.posted.iter().enumerate().step_by(step) {
        let later = times.ended.iter().filter(|(_, ended)| *ended as usize > number);
        let rates = later.map(|(at, ended)| f64::from(*ended - number as u32) / seconds(*posted, *at));
        peak = peak.max(rates.fold(0.0, f64::max));
    }
    let mib = f64::from(bytes) / MIB;
    Bandwidth {
        bytes,
        iterations,
        bw_peak_mib_s: peak * mib,
        bw_average_mib_s: messages * mib,
        msg_rate_mpps: messages / 1e6,
    }
}
