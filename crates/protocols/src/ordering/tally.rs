//! Counters that are not part of the state.

use std::hash::{Hash, Hasher};

/// An event counter. All counters compare equal, since they do not affect behaviour: states that differ only in them are
/// one state to a model checker.
#[derive(Clone, Copy, Debug, Default, fabricsim_state::Value)]
pub struct Tally(u64);

impl Tally {
    /// Counts one.
    #[inline]
    pub(crate) fn count(&mut self) {
        self.0 += 1;
    }

    /// Sets the counter to at least `level`.
    #[inline]
    pub(crate) fn raise(&mut self, level: u64) {
        self.0 = self.0.max(level);
    }

    /// Present value.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl PartialEq for Tally {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Tally {}

impl Hash for Tally {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_count_and_are_no_part_of_the_state() {
        let (mut one, mut other) = (Tally::default(), Tally::default());
        (0..3).for_each(|_| one.count());
        other.raise(7);
        other.raise(5);
        assert_eq!((one.get(), other.get()), (3, 7));
        assert!(one == other);
    }
}
