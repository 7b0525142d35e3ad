use fabricsim_units::Time;

/// Binary places below a picosecond.
const PLACES: u32 = 32;

/// A point in time with 32 binary places below the picosecond: intervals that are not whole picoseconds add up
/// without drift (an error of 2^-33 ps a message).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, fabricsim_state::Value)]
pub(crate) struct Clock(u128);

impl Clock {
    pub(crate) const fn at(time: Time) -> Self {
        Self((time.0 as u128) << PLACES)
    }

    /// A duration of `ps` picoseconds, to the nearest, limited to the range from zero to the longest.
    #[inline]
    pub(crate) fn from_ps(ps: f64) -> Self {
        let scaled = ps * (1_u64 << PLACES) as f64 + 0.5;
        // The conversion to 64 bits is an instruction, that to 128 a function.
        Self(if scaled < (1_u64 << 63) as f64 { u128::from(scaled as u64) } else { scaled as u128 })
    }

    /// To the nearest picosecond; `None` beyond the range of time.
    #[inline]
    pub(crate) fn time(self) -> Option<Time> {
        let rounded = self.0.saturating_add(1 << (PLACES - 1)) >> PLACES;
        u64::try_from(rounded).ok().map(Time)
    }

    #[inline]
    pub(crate) fn advance(&mut self, interval: Self) {
        self.0 = self.0.saturating_add(interval.0);
    }

    #[inline]
    pub(crate) fn times(self, n: u64) -> Self {
        let exact = u64::try_from(self.0).ok().map(|short| u128::from(short) * u128::from(n));
        Self(exact.unwrap_or_else(|| self.0.saturating_mul(u128::from(n))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirds_do_not_drift() {
        let mut clock = Clock::at(Time::ps(7));
        let third = Clock::from_ps(1.0 / 3.0);
        (0..3_000_000).for_each(|_| clock.advance(third));
        assert_eq!(clock.time(), Some(Time::ps(1_000_007)));
    }

    #[test]
    fn the_range_ends_without_panic() {
        assert_eq!(Clock::at(Time::MAX).time(), Some(Time::MAX));
        assert_eq!(Clock::from_ps(f64::INFINITY).time(), None);
        assert_eq!(Clock::from_ps(-1.0).time(), Some(Time::ZERO));
        let mut clock = Clock::at(Time::MAX);
        clock.advance(Clock::from_ps(1e300).times(u64::MAX));
        assert_eq!(clock.time(), None);
    }
}
