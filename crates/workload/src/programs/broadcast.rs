//! Broadcast: one rank's data goes to all others.

use fabricsim_spec::Broadcast;

use super::{Program, ProgramInput, Step, after, doublings, refused};
use crate::{Problem, WorkloadError};

/// Along a binomial tree, the largest subtree first. Ranks are counted from the root.
#[derive(Debug)]
pub(super) struct Binomial {
    p: u32,
    root: u32,
    bytes: u64,
}

impl Binomial {
    pub(super) fn new(context: &ProgramInput, spec: &Broadcast) -> Result<Self, WorkloadError> {
        let (p, root) = (context.ranks, spec.root);
        if root >= p {
            let problem = Problem::NoSuchRank { rank: root, last: p - 1 };
            return Err(refused(context, "broadcast.root", problem));
        }
        Ok(Self { p, root, bytes: spec.message.get() })
    }
}

impl Program for Binomial {
    fn steps(&self) -> u64 {
        doublings(self.p)
    }

    fn step(&self, rank: u32, number: u64, step: &mut Step) {
        let distance = 1_u32 << (doublings(self.p) - 1 - number);
        let place = after(rank, self.p - self.root, self.p);
        let rank_of = |place| after(place, self.root, self.p);
        let in_subtree = place & (2 * distance - 1);
        if in_subtree == 0 && self.p - place > distance {
            step.send(rank_of(place + distance), self.bytes);
        } else if in_subtree == distance {
            step.receive(rank_of(place - distance), self.bytes);
        }
    }
}
