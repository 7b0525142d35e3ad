use std::fmt;
use std::str::FromStr;

use crate::Time;
use crate::quantity::{Kind, QuantityError, parse, print, quantity_serde};

/// A data rate after line encoding, in bits per second. Never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, fabricsim_state::Value)]
pub struct Rate(u64);

const KIND: Kind = Kind {
    name: "rate",
    example: "32 Gb/s",
    units: &[
        ("b/s", 1, 1),
        ("kb/s", 1_000, 1),
        ("Mb/s", 1_000_000, 1),
        ("Gb/s", 1_000_000_000, 1),
        ("Tb/s", 1_000_000_000_000, 1),
        ("B/s", 8, 1),
        ("kB/s", 8_000, 1),
        ("MB/s", 8_000_000, 1),
        ("GB/s", 8_000_000_000, 1),
        ("TB/s", 8_000_000_000_000, 1),
    ],
};

const SMALLEST: u64 = 1_000_000;
/// A byte takes at least half a picosecond: with less, packets would take no time on a link.
const LARGEST: u64 = 16_000_000_000_000;

impl Rate {
    /// A rate of `bits_per_second`, if it is within 1 Mb/s and 16 Tb/s.
    pub const fn new(bits_per_second: u64) -> Option<Self> {
        if bits_per_second >= SMALLEST && bits_per_second <= LARGEST {
            Some(Self(bits_per_second))
        } else {
            None
        }
    }
    /// The rate in bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }
    /// The rate in gigabits per second.
    pub fn as_gbps(self) -> f64 {
        self.0 as f64 * 1e-9
    }
    /// The time that a byte takes.
    pub const fn byte_time(self) -> ByteTime {
        ByteTime::of(self)
    }
}

impl FromStr for Rate {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let why = "the rate must be within 1 Mb/s and 16 Tb/s";
        let out_of_range =
            || QuantityError::Number { text: text.to_owned(), kind: KIND.name, why, example: KIND.example };
        Self::new(parse(text, &KIND)?).ok_or_else(out_of_range)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            ("Tb/s", 1_000_000_000_000),
            ("Gb/s", 1_000_000_000),
            ("Mb/s", 1_000_000),
            ("kb/s", 1_000),
            ("b/s", 1),
        ];
        print(self.0, &units, f)
    }
}

quantity_serde!(Rate, "32 Gb/s", r"^\s*[0-9._]+\s*[kMGT]?[bB]/s\s*$");

/// The time that a byte takes on a link, in picoseconds with 20 binary places: the form in which the hot path
/// turns sizes into durations. Exact for every rate whose byte time is a multiple of 2^-20 ps; for the others a
/// packet's duration is right to the picosecond up to 64 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, fabricsim_state::Value)]
pub struct ByteTime(u64);

const FRACTION: u32 = 20;

impl ByteTime {
    /// No time: as many bytes as one likes at once.
    pub const ZERO: Self = Self(0);

    /// The time of a byte at `rate`, rounded to the nearest 2^-20 ps.
    pub const fn of(rate: Rate) -> Self {
        let numerator = 8_000_000_000_000_u128 << FRACTION;
        let rate = rate.0 as u128;
        Self(((numerator + rate / 2) / rate) as u64)
    }

    /// The byte time at which `bytes` (1 or more) take `total`.
    pub const fn spread(total: Time, bytes: u32) -> Self {
        Self((((total.0 as u128) << FRACTION) / bytes as u128) as u64)
    }

    /// Duration of `bytes`, to the nearest picosecond; `bytes` up to 2^20 (at 1 Mb/s; more at higher rates).
    #[inline(always)]
    pub const fn duration(self, bytes: u32) -> Time {
        Time((self.0 * bytes as u64 + (1 << (FRACTION - 1))) >> FRACTION)
    }

    /// Number of times that `unit` bytes (1 or more) have passed after `elapsed`: the largest n for which [`ByteTime::duration`]
    /// of n times `unit` bytes is at most that. `elapsed` is shorter than the duration of a packet; a byte takes some
    /// time.
    #[inline(always)]
    pub const fn units_within(self, elapsed: Time, unit: u32) -> u32 {
        // duration(b) <= t is self * b + 1/2 < t + 1, in units of 2^-20 ps.
        let most = ((elapsed.0 + 1) << FRACTION) - (1 << (FRACTION - 1)) - 1;
        (most / (self.0 * unit as u64)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units() {
        assert_eq!("32 Gb/s".parse::<Rate>().unwrap().bits_per_second(), 32_000_000_000);
        assert_eq!("4 GB/s".parse::<Rate>(), "32 Gb/s".parse::<Rate>());
        assert!("0 Gb/s".parse::<Rate>().unwrap_err().to_string().contains("within"));
        assert!("-1 Gb/s".parse::<Rate>().unwrap_err().to_string().contains("negative"));
        assert!("32 GHz".parse::<Rate>().unwrap_err().to_string().contains("Gb/s"));
    }

    #[test]
    fn units_agree_with_durations() {
        for rate in [LARGEST, 400_000_000_000, 30_476_000_000, 7_000_000_000, 1_000_003] {
            let byte_time = Rate::new(rate).unwrap().byte_time();
            for (unit, n) in [(1, 1), (8, 15), (64, 1), (64, 33), (64, 1000), (1000, 3)] {
                let exact = byte_time.duration(unit * n);
                for at in [Time(exact.0 - 1), exact, Time(exact.0 + 1)] {
                    let within = byte_time.units_within(at, unit);
                    assert!(byte_time.duration(unit * within) <= at, "{rate} b/s, {n} times {unit} B");
                    assert!(byte_time.duration(unit * (within + 1)) > at, "{rate} b/s, {n} times {unit} B");
                }
            }
        }
    }

    #[test]
    fn durations_are_exact() {
        let gbps = |g: u64| Rate::new(g * 1_000_000_000).unwrap().byte_time();
        assert_eq!(gbps(8).duration(2176), Time::ns(2176));
        assert_eq!(gbps(32).duration(2176), Time::ns(544));
        assert_eq!(gbps(400).duration(4096), Time::ps(81_920));
        assert_eq!(gbps(7).duration(7000), Time::us(8));
        assert_eq!(gbps(16_000).duration(1), Time::ps(1), "no packet takes no time");
        assert_eq!(Rate::new(LARGEST + 1), None);
    }
}
