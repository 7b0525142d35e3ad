//! Planned transfers, and their required results.

use crate::ordering::{Mode, Operation};

/// A packet's payload: the n-th operation of a stream of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Item {
    pub(super) stream: u8,
    pub(super) index: u8,
}

impl Item {
    /// The operation that is the `turn`th on its word of memory: it returns `turn` if all before it were carried out once, in
    /// order, and nothing else was. Streams take turns in what they do.
    pub(super) fn operation(self, turn: u64) -> Operation {
        if self.stream.is_multiple_of(2) {
            Operation::FetchAdd(1)
        } else {
            Operation::CompareSwap { from: turn, to: turn + 1 }
        }
    }
}

/// A stream that is to be transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Planned {
    pub(super) source: usize,
    pub(super) mode: Mode,
    pub(super) exactly_once: bool,
    pub(super) packets: u8,
}

impl Planned {
    pub(super) const fn new(mode: Mode, exactly_once: bool, packets: u8) -> Self {
        Self { source: 0, mode, exactly_once, packets }
    }

    pub(super) const fn from(self, source: usize) -> Self {
        Self { source, ..self }
    }

    pub(super) fn is_in_order(&self) -> bool {
        !matches!(
            self.mode,
            Mode::Unordered | Mode::Selective | Mode::Synchronized | Mode::SourceSynchronized
        )
    }

    /// True if the operation is to be carried out once.
    pub(super) fn is_once(&self, index: u8) -> bool {
        match self.mode {
            Mode::Unordered => false,
            Mode::SourceOrdered | Mode::Ordered => self.exactly_once,
            Mode::SourceSynchronized => self.exactly_once && index + 1 == self.packets,
            // The bitmap, or the expected number, keeps duplicates from being carried out.
            Mode::Synchronized | Mode::GoBackN | Mode::Selective | Mode::SelectiveOrdered => true,
        }
    }

    /// Result that comes back, if one does: the number of operations with a result that came before it.
    pub(super) fn result(&self, index: u8) -> Option<u64> {
        let last = index + 1 == self.packets;
        match self.mode {
            Mode::SourceOrdered | Mode::Ordered => self.exactly_once.then_some(u64::from(index)),
            Mode::Synchronized | Mode::SourceSynchronized => (self.exactly_once && last).then_some(0),
            _ => None,
        }
    }
}
