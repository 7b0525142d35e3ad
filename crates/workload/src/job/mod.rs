//! Jobs: ranks on hosts that work through the steps of a program.

mod build;
mod placement;
#[cfg(test)]
mod properties;
mod rank;

use std::sync::Arc;

use fabricsim_units::{HostId, Time};

use crate::programs::Program;

pub(crate) use build::build;
pub(crate) use rank::Rank;

/// A job, as its ranks share it.
#[derive(Debug)]
pub(crate) struct Job {
    /// Its number in the list of jobs.
    pub(crate) number: u16,
    /// The stream of its messages.
    pub(crate) stream: u16,
    pub(crate) program: Arc<dyn Program>,
    /// By rank.
    pub(crate) hosts: Vec<HostId>,
    /// By host; [`NO_RANK`] if it has no rank.
    pub(crate) ranks: Vec<u32>,
    /// Steps of an iteration.
    pub(crate) steps: u64,
    pub(crate) iterations: u32,
    pub(crate) start: Time,
    pub(crate) outstanding: usize,
    pub(crate) step_delay: Time,
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
