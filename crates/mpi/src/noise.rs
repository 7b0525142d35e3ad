//! Disturbances of the processor of a rank: random, and a function of the seed, the rank, and what the rank did before.

use fabricsim_model::Random;
use fabricsim_spec::Noise;
use fabricsim_units::Time;

const CALLS: u64 = 0x6d70_6963;
const TICKS: u64 = 0x6d70_6974;
const PAUSES: u64 = 0x6d70_6970;

/// Disturbances of one rank.
#[derive(Clone, Debug)]
pub(crate) struct Disturbances {
    options: Noise,
    random: Random,
    /// Factor of the processor times of the call that runs.
    factor: f64,
    ticks: Events,
    pauses: Events,
}

/// Events that occupy the processor, at times that do not depend on the program.
#[derive(Clone, Debug)]
struct Events {
    random: Random,
    /// Begin and duration of the next one; `Time::MAX`: there is none.
    next: (Time, Time),
}

impl Disturbances {
    /// Those of a rank; `None` if there are none.
    pub(crate) fn new(options: &Noise, seed: u64, rank: usize) -> Option<Self> {
        if *options == Noise::default() {
            return None;
        }
        let stream = |purpose| Events {
            random: Random::new(seed, purpose, rank as u64),
            next: (Time::MAX, Time::ZERO),
        };
        let random = Random::new(seed, CALLS, rank as u64);
        let mut new = Self {
            options: options.clone(),
            random,
            factor: 1.0,
            ticks: stream(TICKS),
            pauses: stream(PAUSES),
        };
        if options.tick_period != Time::ZERO {
            let phase = Time(new.ticks.random.below(options.tick_period.0));
            new.ticks.next = (phase, new.tick());
        }
        if options.pause_period != Time::ZERO {
            new.plan_pause(Time::ZERO);
        }
        Some(new)
    }

    /// A call begins. Returns the time of an interruption.
    pub(crate) fn begin(&mut self) -> Time {
        self.factor = 1.0 + self.options.spread * (1.0 - self.random.unit());
        self.interruption()
    }

    /// The rank sees messages or completions. Returns the time that passes before.
    pub(crate) fn arrival(&mut self) -> Time {
        let Noise { arrival, .. } = self.options;
        let late = scaled(arrival, 1.0 - self.random.unit());
        late.saturating_add(self.interruption())
    }

    fn interruption(&mut self) -> Time {
        let is_due = self.random.unit() <= self.options.interruption_probability;
        let (radius, angle) = (self.random.unit(), self.random.unit());
        if !is_due {
            return Time::ZERO;
        }
        // Box and Muller's transform.
        let normal = libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(core::f64::consts::TAU * angle);
        scaled(self.options.interruption, normal.abs())
    }

    /// End of work that takes `time` from `begin` on: the call's factor, ticks and pauses make it longer.
    pub(crate) fn end_of_work(&mut self, begin: Time, time: Time) -> Time {
        let mut end = begin.saturating_add(scaled(time, self.factor));
        loop {
            let is_tick = self.ticks.next.0 <= self.pauses.next.0;
            let (at, duration) = if is_tick { self.ticks.next } else { self.pauses.next };
            if at >= end {
                return end;
            }
            // What is over by the beginning of the work fell into the program, or into a wait.
            let over = at.saturating_add(duration);
            end = end.saturating_add(over.saturating_sub(begin.max(at)));
            if is_tick {
                self.ticks.next = (at.saturating_add(self.options.tick_period), self.tick());
            } else {
                self.plan_pause(over);
            }
        }
    }

    fn tick(&mut self) -> Time {
        scaled(self.options.tick, 1.5 - self.ticks.random.unit())
    }

    fn plan_pause(&mut self, after: Time) {
        let mut exponential = |mean| scaled(mean, -libm::log(self.pauses.random.unit()));
        let gap = exponential(self.options.pause_period);
        let duration = exponential(self.options.pause);
        self.pauses.next = (after.saturating_add(gap), duration);
    }
}

