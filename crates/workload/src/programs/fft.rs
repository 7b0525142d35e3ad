//! The transposes of a one-dimensional FFT on p ranks (HPC Challenge MPI-FFTE; D. Takahashi's six-step algorithm).

use std::sync::Arc;

use fabricsim_spec::{Fft as Spec, LARGEST_MESSAGE};
use fabricsim_units::{Bytes, Time};

use super::{After, Program, ProgramInput, Step, all_to_all, refused};
use crate::{Problem, WorkloadError};

/// A vector of n elements is a matrix that is spread over the ranks by rows; each of three transposes is an all-to-all with
/// blocks of n / p^2 elements, and followed by computing.
#[derive(Debug)]
pub(super) struct Fft {
    transpose: Arc<dyn Program>,
    compute: Time,
}

const TRANSPOSES: u64 = 3;

impl Fft {
    pub(super) fn new(context: &ProgramInput, spec: &Spec) -> Result<Self, WorkloadError> {
        let p = u64::from(context.ranks);
        let (elements, pairs) = (spec.elements, p * p);
        if elements < pairs || !elements.is_multiple_of(pairs) {
            let problem = Problem::FftElements { elements, ranks: context.ranks, unit: pairs };
            return Err(refused(context, "fft.elements", problem));
        }
        let block = (elements / pairs).saturating_mul(spec.element_size.get());
        if block > LARGEST_MESSAGE.get() {
            let key = format!("{}.fft.elements", context.key);
            return Err(context.place.range(&key, &Bytes(block), "from 1 B to 256 TiB"));
        }
        Ok(Self { transpose: all_to_all::new(context.ranks, spec.algorithm, block), compute: spec.compute })
    }
}

impl Program for Fft {
    fn steps(&self) -> u64 {
        TRANSPOSES * self.transpose.steps()
    }

    fn step(&self, rank: u32, number: u64, step: &mut Step) {
        let within = number % self.transpose.steps();
        self.transpose.step(rank, within, step);
        if within == 0 {
            step.after = After::All;
        }
        if within + 1 == self.transpose.steps() {
            step.compute = self.compute;
        }
    }

    fn is_independent(&self) -> bool {
        self.transpose.is_independent()
    }
}
