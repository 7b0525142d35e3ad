use fabricsim_units::Time;

use crate::clock::Clock;
use crate::injection::{InjectionInput, Process, exponential};
use crate::{Problem, WorkloadError};

/// Bursts and silences of exponentially distributed length. A clock of the source runs during bursts only; by that
/// clock messages follow each other at link rate, each as long after its predecessor as that one takes on the link.
/// A message that exceeds a burst continues in the next, and the load is exactly on / (on + off), however short bursts
/// are.
///
/// Give `on` and `off`; or `on` and the mean load (`load` or `rate`), from which `off` follows.
#[derive(Clone, Debug)]
pub(crate) struct OnOff {
    /// Mean length of a burst, in picoseconds.
    on: f64,
    /// Mean length of a silence, in picoseconds.
    off: f64,
    /// Time of a byte on the link, in picoseconds.
    byte: f64,
    /// Time of a message of mean size on the link, in picoseconds.
    message: f64,
}

/// A message spans at most about this many bursts, which bounds the work of drawing its successor.
const LONGEST_MESSAGE: f64 = 1000.0;

pub(super) fn new(context: &InjectionInput) -> Result<(OnOff, f64), WorkloadError> {
    let link = context.link.bits_per_second() as f64;
    let (byte, message) = (8e12 / link, context.interval(link)?);
    let on = context.traffic.on.ok_or_else(|| context.missing("on", "give the mean length of a burst"))?;
    if context.sizes.largest() as f64 * byte > LONGEST_MESSAGE * on.0 as f64 {
        return Err(context.place.range(
            "on",
            &on,
            "at least a thousandth of the largest message's time on the link",
        ));
    }
    let on = on.0 as f64;
    let (off, load) = match (context.traffic.off, context.demand()?) {
        (Some(Time(off)), None) => (off as f64, on / (on + off as f64)),
        (None, Some(demand)) if demand.load <= 1.0 => (on * (1.0 / demand.load - 1.0), demand.load),
        (None, Some(demand)) => {
            return Err(context.place.range(demand.key, &demand.load, "at most the link rate: 1 as a load"));
        }
        (Some(_), Some(demand)) => return Err(context.place.error("off", Problem::Both("off", demand.key))),
        (None, None) => {
            return Err(
                context.missing("off", "give the mean length of a silence, or the mean `load` or `rate`")
            );
        }
    };
    Ok((OnOff { on, off, byte, message }, load))
}

impl OnOff {
    /// Begins in a burst with the probability of being in one, and anywhere within a message.
    pub(super) fn start(&self, process: &mut Process) {
        let bursting = process.random.unit() * (self.on + self.off) <= self.on;
        if !bursting {
            let silence = exponential(self.off, &mut process.random);
            process.clock.advance(Clock::from_ps(silence));
        }
        process.burst = exponential(self.on, &mut process.random);
        let phase = process.random.unit() * self.message;
        self.burst_for(phase, process);
    }

    pub(super) fn advance(&self, process: &mut Process, bytes: u64) {
        self.burst_for(bytes as f64 * self.byte, process);
    }

    /// Lets the source's clock run for `time`.
    fn burst_for(&self, time: f64, process: &mut Process) {
        let mut left = time;
        let mut passed = time;
        while left > process.burst {
            left -= process.burst;
            passed += exponential(self.off, &mut process.random);
            process.burst = exponential(self.on, &mut process.random);
        }
        process.burst -= left;
        process.clock.advance(Clock::from_ps(passed));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{gaps, hosts, nominal_load, refused};

    const BASE: &str = "pattern = 'uniform'\ninjection = 'on-off'\nmessage = '1000 B'\n";

    #[test]
    fn silences_follow_bursts() {
        let n = 200_000_u32;
        for (rest, on, off) in [
            ("on = '20 us'\noff = '60 us'", 20e6, 60e6),
            ("on = '20 us'\nload = 0.25", 20e6, 60e6),
            ("on = '20 us'\nrate = '2 Gb/s'", 20e6, 60e6),
            ("on = '100 ns'\noff = '100 ns'", 0.1e6, 0.1e6),
        ] {
            let (_, gaps) = gaps(&format!("{BASE}{rest}"), n);
            let (n, message) = (f64::from(n), 1e6);
            // Within a burst, messages are back to back: no silence falls on the 1 us of a message.
            let back_to_back = gaps.iter().filter(|&&gap| gap == message).count() as f64 / n;
            let p = f64::exp(-message / on);
            assert!((back_to_back - p).abs() <= 5.0 * (p * (1.0 - p) / n).sqrt(), "{rest}: {back_to_back}");
            assert!(gaps.iter().all(|&gap| gap >= message));
            // The silences within a burst time t: a compound Poisson sum, mean t/on x off, variance t/on x 2 off^2.
            let mean = gaps.iter().sum::<f64>() / n;
            let bursts = message / on;
            let deviation = (bursts * 2.0 * off * off / n).sqrt();
            assert!((mean - message - bursts * off).abs() <= 5.0 * deviation, "{rest}: {mean}");
        }
    }

    #[test]
    fn without_silence_it_is_constant() {
        for rest in ["on = '2 us'\noff = '0 ns'", "on = '2 us'\nload = 1.0"] {
            let (_, gaps) = gaps(&format!("{BASE}{rest}"), 1000);
            // A phase within the picosecond shows in the rounding only.
            assert!(gaps.iter().all(|&gap| (gap - 1e6).abs() <= 1.0));
        }
    }

    #[test]
    fn the_load_is_given_or_follows() {
        assert_eq!(nominal_load(&format!("{BASE}on = '1 us'\noff = '3 us'")), 0.25);
        assert_eq!(nominal_load(&format!("{BASE}on = '1 us'\nload = 0.7")), 0.7);
    }

    #[test]
    fn misuse_is_named() {
        let message = |rest: &str| refused(&hosts(4), &format!("{BASE}{rest}"));
        assert!(message("").contains("traffic.0.on: `on-off` needs it"));
        assert!(message("off = '1 us'\nload = 0.1").contains("traffic.0.on: `on-off` needs it"));
        assert!(
            message("on = '1 us'")
                .contains("traffic.0.off: `on-off` needs it: give the mean length of a silence")
        );
        let both = message("on = '1 us'\noff = '1 us'\nrate = '1 Gb/s'");
        assert!(both.contains("traffic.0.off: give `off` or `rate`, not both"), "{both}");
        assert!(message("on = '1 us'\nload = 1.1").contains("traffic.0.load: 1.1 is out of range"));
        assert!(message("on = '0 ns'\noff = '1 us'").contains("traffic.0.on: 0 ns is out of range"));
        assert!(message("on = '999 ps'\noff = '1 us'").contains("traffic.0.on: 999 ps is out of range"));
    }
}
