//! Values of fields: any number of bits at any bit of the bytes, most significant bit first.

use fabricsim_units::Vl;
use serde::{Serialize, Serializer};

/// A type that a field of a format can have.
pub trait Field: Copy {
    /// Number of elements, each of the field's width. 1, except for tables.
    const COUNT: usize = 1;

    /// Reads `width` bits from bit `at` on, counted from the most significant bit of the first byte. Bits after the end
    /// of `bytes` are 0.
    fn read(bytes: &[u8], at: usize, width: usize) -> Self;

    /// Writes the lower `width` bits from bit `at` on. Bits after the end of `bytes` are lost.
    fn write(&self, bytes: &mut [u8], at: usize, width: usize);
}

const fn mask(width: usize) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

/// Reads up to 128 bits, of which no more than 16 bytes are touched.
#[inline]
pub(crate) fn get(bytes: &[u8], at: usize, width: usize) -> u128 {
    let (first, end) = (at / 8, (at + width).div_ceil(8));
    debug_assert!(end - first <= 16, "{width} bits from bit {at} on touch more than 16 bytes");
    let byte = |index| u128::from(bytes.get(index).copied().unwrap_or(0));
    let value = (first..end).fold(0, |value, index| value << 8 | byte(index));
    value >> (end * 8 - at - width) & mask(width)
}

/// Writes up to 128 bits, of which no more than 16 bytes are touched.
#[inline]
pub(crate) fn put(bytes: &mut [u8], at: usize, width: usize, value: u128) {
    let (first, end) = (at / 8, (at + width).div_ceil(8));
    debug_assert!(end - first <= 16, "{width} bits from bit {at} on touch more than 16 bytes");
    let shift = end * 8 - at - width;
    let (value, kept) = ((value & mask(width)) << shift, !(mask(width) << shift));
    for index in first..end {
        let low = (end - 1 - index) * 8;
        if let Some(byte) = bytes.get_mut(index) {
            *byte = *byte & (kept >> low) as u8 | (value >> low) as u8;
        }
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {
        $(impl Field for $integer {
            #[inline]
            fn read(bytes: &[u8], at: usize, width: usize) -> Self {
                get(bytes, at, width) as Self
            }

            #[inline]
            fn write(&self, bytes: &mut [u8], at: usize, width: usize) {
                put(bytes, at, width, u128::from(*self));
            }
        })*
    };
}

integers!(u8, u16, u32, u64, u128);

impl Field for bool {
    #[inline]
    fn read(bytes: &[u8], at: usize, width: usize) -> Self {
        get(bytes, at, width) != 0
    }

    #[inline]
    fn write(&self, bytes: &mut [u8], at: usize, width: usize) {
        put(bytes, at, width, u128::from(*self));
    }
}

impl Field for Vl {
    #[inline]
    fn read(bytes: &[u8], at: usize, width: usize) -> Self {
        Self(u8::read(bytes, at, width))
    }

    #[inline]
    fn write(&self, bytes: &mut [u8], at: usize, width: usize) {
        self.0.write(bytes, at, width);
    }
}

/// A table: `N` fields of equal width, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table<T, const N: usize>(pub [T; N]);

impl<T: Field, const N: usize> Field for Table<T, N> {
    const COUNT: usize = N * T::COUNT;

    fn read(bytes: &[u8], at: usize, width: usize) -> Self {
        Self(std::array::from_fn(|index| T::read(bytes, at + index * width * T::COUNT, width)))
    }

    fn write(&self, bytes: &mut [u8], at: usize, width: usize) {
        for (index, element) in self.0.iter().enumerate() {
            element.write(bytes, at + index * width * T::COUNT, width);
        }
    }
}

impl<T: Copy + Default, const N: usize> Default for Table<T, N> {
    fn default() -> Self {
        Self([T::default(); N])
    }
}

impl<T: Serialize, const N: usize> Serialize for Table<T, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

/// `N` bytes without inner structure, for example private data. Serialised as hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Octets<const N: usize>(pub [u8; N]);

impl<const N: usize> Octets<N> {
    /// The first bytes of `bytes`, filled with zeros to `N`.
    pub fn new(bytes: &[u8]) -> Self {
        Self(std::array::from_fn(|index| bytes.get(index).copied().unwrap_or(0)))
    }
}

impl<const N: usize> Default for Octets<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Field for Octets<N> {
    const COUNT: usize = N;

    fn read(bytes: &[u8], at: usize, width: usize) -> Self {
        debug_assert!(at.is_multiple_of(8) && width == 8, "octets are aligned");
        Self::new(bytes.get(at / 8..).unwrap_or_default())
    }

    fn write(&self, bytes: &mut [u8], at: usize, _width: usize) {
        for (to, from) in bytes.iter_mut().skip(at / 8).zip(self.0) {
            *to = from;
        }
    }
}

impl<const N: usize> Serialize for Octets<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(&self.0))
    }
}

/// A text of at most `N` bytes, filled with zeros. Serialised as text; bytes that are not UTF-8 are replaced there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<const N: usize>(pub [u8; N]);

impl<const N: usize> Text<N> {
    /// The first `N` bytes of `text`.
    pub fn new(text: &str) -> Self {
        Self(Octets::new(text.as_bytes()).0)
    }

    /// The bytes before the first zero, as text.
    pub fn text(&self) -> String {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(N);
        String::from_utf8_lossy(&self.0[..end]).into_owned()
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Field for Text<N> {
    const COUNT: usize = N;

    fn read(bytes: &[u8], at: usize, width: usize) -> Self {
        Self(Octets::read(bytes, at, width).0)
    }

    fn write(&self, bytes: &mut [u8], at: usize, width: usize) {
        Octets(self.0).write(bytes, at, width);
    }
}

impl<const N: usize> Serialize for Text<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

/// Hexadecimal digits of bytes, two a byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bits of bytes, one by one: the slow and plain definition of [`get`].
    fn bits(bytes: &[u8], at: usize, width: usize) -> u128 {
        (at..at + width).fold(0, |value, bit| value << 1 | u128::from(bytes[bit / 8] >> (7 - bit % 8) & 1))
    }

    proptest! {
        #[test]
        fn bits_are_read_and_written_most_significant_first(
            bytes in any::<[u8; 24]>(), at in 0_usize..64, width in 1_usize..=121, value: u128,
        ) {
            prop_assert_eq!(get(&bytes, at, width), bits(&bytes, at, width));
            let mut changed = bytes;
            put(&mut changed, at, width, value);
            prop_assert_eq!(get(&changed, at, width), value & mask(width));
            for bit in (0..at).chain(at + width..192) {
                prop_assert_eq!(bits(&changed, bit, 1), bits(&bytes, bit, 1), "bit {}", bit);
            }
        }

        #[test]
        fn bits_after_the_end_are_zero_and_lost(
            bytes in prop::collection::vec(any::<u8>(), 0..8), at in 0_usize..80, width in 1_usize..=32,
        ) {
            let mut longer = bytes.clone();
            longer.resize(16, 0);
            prop_assert_eq!(get(&bytes, at, width), bits(&longer, at, width));
            let mut cut = bytes.clone();
            put(&mut cut, at, width, u128::MAX);
            put(&mut longer, at, width, u128::MAX);
            prop_assert_eq!(&cut[..], &longer[..bytes.len()]);
        }
    }

    #[test]
    fn texts_end_at_the_first_zero() {
        assert_eq!(Text::<8>::new("switch").text(), "switch");
        assert_eq!(Text::<4>::new("switch").text(), "swit");
        assert_eq!(serde_json::to_string(&Octets([1, 0xab])).unwrap(), "\"01ab\"");
    }
}
