//! HPCC (Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019): a window that is set so that the bytes of a flow in
//! flight fill the most loaded link of its path to the fraction eta, by the telemetry that packets collect. Algorithm 1.

use std::sync::Arc;

use fabricsim_model::HopTelemetry;
use fabricsim_spec::Hpcc;
use fabricsim_units::Time;

use super::flows::Flows;
use super::rate::{HasRate, ReportedRate, bandwidth_delay_product, rate_of, report_rates};
use super::{Acknowledged, FlowKey, Pacer, Report};

/// The rules of all sources.
#[derive(Clone, Debug)]
pub struct HpccRules {
    spec: Hpcc,
    /// T, the round trip without queues.
    base_rtt: Time,
}

impl HpccRules {
    /// Rules of an experiment, which has been checked, on a network with this round trip.
    pub fn new(spec: &Hpcc, base_rtt: Time) -> Self {
        Self { spec: spec.clone(), base_rtt: base_rtt.max(Time::ps(1)) }
    }
}

#[derive(Clone, Debug, fabricsim_state::Value)]
struct Flow {
    /// W and W_c, bytes.
    window: f64,
    reference: f64,
    /// U: the normalised bytes in flight on the most loaded link, a running mean.
    utilisation: f64,
    stage: u16,
    /// L: telemetry of the last acknowledgement.
    links: Vec<HopTelemetry>,
    /// Bytes sent and acknowledged so far, and those that had been sent when the reference was updated last.
    sent: u64,
    acknowledged: u64,
    updated_at: u64,
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
pub struct HpccSource {
    #[state(fixed)]
    rules: Arc<HpccRules>,
    /// Rate of the host's link, Mb/s.
    #[state(fixed)]
    line: f64,
    /// Bandwidth-delay product of the host's link, bytes: the first and the largest window.
    #[state(fixed)]
    product: f64,
    /// W_AI, bytes.
    #[state(fixed)]
    additive: f64,
    flows: Flows<Flow>,
    events: u64,
}

impl HpccSource {
    /// A source on a link of `line` Mb/s.
    pub fn new(rules: Arc<HpccRules>, line: f64) -> Self {
        let product = bandwidth_delay_product(line, rules.base_rtt);
        let spec = &rules.spec;
        let share = product * (1.0 - spec.eta) / f64::from(spec.flows);
        let additive = spec.additive_increase.map_or(share, |bytes| bytes.0 as f64);
        Self { rules, line, product, additive, flows: Flows::default(), events: 0 }
    }
}

/// MeasureInflight: the running mean of the utilisation with a new acknowledgement's telemetry; `None` if the packets took
/// different paths, so that nothing can be compared.
fn measured(flow: &Flow, telemetry: &[HopTelemetry], base_rtt: Time) -> Option<f64> {
    let same_path = flow.links.len() == telemetry.len()
        && flow.links.iter().zip(telemetry).all(|(before, now)| before.output == now.output);
    if !same_path {
        return None;
    }
    let base = base_rtt.0 as f64;
    let (mut most, mut period) = (0.0, 0.0);
    for (before, now) in flow.links.iter().zip(telemetry) {
        let elapsed = now.time.saturating_sub(before.time).0 as f64;
        if elapsed == 0.0 {
            continue;
        }
        // Bytes that the link carries in a picosecond are the inverse of the time of a byte.
        let byte_time = now.byte_time.duration(1 << 20).0 as f64 / f64::from(1 << 20);
        let queued = now.queued.min(before.queued) as f64;
        let rate = now.sent.saturating_sub(before.sent) as f64 / elapsed;
        let load = queued * byte_time / base + rate * byte_time;
        if load > most {
            (most, period) = (load, elapsed);
        }
    }
    let weight = period.min(base) / base;
    Some((1.0 - weight) * flow.utilisation + weight * most)
}

impl Pacer for HpccSource {
    #[inline]
    fn allowed_at(&mut self, key: FlowKey, _now: Time) -> Time {
        self.flows.get(key).map_or(Time::ZERO, |flow| flow.allowed)
    }

    #[inline]
    fn window(&mut self, key: FlowKey, _now: Time) -> u64 {
        self.flows.get(key).map_or(u64::MAX, |flow| flow.window as u64)
    }

    fn on_sent(&mut self, key: FlowKey, bytes: u32, start: Time, _end: Time, _report: Report<'_>) {
        let (product, line, base) = (self.product, self.line, self.rules.base_rtt);
        let flow = self.flows.get_or_insert(key, || Flow {
            window: product,
            reference: product,
            utilisation: 1.0,
            stage: 0,
            links: Vec::new(),
            sent: 0,
            acknowledged: 0,
            updated_at: 0,
            allowed: Time::ZERO,
            rate: ReportedRate::new(line, start),
        });
        flow.sent += u64::from(bytes);
        // R = W / T.
        flow.allowed = start + Time((f64::from(bytes) * base.0 as f64 / flow.window) as u64);
    }

    fn on_ack(
        &mut self,
        key: FlowKey,
        acknowledged: &Acknowledged<'_>,
        _in_flight: u64,
        now: Time,
        report: Report<'_>,
    ) {
        let (spec, base) = (&self.rules.spec, self.rules.base_rtt);
        let Some(flow) = self.flows.get(key) else { return };
        flow.acknowledged += acknowledged.bytes;
        // An overdue acknowledgement carries no information on the links; the next is compared with the one before it.
        if acknowledged.telemetry.is_empty() {
            return;
        }
        if let Some(utilisation) = measured(flow, acknowledged.telemetry, base) {
            flow.utilisation = utilisation;
            let updates = flow.acknowledged > flow.updated_at;
            let decreases = utilisation >= spec.eta || flow.stage >= spec.max_stage;
            let window = if decreases {
                flow.reference / (utilisation.max(1e-9) / spec.eta) + self.additive
            } else {
                flow.reference + self.additive
            };
            self.events += u64::from(window < flow.window);
            flow.window = window.clamp(1.0, self.product);
            if updates {
                flow.stage = if decreases { 0 } else { flow.stage + 1 };
                flow.reference = flow.window;
                flow.updated_at = flow.sent;
            }
            flow.rate.change(key, (flow.window, base, self.line), now, report);
        }
        flow.links.clear();
        flow.links.extend_from_slice(acknowledged.telemetry);
    }

    fn on_mark(&mut self, _: FlowKey, _: Time, _: Report<'_>) {}

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
#[path = "hpcc_tests.rs"]
mod tests;
