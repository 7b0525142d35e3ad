//! Checks of the settings of MPI.

use super::Found;
use crate::Experiment;

pub(super) fn check(experiment: &Experiment) -> Result<(), Found> {
    match experiment.mpi.queues() {
        Ok(_) => Ok(()),
        Err(text) => Err(("mpi.receive_queues".to_owned(), text)),
    }
}
