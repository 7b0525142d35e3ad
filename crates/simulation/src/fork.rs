//! Copies of a run in progress that go on with other failures.

use std::sync::Arc;

use fabricsim_engine::{PrepareError, Prepared};
use fabricsim_spec::Experiment;
use fabricsim_units::Time;

use crate::memory;
use crate::plan::Run;
use crate::run::RunError;

/// Reason why a run cannot go on with another experiment.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ForkError {
    /// The failures of the other experiment are invalid, or the routing has no routes around them.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The experiments differ in more than their failures.
    #[error(
        "`{key}` differs from that of the run that is copied: a copy may differ in `faults.plan` and `faults.reroute_after` only"
    )]
    Differs {
        /// The first section that differs.
        key: String,
    },
    /// A run with these failures is in another state now.
    #[error(
        "faults.plan: a run with these failures is in another state at {now}. What fails and returns until {now}, and `faults.waiting`, must \
         be as in the run that is copied. If that run was once without an event, it and its copy must both have failures after {now}, or neither"
    )]
    Past {
        /// The time of the run that is copied.
        now: Time,
    },
}

impl<B: Clone + fabricsim_model::Observer> Run<Arc<Prepared>, B> {
    /// An independent copy that goes on with the failures of `experiment`, which `file` names in messages, and that experiment. The results
    /// of the copy are those of a run of the experiment.
    ///
    /// # Errors
    ///
    /// The experiments differ in something that has already had an effect.
    pub fn fork_with(&self, experiment: Experiment, file: &str) -> Result<(Self, Arc<Prepared>), ForkError> {
        if experiment == self.prepared.experiment {
            return Ok((self.clone(), Arc::clone(&self.prepared)));
        }
        if let Some(key) = difference(&self.prepared.experiment, &experiment) {
            return Err(ForkError::Differs { key });
        }
        let prepared = Arc::new(self.prepared.with_faults(experiment, file)?);
        let mut copy = self.clone();
        if !copy.session.replan(&prepared.faults) {
            return Err(ForkError::Past { now: self.session.now() });
        }
        copy.prepared = Arc::clone(&prepared);
        Ok((copy, prepared))
    }
}

/// The first section, `faults` aside, that differs.
fn difference(one: &Experiment, other: &Experiment) -> Option<String> {
    let with_faults = Experiment { faults: other.faults.clone(), ..one.clone() };
    if with_faults == *other {
        return None;
    }
    let sections = |experiment| serde_json::to_value(experiment).unwrap_or_default();
    let (one, other) = (sections(one), sections(other));
    let keys = one.as_object().into_iter().chain(other.as_object()).flat_map(|sections| sections.keys());
    let differs = |key: &&String| *key != "faults" && one.get(key) != other.get(key);
    Some(keys.filter(differs).min().cloned().unwrap_or_default())
}

/// Refuses the copy of a run that needs more than `limit` bytes of memory, by default the available memory. `file` names the experiment
/// in messages.
///
/// # Errors
///
/// [`RunError::Memory`].
pub fn permit_copy(prepared: &Prepared, limit: Option<u64>, file: &str) -> Result<(), RunError> {
    memory::fits(prepared, memory::needed(prepared), limit, memory::available_memory(), file)
}
