//! Swift (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020): a window
//! that grows while the round trip is below a target and shrinks in proportion to the delay beyond it, at most once in a round
//! trip. Algorithm 1 with the fabric's window alone; the target of section 3.1, with hop-based and flow-based scaling.

use std::sync::Arc;

use fabricsim_spec::Swift;
use fabricsim_units::Time;

use super::flows::Flows;
use super::rate::{HasRate, ReportedRate, bandwidth_delay_product, rate_of, report_rates};
use super::{Acknowledged, FlowKey, Pacer, Report};

/// Parameters of all sources; times in picoseconds.
#[derive(Clone, Debug)]
pub struct SwiftRules {
    spec: Swift,
    base_target: f64,
    hop_target: f64,
    fs_range: f64,
    /// Of flow-based scaling: alpha / sqrt(window) + beta.
    fs_alpha: f64,
    fs_beta: f64,
    mtu: f64,
    base_rtt: Time,
}

impl SwiftRules {
    /// Rules of an experiment, which has been checked, on a network with this round trip, with packets of up to `mtu` bytes.
    pub fn new(spec: &Swift, base_rtt: Time, mtu: u32) -> Self {
        let base_target = spec.base_target.unwrap_or(base_rtt * 2).0 as f64;
        let fs_range = spec.fs_range.map_or(4.0 * base_target, |range| range.0 as f64);
        let inverse = |window: f64| 1.0 / window.sqrt();
        let fs_alpha = fs_range / (inverse(spec.fs_min_cwnd) - inverse(spec.fs_max_cwnd));
        Self {
            base_target,
            hop_target: spec.hop_target.0 as f64,
            fs_range,
            fs_alpha,
            fs_beta: -fs_alpha * inverse(spec.fs_max_cwnd),
            mtu: f64::from(mtu),
            base_rtt,
            spec: spec.clone(),
        }
    }

    /// Target of the round trip for a window of `cwnd` packets, over `hops` switches, in picoseconds.
    pub fn target(&self, cwnd: f64, hops: u16) -> f64 {
        let scaling = (self.fs_alpha / cwnd.sqrt() + self.fs_beta).clamp(0.0, self.fs_range);
        self.base_target + f64::from(hops) * self.hop_target + scaling
    }
}

#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Flow {
    /// Window in packets.
    cwnd: f64,
    /// The last round trip.
    rtt: Time,
    /// Time of the last decrease.
    decreased: Time,
    /// Time at which the next packet may be sent while the window is less than a packet.
    allowed: Time,
    rate: ReportedRate,
}

impl HasRate for Flow {
    fn rate(&mut self) -> &mut ReportedRate {
        &mut self.rate
    }
}

/// The flows of a host.
#[derive(Clone, Debug, fabricsim_state::State)]
pub struct SwiftSource {
    #[state(fixed)]
    rules: Arc<SwiftRules>,
    /// Rate of the host's link, Mb/s.
    #[state(fixed)]
    line: f64,
    flows: Flows<Flow>,
    events: u64,
}

impl SwiftSource {
    /// A source on a link of `line` Mb/s. Flows begin with the window that fills the link on the longest route.
    pub fn new(rules: Arc<SwiftRules>, line: f64) -> Self {
        Self { rules, line, flows: Flows::default(), events: 0 }
    }

    fn new_flow(rules: &SwiftRules, line: f64, now: Time) -> Flow {
        let product = bandwidth_delay_product(line, rules.base_rtt);
        let cwnd = (product / rules.mtu).max(1.0).min(rules.spec.max_cwnd);
        let rate = ReportedRate::new(line, now);
        Flow { cwnd, rtt: rules.base_rtt, decreased: Time::ZERO, allowed: Time::ZERO, rate }
    }

    /// Sets the window to `cwnd`.
    fn set(&mut self, key: FlowKey, cwnd: f64, now: Time, report: Report<'_>) {
        let (rules, line) = (&*self.rules, self.line);
        let Some(flow) = self.flows.get(key) else { return };
        let before = flow.cwnd;
        flow.cwnd = cwnd.clamp(rules.spec.min_cwnd, rules.spec.max_cwnd);
        if flow.cwnd < before {
            flow.decreased = now;
            self.events += 1;
        }
        flow.rate.change(key, (flow.cwnd * rules.mtu, flow.rtt, line), now, report);
    }
}

impl Pacer for SwiftSource {
    #[inline]
    fn allowed_at(&mut self, key: FlowKey, _now: Time) -> Time {
        self.flows.get(key).map_or(Time::ZERO, |flow| flow.allowed)
    }

    #[inline]
    fn window(&mut self, key: FlowKey, _now: Time) -> u64 {
        let mtu = self.rules.mtu;
        self.flows.get(key).map_or(u64::MAX, |flow| (flow.cwnd * mtu) as u64)
    }

    fn on_sent(&mut self, key: FlowKey, _bytes: u32, start: Time, _end: Time, _report: Report<'_>) {
        let (rules, line) = (&*self.rules, self.line);
        let flow = self.flows.get_or_insert(key, || Self::new_flow(rules, line, start));
        flow.allowed =
            if flow.cwnd < 1.0 { start + Time((flow.rtt.0 as f64 / flow.cwnd) as u64) } else { Time::ZERO };
    }

    fn on_ack(
        &mut self,
        key: FlowKey,
        acknowledged: &Acknowledged<'_>,
        _in_flight: u64,
        now: Time,
        report: Report<'_>,
    ) {
        let Some(flow) = self.flows.get(key) else { return };
        let spec = &self.rules.spec;
        flow.rtt = acknowledged.rtt;
        let (cwnd, delay) = (flow.cwnd, acknowledged.rtt.0 as f64);
        let target = self.rules.target(cwnd, acknowledged.hops);
        let packets = f64::from(acknowledged.packets);
        let next = if delay < target {
            cwnd + if cwnd >= 1.0 { spec.ai / cwnd * packets } else { spec.ai * packets }
        } else if now.saturating_sub(flow.decreased) >= flow.rtt {
            cwnd * (1.0 - spec.beta * (delay - target) / delay).max(1.0 - spec.max_mdf)
        } else {
            cwnd
        };
        self.set(key, next, now, report);
    }

    fn on_mark(&mut self, _: FlowKey, _: Time, _: Report<'_>) {}

    fn on_loss(&mut self, key: FlowKey, now: Time, report: Report<'_>) {
        let Some(flow) = self.flows.get(key) else { return };
        if now.saturating_sub(flow.decreased) >= flow.rtt {
            let next = flow.cwnd * (1.0 - self.rules.spec.max_mdf);
            self.set(key, next, now, report);
        }
    }

    fn report(&mut self, now: Time, report: Report<'_>) {
        report_rates(&mut self.flows, self.line, now, report);
    }

    fn level(&mut self, key: FlowKey, _now: Time) -> Option<u32> {
        rate_of(&mut self.flows, key, self.line)
    }

    fn events(&self) -> u64 {
        self.events
    }
}

#[cfg(test)]
#[path = "swift_tests.rs"]
mod tests;
