//! Rates of flows with windows, as they are reported.

use fabricsim_units::Time;

use super::flows::Flows;
use super::{FlowKey, Report};

/// Bytes that a link of `line` Mb/s carries in a round trip.
pub(super) fn bandwidth_delay_product(line: f64, rtt: Time) -> f64 {
    line * rtt.0 as f64 * 1e-6 / 8.0
}

/// A flow with a window.
pub(super) trait HasRate {
    /// Its reported rate.
    fn rate(&mut self) -> &mut ReportedRate;
}

/// Reports the rates of all flows up to `now`.
pub(super) fn report_rates<F: HasRate>(flows: &mut Flows<F>, line: f64, now: Time, report: Report<'_>) {
    for (key, flow) in flows.iter_mut() {
        flow.rate().report(key, line, now, report);
    }
}

/// The rate of a flow in Mb/s, if it is less than that of its link.
pub(super) fn rate_of<F: HasRate>(flows: &mut Flows<F>, key: FlowKey, line: f64) -> Option<u32> {
    flows.get(key).and_then(|flow| flow.rate().of(line))
}

/// Reported rate of a flow with a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportedRate {
    /// Time up to which rates have been reported.
    since: Time,
    /// Rate since then, Mb/s.
    mbps: u32,
}

impl ReportedRate {
    /// A flow that begins at `now` at the rate of its link, `line`.
    pub(super) fn new(line: f64, now: Time) -> Self {
        Self { since: now, mbps: line as u32 }
    }

    /// Changes the rate of the flow from now on: `window` bytes in each `rtt`, at most the link's.
    pub(super) fn change(
        &mut self,
        key: FlowKey,
        (window, rtt, line): (f64, Time, f64),
        now: Time,
        report: Report<'_>,
    ) {
        self.report(key, line, now, report);
        // Bits over microseconds are Mb/s.
        let mbps = window * 8.0 / (rtt.0.max(1) as f64 * 1e-6);
        self.mbps = mbps.min(line) as u32;
    }

    /// Reports the rate up to now, unless it is the link's.
    pub(super) fn report(&mut self, key: FlowKey, line: f64, now: Time, report: Report<'_>) {
        if self.since < now && self.is_below(line) {
            report(key, self.since, now, self.mbps);
        }
        self.since = now;
    }

    /// True if the rate is less than that of the link.
    pub(super) fn is_below(self, line: f64) -> bool {
        self.mbps < line as u32
    }

    /// The rate, if it is less than that of the link.
    pub(super) fn of(self, line: f64) -> Option<u32> {
        self.is_below(line).then_some(self.mbps)
    }
}
