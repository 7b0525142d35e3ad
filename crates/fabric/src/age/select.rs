/// AGE_RR_SELECT: for each of 64 consecutive grants of an output, whether it goes by age or in turn (section 2.1).
///
/// As in the paper a set bit means arbitration by age: all zeros are round robin, all ones are age-based, and
/// 0101...0101 is half of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgeRrSelect(pub u64);

impl AgeRrSelect {
    /// Every grant in turn.
    pub const ROUND_ROBIN: Self = Self(0);
    /// Every grant by age.
    pub const AGE: Self = Self(u64::MAX);

    /// True if the grant goes by age. `grants` is the output's 6-bit counter, which is incremented with each grant; higher
    /// bits are ignored, so that a counter of 8 bits may wrap.
    #[inline(always)]
    pub fn by_age(self, grants: u8) -> bool {
        self.0 >> (grants & 63) & 1 == 1
    }
}
