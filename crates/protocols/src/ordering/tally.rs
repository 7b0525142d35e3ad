//! Counters that are no part of a state.

use std::hash::{Hash, Hasher};

/// A counter of what has happened. All are equal, since they do not decide what will: states that differ only in them are
/// one state to a model checker.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally(u64);

impl Tally {
    /// Counts one.
    #[inline]
    pub(crate) fn count(&mut self) {
        self.0 += 1;
    }

    /// Keeps the larger of what it is and `level`.
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
