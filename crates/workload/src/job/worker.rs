//! Ranks of all kinds of jobs.

use std::sync::Arc;

use fabricsim_units::Time;

use super::rank::Rank;
use super::sequence::SequenceRank;
use super::{Job, MessageOf, Work};
use crate::closed::Out;

/// A rank of a job.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) enum Worker {
    /// Of a program.
    Steps(Rank),
    /// Of a sequence.
    Sequence(Box<SequenceRank>),
}

impl Worker {
    /// A rank that has not begun.
    pub(crate) fn new(job: Arc<Job>, number: u32) -> Self {
        match &job.work {
            Work::Steps(steps) => {
                let steps = steps.clone();
                Self::Steps(Rank::new(job, steps, number))
            }
            Work::Sequence(schedule) => {
                let plan = schedule.plan(number);
                Self::Sequence(Box::new(SequenceRank::new(job, plan, number)))
            }
        }
    }

    /// Its job, and the number of its rank.
    pub(super) fn job(&self) -> (&Arc<Job>, u32) {
        match self {
            Self::Steps(rank) => rank.job(),
            Self::Sequence(rank) => rank.job(),
        }
    }

    /// Starts the first steps at `at`.
    pub(crate) fn start(&mut self, at: Time, out: &mut Out) {
        match self {
            Self::Steps(rank) => rank.start(at, out),
            Self::Sequence(rank) => rank.start(at, out),
        }
    }

    /// Bytes for the rank arrive at `at`, which may be later than now.
    pub(super) fn arrived(&mut self, at: Time, of: MessageOf, bytes: u64, out: &mut Out) {
        match self {
            Self::Steps(rank) => rank.arrived(at, of, bytes, out),
            Self::Sequence(rank) => rank.arrived(at, of, bytes, out),
        }
    }

    /// The last byte of a message of a step leaves at `at`, which may be later than now.
    pub(crate) fn left(&mut self, at: Time, step: u32, out: &mut Out) {
        match self {
            Self::Steps(rank) => rank.left(at, step, out),
            Self::Sequence(rank) => rank.left(at, step, out),
        }
    }
}
