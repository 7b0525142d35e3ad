//! Barrier by dissemination (D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", 1988).

use super::{Program, Step, after, before, doublings};

/// In step k every rank notifies the one 2^k behind it, and waits for the one 2^k before it.
#[derive(Debug)]
pub(super) struct Dissemination {
    p: u32,
    bytes: u64,
}

impl Dissemination {
    pub(super) fn new(p: u32, bytes: u64) -> Self {
        Self { p, bytes }
    }
}

impl Program for Dissemination {
    fn steps(&self) -> u64 {
        doublings(self.p)
    }

    fn step(&self, rank: u32, number: u64, step: &mut Step) {
        step.send(after(rank, 1 << number, self.p), self.bytes);
        step.receive(before(rank, 1 << number, self.p), self.bytes);
    }
}
