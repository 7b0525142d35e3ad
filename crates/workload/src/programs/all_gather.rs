//! All-gather: every rank gets the blocks of all.

use std::sync::Arc;

use fabricsim_spec::AllGatherAlgorithm;

use super::{Program, Step, after, before, doublings};

/// Among `p` ranks with blocks of `block` bytes.
pub(super) fn new(p: u32, algorithm: AllGatherAlgorithm, block: u64) -> Arc<dyn Program> {
    match algorithm {
        AllGatherAlgorithm::Ring => Arc::new(Ring { p, block }),
        AllGatherAlgorithm::Bruck => Arc::new(Bruck { p, block }),
    }
}

/// In each of p - 1 steps every rank passes to the next one the block that it got last.
#[derive(Debug)]
struct Ring {
    p: u32,
    block: u64,
}

impl Program for Ring {
    fn steps(&self) -> u64 {
        u64::from(self.p) - 1
    }

    fn step(&self, rank: u32, _number: u64, step: &mut Step) {
        step.send(after(rank, 1, self.p), self.block);
        step.receive(before(rank, 1, self.p), self.block);
    }
}

/// In step k every rank sends to the one 2^k before it the first 2^k blocks that it has, its own first; in the last step
/// only the missing ones.
#[derive(Debug)]
struct Bruck {
    p: u32,
    block: u64,
}

impl Program for Bruck {
    fn steps(&self) -> u64 {
        doublings(self.p)
    }

    fn step(&self, rank: u32, number: u64, step: &mut Step) {
        let distance = 1_u32 << number;
        let bytes = u64::from(distance.min(self.p - distance)).saturating_mul(self.block);
        step.send(before(rank, distance, self.p), bytes);
        step.receive(after(rank, distance, self.p), bytes);
    }
}
