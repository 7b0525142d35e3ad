use crate::clock::Clock;
use crate::injection::logarithms::Logarithms;
use crate::injection::{InjectionInput, Process};
use crate::{Problem, WorkloadError};

/// Time is divided into slots from `start` on; at the beginning of each a message is created or not, with the same
/// probability. The numbers of slots between messages are geometrically distributed and drawn as such.
#[derive(Clone, Debug)]
pub(crate) struct Bernoulli {
    slot: Clock,
    /// 1 / ln(1 - p), p the probability of a message in a slot.
    inverse: f64,
    logarithms: Logarithms,
}

/// With a slot of the time of a message of mean size on the link, p is the load.
pub(super) fn new(context: &InjectionInput) -> Result<(Bernoulli, f64), WorkloadError> {
    let demand = context.needed_demand()?;
    let interval = context.interval(demand.bits_per_second)?;
    let (slot, p) = match context.traffic.slot {
        None => (context.interval(context.link.bits_per_second() as f64)?, demand.load),
        Some(slot) => (slot.0 as f64, slot.0 as f64 / interval),
    };
    // Rounding may bring a probability of 1 slightly above it.
    if p > 1.0 + 1e-12 {
        let slot = format!("{} ns", slot / 1000.0);
        return Err(context.place.error(demand.key, Problem::Probability { probability: p, slot }));
    }
    let inverse = 1.0 / libm::log1p(-p.min(1.0));
    Ok((Bernoulli { slot: Clock::from_ps(slot), inverse, logarithms: Logarithms::new() }, demand.load))
}

impl Bernoulli {
    /// The first slot begins at `start` and may have a message already.
    pub(super) fn start(&self, process: &mut Process) {
        let failures = self.failures(process);
        process.clock.advance(self.slot.times(failures));
    }

    #[inline(always)]
    pub(super) fn advance(&self, process: &mut Process) {
        let failures = self.failures(process);
        process.clock.advance(self.slot.times(failures.saturating_add(1)));
    }

    /// Slots without a message before one with a message: P(n or more) = (1 - p)^n.
    #[inline(always)]
    fn failures(&self, process: &mut Process) -> u64 {
        self.logarithms.whole_part(process.random.unit(), self.inverse)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{gaps, hosts, nominal_load, refused};

    fn geometric(rest: &str, slot_ps: f64, p: f64) {
        let n = 200_000;
        let (first, gaps) = gaps(&format!("pattern = 'uniform'\nmessage = '1000 B'\n{rest}"), n);
        let slots: Vec<f64> = gaps.iter().map(|gap| gap / slot_ps).collect();
        assert!(slots.iter().all(|s| (s - s.round()).abs() < 1.0 / slot_ps && *s > 0.5), "whole slots");
        assert!((first / slot_ps).fract() < 1e-9);
        let n = f64::from(n);
        let mean = slots.iter().sum::<f64>() / n;
        let variance = slots.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n;
        let expected = (1.0 - p) / (p * p);
        // Five standard deviations of the mean, and of the variance: its own variance is (m4 - variance^2) / n, with
        // the geometric distribution's m4 / variance^2 = 9 + p^2 / (1 - p).
        assert!((mean - 1.0 / p).abs() <= 5.0 * (expected / n).sqrt(), "{mean}");
        let kurtosis = 9.0 + p * p / (1.0 - p);
        assert!((variance - expected).abs() <= 5.0 * expected * ((kurtosis - 1.0) / n).sqrt(), "{variance}");
    }

    #[test]
    fn gaps_are_geometric() {
        // Links have 8 Gb/s: a byte takes 1 ns.
        geometric("load = 0.3", 1e6, 0.3);
        geometric("load = 0.9", 1e6, 0.9);
        geometric("load = 0.3\nslot = '10 ns'", 1e4, 0.003);
        geometric("rate = '2 Gb/s'\nslot = '100 ns'", 1e5, 0.025);
        geometric("load = 2.5\nslot = '300 ns'", 3e5, 0.75);
    }

    #[test]
    fn full_load_is_every_slot() {
        let (first, gaps) = gaps("pattern = 'uniform'\nmessage = '1000 B'\nload = 1.0", 1000);
        assert_eq!(first, 0.0);
        assert!(gaps.iter().all(|&gap| gap == 1e6));
    }

    #[test]
    fn the_nominal_load_is_a_fraction_of_the_link() {
        assert_eq!(nominal_load("pattern = 'uniform'\nload = 0.3"), 0.3);
        assert_eq!(nominal_load("pattern = 'uniform'\nrate = '2 Gb/s'"), 0.25);
    }

    #[test]
    fn misuse_is_named() {
        let message =
            |rest: &str| refused(&hosts(4), &format!("pattern = 'uniform'\nmessage = '1000 B'\n{rest}"));
        let error = message("load = 1.2");
        assert!(
            error.contains("traffic.0.load: 1.200000 messages per slot of 1000 ns are more than one"),
            "{error}"
        );
        assert!(message("rate = '10 Gb/s'").contains("traffic.0.rate: 1.250000 messages per slot"));
        assert!(message("load = 0.5\nslot = '3 us'").contains("traffic.0.load: 1.500000 messages per slot"));
        assert!(message("load = 0.5\nslot = '0 ns'").contains("traffic.0.slot: 0"));
    }
}
