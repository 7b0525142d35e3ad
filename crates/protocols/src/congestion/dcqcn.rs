//! The reaction point of DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section
//! 3.2 and figure 7): a rate per flow, cut at each notification, raised by a timer and a byte counter.

use std::sync::Arc;

use fabricsim_spec::Dcqcn;
use fabricsim_units::Time;

use super::flows::Flows;
use super::{FlowKey, RateControl, Report};

/// The rules of all sources; rates in Mb/s.
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
    /// What an experiment says; it has been checked.
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

#[derive(Clone, Copy, Debug)]
struct Flow {
    /// Current and target rate, Mb/s.
    current: f64,
    target: f64,
    alpha: f64,
    /// When the timers expire next.
    alpha_at: Time,
    raise_at: Time,
    /// Expirations of the timer and of the byte counter since the last cut.
    by_time: u32,
    by_bytes: u32,
    bytes: u64,
    allowed: Time,
    /// Until when rates have been reported.
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

    /// Lets the timers expire that do so up to `now`, telling the rates in between.
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
        // Halves never quite reach the line's rate.
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
#[derive(Clone, Debug)]
pub struct DcqcnSource {
    rules: Arc<DcqcnRules>,
    /// Rate of the host's link, Mb/s.
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

impl RateControl for DcqcnSource {
    #[inline]
    fn allowed_at(&mut self, key: FlowKey, _now: Time) -> Time {
        self.flows.get(key).map_or(Time::ZERO, |flow| flow.allowed)
    }

    fn sent(&mut self, key: FlowKey, bytes: u32, start: Time, end: Time, report: Report<'_>) {
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

    fn notified(&mut self, key: FlowKey, now: Time, report: Report<'_>) {
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
mod tests {
    use super::*;

    const LINE: f64 = 40_000.0;

    fn source() -> DcqcnSource {
        DcqcnSource::new(Arc::new(DcqcnRules::new(&Dcqcn::default())), LINE)
    }

    fn notify(source: &mut DcqcnSource, now: Time) {
        source.notified(3, now, &mut |_, _, _, _| {});
    }

    #[test]
    fn the_first_notification_halves_the_rate() {
        let mut source = source();
        notify(&mut source, Time::us(1));
        assert_eq!(source.level(3, Time::us(2)), Some(20_000));
        source.sent(3, 1000, Time::us(2), Time::ns(2200), &mut |_, _, _, _| {});
        assert_eq!(source.allowed_at(3, Time::us(2)), Time::ns(2400), "8000 bits at 20 Gb/s");
        assert_eq!(source.allowed_at(4, Time::us(2)), Time::ZERO);
    }

    #[test]
    fn fast_recovery_halves_the_distance_to_the_target() {
        let mut source = source();
        notify(&mut source, Time::us(1));
        for (at, rate) in [(55, 20_000), (56, 30_000), (111, 35_000), (166, 37_500), (221, 38_750)] {
            assert_eq!(source.level(3, Time::us(at)), Some(rate), "{at} us");
        }
    }

    #[test]
    fn notifications_cut_less_when_they_were_few() {
        let mut source = source();
        notify(&mut source, Time::us(1));
        notify(&mut source, Time::us(2));
        assert_eq!(source.level(3, Time::us(3)), Some(10_000), "alpha is still 1");
        let alpha = (1.0_f64 - 1.0 / 256.0).powi(100);
        let before = f64::from(source.level(3, Time::us(2) + Time::us(5500)).unwrap());
        notify(&mut source, Time::us(2) + Time::us(5500));
        let after = f64::from(source.level(3, Time::us(5503)).unwrap());
        assert!((after / before - (1.0 - 0.5 * alpha)).abs() < 1e-3, "{before} {after}");
    }

    #[test]
    fn rates_are_told_without_gaps() {
        let mut source = source();
        let mut told = Vec::new();
        let mut tell = |_: FlowKey, from: Time, to: Time, level: u32| {
            told.push((from.0 / 1_000_000, to.0 / 1_000_000, level));
        };
        source.notified(3, Time::us(1), &mut tell);
        source.sent(3, 1000, Time::us(60), Time::us(61), &mut tell);
        source.report(Time::us(112), &mut tell);
        assert_eq!(told, [(1, 56, 20_000), (56, 111, 30_000), (111, 112, 35_000)]);
    }

    #[test]
    fn rates_stay_within_bounds_and_recover_to_the_line() {
        let mut source = source();
        (1..200).for_each(|n| notify(&mut source, Time::ns(n)));
        assert_eq!(source.level(3, Time::us(1)), Some(40));
        assert_eq!(source.level(3, Time::ms(900)), Some(40_000));
        source.report(Time::ms(900), &mut |_, _, _, _| {});
        assert_eq!(source.level(3, Time::ms(900)), None);
    }
}