/// A time, rounded to picoseconds.
fn scaled(time: Time, factor: f64) -> Time {
    if factor == 1.0 { time } else { Time(libm::round(time.0 as f64 * factor) as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(options: &Noise) -> Disturbances {
        Disturbances::new(options, 7, 3).expect("noise")
    }

    #[test]
    fn without_keys_there_are_none() {
        assert!(Disturbances::new(&Noise::default(), 7, 3).is_none());
    }

    #[test]
    fn work_that_a_tick_falls_into_ends_later_by_the_tick() {
        let mut noise = of(&Noise { tick_period: Time::ms(1), tick: Time::us(10), ..Noise::default() });
        let (at, duration) = noise.ticks.next;
        assert!(at < Time::ms(1));
        assert!((Time::us(5)..=Time::us(15)).contains(&duration));
        let before = Time(at.0 / 2);
        assert_eq!(noise.end_of_work(before, Time::ns(1)), before.saturating_add(Time::ns(1)));
        let begin = Time(at.0 - 400_000);
        assert_eq!(
            noise.end_of_work(begin, Time::us(1)),
            begin.saturating_add(Time::us(1)).saturating_add(duration)
        );
        let (second, duration) = noise.ticks.next;
        assert_eq!(second, at.saturating_add(Time::ms(1)));
        // Work that begins within a tick waits for its end only.
        let half = Time(duration.0 / 2);
        let end = noise.end_of_work(second.saturating_add(half), Time::us(1));
        assert_eq!(end, second.saturating_add(duration).saturating_add(Time::us(1)));
        // One that is over has no effect.
        let later = noise.ticks.next.0.saturating_add(Time::us(100));
        assert_eq!(noise.end_of_work(later, Time::us(1)), later.saturating_add(Time::us(1)));
    }

    #[test]
    fn draws_have_their_means() {
        let count = 100_000_u32;
        let mut noise = of(&Noise {
            spread: 0.5,
            arrival: Time::us(1),
            interruption_probability: 0.25,
            interruption: Time::us(2),
            pause_period: Time::ms(1),
            pause: Time::us(50),
            ..Noise::default()
        });
        let mean = |total: f64| total / f64::from(count);
        let (mut begun, mut factors, mut arrived) = (0.0, 0.0, 0.0);
        for _ in 0..count {
            begun += noise.begin().as_ns_f64();
            factors += noise.factor;
            arrived += noise.arrival().as_ns_f64();
        }
        // A half-normal distribution has the mean sqrt(2 / pi). Standard errors are below 1 % of all of them.
        let interruption = 0.25 * 2000.0 * (2.0 / core::f64::consts::PI).sqrt();
        assert!((mean(begun) / interruption - 1.0).abs() < 0.03);
        assert!((mean(factors) - 1.25).abs() < 0.005);
        assert!((mean(arrived) / (500.0 + interruption) - 1.0).abs() < 0.02);
        let (mut last, mut gaps, mut durations) = (Time::ZERO, 0.0, 0.0);
        for _ in 0..count {
            let (at, duration) = noise.pauses.next;
            gaps += at.saturating_sub(last).as_ns_f64();
            durations += duration.as_ns_f64();
            last = at.saturating_add(duration);
            noise.plan_pause(last);
        }
        assert!((mean(gaps) / 1e6 - 1.0).abs() < 0.02);
        assert!((mean(durations) / 5e4 - 1.0).abs() < 0.02);
    }

    #[test]
    fn ranks_and_seeds_differ_and_repeat() {
        let options = Noise { arrival: Time::us(1), ..Noise::default() };
        let draws = |seed, rank| {
            let mut noise = Disturbances::new(&options, seed, rank).expect("noise");
            (0..20).map(|_| noise.arrival()).collect::<Vec<_>>()
        };
        assert_eq!(draws(1, 0), draws(1, 0));
        assert_ne!(draws(1, 0), draws(1, 1));
        assert_ne!(draws(1, 0), draws(2, 0));
    }
}
