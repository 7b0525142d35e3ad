//! Batch means, and the confidence interval of the mean latency.

use fabricsim_model::{Packet, Table};
use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::Serialize;

use super::collector::{Collector, ResultTable};
use crate::RecorderConfig;
use crate::batch::{Batch, Interval, interval};
use crate::grid::Grid;
use crate::input::{TableInput, gbps};
use crate::timeline::{Delivery, Timeline};

/// Maximum number of batches of a measurement; then neighbours are merged.
const MOST_BATCHES: usize = 2048;

/// Packets created within the window, by their age in it.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Batches {
    grid: Grid<Batch>,
}

/// Precision of the mean latency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BatchesSummary {
    /// Confidence interval of the mean latency; none with packets in fewer than ten batches.
    pub latency_confidence: Option<Confidence>,
}

/// A confidence interval by batch means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Confidence {
    /// Half the width of the interval of the mean latency.
    #[schemars(title = "half the width of the confidence interval", extend("x-unit" = "ns"))]
    pub half_width_ns: f64,
    /// Half the width of the interval relative to the mean.
    #[schemars(title = "relative half width", extend("x-unit" = "fraction"))]
    pub relative: f64,
    /// Confidence level.
    #[schemars(title = "confidence level", extend("x-unit" = "fraction"))]
    pub level: f64,
    /// Batches (after merging correlated ones).
    pub batches: usize,
    /// Length of a batch.
    #[schemars(title = "length of a batch", extend("x-unit" = "ns"))]
    pub batch_ns: f64,
    /// Autocorrelation of neighbouring batches.
    #[schemars(title = "correlation of batches")]
    pub correlation: f64,
    /// True if the batches are still correlated. Then the interval is too narrow.
    pub correlated: bool,
}

impl Batches {
    /// The batches that lie within the measurement as a whole, and their length.
    fn whole(&self, input: &TableInput<'_>) -> (Vec<Batch>, Time) {
        let axis = self.grid.axis();
        let whole = ((input.measured.0 / axis.width().0) as usize).min(axis.capacity());
        let mut batches = self.grid.row(0).to_vec();
        batches.resize(whole, Batch::default());
        (batches, axis.width())
    }
}

impl Collector for Batches {
    type Summary = BatchesSummary;

    fn new(config: &RecorderConfig, _timeline: &Timeline) -> Self {
        Self { grid: Grid::new(config.batch, MOST_BATCHES, 1) }
    }

    #[inline]
    fn delivered(&mut self, timeline: &mut Timeline, _now: Time, packet: &Packet, delivery: &Delivery) {
        if delivery.created_within {
            self.grid.add(0, packet.created - timeline.window.from, delivery.batch(packet));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.grid.merge(&other.grid);
    }

    fn tables(&self, input: &TableInput<'_>) -> Vec<ResultTable> {
        let (batches, length) = self.whole(input);
        let start = input.timeline.window.from;
        let begin = |batch: usize| start.saturating_add(length * batch as u64).as_ns_f64();
        let mut table = Table::new("batches");
        table.real("from_ns", "ns", "Start of the batch", (0..batches.len()).map(begin).collect());
        let text = "Delivered packets that were created in the batch";
        table.whole("packets", "", text, batches.iter().map(|batch| batch.packets as i64).collect());
        let means = batches.iter().map(|batch| batch.latency as f64 / batch.packets as f64 * 1e-3).collect();
        table.real("latency_mean_ns", "ns", "Their mean latency", means);
        let rates = batches.iter().map(|batch| gbps(batch.bytes as f64, length)).collect();
        table.real("gbps", "Gb/s", "Their bytes over the length of the batch", rates);
        vec![ResultTable::new("batch of the batch means", table)]
    }

    fn summarize(&self, input: &TableInput<'_>) -> BatchesSummary {
        let (batches, length) = self.whole(input);
        let level = input.config.confidence;
        let confidence = |found: Interval| Confidence {
            half_width_ns: found.half_width * 1e-3,
            relative: found.half_width / found.mean,
            level,
            batches: found.groups,
            batch_ns: length.as_ns_f64() * found.batches_per_group as f64,
            correlation: found.correlation,
            correlated: found.correlated,
        };
        BatchesSummary { latency_confidence: interval(&batches, level).map(confidence) }
    }
}
