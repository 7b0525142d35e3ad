use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use crate::quantity::{Kind, QuantityError, parse, print, quantity_serde};

/// A point in simulated time or a duration, in picoseconds. The range is 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, fabricsim_state::Value)]
pub struct Time(pub u64);

const KIND: Kind = Kind {
    name: "time",
    example: "40 ns",
    units: &[
        ("ps", 1, 1),
        ("ns", 1_000, 1),
        ("us", 1_000_000, 1),
        ("µs", 1_000_000, 1),
        ("ms", 1_000_000_000, 1),
        ("s", 1_000_000_000_000, 1),
        ("min", 60_000_000_000_000, 1),
    ],
};

impl Time {
    /// The start of a run.
    pub const ZERO: Self = Self(0);
    /// Later than everything.
    pub const MAX: Self = Self(u64::MAX);

    /// `n` picoseconds.
    pub const fn ps(n: u64) -> Self {
        Self(n)
    }
    /// `n` nanoseconds.
    pub const fn ns(n: u64) -> Self {
        Self(n * 1_000)
    }
    /// `n` microseconds.
    pub const fn us(n: u64) -> Self {
        Self(n * 1_000_000)
    }
    /// `n` milliseconds.
    pub const fn ms(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }
    /// The time in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }
    /// The time in nanoseconds.
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 * 1e-3
    }
    /// `self - other`, or zero where `other` is later.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// `self + other`, or [`Time::MAX`] where that is out of range.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Add for Time {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Time {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Time {
    type Output = Self;
    #[inline]
    fn mul(self, n: u64) -> Self {
        Self(self.0 * n)
    }
}

impl Div<u64> for Time {
    type Output = Self;
    #[inline]
    fn div(self, n: u64) -> Self {
        Self(self.0 / n)
    }
}

impl FromStr for Time {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse(text, &KIND).map(Self)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0 ns");
        }
        let units =
            [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];
        print(self.0, &units, f)
    }
}

quantity_serde!(Time, "40 ns", r"^\s*[0-9._]+\s*(ps|ns|us|µs|ms|s|min)\s*$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units() {
        assert_eq!("40 ns".parse(), Ok(Time::ns(40)));
        assert_eq!("0.7s".parse(), Ok(Time::ms(700)));
        assert_eq!(" 12.5 us ".parse(), Ok(Time::ns(12_500)));
    }

    #[test]
    fn refuses_what_is_not_a_time() {
        for text in ["", "40", "ns", "-1 ns", "1 Gb/s", "1e3 ns", "1.2.3 ns", "99999999999 s"] {
            let error = text.parse::<Time>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("40 ns"), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn printing_and_reading_is_the_identity(ps in 0..u64::MAX) {
            proptest::prop_assert_eq!(Time(ps).to_string().parse(), Ok(Time(ps)));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = text.parse::<Time>();
        }
    }
}
