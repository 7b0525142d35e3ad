//! Runs in several processes, compared table by table and row by row.

use fabricsim_engine::Prepared;
use fabricsim_simulation::{JoinError, Outcome};

use super::{Failure, partitions, prepare};
use crate::common::processes::simulate_in_processes;

/// Every thirty-second experiment, by its fingerprint, in two or three processes; `alone` is the run of one.
pub fn same(text: &str, prepared: &Prepared, alone: &Outcome) -> Result<(), Failure> {
    let random = alone.totals.fingerprint / 2;
    if !random.is_multiple_of(32) {
        return Ok(());
    }
    let count = 2 + (random / 32 % 2) as usize;
    let overrides = [("run.allow_deadlock", "true")];
    let own = prepare(text, &overrides).map_err(|message| Failure { check: "processes", message })?;
    let all = match simulate_in_processes(&own, count) {
        Ok(all) => all,
        Err(JoinError::Refused(_)) if prepared.experiment.subnet_manager.is_some() => return Ok(()),
        Err(JoinError::Refused(_)) if prepared.experiment.capture.is_some() => return Ok(()),
        Err(error) => return Err(Failure { check: "processes", message: error.to_string() }),
    };
    let differences = all.iter().flat_map(|outcome| partitions::same(alone, outcome, "those of processes"));
    match differences.into_iter().next() {
        None => Ok(()),
        Some(Failure { message, .. }) => {
            Err(Failure { check: "processes", message: format!("{count} processes: {message}") })
        }
    }
}
