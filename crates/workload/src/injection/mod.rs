//! Times at which messages are created: one file per process, and the registry [`Timing::new`].
//!
//! The offered load is that of the message bytes on the source's link: `load` x link rate, or `rate`. All processes
//! are stationary from `start` on but `constant`, whose first message is created at `start`, `saturating` and `window`.

mod bernoulli;
mod constant;
mod logarithms;
mod on_off;
mod poisson;
mod saturating;
mod window;

use fabricsim_model::Random;
use fabricsim_spec::{Injection, LARGEST_LOAD, Traffic, name};
use fabricsim_units::{Rate, Time};

use crate::clock::Clock;
use crate::error::ErrorLocation;
use crate::size::Sizes;
use crate::{Problem, WorkloadError};

/// Input of a process.
pub(crate) struct InjectionInput<'a> {
    pub(crate) place: ErrorLocation<'a>,
    pub(crate) traffic: &'a Traffic,
    pub(crate) sizes: &'a Sizes,
    /// The source's link.
    pub(crate) link: Rate,
}

/// A process with its parameters: the same for all sources of an entry that have the same link rate.
#[derive(Clone, Debug)]
pub(crate) enum Timing {
    Bernoulli(bernoulli::Bernoulli),
    Poisson(poisson::Poisson),
    Constant(constant::Constant),
    OnOff(on_off::OnOff),
    Saturating,
    Window,
}

/// State of a stream in its process.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Process {
    /// Time at which the next message is created.
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    /// `on-off`: rest of the burst after that, in picoseconds.
    pub(crate) burst: f64,
}

impl Timing {
    /// The registry of processes: the process, and its nominal load as a fraction of the link rate.
    pub(crate) fn new(context: &InjectionInput) -> Result<(Self, f64), WorkloadError> {
        context.check_keys()?;
        match context.traffic.injection {
            Injection::Bernoulli => bernoulli::new(context).map(|(p, load)| (Self::Bernoulli(p), load)),
            Injection::Poisson => poisson::new(context).map(|(p, load)| (Self::Poisson(p), load)),
            Injection::Constant => constant::new(context).map(|(p, load)| (Self::Constant(p), load)),
            Injection::OnOff => on_off::new(context).map(|(p, load)| (Self::OnOff(p), load)),
            Injection::Saturating => saturating::new(context).map(|load| (Self::Saturating, load)),
            Injection::Window => window::new(context).map(|load| (Self::Window, load)),
        }
    }

    /// The process before its first message, which is created at `clock` or later.
    pub(crate) fn start(&self, start: Time, random: Random) -> Process {
        let mut process = Process { clock: Clock::at(start), random, burst: 0.0 };
        match self {
            Self::Bernoulli(p) => p.start(&mut process),
            Self::Poisson(p) => p.advance(&mut process),
            Self::OnOff(p) => p.start(&mut process),
            Self::Constant(_) | Self::Saturating => {}
            // Its messages are created when responses arrive.
            Self::Window => process.clock = Clock::at(Time::MAX),
        }
        process
    }

    /// From a message of `bytes` to the next.
    #[inline(always)]
    pub(crate) fn advance(&self, process: &mut Process, bytes: u64) {
        match self {
            Self::Bernoulli(p) => p.advance(process),
            Self::Poisson(p) => p.advance(process),
            Self::Constant(p) => p.advance(process),
            Self::OnOff(p) => p.advance(process, bytes),
            Self::Saturating | Self::Window => {}
        }
    }

    pub(crate) const fn is_saturating(&self) -> bool {
        matches!(self, Self::Saturating)
    }

    /// True if it offers all that the network accepts.
    pub(crate) const fn is_greedy(&self) -> bool {
        matches!(self, Self::Saturating | Self::Window)
    }
}

/// Demand of an open-loop entry on a source.
struct Demand {
    /// Fraction of the link rate.
    load: f64,
    bits_per_second: f64,
    /// The key that gives it.
    key: &'static str,
}

