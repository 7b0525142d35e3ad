//! Sequence numbers of a few bits that wrap around.

/// A sequence number (SEQ), reduced to the bits of its [`SequenceSpace`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub struct Seq(pub u16);

/// The numbers of `bits` bits, compared by the shorter way around (as RFC 1982).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SequenceSpace {
    mask: u16,
}

impl SequenceSpace {
    /// Numbers of 1 to 16 bits.
    pub const fn new(bits: u8) -> Self {
        Self { mask: u16::MAX >> (16 - bits) }
    }

    /// The number `steps` after `from`.
    #[inline]
    pub const fn after(self, from: Seq, steps: u16) -> Seq {
        Seq(from.0.wrapping_add(steps) & self.mask)
    }

    /// The number `steps` before `from`.
    #[inline]
    pub const fn before(self, from: Seq, steps: u16) -> Seq {
        Seq(from.0.wrapping_sub(steps) & self.mask)
    }

    /// Steps from `from` on to `to`, 0 to the number of numbers less one.
    #[inline]
    pub const fn distance(self, from: Seq, to: Seq) -> u16 {
        to.0.wrapping_sub(from.0) & self.mask
    }

    /// True if `a` is before `b`: the way on from `a` to `b` is the shorter one.
    #[inline]
    pub const fn precedes(self, a: Seq, b: Seq) -> bool {
        self.distance(b, a) > self.mask / 2
    }

    /// Number of sequence numbers that may be in use at a time so that they can be compared: half of them.
    pub const fn half(self) -> u32 {
        (self.mask as u32).div_ceil(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_wrap() {
        let space = SequenceSpace::new(4);
        assert_eq!(space.after(Seq(14), 3), Seq(1));
        assert_eq!(space.before(Seq(1), 3), Seq(14));
        assert_eq!(space.distance(Seq(14), Seq(1)), 3);
        assert!(space.precedes(Seq(14), Seq(1)) && !space.precedes(Seq(1), Seq(14)));
        assert!(!space.precedes(Seq(3), Seq(3)));
    }

    proptest! {
        #[test]
        fn numbers_within_half_the_space_are_ordered(bits in 2_u8..=16, from: u16, steps: u16) {
            let space = SequenceSpace::new(bits);
            let from = space.after(Seq(from), 0);
            let steps = steps % space.half() as u16;
            let to = space.after(from, steps);
            prop_assert_eq!(space.distance(from, to), steps);
            prop_assert_eq!(space.precedes(from, to), steps > 0);
            prop_assert!(!space.precedes(to, from));
            prop_assert_eq!(space.before(to, steps), from);
        }
    }
}
