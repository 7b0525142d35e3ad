use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Disturbances of the processors of ranks: random, from the experiment's seed, independent of each other and of other ranks. By default there are none.
/// `docs/design/mpi.md` has the distributions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Largest relative addition to the processor times of a call: they are longer by a factor from 1 to 1 + this, drawn uniformly for each call (misses of
    /// caches and TLB).
    #[schemars(range(min = 0.0, max = 10.0), extend("x-unit" = "1"))]
    pub spread: f64,
    /// Longest time from the visibility of messages and completions until a rank that polls sees them, drawn uniformly each time that it sees some.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub arrival: Time,
    /// Chance of a short interruption, at each call and each time that a rank sees messages or completions.
    #[schemars(range(min = 0.0, max = 1.0), extend("x-unit" = "1"))]
    pub interruption_probability: f64,
    /// Scale of short interruptions: the absolute value of a normal distribution with this standard deviation.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub interruption: Time,
    /// Time from one tick of the operating system to the next, at each rank; 0: no ticks.
    #[schemars(extend("x-maximum" = "1000 s"))]
    pub tick_period: Time,
    /// Mean duration of a tick, in which the processor does nothing else; drawn uniformly from a half to three halves of it.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub tick: Time,
    /// Mean time from one long pause to the next, at each rank, distributed exponentially; 0: no pauses.
    #[schemars(extend("x-maximum" = "1000 s"))]
    pub pause_period: Time,
    /// Mean duration of a long pause, distributed exponentially.
    #[schemars(extend("x-maximum" = "1 s"))]
    pub pause: Time,
}

impl Default for Noise {
    fn default() -> Self {
        Self {
            spread: 0.0,
            arrival: Time::ZERO,
            interruption_probability: 0.0,
            interruption: Time::ZERO,
            tick_period: Time::ZERO,
            tick: Time::ZERO,
            pause_period: Time::ZERO,
            pause: Time::ZERO,
        }
    }
}

impl Noise {
    /// Problem of a key, with the key's name.
    pub(crate) fn problem(&self) -> Option<(&'static str, String)> {
        let (spread, chance) = (self.spread, self.interruption_probability);
        if !(0.0..=10.0).contains(&spread) {
            return Some(("spread", format!("{spread}: must be 0 to 10")));
        }
        if !(0.0..=1.0).contains(&chance) {
            return Some(("interruption_probability", format!("{chance}: must be 0 to 1")));
        }
        let events = [("tick", self.tick, self.tick_period), ("pause", self.pause, self.pause_period)];
        for (key, duration, period) in events {
            if period != Time::ZERO && duration.0 > period.0 / 2 {
                let most = Time(period.0 / 2);
                return Some((key, format!("{duration}: must be at most {most}, half of `{key}_period`")));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_fill_the_time_are_refused() {
        let half = Noise { tick_period: Time::us(10), tick: Time::us(5), ..Noise::default() };
        assert_eq!(half.problem(), None);
        let more = Noise { tick: Time::us(6), ..half };
        assert_eq!(more.problem().map(|(key, _)| key), Some("tick"));
        let pauses = Noise { pause_period: Time::us(1), pause: Time::us(1), ..Noise::default() };
        assert_eq!(pauses.problem().map(|(key, _)| key), Some("pause"));
    }

    #[test]
    fn fractions_have_limits() {
        let spread = Noise { spread: -0.1, ..Noise::default() };
        assert_eq!(spread.problem().map(|(key, _)| key), Some("spread"));
        let chance = Noise { interruption_probability: 1.1, ..Noise::default() };
        assert_eq!(chance.problem().map(|(key, _)| key), Some("interruption_probability"));
        assert_eq!(Noise::default().problem(), None);
    }
}