impl InjectionInput<'_> {
    fn check_keys(&self) -> Result<(), WorkloadError> {
        let injection = self.traffic.injection;
        if self.traffic.slot.is_some() && injection != Injection::Bernoulli {
            return Err(self.no_meaning("slot", "only `bernoulli` has slots; leave it out"));
        }
        if injection != Injection::OnOff {
            let given = [("on", self.traffic.on), ("off", self.traffic.off)];
            if let Some((key, _)) = given.into_iter().find(|(_, value)| value.is_some()) {
                return Err(self.no_meaning(key, "only `on-off` has bursts; leave it out"));
            }
        }
        if self.traffic.window.is_some() && injection != Injection::Window {
            return Err(self.no_meaning("window", "only `window` has one; leave it out"));
        }
        Ok(())
    }

    fn no_meaning(&self, key: &str, why: &'static str) -> WorkloadError {
        self.place.error(key, Problem::NoMeaning { with: name(&self.traffic.injection), why })
    }

    fn missing(&self, key: &str, why: &'static str) -> WorkloadError {
        self.place.error(key, Problem::Missing { with: name(&self.traffic.injection), why })
    }

    /// `load` or `rate`, if one is given.
    fn demand(&self) -> Result<Option<Demand>, WorkloadError> {
        let link = self.link.bits_per_second() as f64;
        let (load, bits_per_second, key) = match (self.traffic.load, self.traffic.rate) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => return Err(self.place.error("load", Problem::Both("load", "rate"))),
            (Some(load), None) => (load, load * link, "load"),
            (None, Some(rate)) => {
                (rate.bits_per_second() as f64 / link, rate.bits_per_second() as f64, "rate")
            }
        };
        match self.traffic.rate {
            Some(rate) if load > LARGEST_LOAD => {
                Err(self.place.range("rate", &rate, "at most 10 times the rate of the source's link"))
            }
            _ => Ok(Some(Demand { load, bits_per_second, key })),
        }
    }

    fn needed_demand(&self) -> Result<Demand, WorkloadError> {
        const WHY: &str = "give `load` (a fraction of the link rate, for example 0.4) or `rate`";
        self.demand()?.ok_or_else(|| self.missing("load", WHY))
    }

    /// Mean interval between messages at `bits_per_second`, in picoseconds.
    fn interval(&self, bits_per_second: f64) -> Result<f64, WorkloadError> {
        let interval = self.sizes.mean() * 8e12 / bits_per_second;
        if interval >= 1.0 {
            Ok(interval)
        } else {
            Err(self.place.error("message", Problem::TooFast(interval)))
        }
    }
}

/// An exponentially distributed number.
#[inline]
fn exponential(mean: f64, random: &mut Random) -> f64 {
    -libm::log(random.unit()) * mean
}

#[cfg(test)]
mod tests {
    use fabricsim_units::{Rate, Time};

    use crate::Source;
    use crate::testing::{hosts, refused, workload};

    fn message(rest: &str) -> String {
        refused(&hosts(4), &format!("pattern = 'uniform'\n{rest}"))
    }

    #[test]
    fn load_and_rate() {
        for injection in ["bernoulli", "poisson", "constant"] {
            let with = |rest: &str| message(&format!("injection = '{injection}'\n{rest}"));
            assert!(with("").contains(&format!("traffic.0.load: `{injection}` needs it: give `load`")));
            assert!(
                with("load = 0.1\nrate = '1 Gb/s'")
                    .contains("traffic.0.load: give `load` or `rate`, not both")
            );
            for wrong in ["nan", "inf", "-inf", "-0.1", "0.0", "10.1"] {
                assert!(with(&format!("load = {wrong}")).contains("traffic.0.load: "), "{wrong}");
            }
            assert!(with("rate = '81 Gb/s'").contains("traffic.0.rate: 81 Gb/s is out of range"));
        }
    }

