//! Packet sequence numbers.

use std::fmt;
use std::ops::{Add, Sub};

use serde::Serialize;

use crate::field::{Field, get, put};

/// Packet sequence number: 24 bits, compared modulo 2^24 (IBA volume 1, section 9.7.1).
///
/// It has no `Ord`, since the order of serial numbers is not transitive: use [`Psn::distance`] or [`Psn::is_before`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, fabricsim_state::Value)]
#[serde(transparent)]
pub struct Psn(u32);

impl Psn {
    /// Number of sequence numbers: 2^24.
    pub const MODULUS: u32 = 1 << 24;

    /// The lower 24 bits of a number.
    #[inline]
    pub const fn new(number: u32) -> Self {
        Self(number & (Self::MODULUS - 1))
    }

    /// The number, below 2^24.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The sequence number after this one.
    #[inline]
    pub const fn next(self) -> Self {
        Self::new(self.0 + 1)
    }

    /// Packets from `earlier` to this one: -2^23 to 2^23 - 1, negative if this one comes first.
    #[inline]
    pub const fn distance(self, earlier: Self) -> i32 {
        (self.0.wrapping_sub(earlier.0) << 8) as i32 >> 8
    }

    /// True if this packet comes before `other` in the window of 2^23 packets.
    #[inline]
    pub const fn is_before(self, other: Self) -> bool {
        self.distance(other) < 0
    }
}

impl Add<u32> for Psn {
    type Output = Self;

    #[inline]
    fn add(self, packets: u32) -> Self {
        Self::new(self.0.wrapping_add(packets))
    }
}

impl Sub<u32> for Psn {
    type Output = Self;

    #[inline]
    fn sub(self, packets: u32) -> Self {
        Self::new(self.0.wrapping_sub(packets))
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Field for Psn {
    #[inline]
    fn read(bytes: &[u8], at: usize, width: usize) -> Self {
        Self::new(get(bytes, at, width) as u32)
    }

    #[inline]
    fn write(&self, bytes: &mut [u8], at: usize, width: usize) {
        put(bytes, at, width, u128::from(self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_wrap_at_24_bits() {
        let last = Psn::new(0xff_ffff);
        assert_eq!(last.next(), Psn::new(0));
        assert_eq!(Psn::new(0) - 1, last);
        assert_eq!(Psn::new(0x100_0002).get(), 2);
        assert!(last.is_before(Psn::new(0)) && !Psn::new(0).is_before(last));
    }

    #[test]
    fn half_of_the_numbers_are_behind() {
        let base = Psn::new(5);
        assert_eq!((base + 0x7f_ffff).distance(base), 0x7f_ffff);
        assert_eq!((base + 0x80_0000).distance(base), -0x80_0000);
        assert_eq!(base.distance(base), 0);
    }

    proptest! {
        #[test]
        fn distance_inverts_addition(start: u32, packets in -0x80_0000..0x80_0000_i32) {
            let start = Psn::new(start);
            prop_assert_eq!((start + packets as u32).distance(start), packets);
            prop_assert_eq!(start + packets as u32 - packets as u32, start);
        }
    }
}
