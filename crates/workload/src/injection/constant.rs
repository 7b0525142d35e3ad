use crate::WorkloadError;
use crate::clock::Clock;
use crate::injection::{InjectionInput, Process};

/// Constant intervals: the mean size over the rate, for messages of any size. The first message is
/// created at `start`, on all sources at once.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    interval: Clock,
}

pub(super) fn new(context: &InjectionInput) -> Result<(Constant, f64), WorkloadError> {
    let demand = context.needed_demand()?;
    Ok((Constant { interval: Clock::from_ps(context.interval(demand.bits_per_second)?) }, demand.load))
}

impl Constant {
    #[inline]
    pub(super) fn advance(&self, process: &mut Process) {
        process.clock.advance(self.interval);
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_units::Time;

    use crate::testing::{gaps, hosts, take, workload};

    const BASE: &str = "pattern = 'uniform'\ninjection = 'constant'\nmessage = '1000 B'\n";

    #[test]
    fn intervals_are_constant() {
        let (first, gaps) = gaps(&format!("{BASE}load = 0.5"), 100);
        assert_eq!(first, 0.0);
        assert!(gaps.iter().all(|&gap| gap == 2e6));
    }

    #[test]
    fn thirds_do_not_drift() {
        // 1000 B at 3 Gb/s: 2666666 2/3 ps.
        let mut workload = workload(&hosts(2), &format!("{BASE}rate = '3 Gb/s'\nstart = '5 ns'"));
        let created: Vec<Time> = take(&mut workload.sources[0], 3001).iter().map(|m| m.created).collect();
        assert_eq!(created[1], Time::ps(2_671_667));
        assert_eq!(created[3000], Time::us(8000) + Time::ns(5));
    }
}
