use crate::WorkloadError;
use crate::clock::Clock;
use crate::injection::{InjectionInput, Process, exponential};

/// Exponentially distributed intervals, from `start` to the first message as between messages.
#[derive(Clone, Debug)]
pub(crate) struct Poisson {
    /// In picoseconds.
    mean: f64,
}

pub(super) fn new(context: &InjectionInput) -> Result<(Poisson, f64), WorkloadError> {
    let demand = context.needed_demand()?;
    Ok((Poisson { mean: context.interval(demand.bits_per_second)? }, demand.load))
}

impl Poisson {
    #[inline]
    pub(super) fn advance(&self, process: &mut Process) {
        let interval = exponential(self.mean, &mut process.random);
        process.clock.advance(Clock::from_ps(interval));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::gaps;

    #[test]
    fn gaps_are_exponential() {
        let n = 200_000;
        for (load, mean) in [(0.25, 4e6), (1.0, 1e6), (8.0, 0.125e6)] {
            let rest =
                format!("pattern = 'uniform'\ninjection = 'poisson'\nmessage = '1000 B'\nload = {load:.2}");
            let (_, gaps) = gaps(&rest, n);
            let n = f64::from(n);
            let measured = gaps.iter().sum::<f64>() / n;
            let variance = gaps.iter().map(|gap| (gap - measured).powi(2)).sum::<f64>() / n;
            // Five standard deviations: variance mean^2, fourth moment 9 mean^4.
            assert!((measured / mean - 1.0).abs() <= 5.0 / n.sqrt(), "{measured}");
            assert!((variance / mean.powi(2) - 1.0).abs() <= 5.0 * (8.0 / n).sqrt(), "{variance}");
            let long = gaps.iter().filter(|&&gap| gap > 2.0 * mean).count() as f64 / n;
            let p = (-2.0_f64).exp();
            assert!((long - p).abs() <= 5.0 * (p * (1.0 - p) / n).sqrt(), "{long}");
        }
    }
}
