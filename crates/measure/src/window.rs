use fabricsim_units::Time;

/// The time in which a run is measured: from `from`, up to but without `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Window {
    /// First time.
    pub from: Time,
    /// First time after it.
    pub to: Time,
}

impl Window {
    /// A window that has not been opened yet.
    pub const CLOSED: Self = Self { from: Time::MAX, to: Time::MAX };

    /// True if `time` is within the window.
    #[inline]
    pub fn contains(&self, time: Time) -> bool {
        time >= self.from && time < self.to
    }

    /// Returns the part of the interval from `start` to `end` that lies within the window, in picoseconds.
    #[inline]
    pub fn clip(&self, start: Time, end: Time) -> u64 {
        end.min(self.to).0.saturating_sub(start.max(self.from).0)
    }

    /// Number of `count` times within the window, of which the first is `first` and each is `every` after the one before.
    pub(crate) fn times_within(&self, first: Time, every: Time, count: u64) -> u64 {
        // Times before a bound.
        let before = |bound: Time| bound.0.saturating_sub(first.0).div_ceil(every.0.max(1)).min(count);
        before(self.to).saturating_sub(before(self.from))
    }

    /// The window's length when the run ended at `end`.
    pub(crate) fn length(&self, end: Time) -> Time {
        Time(self.clip(Time::ZERO, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn clipping_counts_the_moments_within(from in 0_u64..60, length in 0_u64..60, start in 0_u64..60, busy in 0_u64..60) {
            let window = Window { from: Time(from), to: Time(from + length) };
            let moments = (start..start + busy).filter(|&t| window.contains(Time(t))).count() as u64;
            prop_assert_eq!(window.clip(Time(start), Time(start + busy)), moments);
        }
    }

    proptest! {
        #[test]
        fn times_at_intervals(from in 0_u64..60, length in 0_u64..60, first in 0_u64..60, every in 1_u64..20, count in 0_u64..20) {
            let window = Window { from: Time(from), to: Time(from + length) };
            let times = (0..count).filter(|number| window.contains(Time(first + number * every))).count() as u64;
            prop_assert_eq!(window.times_within(Time(first), Time(every), count), times);
        }
    }

    #[test]
    fn closed_windows_are_empty() {
        assert_eq!(Window::CLOSED.clip(Time::ZERO, Time::MAX), 0);
        assert!(!Window::CLOSED.contains(Time::MAX));
    }
}
