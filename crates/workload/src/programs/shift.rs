//! Messages along a ring of ranks.

use super::{Program, Step, after, before};

/// One step: every rank sends to the one `by` places after it, `by` below `p`.
#[derive(Debug)]
pub(super) struct Shift {
    pub(super) p: u32,
    pub(super) by: u32,
    pub(super) bytes: u64,
}

impl Program for Shift {
    fn steps(&self) -> u64 {
        1
    }

    fn step(&self, rank: u32, _number: u64, step: &mut Step) {
        if self.by > 0 {
            step.send(after(rank, self.by, self.p), self.bytes);
            step.receive(before(rank, self.by, self.p), self.bytes);
        }
    }
}
