//! A run that the caller advances, injects into, changes and inspects.

use std::fmt::Display;
use std::sync::{Arc, Mutex, TryLockError};

use fabricsim_engine::{Extent, Prepared};
use fabricsim_measure::Recorder;
use fabricsim_session::{Change, Feed, Injection, Subscription};
use fabricsim_simulation::{self as simulation, ForkError, Run, Stop};
use fabricsim_units::{Bytes, Time};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::{
    Control, Outcome, Overrides, PyColumn, PyTable, bad_input, memory_limit, prepare_watched, values,
};

type Running = Run<Arc<Prepared>, Feed<Recorder>>;

/// A time in picoseconds.
#[pyfunction]
pub(crate) fn parse_time(text: &str) -> PyResult<u64> {
    text.parse().map(|time: Time| time.0).map_err(bad_input)
}

/// A size in bytes.
#[pyfunction]
pub(crate) fn parse_size(text: &str) -> PyResult<u64> {
    text.parse().map(|size: Bytes| size.0).map_err(bad_input)
}

/// A run controlled by the caller.
#[pyclass(frozen, module = "fabricsim._native")]
pub(crate) struct Session {
    running: Mutex<Option<Running>>,
    prepared: Arc<Prepared>,
}

impl Session {
    /// Calls `work` with the run.
    fn with<T>(&self, work: impl FnOnce(&mut Running) -> PyResult<T>) -> PyResult<T> {
        match self.running.try_lock() {
            Ok(mut running) => work(running.as_mut().ok_or_else(over)?),
            Err(error) => Err(in_use(&error)),
        }
    }
}

fn over() -> PyErr {
    bad_input("the session has ended: make a new one")
}

fn in_use<T>(error: &TryLockError<T>) -> PyErr {
    match error {
        TryLockError::WouldBlock => bad_input("another thread uses the session"),
        TryLockError::Poisoned(_) => PyRuntimeError::new_err("the session failed: make a new one"),
    }
}

/// An error of the argument `name`.
fn bad_argument(name: &str, error: impl Display) -> PyErr {
    bad_input(format!("{name}: {error}"))
}

#[pymethods]
impl Session {
    #[new]
    fn new(
        py: Python<'_>,
        text: &str,
        file: &str,
        base: &str,
        overrides: Overrides,
        control: &Control,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        let control = &control.0;
        py.detach(|| {
            let prepared = prepare_watched((text, file, base), &overrides, control, memory_limit(memory))?;
            control.enter(simulation::Phase::DeadlockCheck);
            simulation::permit(&prepared, memory, file).map_err(bad_input)?;
            let prepared = Arc::new(prepared);
            let running = Run::with_feed(Arc::clone(&prepared), control);
            Ok(Self { running: Mutex::new(Some(running)), prepared })
        })
    }

    /// An independent copy of the session at its time, of an experiment that may differ from its own in failures to come. `memory`: bytes
    /// that the copy may take.
    fn fork(
        &self,
        py: Python<'_>,
        text: &str,
        file: &str,
        overrides: Overrides,
        control: &Control,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        py.detach(|| {
            self.with(|run| {
                simulation::permit_copy(run.prepared(), memory, file).map_err(bad_input)?;
                let experiment = fabricsim_spec::read(text, file, &overrides).map_err(bad_input)?;
                let (copy, prepared) = run.fork_with(experiment, file).map_err(|error| match error {
                    ForkError::Prepare(error) => bad_input(error.located(text, &overrides)),
                    error => bad_input(format!("{file}: {error}")),
                })?;
                control.0.enter(simulation::Phase::WarmUp);
                Ok(Self { running: Mutex::new(Some(copy)), prepared })
            })
        })
    }

    /// The session's time in picoseconds.
    fn now(&self) -> PyResult<u64> {
        self.with(|run| Ok(run.session().now().0))
    }

    /// True if the run has come to its end.
    fn is_over(&self) -> PyResult<bool> {
        self.with(|run| Ok(run.is_over()))
    }

