//! The reaction point of DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section
//! 3.2 and figure 7): a rate per flow, cut at each notification, raised by a timer and a byte counter.

use std::sync::Arc;

use fabricsim_spec::Dcqcn;
use fabricsim_units::Time;

use super::flows::Flows;
use super::{FlowKey, Pacer, Report};

/// Parameters of all sources; rates in Mb/s.
#[derive(Clone, Debug)]
pub struct DcqcnRules {
    g: f64,
    alpha_timer: Time,
    rate_timer: Time,
    byte_counter: u64,
    fast_recovery: u32,
    additive: f64,
    hyper: f64,
    min: f64,
}

impl DcqcnRules {
    /// Rules of an experiment; it has been checked.
    pub fn new(spec: &Dcqcn) -> Self {
        let mbps = |rate: fabricsim_units::Rate| rate.bits_per_second() as f64 * 1e-6;
        Self {
            g: spec.g,
            alpha_timer: spec.alpha_timer,
            rate_timer: spec.rate_timer,
            byte_counter: spec.byte_counter.get(),
            fast_recovery: u32::from(spec.fast_recovery),
            additive: mbps(spec.additive_increase),
            hyper: mbps(spec.hyper_increase),
            min: mbps(spec.min_rate),
        }
    }
}

#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Flow {
    /// Current and target rate, Mb/s.
    current: f64,
    target: f64,
    alpha: f64,
    /// Time at which the timers expire next.
    alpha_at: Time,
    raise_at: Time,
    /// Expirations of the timer and of the byte counter since the last cut.
    by_time: u32,
    by_bytes: u32,
    bytes: u64,
    allowed: Time,
    /// Time up to which rates have been reported.
    reported: Time,
}

impl Flow {
    fn new(rules: &DcqcnRules, line: f64, now: Time) -> Self {
        Self {
            current: line,
            target: line,
            alpha: 1.0,
            alpha_at: now + rules.alpha_timer,
            raise_at: now + rules.rate_timer,
            by_time: 0,
            by_bytes: 0,
            bytes: 0,
            allowed: Time::ZERO,
            reported: now,
        }
    }

    fn is_free(&self, line: f64) -> bool {
        self.current >= line
    }

    /// Expires timers up to `now`, and reports the rates in between.
    fn advance(&mut self, rules: &DcqcnRules, line: f64, now: Time, tell: &mut dyn FnMut(Time, Time, u32)) {
        while self.raise_at <= now && !self.is_free(line) {
            let at = self.raise_at;
            tell(self.reported, at, self.current as u32);
            self.reported = at;
            self.by_time += 1;
            self.raise(rules, line);
            self.raise_at = at + rules.rate_timer;
        }
        while self.alpha_at <= now {
            self.alpha *= 1.0 - rules.g;
            self.alpha_at += rules.alpha_timer;
        }
    }

    fn tell_until(&mut self, line: f64, now: Time, tell: &mut dyn FnMut(Time, Time, u32)) {
        if self.reported < now && !self.is_free(line) {
            tell(self.reported, now, self.current as u32);
        }
        self.reported = now;
    }

    /// Fast recovery, additive increase, hyper increase.
    fn raise(&mut self, rules: &DcqcnRules, line: f64) {
        let (most, least) = (self.by_time.max(self.by_bytes), self.by_time.min(self.by_bytes));
        if least > rules.fast_recovery {
            self.target += rules.hyper * f64::from(least - rules.fast_recovery);
        } else if most > rules.fast_recovery {
            self.target += rules.additive;
        }
        self.target = self.target.min(line);
        self.current = 0.5 * (self.current + self.target);
        // Halving never quite reaches the line's rate.
        if self.target >= line && line - self.current < 1.0 {
            self.current = line;
        }
    }

    fn cut(&mut self, rules: &DcqcnRules, now: Time) {
        self.target = self.current;
        self.current = (self.current * (1.0 - 0.5 * self.alpha)).max(rules.min);
        self.alpha = (1.0 - rules.g) * self.alpha + rules.g;
        self.alpha_at = now + rules.alpha_timer;
        self.raise_at = now + rules.rate_timer;
        (self.by_time, self.by_bytes, self.bytes) = (0, 0, 0);
    }
}

/// The flows of a host.
#[derive(Clone, Debug, fabricsim_state::State)]
pub struct DcqcnSource {
    #[state(fixed)]
    rules: Arc<DcqcnRules>,
    /// Rate of the host's link, Mb/s.
    #[state(fixed)]
    line: f64,
    flows: Flows<Flow>,
    events: u64,
}

impl DcqcnSource {
    /// A source on a link of `line` Mb/s.
    pub fn new(rules: Arc<DcqcnRules>, line: f64) -> Self {
        Self { rules, line, flows: Flows::default(), events: 0 }
    }
}

impl Pacer for DcqcnSource {
    #[inline]
    fn allowed_at(&mut self, key: FlowKey, _now: Time) -> Time {
        self.flows.get(key).map_or(Time::ZERO, |flow| flow.allowed)
    }

    fn on_sent(&mut self, key: FlowKey, bytes: u32, start: Time, end: Time, report: Report<'_>) {
        let (rules, line) = (&*self.rules, self.line);
        let Some(flow) = self.flows.get(key) else { return };
        let mut tell = |from, to, level| report(key, from, to, level);
        flow.advance(rules, line, start, &mut tell);
        flow.bytes += u64::from(bytes);
        if flow.bytes >= rules.byte_counter {
            flow.tell_until(line, start, &mut tell);
        }
        while flow.bytes >= rules.byte_counter {
            flow.bytes -= rules.byte_counter;
            flow.by_bytes += 1;
            flow.raise(rules, line);
        }
        // The packet's time at its rate, counted from its start: bits over Mb/s are microseconds.
        let picoseconds = f64::from(bytes) * 8.0 / flow.current * 1e6;
        flow.allowed = end.max(start + Time(picoseconds as u64));
    }

    fn on_mark(&mut self, key: FlowKey, now: Time, report: Report<'_>) {
        let (rules, line) = (&*self.rules, self.line);
        let flow = self.flows.get_or_insert(key, || Flow::new(rules, line, now));
        let mut tell = |from, to, level| report(key, from, to, level);
        flow.advance(rules, line, now, &mut tell);
        flow.tell_until(line, now, &mut tell);
        flow.cut(rules, now);
        self.events += 1;
    }

    fn report(&mut self, now: Time, report: Report<'_>) {
        let (rules, line) = (&*self.rules, self.line);
        for (key, flow) in self.flows.iter_mut() {
            let mut tell = |from, to, level| report(key, from, to, level);
            flow.advance(rules, line, now, &mut tell);
            flow.tell_until(line, now, &mut tell);
        }
        self.flows.retain(|flow| !flow.is_free(line));
    }

    fn level(&mut self, key: FlowKey, now: Time) -> Option<u32> {
        let (rules, line) = (&*self.rules, self.line);
        let mut flow = *self.flows.get(key)?;
        flow.advance(rules, line, now, &mut |_, _, _| {});
        Some(flow.current as u32)
    }

    fn events(&self) -> u64 {
        self.events
    }
}

#[cfg(test)]
#[path = "dcqcn_tests.rs"]
mod tests;
