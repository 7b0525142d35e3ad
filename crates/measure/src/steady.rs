use fabricsim_spec::{Run, SteadyMetric, SteadyState};
use fabricsim_units::Time;

use crate::batch::{FEWEST, Interval};
use crate::precision::{DeliveredBatch, ReachedPrecision, interval_of, is_precise};

/// Minimum number of batches of the truncation statistic: with fewer it is erratic.
const FEWEST_KEPT: usize = 5;

/// Maximum number of batches in a measurement.
const MOST_BATCHES: u64 = 4096;

/// End of the warm-up: the number of the first values to leave out, by the marginal standard error rule (White,
/// Simulation 69, 1997, "MSER"; White, Cobb, Spratt, WSC 2000): the number d that makes the sum of the squared
/// deviations of the remaining n - d values from their mean, divided by (n - d)^2, smallest. Where that is half of
/// the values or more there is not enough to say: `None`. MSER-5 takes means of five packets; here a value is the mean
/// of a batch.
pub fn truncation(means: &[f64]) -> Option<usize> {
    let (mut mean, mut squares, mut kept) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (place, &value) in means.iter().enumerate().rev() {
        kept += 1.0;
        let deviation = value - mean;
        mean += deviation / kept;
        squares += deviation * (value - mean);
        let statistic = squares / (kept * kept);
        if means.len() - place >= FEWEST_KEPT && statistic <= best.0 {
            best = (statistic, place);
        }
    }
    (means.len() >= FEWEST && 2 * best.1 < means.len()).then_some(best.1)
}

/// Action after a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Continue.
    Continue,
    /// The warm-up is over: open the measurement window at the next batch boundary.
    Open,
    /// All that is waited for is known precisely enough: close the window at the next batch boundary.
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
enum Phase {
    WarmUp,
    Opening,
    Measuring,
    Closed,
}

/// Decides, batch by batch, when the warm-up is over and when the measurement may end. Batches are those of fixed
/// simulated times, of the whole fabric (all partitions' sums), so the decisions are the same for every number of
/// partitions.
///
/// During the warm-up [`truncation`] is computed after every batch from the tenth on. In the measurement the interval is computed
/// when the number of batches has grown by a quarter, not after every batch: each computation is a chance to stop too
/// early (Law & Carson, Operations Research 27, 1979).
#[derive(Clone, Debug, fabricsim_state::State)]
pub struct Steady {
    #[state(fixed)]
    rule: SteadyState,
    #[state(fixed)]
    longest_warmup: usize,
    phase: Phase,
    settled: bool,
    batches: Vec<DeliveredBatch>,
    next_look: usize,
}

impl Steady {
    /// Starts in the warm-up, which lasts at most `longest_warmup` batches.
    pub const fn new(rule: SteadyState, longest_warmup: usize) -> Self {
        Self {
            rule,
            longest_warmup,
            phase: Phase::WarmUp,
            settled: false,
            batches: Vec::new(),
            next_look: FEWEST,
        }
    }

    /// Length of a batch of `run`: as configured, or a fortieth of its duration; never so short that there would be
    /// more than 4096 of them.
    pub fn batch_length(run: &Run) -> Time {
        let asked = run.steady_state.as_ref().and_then(|rule| rule.batch);
        asked.unwrap_or(run.duration / 40).max(Time(run.duration.0.div_ceil(MOST_BATCHES))).max(Time::ps(1))
    }

    /// Adds the packets delivered in the next batch.
    pub fn push(&mut self, batch: DeliveredBatch) -> Verdict {
        match self.phase {
            Phase::WarmUp => self.warm_up(batch),
            Phase::Opening => {
                self.phase = Phase::Measuring;
                Verdict::Continue
            }
            Phase::Measuring => self.measure(batch),
            Phase::Closed => Verdict::Continue,
        }
    }

    fn warm_up(&mut self, batch: DeliveredBatch) -> Verdict {
        self.batches.push(batch);
        self.settled = self.has_settled();
        if !self.settled && self.batches.len() < self.longest_warmup {
            return Verdict::Continue;
        }
        self.batches.clear();
        self.phase = Phase::Opening;
        Verdict::Open
    }

    /// True if neither the mean latency of batches drifts nor their bytes, of the two those that the numbers waited for depend on.
    fn has_settled(&self) -> bool {
        let sums = || self.batches.iter().map(|batch| batch.sums);
        let of_throughput = |metric: &SteadyMetric| *metric == SteadyMetric::AcceptedGbps;
        if self.rule.of.iter().any(of_throughput) {
            let bytes: Vec<f64> = sums().map(|batch| batch.bytes as f64).collect();
            if truncation(&bytes).is_none() {
                return false;
            }
        }
        if self.rule.of.iter().all(of_throughput) {
            return true;
        }
        let busy = sums().filter(|batch| batch.packets > 0);
        let means: Vec<f64> = busy.map(|batch| batch.latency as f64 / batch.packets as f64).collect();
        truncation(&means).is_some()
    }