    #[test]
    fn keys_of_other_processes() {
        for injection in ["poisson", "constant", "saturating", "on-off"] {
            let error =
                message(&format!("injection = '{injection}'\nslot = '1 us'\non = '1 us'\nload = 0.1"));
            assert!(
                error.contains(&format!("traffic.0.slot: this has no meaning with `{injection}`")),
                "{error}"
            );
        }
        for injection in ["bernoulli", "poisson", "constant", "saturating"] {
            for key in ["on", "off"] {
                let error = message(&format!("injection = '{injection}'\n{key} = '1 us'\nload = 0.1"));
                assert!(error.contains(&format!("traffic.0.{key}: this has no meaning with")), "{error}");
            }
        }
    }

    #[test]
    fn messages_faster_than_the_clock() {
        let mut fast = hosts(4);
        fast.rates[2] = Rate::new(16_000_000_000_000).unwrap();
        for (rest, within) in [
            ("injection = 'poisson'\nload = 10.0", "0.050"),
            ("injection = 'constant'\nload = 2.0", "0.250"),
            ("injection = 'bernoulli'\nload = 0.01", "0.500"),
            ("injection = 'on-off'\non = '1 ns'\nload = 0.01", "0.500"),
        ] {
            let error = refused(&fast, &format!("pattern = 'uniform'\nmessage = '1 B'\n{rest}"));
            let expected = format!("traffic.0.message: messages would follow each other within {within} ps");
            assert!(error.contains(&expected), "{error}");
        }
    }

    /// Offered loads of `n` sources within the first `us` microseconds, of messages of which none is ever taken.
    fn offered(rest: &str, n: u32, us: u64) -> Vec<f64> {
        let end = Time::us(us);
        let mut workload = workload(&hosts(n), &format!("pattern = 'uniform'\n{rest}"));
        let load = |source: &mut Source| {
            source.set_window(Time::ZERO, end);
            source.finish(end, |_| {});
            // Links have 8 Gb/s: 1000 B per microsecond.
            source.offered_bytes() as f64 / (1000 * us) as f64
        };
        workload.sources.iter_mut().map(load).collect()
    }

    #[test]
    fn the_offered_load_is_the_nominal_one_from_the_start() {
        let n = 2000;
        for (rest, load) in [
            ("load = 0.3\nmessage = '500 B'", 0.3),
            ("load = 0.3\nslot = '1 ns'\nmessage = '500 B'", 0.3),
            ("load = 0.3\nslot = '10 ns'\nmessage = { uniform = { min = '1 B', max = '999 B' } }", 0.3),
            ("injection = 'poisson'\nload = 0.7\nmessage = '500 B'", 0.7),
            ("injection = 'poisson'\nrate = '20 Gb/s'\nmessage = '500 B'", 2.5),
            (
                "injection = 'poisson'\nload = 0.7\nmessage = { exponential = { mean = '400 B', max = '1 kB' } }",
                0.7,
            ),
            ("injection = 'on-off'\non = '5 us'\noff = '15 us'\nmessage = '500 B'", 0.25),
            ("injection = 'on-off'\non = '5 us'\nload = 0.6\nmessage = '500 B'", 0.6),
            ("injection = 'on-off'\non = '50 ns'\nload = 0.6\nmessage = '500 B'", 0.6),
        ] {
            let loads = offered(rest, n, 40);
            let count = f64::from(n);
            let mean = loads.iter().sum::<f64>() / count;
            let variance = loads.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / (count - 1.0);
            // The sources are independent: five standard deviations of their mean.
            let bound = 5.0 * (variance / count).sqrt();
            assert!((mean - load).abs() <= bound, "{rest}: {mean} is not {load} within {bound}");
            assert!(bound < 0.1 * load, "{rest}: confidence interval too wide to be meaningful: {bound}");
        }
    }

    #[test]
    fn constant_and_saturating_loads_are_exact() {
        assert!(
            offered("injection = 'constant'\nload = 0.8\nmessage = '500 B'", 3, 40).iter().all(|&l| l == 0.8)
        );
        assert!(offered("injection = 'saturating'\nmessage = '500 B'", 3, 40).iter().all(|&l| l == 1.0));
    }
}
