//! Jobs: ranks on hosts that work through the steps of a program.

mod active;
mod build;
mod placement;
#[cfg(test)]
mod properties;
mod rank;
mod ranks;
mod sequence;
mod worker;

use std::sync::Arc;

use fabricsim_units::{HostId, Time};

use crate::programs::Program;

pub(crate) use build::build;
pub(crate) use ranks::Ranks;
use sequence::Schedule;

/// A job, as its ranks share it.
#[derive(Debug)]
pub(crate) struct Job {
    /// Its number in the list of jobs.
    pub(crate) number: u16,
    /// The stream of its messages.
    pub(crate) stream: u16,
    work: Work,
    /// By rank.
    pub(crate) hosts: Vec<HostId>,
    /// By host; [`NO_RANK`] if it has no rank.
    pub(crate) ranks: Vec<u32>,
    pub(crate) iterations: u32,
    pub(crate) start: Time,
    /// The job that must have ended on a host before a rank begins there.
    pub(crate) after: Option<u16>,
    pub(crate) step_delay: Time,
}

/// Work of an iteration.
#[derive(Clone, Debug)]
enum Work {
    /// The steps of a program.
    Steps(Steps),
    /// Computing and programs of groups, one after the other or beside each other.
    Sequence(Schedule),
}

/// A program, as all ranks of a job go through it.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    program: Arc<dyn Program>,
    /// Steps of an iteration.
    count: u64,
    /// Steps in progress at once.
    outstanding: usize,
}

/// No rank.
pub(crate) const NO_RANK: u32 = u32::MAX;

/// Description of a job for tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobInfo {
    /// Its name; by default the name of the program.
    pub name: String,
    /// The stream of its messages.
    pub stream: u16,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of iterations.
    pub iterations: u32,
}
