//! Runs whose state is written and read, for checkpoints on disk.

use std::sync::{Arc, Mutex, OnceLock};

use fabricsim_engine::Prepared;
use fabricsim_simulation::{self as simulation, ResumableRun, Stop, files_of};
use fabricsim_units::Time;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::processes::Team;
use crate::{Control, Outcome, Overrides, bad_input, memory_limit, prepare_watched};

/// One run of an experiment, in steps of simulated time.
#[pyclass(frozen, module = "fabricsim._native")]
pub(crate) struct SteppedRun {
    running: Mutex<Option<ResumableRun>>,
    prepared: Arc<Prepared>,
    control: Arc<simulation::Control>,
    /// The processes that advance the run, if there are several.
    team: OnceLock<Arc<Team>>,
}

impl SteppedRun {
    /// Calls `work` with the run.
    fn with<T>(&self, work: impl FnOnce(&mut ResumableRun) -> PyResult<T>) -> PyResult<T> {
        let mut running = self.running.lock().map_err(|_| PyRuntimeError::new_err("the run failed"))?;
        work(running.as_mut().ok_or_else(|| bad_input("the run has ended: make a new one"))?)
    }
}

#[pymethods]
impl SteppedRun {
    #[new]
    #[pyo3(signature = (text, file, base, overrides, control, memory=None, cores=1, processes=1))]
    #[allow(clippy::too_many_arguments, reason = "those of `Simulation`, and its cores")]
    fn new(
        py: Python<'_>,
        text: &str,
        file: &str,
        base: &str,
        overrides: Overrides,
        control: &Control,
        memory: Option<u64>,
        cores: u32,
        processes: u32,
    ) -> PyResult<Self> {
        let control = Arc::clone(&control.0);
        py.detach(|| {
            let limit = memory_limit(memory);
            let mut prepared = prepare_watched((text, file, base), &overrides, &control, limit)?;
            control.enter(simulation::Phase::DeadlockCheck);
            simulation::permit(&prepared, memory, file).map_err(bad_input)?;
            prepared.cores = cores;
            prepared.processes = processes;
            let prepared = Arc::new(prepared);
            let running = ResumableRun::new(Arc::clone(&prepared), &control);
            Ok(Self { running: Mutex::new(Some(running)), prepared, control, team: OnceLock::new() })
        })
    }

    /// The experiment with its defaults, as JSON, and the files that it names, relative to its own.
    fn experiment(&self) -> PyResult<(String, Vec<String>)> {
        let experiment = &self.prepared.experiment;
        let files = files_of(experiment).into_iter().map(str::to_owned).collect();
        Ok((serde_json::to_string(experiment).map_err(bad_input)?, files))
    }

    /// The state of the run as bytes.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.with(|run| run.save().map_err(bad_input)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Gives the run, at its start, the state that another one of the same experiment wrote.
    fn restore(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
        py.detach(|| self.with(|run| run.restore(bytes, &self.control).map_err(bad_input)))
    }

    /// From now on several processes advance the run, which is at its start in each of them. `team` has `rank`, `size` and
    /// `exchange(list of bytes) -> list of bytes`, one for each process.
    fn join(&self, py: Python<'_>, team: Bound<'_, PyAny>) -> PyResult<()> {
        let team = Arc::new(Team::new(team)?);
        let joined = Arc::clone(&team);
        py.detach(|| {
            let joined = self.with(|run| run.join(joined).map_err(bad_input));
            team.failure().map_or(joined, Err)
        })?;
        self.team.set(team).map_err(|_| bad_input("processes have joined the run before"))
    }

    /// The time of the run in picoseconds.
    fn now(&self) -> PyResult<u64> {
        self.with(|run| Ok(run.now().0))
    }

    /// Goes on until a time in picoseconds, or to the end if no event is left. Returns false if the run has ended, or its control was
    /// cancelled.
    fn advance_to(&self, py: Python<'_>, until: u64) -> PyResult<bool> {
        py.detach(|| {
            self.with(|run| {
                let mut stop = run.advance_to(Time(until), &self.control);
                if stop == Stop::Idle {
                    stop = run.advance_to(Time::MAX, &self.control);
                }
                match self.team.get().and_then(|team| team.failure()) {
                    Some(error) => Err(error),
                    None => Ok(stop == Stop::Reached && run.now() < Time::MAX),
                }
            })
        })
    }

    /// Ends the run. Returns its results so far.
    fn result(&self, py: Python<'_>) -> PyResult<Outcome> {
        let mut running = self.running.lock().map_err(|_| PyRuntimeError::new_err("the run failed"))?;
        let run = running.take().ok_or_else(|| bad_input("the run has ended: make a new one"))?;
        let outcome = py.detach(|| run.finish(&self.control));
        Ok(Outcome::new(outcome, &self.prepared))
    }
}
