//! Width and speed of a link.

use std::fmt;
use std::str::FromStr;

use fabricsim_units::Rate;
use serde::{Serialize, Serializer};

/// Number of lanes of a link: 1, 2, 4, 8 or 12.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Width(u8);

impl Width {
    /// The usual width.
    pub const FOUR: Self = Self(4);

    /// A width, if it is one of InfiniBand's.
    pub const fn new(lanes: u8) -> Option<Self> {
        match lanes {
            1 | 2 | 4 | 8 | 12 => Some(Self(lanes)),
            _ => None,
        }
    }

    /// Number of lanes.
    pub const fn lanes(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x", self.0)
    }
}

impl FromStr for Width {
    type Err = ();

    /// Parses `4x`.
    fn from_str(text: &str) -> Result<Self, ()> {
        text.strip_suffix('x').and_then(|lanes| lanes.parse().ok()).and_then(Self::new).ok_or(())
    }
}

/// Signalling rate of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Speed {
    /// 2.5 Gb/s.
    Sdr,
    /// 5 Gb/s.
    Ddr,
    /// 10 Gb/s.
    Qdr,
    /// 10.3125 Gb/s.
    Fdr10,
    /// 14.0625 Gb/s.
    Fdr,
    /// 25.78125 Gb/s.
    Edr,
    /// 53.125 Gb/s.
    Hdr,
    /// 106.25 Gb/s.
    Ndr,
    /// 212.5 Gb/s.
    Xdr,
}

/// Every speed: name, name in `opensm-subnet.lst` (`osm_dump.c`), rate of a lane in bit/s.
const SPEEDS: [(Speed, &str, &str, u64); 9] = [
    (Speed::Sdr, "SDR", "2.5", 2_500_000_000),
    (Speed::Ddr, "DDR", "5", 5_000_000_000),
    (Speed::Qdr, "QDR", "10", 10_000_000_000),
    (Speed::Fdr10, "FDR10", "FDR10", 10_312_500_000),
    (Speed::Fdr, "FDR", "14", 14_062_500_000),
    (Speed::Edr, "EDR", "25", 25_781_250_000),
    (Speed::Hdr, "HDR", "50", 53_125_000_000),
    (Speed::Ndr, "NDR", "100", 106_250_000_000),
    (Speed::Xdr, "XDR", "200", 212_500_000_000),
];

impl Speed {
    fn row(self) -> &'static (Self, &'static str, &'static str, u64) {
        &SPEEDS[self as usize]
    }

    /// Every speed, the slowest first.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        SPEEDS.iter().map(|row| row.0)
    }

    /// Raw rate of one lane.
    pub fn lane_rate(self) -> Option<Rate> {
        Rate::new(self.row().3)
    }

    /// Name in `opensm-subnet.lst`.
    pub fn opensm_name(self) -> &'static str {
        self.row().2
    }

    /// The speed with this name in `opensm-subnet.lst`.
    pub fn from_opensm_name(text: &str) -> Option<Self> {
        SPEEDS.iter().find(|row| row.2 == text).map(|row| row.0)
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().1)
    }
}

impl FromStr for Speed {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        SPEEDS.iter().find(|row| row.1 == text).map(|row| row.0).ok_or(())
    }
}

impl Serialize for Speed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_rows_are_in_order() {
        for (index, &(speed, name, opensm, rate)) in SPEEDS.iter().enumerate() {
            assert_eq!(speed as usize, index);
            assert_eq!(name.parse(), Ok(speed));
            assert_eq!(Speed::from_opensm_name(opensm), Some(speed));
            assert_eq!(speed.lane_rate().unwrap().bits_per_second(), rate);
        }
        assert_eq!("???".parse::<Speed>(), Err(()));
        assert_eq!("4x".parse(), Ok(Width::FOUR));
        assert_eq!("3x".parse::<Width>(), Err(()));
    }
}
