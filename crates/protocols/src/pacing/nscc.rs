//! NSCC, the network-signal congestion control of Ultra Ethernet (specification 1.0, 2025, section 3.6.13): a window that follows
//! two signals, the mark of a packet and its queueing delay. Neither: proportional increase. Delay without a mark: fair increase. Mark
//! without delay: no change. Both: multiplicative decrease. Quick adapt sets the window to the delivered bytes when the delay is far beyond
//! the target.

use std::sync::Arc;

use fabricsim_spec::Nscc;
use fabricsim_units::Time;

use super::flows::Flows;
use super::rate::{HasRate, ReportedRate, bandwidth_delay_product, rate_of, report_rates};
use super::{Acknowledged, FlowKey, Pacer, Report};

/// Bandwidth-delay product of the network for which the factors are given: 100 Gb/s and 12 us, in bytes.
const REFERENCE_PRODUCT: f64 = 150_000.0;
/// Round trip of that network, picoseconds.
const REFERENCE_RTT: f64 = 12e6;
/// Delay below which there is no queue, as a part of the target.
const NO_QUEUE: f64 = 1.0 / 12.0;
/// Packets after which the accumulated increases are applied.
const ADJUST_EVERY: f64 = 8.0;
/// A quick adaptation requires that fewer bytes than this fraction of the largest window were delivered.
const QUICK_ADAPT_GATE: f64 = 1.0 / 8.0;

/// Parameters of all sources; times in picoseconds, sizes in bytes.
#[derive(Clone, Debug)]
pub struct NsccRules {
    spec: Nscc,
    target: f64,
    base_rtt: Time,
    mtu: f64,
}

impl NsccRules {
    /// Rules of an experiment, which has been checked, on a network with this round trip, with packets of up to `mtu` bytes.
    pub fn new(spec: &Nscc, base_rtt: Time, mtu: u32) -> Self {
        let base_rtt = base_rtt.max(Time::ps(1));
        let target = spec.target_delay.unwrap_or(base_rtt).max(Time::ps(1)).0 as f64;
        Self { spec: spec.clone(), target, base_rtt, mtu: f64::from(mtu) }
    }
}

#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Flow {
    /// Window in bytes.
    window: f64,
    /// The smallest round trip so far, at most that of the network.
    base: Time,
    /// Running mean of the queueing delay, picoseconds.
    delay: f64,
    /// Accumulated increases, in squared bytes, and the bytes acknowledged meanwhile.
    gathered: f64,
    gathered_over: f64,
    adjusted: Time,
    decreased: Time,
    /// Bytes delivered since the period of quick adapt began, and its end.
    achieved: f64,
    period_end: Time,
    /// Acknowledged bytes that were sent with an earlier window.
    to_ignore: f64,
    /// Bytes acknowledged without a queue, in a row; true while the window grows fast.
    without_queue: f64,
    grows_fast: bool,
    rate: ReportedRate,
}

impl HasRate for Flow {
    fn rate(&mut self) -> &mut ReportedRate {
        &mut self.rate
    }
}

/// The flows of a host.
#[derive(Clone, Debug, fabricsim_state::State)]
pub struct NsccSource {
    #[state(fixed)]
    rules: Arc<NsccRules>,
    /// Rate of the host's link, Mb/s.
    #[state(fixed)]
    line: f64,
    #[state(fixed)]
    largest: f64,
    /// Increases: proportional (alpha), fair, and of each period (eta).
    #[state(fixed)]
    proportional: f64,
    #[state(fixed)]
    fair: f64,
    #[state(fixed)]
    eta: f64,
    flows: Flows<Flow>,
    events: u64,
}

impl NsccSource {
    /// A source on a link of `line` Mb/s.
    pub fn new(rules: Arc<NsccRules>, line: f64) -> Self {
        let product = bandwidth_delay_product(line, rules.base_rtt);
        let (spec, mtu) = (&rules.spec, rules.mtu);
        let scale = product / REFERENCE_PRODUCT;
        Self {
            largest: (spec.max_window * product).max(mtu),
            proportional: spec.proportional_increase * mtu * scale / REFERENCE_RTT,
            fair: spec.fair_increase * mtu * scale,
            eta: spec.eta * mtu * scale,
            rules,
            line,
            flows: Flows::default(),
            events: 0,
        }
    }

    fn new_flow(&self, now: Time) -> Flow {
        Flow {
            window: self.largest,
            base: self.rules.base_rtt,
            delay: 0.0,
            gathered: 0.0,
            gathered_over: 0.0,
            adjusted: now,
            decreased: Time::ZERO,
            achieved: 0.0,
            period_end: Time::ZERO,
            to_ignore: 0.0,
            without_queue: 0.0,
            grows_fast: false,
            rate: ReportedRate::new(self.line, now),
        }
    }
}

impl Flow {
    /// Sets the window to the bytes delivered in a period, if the delay is far beyond the target or packets were lost. True if it did, or
    /// if the acknowledgement is about packets from before.
    fn quick_adapt(
        &mut self,
        source: &Limits,
        (lost, marked): (bool, bool),
        in_flight: u64,
        now: Time,
    ) -> bool {
        if self.to_ignore > 0.0 && marked {
            return true;
        }
        if now <= self.period_end {
            return false;
        }
        let is_first = self.period_end == Time::ZERO;
        let far = lost || self.delay > source.quick_adapt * source.target;
        let adapts = !is_first && far && self.achieved < source.largest * QUICK_ADAPT_GATE;
        if adapts {
            self.window = self.achieved.max(source.mtu).min(self.window);
            self.to_ignore = in_flight as f64;
            (self.gathered, self.gathered_over, self.delay) = (0.0, 0.0, 0.0);
        }
        self.achieved = 0.0;
        self.period_end = now + source.base_rtt + Time(source.target as u64);
        adapts
    }