    /// Goes on until a time in picoseconds (none: until the run ends), or until `control` is cancelled.
    fn advance_to(&self, py: Python<'_>, until: Option<u64>, control: &Control) -> PyResult<&'static str> {
        let control = &control.0;
        py.detach(|| {
            self.with(|run| {
                let until = match until {
                    None if run.is_over() => return Ok("ended"),
                    until => until.map_or(Time::MAX, Time),
                };
                Ok(match run.advance_to(until, control) {
                    Stop::Reached => "reached",
                    Stop::Idle => "idle",
                    Stop::Ended => "ended",
                    Stop::Stopped => "stopped",
                })
            })
        })
    }

    /// Injects a message at its source, at a time in picoseconds (none: now). Returns its number.
    fn inject(
        &self,
        source: &str,
        destination: &str,
        bytes: u64,
        at: Option<u64>,
        traffic: Option<&str>,
    ) -> PyResult<u32> {
        self.with(|run| {
            let injection = Injection {
                source: run.host(source).map_err(|error| bad_argument("source", error))?,
                destination: run.host(destination).map_err(|error| bad_argument("destination", error))?,
                bytes,
                stream: run.entry(traffic).map_err(|error| bad_argument("traffic", error))?,
                at: at.map_or(run.session().now(), Time),
            };
            run.session().inject(injection).map(|id| id.tag).map_err(bad_input)
        })
    }

    /// Lets hosts open no messages, or open them again; lets links and switches fail, or work again; sets routes (switch, host,
    /// neighbour).
    fn configure(
        &self,
        stop: Vec<String>,
        resume: Vec<String>,
        fail: Vec<String>,
        restore: Vec<String>,
        routes: Vec<(String, String, String)>,
    ) -> PyResult<()> {
        self.with(|run| {
            let hosts = |list: &[String], key| match list {
                [] => Ok(Vec::new()),
                list => run.hosts(list).map_err(|error| bad_argument(key, error)),
            };
            let (stop, resume) = (hosts(&stop, "stop")?, hosts(&resume, "resume")?);
            let stopped = stop.into_iter().map(|host| Change::Traffic { host, sends: false });
            let resumed = resume.into_iter().map(|host| Change::Traffic { host, sends: true });
            let mut changes: Vec<Change> = stopped.chain(resumed).collect();
            for (names, key, works) in [(&fail, "fail", false), (&restore, "restore", true)] {
                for name in names {
                    changes.extend(run.failing(name, works).map_err(|error| bad_argument(key, error))?);
                }
            }
            for (switch, to, towards) in &routes {
                changes.push(run.route(switch, to, towards).map_err(|error| bad_argument("routes", error))?);
            }
            for change in changes {
                run.session().configure(change).map_err(bad_input)?;
            }
            Ok(())
        })
    }

    /// Time in picoseconds, totals as JSON, and the tables `ports`, `hosts` and `waits`.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<(u64, String, Vec<PyTable<'py>>)> {
        let (now, totals, tables) = py.detach(|| {
            self.with(|run| {
                let snapshot = run.session().snapshot(Extent::Everything);
                let tables = simulation::snapshot_tables(&snapshot, &self.prepared);
                Ok((snapshot.now, snapshot.totals, tables))
            })
        })?;
        let totals = serde_json::json!({
            "injected": totals.injected,
            "delivered": totals.delivered,
            "lost": totals.lost.total(),
            "in_flight": totals.in_flight,
        });
        let columns = |table: &fabricsim_model::Table| {
            table.columns.iter().map(|column| values(py, column)).collect::<PyResult<Vec<_>>>()
        };
        let tables = tables.iter().map(|table| Ok((table.name, columns(table)?)));
        Ok((now.0, totals.to_string(), tables.collect::<PyResult<_>>()?))
    }

    /// The cycle of a deadlock, a line for each buffer; none without a deadlock.
    fn deadlock(&self, py: Python<'_>) -> PyResult<Option<Vec<String>>> {
        py.detach(|| self.with(|run| Ok(run.find_deadlock())))
    }

    /// Collects at most `capacity` events of some kinds between two calls of `events`: deliveries, marks, completions, losses.
    fn subscribe(&self, kinds: Vec<String>, capacity: usize) -> PyResult<()> {
        let has = |kind: &str| kinds.iter().any(|name| name == kind);
        let subscription = Subscription {
            deliveries: has("deliveries"),
            marks: has("marks"),
            completions: has("completions"),
            losses: has("losses"),
            capacity,
        };
        self.with(|run| {
            run.session().subscribe(subscription);
            Ok(())
        })
    }

    /// The columns of the events since the last call, and the number of those that were not kept.
    fn events<'py>(&self, py: Python<'py>) -> PyResult<(Vec<PyColumn<'py>>, u64)> {
        let (table, missed) = py.detach(|| {
            self.with(|run| {
                let events = run.session().events();
                Ok((simulation::events_table(&events.first, &self.prepared), events.missed))
            })
        })?;
        let columns = table.columns.iter().map(|column| values(py, column));
        Ok((columns.collect::<PyResult<_>>()?, missed))
    }

    /// Ends the session. Returns the results of the run so far.
    fn result(&self, py: Python<'_>) -> PyResult<Outcome> {
        let mut running = self.running.try_lock().map_err(|error| in_use(&error))?;
        let run = running.take().ok_or_else(over)?;
        let outcome = py.detach(|| run.finish(&simulation::Control::default()));
        Ok(Outcome::new(outcome, &self.prepared))
    }

    /// Ends the session without results.
    fn close(&self) -> PyResult<()> {
        let mut running = self.running.try_lock().map_err(|error| in_use(&error))?;
        *running = None;
        Ok(())
    }
}
