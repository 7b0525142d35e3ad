//! Operations on target memory. Those that are not idempotent show a double execution.

/// An operation on a word of target memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A packet of data whose content does not matter; it changes nothing.
    #[default]
    Data,
    /// The word becomes the value.
    Write(u64),
    /// Adds to the word, modulo 2^64.
    FetchAdd(u64),
    /// The word becomes `to` if it is `from`.
    CompareSwap {
        /// Expected value of the word.
        from: u64,
        /// New value of the word.
        to: u64,
    },
}

impl Operation {
    /// Executes the operation on a word of memory; returns the word's old value.
    #[inline]
    pub fn execute(self, word: &mut u64) -> u64 {
        let before = *word;
        match self {
            Self::Write(value) => *word = value,
            Self::FetchAdd(value) => *word = before.wrapping_add(value),
            Self::CompareSwap { from, to } if before == from => *word = to,
            Self::Data | Self::CompareSwap { .. } => {}
        }
        before
    }

    /// True if executing it twice in a row has the effect of executing it once, and returns the same value.
    pub const fn is_idempotent(self) -> bool {
        matches!(self, Self::Data | Self::FetchAdd(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_return_what_was_there() {
        let mut word = 5;
        assert_eq!(Operation::FetchAdd(3).execute(&mut word), 5);
        assert_eq!(Operation::CompareSwap { from: 8, to: 1 }.execute(&mut word), 8);
        assert_eq!(Operation::CompareSwap { from: 8, to: 2 }.execute(&mut word), 1);
        assert_eq!(Operation::Write(9).execute(&mut word), 1);
        assert_eq!(Operation::Data.execute(&mut word), 9);
        assert_eq!(word, 9);
    }

    #[test]
    fn a_double_execution_shows() {
        for operation in [Operation::FetchAdd(1), Operation::CompareSwap { from: 0, to: 1 }] {
            let mut word = 0;
            let first = operation.execute(&mut word);
            assert_ne!(operation.execute(&mut word), first);
            assert!(!operation.is_idempotent());
        }
    }

    /// Executed twice it returns another value, unless nothing changes: a WRITE returns what it has written itself.
    #[test]
    fn only_what_changes_nothing_may_be_executed_twice() {
        use Operation::{CompareSwap, Data, FetchAdd, Write};
        for (operation, expected) in [
            (Data, true),
            (FetchAdd(0), true),
            (FetchAdd(1), false),
            (Write(3), false),
            (CompareSwap { from: 1, to: 2 }, false),
        ] {
            assert_eq!(operation.is_idempotent(), expected, "{operation:?}");
        }
    }
}
