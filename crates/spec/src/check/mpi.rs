//! Checks of the settings of MPI.

use super::Found;
use crate::Experiment;

pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    if let Err(text) = experiment.mpi.queues() {
        return Err(("mpi.receive_queues".to_owned(), text));
    }
    match experiment.mpi.noise.problem() {
        None => Ok(()),
        Some((key, text)) => Err((format!("mpi.noise.{key}"), text)),
    }
}
