//! All-to-all with blocks of two sizes: those for (or from) one rank are larger.

use fabricsim_spec::AllToAllV as Spec;

use super::{Program, ProgramInput, Step, refused};
use crate::{Problem, WorkloadError};

/// One step: a rank sends all its blocks at once, the one for the next rank first.
#[derive(Debug)]
pub(super) struct AllToAllV {
    p: u32,
    hot: u32,
    /// True if the blocks go back from the ranks that received them.
    back: bool,
    /// Sizes of a block of the hot rank, and of another.
    large: u64,
    small: u64,
}

impl AllToAllV {
    pub(super) fn new(context: &ProgramInput, spec: &Spec) -> Result<Self, WorkloadError> {
        let (p, ranks) = (context.ranks, f64::from(context.ranks));
        if spec.hot >= p {
            let problem = Problem::NoSuchRank { rank: spec.hot, last: p - 1 };
            return Err(refused(context, "all-to-all-v.hot", problem));
        }
        if spec.imbalance > ranks {
            let problem = Problem::Imbalance { imbalance: spec.imbalance, ranks: p };
            return Err(refused(context, "all-to-all-v.imbalance", problem));
        }
        let mean = spec.message.get() as f64;
        let large = (mean * spec.imbalance).round() as u64;
        let small = (mean * (ranks - spec.imbalance) / (ranks - 1.0)).round() as u64;
        Ok(Self { p, hot: spec.hot, back: spec.back, large, small })
    }

    /// Size of the block that belongs to `owner`.
    fn block(&self, owner: u32) -> u64 {
        if owner == self.hot { self.large } else { self.small }
    }
}

impl Program for AllToAllV {
    fn steps(&self) -> u64 {
        1
    }

    fn step(&self, rank: u32, _number: u64, step: &mut Step) {
        for distance in 1..self.p {
            let peer = super::after(rank, distance, self.p);
            let (sent, received) = (self.block(peer), self.block(rank));
            let (sent, received) = if self.back { (received, sent) } else { (sent, received) };
            step.send(peer, sent);
            step.receive(peer, received);
        }
    }
}
