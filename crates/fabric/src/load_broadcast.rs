use fabricsim_units::Time;

/// Output loads that switches broadcast, visible to other switches after a delay.
///
/// Outputs are sampled at fixed times, twice in a `delay`, so that a visible value is at least as old as the delay and at most
/// 1.5 times as old, and does not depend on the number of partitions.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub struct LoadBroadcast {
    outputs: usize,
    period: Time,
    delay: Time,
    /// By epoch, modulo [`DEPTH`], and output.
    values: Vec<u32>,
}

/// Number of epochs kept: a visible value is at most three epochs old.
const DEPTH: u64 = 4;

impl LoadBroadcast {
    /// A broadcast for `outputs` outputs, visible after `delay`, which is not zero.
    pub fn new(outputs: usize, delay: Time) -> Self {
        let period = Time(delay.0.div_ceil(2));
        Self { outputs, period, delay, values: vec![0; outputs * DEPTH as usize] }
    }

    /// Time of an epoch.
    pub fn time_of(&self, epoch: u64) -> Time {
        Time(self.period.0.saturating_mul(epoch))
    }

    /// Returns the first epoch, of those from `epoch` on, that can still be visible at `time` or later.
    pub fn next_needed(&self, epoch: u64, time: Time) -> u64 {
        epoch.max((time.0 / self.period.0.max(1)).saturating_sub(DEPTH))
    }

    /// Publishes the value of an output at an epoch.
    #[inline]
    pub fn publish(&mut self, epoch: u64, output: u32, value: u32) {
        self.values[(epoch % DEPTH) as usize * self.outputs + output as usize] = value;
    }

    /// The value of an output that can be seen at `now`; 0 before there is one.
    #[inline]
    pub fn seen(&self, output: u32, now: Time) -> u32 {
        match now.0.checked_sub(self.delay.0) {
            Some(then) => {
                let epoch = then / self.period.0;
                self.values[(epoch % DEPTH) as usize * self.outputs + output as usize]
            }
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_is_as_old_as_the_delay_and_at_most_half_as_old_again() {
        for delay in [Time(1), Time(2), Time(7), Time::ns(40)] {
            let mut load_broadcast = LoadBroadcast::new(2, delay);
            let mut epoch = 0;
            for now in (0..40 * delay.0).step_by((delay.0 as usize / 7).max(1)) {
                while load_broadcast.time_of(epoch) <= Time(now) {
                    load_broadcast.publish(epoch, 1, epoch as u32 + 1);
                    epoch += 1;
                }
                let seen = load_broadcast.seen(1, Time(now));
                if now < delay.0 {
                    assert_eq!(seen, 0);
                } else {
                    let age = now - load_broadcast.time_of(u64::from(seen - 1)).0;
                    assert!(age >= delay.0 && 2 * age <= 3 * delay.0 + 2, "{age} at {now} with {delay}");
                }
            }
        }
    }

    /// Epochs left out after a pause are those that can no longer be visible.
    #[test]
    fn epochs_that_can_be_visible_are_needed() {
        for delay in [Time(1), Time(2), Time(7), Time::ns(40)] {
            let mut load_broadcast = LoadBroadcast::new(1, delay);
            let mut epoch = 0;
            for now in [3, 9, 10, 57, 1000].map(|pause| pause * delay.0 + pause % 3) {
                let first = load_broadcast.next_needed(epoch, Time(now));
                let visible = (now - delay.0) / load_broadcast.period.0;
                assert!(first >= epoch && first <= visible.max(epoch) && visible < first + DEPTH, "{first}");
                epoch = first;
                while load_broadcast.time_of(epoch) <= Time(now) {
                    load_broadcast.publish(epoch, 0, epoch as u32);
                    epoch += 1;
                }
                assert_eq!(u64::from(load_broadcast.seen(0, Time(now))), visible);
            }
        }
    }
}
