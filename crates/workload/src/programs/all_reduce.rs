//! All-reduce: the vectors of all ranks are added up, and every rank gets the sum.

use std::ops::Range;
use std::sync::Arc;

use fabricsim_spec::AllReduceAlgorithm;

use super::fold::{Fold, Part};
use super::{Program, Step, after, before, part};

/// Among `p` ranks with vectors of `vector` bytes.
pub(super) fn new(p: u32, algorithm: AllReduceAlgorithm, vector: u64) -> Arc<dyn Program> {
    match algorithm {
        AllReduceAlgorithm::RecursiveDoubling => Arc::new(RecursiveDoubling { fold: Fold::new(p), vector }),
        AllReduceAlgorithm::Ring => Arc::new(Ring { p, vector }),
        AllReduceAlgorithm::Rabenseifner => Arc::new(Rabenseifner { fold: Fold::new(p), vector }),
    }
}

/// The steps of [`Fold`] before and after the core: whole vectors.
fn hand_over(part: Part, vector: u64, step: &mut Step) {
    match part {
        Part::Give(to) => step.send(to, vector),
        Part::Take(from) => step.receive(from, vector),
        Part::Core(..) | Part::Idle => {}
    }
}

/// In step k ranks whose numbers differ in bit k exchange their vectors.
#[derive(Debug)]
struct RecursiveDoubling {
    fold: Fold,
    vector: u64,
}

impl Program for RecursiveDoubling {
    fn steps(&self) -> u64 {
        self.fold.steps(self.fold.log())
    }

    fn step(&self, rank: u32, number: u64, step: &mut Step) {
        match self.fold.part(rank, number, self.fold.log()) {
            Part::Core(k, place) => step.exchange(self.fold.rank(place ^ (1 << k)), self.vector),
            other => hand_over(other, self.vector, step),
        }
    }
}

/// p - 1 steps in which every rank adds up one more part of the vector, and p - 1 in which the sums go round.
#[derive(Debug)]
pub(super) struct Ring {
    pub(super) p: u32,
    pub(super) vector: u64,
}

impl Ring {
    /// The part that `rank` sends to the next one in a step.
    pub(super) fn part(&self, rank: u32, number: u64) -> u32 {
        let number = number as u32;
        if number + 1 < self.p {
            before(rank, number, self.p)
        } else {
            before(after(rank, 1, self.p), number - (self.p - 1), self.p)
        }
    }

    fn bytes(&self, number: u32) -> u64 {
        part(self.vector, number + 1, self.p) - part(self.vector, number, self.p)
    }
}

impl Program for Ring {
    fn steps(&self) -> u64 {
        2 * (u64::from(self.p) - 1)
    }

    fn step(&self, rank: u32, number: u64, step: &mut Step) {
        let from = before(rank, 1, self.p);
        step.send(after(rank, 1, self.p), self.bytes(self.part(rank, number)));
        step.receive(from, self.bytes(self.part(from, number)));
    }
}

/// R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004: halving of what a rank adds up, from the
/// farthest partner to the nearest, then doubling of what it knows, back.
#[derive(Debug)]
pub(super) struct Rabenseifner {
    pub(super) fold: Fold,
    pub(super) vector: u64,
}

impl Rabenseifner {
    /// Partner of `place` in a step of the core, and the parts that it gets. The number of parts is the number of places.
    pub(super) fn exchange(&self, place: u32, k: u64) -> (u32, Range<u32>) {
        let log = self.fold.log();
        let halves = k < log;
        let level = if halves { k } else { 2 * log - 1 - k };
        let size = self.fold.core >> (level + 1);
        let partner = place ^ size;
        let kept = if halves { partner } else { place };
        let first = kept & !(size - 1);
        (partner, first..first + size)
    }

    fn bytes(&self, parts: &Range<u32>) -> u64 {
        part(self.vector, parts.end, self.fold.core) - part(self.vector, parts.start, self.fold.core)
    }
}

impl Program for Rabenseifner {
    fn steps(&self) -> u64 {
        self.fold.steps(2 * self.fold.log())
    }

    fn step(&self, rank: u32, number: u64, step: &mut Step) {
        match self.fold.part(rank, number, 2 * self.fold.log()) {
            Part::Core(k, place) => {
                let (partner, sent) = self.exchange(place, k);
                let (_, received) = self.exchange(partner, k);
                step.send(self.fold.rank(partner), self.bytes(&sent));
                step.receive(self.fold.rank(partner), self.bytes(&received));
            }
            other => hand_over(other, self.vector, step),
        }
    }
}