    fn measure(&mut self, batch: DeliveredBatch) -> Verdict {
        self.batches.push(batch);
        if self.batches.len() < self.next_look {
            return Verdict::Continue;
        }
        self.next_look = (self.batches.len() * 5).div_ceil(4);
        let reached = |&metric: &SteadyMetric| {
            self.interval(metric).is_some_and(|found| is_precise(&found, self.rule.precision))
        };
        if !self.rule.of.iter().all(reached) {
            return Verdict::Continue;
        }
        self.phase = Phase::Closed;
        Verdict::Close
    }

    /// The confidence interval of `metric` so far, in picoseconds, or for a throughput in bytes per batch; `None` before the tenth batch of the
    /// measurement.
    fn interval(&self, metric: SteadyMetric) -> Option<Interval> {
        let measured = matches!(self.phase, Phase::Measuring | Phase::Closed);
        measured.then(|| interval_of(metric, &self.batches, self.rule.confidence)).flatten()
    }

    /// The precision so far of each number that is waited for, from batches of `length`.
    pub fn precision(&self, length: Time) -> Vec<ReachedPrecision> {
        let row = |&metric: &SteadyMetric| {
            ReachedPrecision::of(metric, self.interval(metric), self.rule.precision, length)
        };
        self.rule.of.iter().map(row).collect()
    }

    /// True if the warm-up ended because nothing that is waited for drifted any more (and not because it had lasted too long).
    pub const fn steady(&self) -> bool {
        self.settled
    }

