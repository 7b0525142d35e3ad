//! A run whose programs are the caller's, one at a time.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use fabricsim_engine::Prepared;
use fabricsim_session::{Awaited, Wait};
use fabricsim_simulation::{self as simulation, ProgramRun, Step};
use fabricsim_units::Time;
use fabricsim_verbs::{Cq, Mr};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::captures;
use crate::verbs::VerbsAdapter;
use crate::{Control, Outcome, Overrides, bad_input, memory_limit, prepare_watched};

/// The run, until its results are taken.
pub(crate) type Shared = Arc<Mutex<Option<ProgramRun>>>;

/// Numbers of [`Programs::next`] that are no program's.
const DONE: i64 = -1;
const BLOCKED: i64 = -2;
const POLLING: i64 = -3;
const LIMIT: i64 = -4;
const STOPPED: i64 = -5;

/// The run of an experiment with programs that its caller runs.
#[pyclass(frozen, module = "fabricsim._native")]
pub(crate) struct Programs {
    run: Shared,
    prepared: Arc<Prepared>,
    control: Arc<simulation::Control>,
    /// The file of the capture.
    capture: Option<String>,
}

/// Calls `work` with the run.
pub(crate) fn with<T>(run: &Shared, work: impl FnOnce(&mut ProgramRun) -> PyResult<T>) -> PyResult<T> {
    let mut run = lock(run)?;
    work(run.as_mut().ok_or_else(|| bad_input("the run of the programs has ended"))?)
}

fn lock(run: &Shared) -> PyResult<MutexGuard<'_, Option<ProgramRun>>> {
    run.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => bad_input("another thread uses the programs"),
        TryLockError::Poisoned(_) => PyRuntimeError::new_err("the run of the programs failed"),
    })
}

#[pymethods]
impl Programs {
    /// `capture`: the file that the experiment's capture is written to; by default none is.
    #[new]
    #[pyo3(signature = (experiment, hosts, patience, control, memory, capture=None))]
    fn new(
        py: Python<'_>,
        experiment: (String, String, String, Overrides),
        hosts: Vec<String>,
        patience: u64,
        control: &Control,
        memory: Option<u64>,
        capture: Option<String>,
    ) -> PyResult<Self> {
        let control = Arc::clone(&control.0);
        let (text, file, base, overrides) = experiment;
        py.detach(|| {
            let prepared =
                prepare_watched((&text, &file, &base), &overrides, &control, memory_limit(memory))?;
            simulation::permit(&prepared, memory, &file).map_err(bad_input)?;
            let run = ProgramRun::new(prepared, &hosts, Time(patience), &control);
            let mut run = run.map_err(|error| bad_input(format!("{file}: {error}")))?;
            let prepared = Arc::clone(run.prepared());
            if let Some(path) = &capture {
                let plan = captures::plan(&prepared, &file);
                let plan = plan.map_err(|error| bad_input(error.located(&text, &overrides)))?;
                let plan =
                    plan.ok_or_else(|| bad_input(format!("{file}: no links are chosen for the capture")))?;
                captures::start(&mut run, &plan, path)?;
            }
            Ok(Self { run: Arc::new(Mutex::new(Some(run))), prepared, control, capture })
        })
    }

    /// The time of the run in picoseconds.
    fn now(&self) -> PyResult<u64> {
        with(&self.run, |run| Ok(run.now().0))
    }

    /// Number of the program that goes on; below zero if none does.
    fn next(&self, py: Python<'_>) -> PyResult<i64> {
        let mut interrupt = None;
        let step = with(&self.run, |run| {
            Ok(py.detach(|| {
                run.next(&self.control, &mut || {
                    interrupt = Python::attach(|py| py.check_signals().err());
                    interrupt.is_none()
                })
            }))
        })?;
        match (step, interrupt) {
            (_, Some(error)) => Err(error),
            (step, None) => Ok(number_of(step)),
        }
    }

    /// The program that ran waits for a duration in picoseconds (none: without limit), or until the first of some things is visible: kinds and
    /// handles. Without things it sleeps. Returns the program that goes on, as `next`.
    fn wait(
        &self,
        py: Python<'_>,
        number: usize,
        duration: Option<u64>,
        things: Vec<(u8, u32)>,
    ) -> PyResult<i64> {
        let things: Vec<Awaited> = things.into_iter().map(awaited).collect::<PyResult<_>>()?;
        with(&self.run, |run| {
            let limit = duration.map_or(Time::MAX, |duration| run.now().saturating_add(Time(duration)));
            let sleeps = things.is_empty() && duration.is_some();
            run.wait(number, if sleeps { Wait::Until(limit) } else { Wait::Any(things, limit) });
            Ok(())
        })?;
        self.next(py)
    }

    /// As `wait` for things, of a program that polls: it is in vain if the duration passes.
    fn poll(&self, py: Python<'_>, number: usize, duration: u64, things: Vec<(u8, u32)>) -> PyResult<i64> {
        let things = things.into_iter().map(awaited).collect::<PyResult<_>>()?;
        with(&self.run, |run| {
            let limit = run.now().saturating_add(Time(duration));
            run.wait(number, Wait::Any(things, limit));
            Ok(())
        })?;
        self.next(py)
    }

    /// The program that ran has ended.
    fn end(&self, number: usize) -> PyResult<()> {
        with(&self.run, |run| {
            run.wait(number, Wait::Done);
            Ok(())
        })
    }

    /// Ends the wait of a program now.
    fn wake(&self, number: usize) -> PyResult<()> {
        with(&self.run, |run| {
            run.wake(number);
            Ok(())
        })
    }

    /// The adapter of a program's host, as the program uses it.
    fn adapter(&self, number: usize) -> VerbsAdapter {
        VerbsAdapter::new(Arc::clone(&self.run), number)
    }

    /// The cycle of a deadlock of the fabric, a line for each buffer; none without one.
    fn deadlock(&self, py: Python<'_>) -> PyResult<Option<Vec<String>>> {
        with(&self.run, |run| Ok(py.detach(|| run.find_deadlock())))
    }

    /// Ends the run. Returns its results.
    fn result(&self, py: Python<'_>) -> PyResult<Outcome> {
        let run = lock(&self.run)?.take();
        let mut run = run.ok_or_else(|| bad_input("the results of the programs were taken before"))?;
        let (capture, outcome) = py.detach(|| {
            let capture = captures::end(&mut run, self.capture.as_deref().unwrap_or_default())?;
            PyResult::Ok((capture, run.finish(&self.control)))
        })?;
        Ok(Outcome::new(outcome, &self.prepared).with_capture(capture))
    }
}

/// A step as a number: that of its program, or below zero.
pub(crate) fn number_of(step: Step) -> i64 {
    match step {
        Step::Program(number) => number as i64,
        Step::Done => DONE,
        Step::Blocked => BLOCKED,
        Step::Polling => POLLING,
        Step::Limit => LIMIT,
        Step::Stopped => STOPPED,
    }
}

fn awaited((kind, handle): (u8, u32)) -> PyResult<Awaited> {
    match kind {
        0 => Ok(Awaited::Completion(Cq(handle))),
        1 => Ok(Awaited::Event(Cq(handle))),
        2 => Ok(Awaited::Write(Mr(handle))),
        3 => Ok(Awaited::AsyncEvent),
        4 => Ok(Awaited::ConnectionEvent(handle)),
        _ => Err(bad_input(format!("there is nothing of kind {kind} to wait for"))),
    }
}
