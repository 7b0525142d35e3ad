use fabricsim_spec::{FlowDetail, Measure, Run};
use fabricsim_units::Time;

use crate::{Steady, Window};

/// Default number of bins of a series.
const DEFAULT_BINS: u64 = 140;

/// Factor by which bins are initially narrower if a run may end early.
const NARROWER: u64 = 1 << 12;

/// Selection of what to record, and the size of the fabric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecorderConfig {
    /// The measurement; [`Window::CLOSED`] if it is opened later.
    pub window: Window,
    /// Width of a bin of the series.
    pub bin: Time,
    /// Expected end of the run.
    pub end: Time,
    /// Length of a batch (for confidence intervals).
    pub batch: Time,
    /// Confidence level of intervals, between 0 and 1.
    pub confidence: f64,
    /// Number of hosts.
    pub hosts: u32,
    /// Number of sending ports: two per link.
    pub ports: u32,
    /// Maximum number of virtual lanes of a link, 1 or more.
    pub lanes: u8,
    /// Flows that are recorded on their own.
    pub flows: FlowDetail,
    /// True if there are series per sending port.
    pub link_series: bool,
}

impl RecorderConfig {
    /// Configuration that an experiment requests. With steady-state detection the window is closed until
    /// [`open_window`](crate::Recorder::open_window).
    pub fn new(run: &Run, measure: &Measure, hosts: u32, ports: u32, lanes: u8) -> Self {
        let end = run.warmup.saturating_add(run.duration);
        let rule = run.steady_state.clone().unwrap_or_default();
        Self {
            window: if run.steady_state.is_some() {
                Window::CLOSED
            } else {
                Window { from: run.warmup, to: end }
            },
            bin: measure.bin.unwrap_or(Time(end.0.div_ceil(DEFAULT_BINS))).max(Time::ps(1)),
            end,
            batch: Steady::batch_length(run),
            confidence: rule.confidence,
            hosts,
            ports,
            lanes,
            flows: measure.flows,
            link_series: measure.link_series,
        }
    }

    /// The run may end long before its expected end: unless the experiment sets the width of bins, they are narrow at first
    /// and widen as time goes on.
    pub fn expect_an_early_end(&mut self, measure: &Measure) {
        if measure.bin.is_none() {
            self.bin = Time(self.bin.0 / NARROWER).max(Time::ps(1));
        }
    }

    /// Bins until the expected end.
    pub(crate) fn expected_bins(&self) -> u64 {
        self.end.0.div_ceil(self.bin.0.max(1))
    }
}
