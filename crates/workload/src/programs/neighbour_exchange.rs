//! Exchange of messages with the neighbours in a process grid, as stencil codes do it.

use fabricsim_spec::NeighbourExchange;
use fabricsim_units::Time;

use super::{Program, ProgramInput, Step, refused};
use crate::{Problem, WorkloadError};

/// All neighbours at once, two in each dimension (one at the ends of a grid that is not periodic).
#[derive(Debug)]
pub(super) struct Exchange {
    grid: Vec<u32>,
    periodic: bool,
    bytes: u64,
    compute: Time,
}

impl Exchange {
    pub(super) fn new(context: &ProgramInput, spec: &NeighbourExchange) -> Result<Self, WorkloadError> {
        let ranks = spec.grid.iter().try_fold(1_u64, |product, &k| product.checked_mul(u64::from(k)));
        if ranks != Some(u64::from(context.ranks)) || spec.grid.is_empty() {
            let problem = Problem::GridRanks { grid: spec.grid.clone(), ranks: context.ranks };
            return Err(refused(context, "neighbour-exchange.grid", problem));
        }
        let bytes = spec.message.get();
        Ok(Self { grid: spec.grid.clone(), periodic: spec.periodic, bytes, compute: spec.compute })
    }

    /// The neighbour of `rank` in a dimension of `k` ranks, whose neighbours differ by `stride`, if it has one.
    fn neighbour(&self, rank: u32, (stride, k): (u32, u32), forward: bool) -> Option<u32> {
        let at = rank / stride % k;
        let end = if forward { k - 1 } else { 0 };
        match (at == end, forward) {
            (false, true) => Some(rank + stride),
            (false, false) => Some(rank - stride),
            (true, _) if !self.periodic || k == 1 => None,
            (true, true) => Some(rank - (k - 1) * stride),
            (true, false) => Some(rank + (k - 1) * stride),
        }
    }
}

impl Program for Exchange {
    fn steps(&self) -> u64 {
        1
    }

    fn step(&self, rank: u32, _number: u64, step: &mut Step) {
        let mut stride = 1;
        for &k in &self.grid {
            for forward in [false, true] {
                if let Some(neighbour) = self.neighbour(rank, (stride, k), forward) {
                    step.exchange(neighbour, self.bytes);
                }
            }
            stride *= k;
        }
        step.compute = self.compute;
    }
}
