//! The channel adapter's side of InfiniBand congestion control: an index CCTI per flow into the congestion control
//! table, raised by each notification (BECN) and lowered by a timer. (InfiniBand Architecture Specification, A10.2.2;
//! section II-F of the tutorial.)

use std::sync::Arc;

use fabricsim_spec::{DelayRelativeTo, InfiniBandCongestion, TimerStart};
use fabricsim_units::Time;

use super::flows::Flows;
use super::{CongestionControlTable, FlowKey, Pacer, Report};

/// The rules of all sources.
#[derive(Clone, Debug)]
pub struct InfiniBandRules {
    table: CongestionControlTable,
    increase: u16,
    limit: u16,
    min: u16,
    trigger: u16,
    period: Option<Time>,
    starts: TimerStart,
    relative_to: DelayRelativeTo,
}

impl InfiniBandRules {
    /// Rules of an experiment; it has been checked.
    pub fn new(spec: &InfiniBandCongestion) -> Self {
        let table = CongestionControlTable::new(spec.cct.table());
        Self {
            limit: spec.ccti_limit.unwrap_or(table.last()).min(table.last()),
            table,
            increase: u16::from(spec.ccti_increase),
            min: spec.ccti_min,
            trigger: spec.trigger_threshold,
            period: spec.ccti_timer.period(),
            starts: spec.timer_starts,
            relative_to: spec.delay_relative_to,
        }
    }

    /// True if there is a delay without any notification.
    fn always_delays(&self) -> bool {
        self.table.delay(self.min, Time::us(1)) > Time::ZERO
    }
}

/// A flow since its index last changed by anything but the timer.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Flow {
    /// CCTI at `since`.
    index: u16,
    /// Time at which it was set; what came before has been reported.
    since: Time,
    /// The timer expires at whole periods after this.
    origin: Time,
    /// Time at which its last packet had left, and the time that the packet took on the link.
    last_end: Time,
    last_time: Time,
}

impl Flow {
    fn new(rules: &InfiniBandRules, now: Time) -> Self {
        let origin = if rules.starts == TimerStart::Always { Time::ZERO } else { now };
        Self { index: rules.min, since: now, origin, last_end: Time::ZERO, last_time: Time::ZERO }
    }

    /// Returns the time at which the timer expires next after `time`.
    fn next_tick(&self, period: Time, time: Time) -> Time {
        let passed = time.saturating_sub(self.origin).0 / period.0;
        self.origin + period * (passed + 1)
    }

    /// CCTI at `now`, not before `since`.
    #[inline]
    fn index_at(&self, rules: &InfiniBandRules, now: Time) -> u16 {
        match rules.period {
            Some(period) if self.index > rules.min => {
                let ticks = |time: Time| time.saturating_sub(self.origin).0 / period.0;
                let room = u64::from(self.index - rules.min);
                self.index - (ticks(now) - ticks(self.since)).min(room) as u16
            }
            _ => self.index,
        }
    }

    /// Reports the levels up to `now`, and begins anew there.
    fn report(&mut self, rules: &InfiniBandRules, key: FlowKey, now: Time, report: Report<'_>) {
        let (mut from, mut index) = (self.since, self.index);
        while from < now && index > 0 {
            let until = match rules.period {
                Some(period) if index > rules.min => self.next_tick(period, from).min(now),
                _ => now,
            };
            report(key, from, until, u32::from(index));
            (from, index) = (until, self.index_at(rules, until));
        }
        self.index = self.index_at(rules, now);
        self.since = now;
    }
}

/// The flows of a host.
#[derive(Clone, Debug, fabricsim_state::State)]
pub struct InfiniBandSource {
    #[state(fixed)]
    rules: Arc<InfiniBandRules>,
    /// The time of the largest packet on the host's link.
    #[state(fixed)]
    mtu_time: Time,
    flows: Flows<Flow>,
    events: u64,
}

impl InfiniBandSource {
    /// A source whose largest packet takes `mtu_time` on its link.
    pub fn new(rules: Arc<InfiniBandRules>, mtu_time: Time) -> Self {
        Self { rules, mtu_time, flows: Flows::default(), events: 0 }
    }
}

impl Pacer for InfiniBandSource {
    #[inline]
    fn allowed_at(&mut self, key: FlowKey, now: Time) -> Time {
        let rules = &*self.rules;
        let Some(flow) = self.flows.get(key) else { return Time::ZERO };
        let (mut index, mut from) = (flow.index_at(rules, now), now);
        loop {
            let allowed = (flow.last_end + rules.table.delay(index, flow.last_time)).max(from);
            let tick = match rules.period {
                Some(period) if index > rules.min && allowed > now => flow.next_tick(period, from),
                _ => return allowed,
            };
            if allowed <= tick {
                return allowed;
            }
            (index, from) = (index - 1, tick);
        }
    }

    #[inline]
    fn on_sent(&mut self, key: FlowKey, _bytes: u32, start: Time, end: Time, _report: Report<'_>) {
        let rules = &*self.rules;
        let last_time = match rules.relative_to {
            DelayRelativeTo::Packet => end - start,
            DelayRelativeTo::Mtu => self.mtu_time,
        };
        if let Some(flow) = self.flows.get(key) {
            (flow.last_end, flow.last_time) = (end, last_time);
        } else if rules.always_delays() {
            let flow = Flow { last_end: end, last_time, ..Flow::new(rules, start) };
            self.flows.get_or_insert(key, || flow);
        }
    }

    fn on_mark(&mut self, key: FlowKey, now: Time, report: Report<'_>) {
        let rules = &*self.rules;
        let flow = self.flows.get_or_insert(key, || Flow::new(rules, now));
        flow.report(rules, key, now, report);
        let starts = match rules.starts {
            TimerStart::Always => false,
            TimerStart::Notification => flow.index == rules.min,
            TimerStart::EachNotification => true,
        };
        if starts {
            flow.origin = now;
        }
        flow.index = flow.index.saturating_add(rules.increase).min(rules.limit);
        self.events += u64::from(flow.index >= rules.trigger);
    }

    fn report(&mut self, now: Time, report: Report<'_>) {
        let rules = &*self.rules;
        for (key, flow) in self.flows.iter_mut() {
            flow.report(rules, key, now, report);
        }
        self.flows.retain(|flow| {
            let delay = rules.table.delay(flow.index, flow.last_time);
            flow.index > rules.min || rules.always_delays() || flow.last_end + delay > now
        });
    }

    fn level(&mut self, key: FlowKey, now: Time) -> Option<u32> {
        let rules = &*self.rules;
        self.flows.get(key).map(|flow| u32::from(flow.index_at(rules, now)))
    }

    fn events(&self) -> u64 {
        self.events
    }
}

#[cfg(test)]
#[path = "infiniband_tests.rs"]
mod tests;
