use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

use crate::quantity::{Kind, QuantityError, parse, print, quantity_serde};

/// An amount of data, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, fabricsim_state::Value)]
pub struct Bytes(pub u64);

const KIND: Kind = Kind {
    name: "data size",
    example: "64 KiB",
    units: &[
        ("B", 1, 1),
        ("kB", 1_000, 1),
        ("KB", 1_000, 1),
        ("MB", 1_000_000, 1),
        ("GB", 1_000_000_000, 1),
        ("TB", 1_000_000_000_000, 1),
        ("KiB", 1 << 10, 1),
        ("MiB", 1 << 20, 1),
        ("GiB", 1 << 30, 1),
        ("TiB", 1 << 40, 1),
    ],
};

impl Bytes {
    /// The size as an unsigned count of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse(text, &KIND).map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units: &[_] = if self.0 > 0 && self.0.is_multiple_of(1024) {
            &[("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)]
        } else {
            &[("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)]
        };
        if self.0 < 10_000 {
            return write!(f, "{} B", self.0);
        }
        print(self.0, units, f)
    }
}

quantity_serde!(Bytes, "64 KiB", r"^\s*[0-9._]+\s*(B|[kKMGT]B|[KMGT]iB)\s*$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units() {
        assert_eq!("64 KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("2176 B".parse(), Ok(Bytes(2176)));
        assert_eq!("1.5kB".parse(), Ok(Bytes(1500)));
    }

    proptest::proptest! {
        #[test]
        fn printing_and_reading_is_the_identity(bytes in 0..u64::MAX) {
            proptest::prop_assert_eq!(Bytes(bytes).to_string().parse(), Ok(Bytes(bytes)));
        }
    }
}
