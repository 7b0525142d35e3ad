use fabricsim_units::Time;

use super::{FlowKey, Report};

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
