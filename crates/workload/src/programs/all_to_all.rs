//! All-to-all: every rank has a block for every other.

use std::sync::Arc;

use fabricsim_spec::AllToAllAlgorithm;

use super::{After, Program, Step, after, before, doublings};

/// Among `p` ranks with blocks of `block` bytes.
pub(super) fn new(p: u32, algorithm: AllToAllAlgorithm, block: u64) -> Arc<dyn Program> {
    match algorithm {
        AllToAllAlgorithm::Pairwise => Arc::new(Pairwise { p, block }),
        AllToAllAlgorithm::Ring => Arc::new(Ring { p, block }),
        AllToAllAlgorithm::Bruck => Arc::new(Bruck { p, block }),
    }
}

/// In step k = 1 .. p - 1 rank r exchanges with r XOR k where p is a power of two; else it sends to r + k and receives
/// from r - k. Every block goes straight to its receiver.
#[derive(Debug)]
struct Pairwise {
    p: u32,
    block: u64,
}

impl Program for Pairwise {
    fn steps(&self) -> u64 {
        u64::from(self.p) - 1
    }

    fn step(&self, rank: u32, number: u64, step: &mut Step) {
        let k = number as u32 + 1;
        step.after = After::Window;
        if self.p.is_power_of_two() {
            step.exchange(rank ^ k, self.block);
        } else {
            step.send(after(rank, k, self.p), self.block);
            step.receive(before(rank, k, self.p), self.block);
        }
    }

    fn is_independent(&self) -> bool {
        true
    }
}

/// In step k = 1 .. p - 1 every rank passes to the next one the p - k blocks of the rank k - 1 before it that are for ranks
/// behind it.
#[derive(Debug)]
struct Ring {
    p: u32,
    block: u64,
}

impl Program for Ring {
    fn steps(&self) -> u64 {
        u64::from(self.p) - 1
    }

    fn step(&self, rank: u32, number: u64, step: &mut Step) {
        let bytes = (u64::from(self.p) - 1 - number).saturating_mul(self.block);
        step.send(after(rank, 1, self.p), bytes);
        step.receive(before(rank, 1, self.p), bytes);
    }
}

/// J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems", IEEE TPDS
/// 8(11), 1997: in step k every rank sends to the one 2^k behind it all blocks whose way to go, in ranks, has bit k.
#[derive(Debug)]
struct Bruck {
    p: u32,
    block: u64,
}

impl Bruck {
    /// Number of the numbers from 1 to p - 1 that have bit k.
    fn blocks(&self, k: u64) -> u64 {
        let (p, half) = (u64::from(self.p), 1_u64 << k);
        p / (2 * half) * half + (p % (2 * half)).saturating_sub(half)
    }
}

impl Program for Bruck {
    fn steps(&self) -> u64 {
        doublings(self.p)
    }

    fn step(&self, rank: u32, number: u64, step: &mut Step) {
        let bytes = self.blocks(number).saturating_mul(self.block);
        step.send(after(rank, 1 << number, self.p), bytes);
        step.receive(before(rank, 1 << number, self.p), bytes);
    }
}
