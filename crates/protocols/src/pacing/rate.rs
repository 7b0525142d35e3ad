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
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates are reported without gaps, over times that are not empty, and only while they are less than the link's.
    #[test]
    fn a_rate_is_reported_while_it_holds_and_is_below_the_links() {
        let mut reported = Vec::new();
        let mut report =
            |key: FlowKey, from: Time, to: Time, level: u32| reported.push((key, from.0, to.0, level));
        let mut rate = ReportedRate::new(1000.0, Time(10));
        let mut levels = Vec::new();
        // 250 bytes in 4 us are 500 Mb/s.
        for (bytes, now) in [(250.0, 20), (125.0, 30), (250.0, 30), (500.0, 40), (5000.0, 50), (250.0, 60)] {
            rate.change(7, (bytes, Time::us(4), 1000.0), Time(now), &mut report);
            levels.push(rate.of(1000.0));
        }
        rate.report(7, 1000.0, Time(60), &mut report);
        rate.report(7, 1000.0, Time(61), &mut report);
        assert_eq!(levels, [Some(500), Some(250), Some(500), None, None, Some(500)]);
        assert_eq!(reported, [(7, 20, 30, 500), (7, 30, 40, 500), (7, 60, 61, 500)]);
    }

    #[test]
    fn the_product_is_what_a_link_carries_in_a_round_trip() {
        assert!((bandwidth_delay_product(100_000.0, Time::us(12)) - 150_000.0).abs() < 1e-6);
    }
}