    /// Grows by a fraction of the acknowledged bytes once a whole window was without a queue. True if it did.
    fn fast_increase(&mut self, bytes: f64, delay: f64, source: &Limits) -> bool {
        if delay >= NO_QUEUE * source.target {
            (self.without_queue, self.grows_fast) = (0.0, false);
            return false;
        }
        self.without_queue += bytes;
        self.grows_fast |= self.without_queue > self.window;
        if self.grows_fast {
            self.window += source.fast_increase * bytes;
        }
        self.grows_fast
    }

    fn decrease(&mut self, source: &Limits, now: Time) -> bool {
        (self.without_queue, self.grows_fast) = (0.0, false);
        if self.delay <= source.target || now.saturating_sub(self.decreased) <= source.base_rtt {
            return false;
        }
        let part = source.gamma * (self.delay - source.target) / self.delay;
        self.window *= (1.0 - part).max(0.5);
        self.decreased = now;
        true
    }

    /// Applies the accumulated increases, if enough bytes are acknowledged or a round trip has passed.
    fn adjust(&mut self, eta: f64, source: &Limits, now: Time) {
        let period = now.saturating_sub(self.adjusted) >= source.base_rtt;
        if !period && self.gathered_over < ADJUST_EVERY * source.mtu {
            return;
        }
        self.window += self.gathered / self.window + if period { eta } else { 0.0 };
        (self.gathered, self.gathered_over) = (0.0, 0.0);
        if period {
            self.adjusted = now;
        }
    }
}

/// Parameters of a flow's changes.
struct Limits {
    target: f64,
    base_rtt: Time,
    mtu: f64,
    largest: f64,
    gamma: f64,
    quick_adapt: f64,
    fast_increase: f64,
}

impl Pacer for NsccSource {
    #[inline]
    fn allowed_at(&mut self, _key: FlowKey, now: Time) -> Time {
        now
    }

    #[inline]
    fn window(&mut self, key: FlowKey, _now: Time) -> u64 {
        self.flows.get(key).map_or(u64::MAX, |flow| flow.window as u64)
    }

    fn on_sent(&mut self, key: FlowKey, _bytes: u32, start: Time, _end: Time, _report: Report<'_>) {
        if self.flows.get(key).is_none() {
            let flow = self.new_flow(start);
            self.flows.get_or_insert(key, || flow);
        }
    }

    fn on_ack(
        &mut self,
        key: FlowKey,
        acknowledged: &Acknowledged<'_>,
        in_flight: u64,
        now: Time,
        report: Report<'_>,
    ) {
        let limits = self.limits();
        let (proportional, fair, eta, line) = (self.proportional, self.fair, self.eta, self.line);
        let Some(flow) = self.flows.get(key) else { return };
        let (bytes, marked) = (acknowledged.bytes as f64, acknowledged.marked > 0);
        flow.base = flow.base.min(acknowledged.rtt);
        let delay = acknowledged.rtt.saturating_sub(flow.base).0 as f64;
        let weight = self.rules.spec.delay_weight;
        flow.delay = weight * delay + (1.0 - weight) * flow.delay;
        flow.achieved += bytes;
        flow.gathered_over += bytes;
        let adapted = flow.quick_adapt(&limits, (false, marked), in_flight, now);
        flow.to_ignore = (flow.to_ignore - bytes).max(0.0);
        let before = flow.window;
        if !adapted {
            match (marked, delay >= limits.target) {
                (false, false) => {
                    if !flow.fast_increase(bytes, delay, &limits) {
                        flow.gathered += proportional * bytes * (limits.target - delay);
                    }
                }
                (false, true) => flow.gathered += fair * bytes,
                (true, true) => self.events += u64::from(flow.decrease(&limits, now)),
                (true, false) => {}
            }
        }
        flow.adjust(eta, &limits, now);
        flow.window = flow.window.clamp(limits.mtu, limits.largest);
        if flow.window.to_bits() != before.to_bits() || adapted {
            flow.rate.change(key, (flow.window, limits.base_rtt, line), now, report);
        }
    }

    fn on_mark(&mut self, _: FlowKey, _: Time, _: Report<'_>) {}

    fn on_loss(&mut self, key: FlowKey, now: Time, report: Report<'_>) {
        let (limits, line) = (self.limits(), self.line);
        let Some(flow) = self.flows.get(key) else { return };
        if flow.quick_adapt(&limits, (true, false), 0, now) {
            self.events += 1;
            flow.rate.change(key, (flow.window, limits.base_rtt, line), now, report);
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

impl NsccSource {
    fn limits(&self) -> Limits {
        let NsccRules { spec, target, base_rtt, mtu } = &*self.rules;
        Limits {
            target: *target,
            base_rtt: *base_rtt,
            mtu: *mtu,
            largest: self.largest,
            gamma: spec.gamma,
            quick_adapt: spec.quick_adapt,
            fast_increase: spec.fast_increase,
        }
    }
}

#[cfg(test)]
#[path = "nscc_tests.rs"]
mod tests;
