//! Sequences: computing and programs of groups of ranks, in order or beside each other.
//!
//! A rank has *tracks*, which work beside each other like streams of an accelerator, and in each of them *actions* in order. An
//! action begins when the one before it in its track and those that it waits for are complete. Ranks of one pipeline stage have
//! the same plan. The steps of all actions of an iteration are numbered, the same in every plan, so that a message that is sent in
//! step k is received in step k.

mod build;
mod groups;
mod lower;
#[cfg(test)]
mod properties;
mod rank;

use std::sync::Arc;

use fabricsim_units::Time;

use crate::programs::Program;
use groups::Group;
pub(crate) use rank::SequenceRank;

/// Track of computing, and of programs that the rank waits for.
const COMPUTE: usize = 0;
/// Track of programs beside the computing.
const OVERLAPPED: usize = 1;
/// Track of messages to other stages.
const TRANSFERS: usize = 2;
/// Number of tracks.
const TRACKS: usize = 3;

/// An iteration of all ranks.
#[derive(Clone, Debug)]
pub(in crate::job) struct Schedule {
    /// By stage of the pipeline.
    plans: Vec<Arc<Plan>>,
    /// Ranks that differ in their stage alone.
    stages: Group,
    /// Steps of an iteration.
    steps: u64,
}

/// Actions of a rank in an iteration.
#[derive(Debug, Default)]
pub(in crate::job) struct Plan {
    actions: Vec<Action>,
    /// Actions of each track, in order.
    tracks: [Vec<u32>; TRACKS],
    /// Steps of an iteration, of all plans.
    steps: u32,
}

#[derive(Debug)]
struct Action {
    work: Work,
    /// Actions that must be complete before it begins.
    waits: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Work {
    Compute(Time),
    Program {
        program: Arc<dyn Program>,
        group: Group,
        /// Number of its first step in the iteration.
        first: u32,
        steps: u32,
    },
}

impl Schedule {
    /// Steps of an iteration, of all ranks together.
    pub(in crate::job) fn steps(&self) -> u64 {
        self.steps
    }

    /// The plan of a rank.
    pub(in crate::job) fn plan(&self, rank: u32) -> Arc<Plan> {
        Arc::clone(&self.plans[self.stages.place(rank) as usize])
    }
}
