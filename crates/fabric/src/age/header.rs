use std::fmt;

/// The 11-bit age field of a packet's header flit while it is in a router (table 1).
///
/// | field | bits | meaning |
/// |---|---|---|
/// | age | 7:0 | age at arrival minus the timestamp of arrival, modulo 256 |
/// | carry | 8 | borrow of that subtraction |
/// | in_epoch | 9 | epoch of arrival |
/// | unused | 10 | always 0 |
///
/// Between routers a packet carries only its age in bits 7:0.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub struct AgeHeader(pub u16);

impl AgeHeader {
    /// Procedure 1, lines 11 and 12: `age` already has the bias.
    #[inline]
    pub(super) fn arriving(age: u8, epoch: bool, timestamp: u8) -> Self {
        let difference = u16::from(age).wrapping_sub(u16::from(timestamp)) & 0x1ff;
        Self(u16::from(epoch) << 9 | difference)
    }

    /// Bits 7:0, the low byte of the difference.
    pub fn age(self) -> u8 {
        self.0 as u8
    }

    /// Bit 8: the timestamp of arrival was above the age, so that the subtraction borrowed.
    pub fn carry(self) -> bool {
        self.0 >> 8 & 1 == 1
    }

    /// Bit 9: the epoch of arrival, `false` is 0 and `true` is 1.
    #[inline(always)]
    pub fn in_epoch(self) -> bool {
        self.0 >> 9 & 1 == 1
    }

    /// Bit 10, of no meaning.
    pub fn unused(self) -> bool {
        self.0 >> 10 & 1 == 1
    }

    /// Procedure 2, lines 1 to 11, with line 8 corrected: the age in the given epoch at the given timestamp.
    #[inline(always)]
    pub(super) fn age_at(self, epoch: bool, timestamp: u8) -> u8 {
        let rollover = u16::from(self.in_epoch() != epoch);
        let sum = (self.0 & 0x1ff) + (rollover << 8 | u16::from(timestamp));
        let saturation = (sum >> 8 | (sum >> 9 & !(self.0 >> 8))) & 1;
        (sum | saturation.wrapping_neg()) as u8
    }
}

impl fmt::Debug for AgeHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (epoch, carry) = (u8::from(self.in_epoch()), u8::from(self.carry()));
        write!(f, "AgeHeader(epoch {epoch}, carry {carry}, age {})", self.age())
    }
}