    /// True if the requested precision was reached.
    pub fn precise(&self) -> bool {
        self.phase == Phase::Closed
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::batch::{Batch, interval};
    use fabricsim_model::Random;

    /// Mean of the sequences that the tests draw.
    pub(crate) const SCALE: f64 = 1e9;

    /// An AR(1) sequence of unit variance: x' = phi x + sqrt(1 - phi^2) e, from its stationary distribution.
    pub(crate) struct Noise {
        random: Random,
        phi: f64,
        state: f64,
    }

    impl Noise {
        pub(crate) fn new(seed: u64, phi: f64) -> Self {
            let mut noise = Self { random: Random::new(seed, 1, 0), phi, state: 0.0 };
            noise.state = noise.normal();
            noise
        }
        /// Box and Muller.
        fn normal(&mut self) -> f64 {
            let (u, v) = (self.random.unit(), self.random.unit());
            (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        }
        fn next(&mut self) -> f64 {
            self.state = self.phi * self.state + (1.0 - self.phi * self.phi).sqrt() * self.normal();
            self.state
        }
    }

    /// Batches of latencies with mean `SCALE` and a tenth of it as standard deviation.
    pub(crate) fn batches(noise: &mut Noise, count: usize, per_batch: u32) -> Vec<Batch> {
        let batch = |noise: &mut Noise| {
            let latency: f64 = (0..per_batch).map(|_| SCALE * (1.0 + 0.1 * noise.next())).sum();
            Batch { packets: u64::from(per_batch), latency: latency as u128, bytes: 64 }
        };
        (0..count).map(|_| batch(noise)).collect()
    }

    fn delivered(sums: Batch) -> DeliveredBatch {
        DeliveredBatch { sums, ..DeliveredBatch::default() }
    }

    fn rule(precision: f64) -> SteadyState {
        SteadyState { precision, ..SteadyState::default() }
    }

    #[test]
    fn a_step_is_cut_off_where_it_is() {
        let step = [9.0, 8.0, 7.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0];
        assert_eq!(truncation(&step), Some(3));
        assert_eq!(truncation(&step[2..]), None, "nine values are too few");
        assert_eq!(truncation(&[4.0; 10]), Some(0));
    }

    #[test]
    fn a_drift_never_settles() {
        for n in 10..60 {
            let growing: Vec<f64> = (0..n).map(f64::from).collect();
            assert_eq!(truncation(&growing), None, "{n}");
        }
    }

    #[test]
    fn truncation_is_the_minimum_of_its_definition() {
        let mut noise = Noise::new(3, 0.5);
        let values: Vec<f64> = (0..40).map(|i| 10.0 * (-f64::from(i) / 4.0).exp() + noise.next()).collect();
        let statistic = |d: usize| {
            let kept = &values[d..];
            let mean = kept.iter().sum::<f64>() / kept.len() as f64;
            kept.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (kept.len() as f64).powi(2)
        };
        let best = (0..=35).min_by(|&a, &b| statistic(a).total_cmp(&statistic(b))).unwrap();
        assert_eq!(truncation(&values), (best < 20).then_some(best));
    }

    #[test]
    fn a_run_settles_and_stops() {
        let mut steady = Steady::new(rule(0.01), 100);
        let mut noise = Noise::new(5, 0.0);
        let mut verdicts = Vec::new();
        for (i, mut batch) in batches(&mut noise, 200, 100).into_iter().enumerate() {
            batch.latency += (batch.latency as f64 * (-(i as f64) / 2.0).exp()) as u128;
            match steady.push(delivered(batch)) {
                Verdict::Continue => (),
                verdict => verdicts.push((i, verdict)),
            }
        }
        let [(opened, Verdict::Open), (closed, Verdict::Close)] = verdicts[..] else {
            panic!("{verdicts:?}")
        };
        let found = steady.interval(SteadyMetric::LatencyMean).unwrap();
        assert!((FEWEST - 1..100).contains(&opened) && closed >= opened + 1 + FEWEST);
        assert!(steady.steady() && steady.precise() && found.groups >= FEWEST && !found.correlated);
        assert!(found.half_width <= 0.01 * found.mean);
    }

    /// Between two looks the number of batches grows by a quarter, so a measurement goes on although its mean was known
    /// well enough in between.
    #[test]
    fn precision_is_looked_at_when_the_batches_have_grown_by_a_quarter() {
        const LOOKS: [usize; 10] = [10, 13, 17, 22, 28, 35, 44, 55, 69, 87];
        let rule = rule(0.012);
        let mut later = 0;
        for seed in 0..20 {
            let measured = batches(&mut Noise::new(seed, 0.0), 87, 10);
            let is_precise = |count: usize| {
                let found = interval(&measured[..count], rule.confidence).unwrap();
                !found.correlated && found.half_width <= rule.precision * found.mean
            };
            let expected = LOOKS.into_iter().find(|&count| is_precise(count)).expect("a precise mean");
            later += u32::from((FEWEST..expected).any(is_precise));
            let mut steady = Steady::new(rule.clone(), 100);
            let constant = || delivered(Batch { packets: 10, latency: 1000, bytes: 0 });
            assert_eq!((0..FEWEST).map(|_| steady.push(constant())).last(), Some(Verdict::Open));
            assert_eq!(steady.push(constant()), Verdict::Continue, "the batch before the measurement");
            let closed = measured.iter().position(|&batch| steady.push(delivered(batch)) == Verdict::Close);
            assert_eq!(closed, Some(expected - 1), "seed {seed}");
        }
        assert!(later > 5, "{later} of 20 would have ended earlier");
    }

    #[test]
    fn saturation_is_not_taken_for_steady() {
        let mut steady = Steady::new(rule(0.02), 40);
        let drifting = |i: u64| Batch { packets: 10, latency: 1000 * u128::from(i + 1), bytes: 0 };
        let verdicts: Vec<_> = (0..200).map(|i| steady.push(delivered(drifting(i)))).collect();
        assert_eq!(verdicts.iter().position(|&v| v == Verdict::Open), Some(39));
        assert!(!verdicts.contains(&Verdict::Close) && !steady.steady() && !steady.precise());
        assert!(steady.interval(SteadyMetric::LatencyMean).unwrap().correlated);
    }

    #[test]
    fn silence_is_not_steady() {
        let mut steady = Steady::new(rule(0.02), 1000);
        assert!((0..500).all(|_| steady.push(DeliveredBatch::default()) == Verdict::Continue));
    }

    /// Latencies drift, bytes do not: a throughput settles, and is known at once; together with the latency it waits for that.
    #[test]
    fn only_what_is_waited_for_counts() {
        let ended = |of: &[SteadyMetric]| {
            let rule = SteadyState { of: of.to_vec(), ..rule(0.02) };
            let mut steady = Steady::new(rule, 40);
            let drifting = |i: u64| {
                let bytes = 6400 + 10 * (i % 2);
                delivered(Batch { packets: 100, latency: 1000 * u128::from(i + 1), bytes })
            };
            let closed = (0..200).position(|i| steady.push(drifting(i)) == Verdict::Close);
            (steady.steady(), closed.is_some(), steady.precision(Time::ns(1)))
        };
        let (settled, closed, precision) = ended(&[SteadyMetric::AcceptedGbps]);
        assert!(settled && closed && precision[0].reached);
        let (settled, closed, precision) = ended(&[SteadyMetric::AcceptedGbps, SteadyMetric::LatencyMean]);
        assert!(!settled && !closed && precision[0].reached && !precision[1].reached);
    }
}
