//! A run whose programs are ranks of MPI: their messages are handled here, their programs by the caller.

mod buffers;
pub(crate) mod decode;
mod start;

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use fabricsim_engine::Prepared;
use fabricsim_mpi::{Arrival, Environment, Pattern, ReceiveCall, World};
use fabricsim_session::Wait;
use fabricsim_simulation::{self as simulation, MpiRun, ProgramRun};
use fabricsim_units::Time;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::programs::number_of;
use crate::{Control, Outcome, Overrides, bad_input, captures, memory_limit, prepare_watched};
use buffers::{Buffers, Held};
use start::{Origin, Received, Sent, Target};

struct Inner {
    run: MpiRun,
    buffers: Buffers,
}

/// The run of an experiment with ranks of MPI, whose programs the caller runs.
#[pyclass(frozen, module = "fabricsim._native")]
pub(crate) struct MpiPrograms {
    inner: Mutex<Option<Inner>>,
    prepared: Arc<Prepared>,
    control: Arc<simulation::Control>,
    /// The file of the capture.
    capture: Option<String>,
}

/// An arrival: source, tag, length, truncated, cancelled.
type Row = (u32, i32, u64, bool, bool);

/// A posted operation: time, from, to, operation, bytes, headers, number of the work request.
type Posted = (u64, u32, u32, &'static str, u32, String, u64);

impl MpiPrograms {
    fn lock(&self) -> PyResult<MutexGuard<'_, Option<Inner>>> {
        self.inner.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => bad_input("another thread uses the ranks"),
            TryLockError::Poisoned(_) => PyRuntimeError::new_err("the run of the ranks failed"),
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Inner) -> PyResult<T>) -> PyResult<T> {
        let mut inner = self.lock()?;
        work(inner.as_mut().ok_or_else(|| bad_input("the run of the ranks has ended"))?)
    }

    /// Runs ranks until a program goes on outside of its calls; `rank`: its call has begun.
    fn drive(&self, py: Python<'_>, inner: &mut Inner, rank: Option<usize>) -> PyResult<i64> {
        let mut interrupt = None;
        let mut goes_on = || {
            interrupt = py.check_signals().err();
            interrupt.is_none()
        };
        let Inner { run, buffers } = inner;
        let mut held = Held { py, buffers };
        let step = match rank {
            Some(rank) => run.go_on(rank, &mut held, &self.control, &mut goes_on),
            None => run.next(&mut held, &self.control, &mut goes_on),
        };
        if let Some(error) = buffers.failure.take() {
            return Err(error);
        }
        match (step, interrupt) {
            (_, Some(error)) => Err(error),
            (Err(error), _) => Err(bad_input(error)),
            (Ok(step), _) => Ok(number_of(step)),
        }
    }

    /// Begins a call of a rank, and runs until a program goes on.
    fn call<T>(
        &self,
        py: Python<'_>,
        rank: usize,
        begin: impl FnOnce(&mut World, &mut dyn Environment, (usize, Time)) -> T,
    ) -> PyResult<(i64, T)> {
        self.with(|inner| {
            let value = {
                let mut held = Held { py, buffers: &mut inner.buffers };
                inner.run.begin(&mut held, |world, place, now| begin(world, place, (rank, now)))
            };
            Ok((self.drive(py, inner, Some(rank))?, value))
        })
    }
}

#[pymethods]
impl MpiPrograms {
    /// `kept`: true if operations are kept for `log`, and the file that the experiment's capture is written to.
    #[new]
    #[pyo3(signature = (experiment, hosts, patience, control, memory, kept))]
    fn new(
        py: Python<'_>,
        experiment: (String, String, String, Overrides),
        hosts: (usize, Vec<String>),
        patience: u64,
        control: &Control,
        memory: Option<u64>,
        kept: (bool, Option<String>),
    ) -> PyResult<Self> {
        let control = Arc::clone(&control.0);
        let (text, file, base, overrides) = experiment;
        py.detach(|| {
            let prepared =
                prepare_watched((&text, &file, &base), &overrides, &control, memory_limit(memory))?;
            simulation::permit(&prepared, memory, &file).map_err(bad_input)?;
            let located = |error: &dyn std::fmt::Display| bad_input(format!("{file}: {error}"));
            let (ranks, given) = hosts;
            let hosts = if given.is_empty() { blocks(&prepared, ranks) } else { given };
            let run = ProgramRun::new(prepared, &hosts, Time(patience), &control);
            let mut run = run.map_err(|error| located(&error))?;
            let prepared = Arc::clone(run.prepared());
            let (logs, capture) = kept;
            if let Some(path) = &capture {
                let plan = captures::plan(&prepared, &file);
                let plan = plan.map_err(|error| bad_input(error.located(&text, &overrides)))?;
                let plan = plan.ok_or_else(|| located(&"no links are chosen for the capture"))?;
                captures::start(&mut run, &plan, path)?;
            }
            let run = MpiRun::new(run, hosts.len(), logs).map_err(|error| located(&error))?;
            let mut buffers = Buffers::default();
            buffers.by_rank.resize_with(hosts.len(), Vec::new);
            Ok(Self { inner: Mutex::new(Some(Inner { run, buffers })), prepared, control, capture })
        })
    }

    /// Names of the hosts of ranks, in order.
    fn hosts(&self) -> PyResult<Vec<String>> {
        self.with(|inner| {
            let ranks = inner.run.world().size();
            let names = &self.prepared.graph.hosts;
            Ok((0..ranks).map(|rank| names[inner.run.programs.host(rank).index()].name.clone()).collect())
        })
    }

    /// The time of the run in picoseconds.
    fn now(&self) -> PyResult<u64> {
        self.with(|inner| Ok(inner.run.programs.now().0))
    }

    /// Time at which the last wait of a rank inside a call ended, in picoseconds; 0 if it has not waited.
    fn woken(&self, rank: usize) -> PyResult<u64> {
        self.with(|inner| Ok(inner.run.woken(rank).0))
    }

    /// Number of the program that goes on; below zero if none does.
    fn next(&self, py: Python<'_>) -> PyResult<i64> {
        self.with(|inner| self.drive(py, inner, None))
    }

    /// The program that ran waits for a duration in picoseconds, or until `wake` without one.
    #[pyo3(signature = (number, duration, things))]
    fn wait(
        &self,
        py: Python<'_>,
        number: usize,
        duration: Option<u64>,
        things: Vec<(u8, u32)>,
    ) -> PyResult<i64> {
        let _ = things;
        self.with(|inner| {
            let run = &mut inner.run.programs;
            let until = duration.map(|duration| run.now().saturating_add(Time(duration)));
            run.wait(number, until.map_or_else(|| Wait::Any(Vec::new(), Time::MAX), Wait::Until));
            self.drive(py, inner, None)
        })
    }

    /// As `wait` for a duration.
    fn poll(&self, py: Python<'_>, number: usize, duration: u64, things: Vec<(u8, u32)>) -> PyResult<i64> {
        let _ = things;
        self.with(|inner| {
            let limit = inner.run.programs.now().saturating_add(Time(duration));
            inner.run.programs.wait(number, Wait::Any(Vec::new(), limit));
            self.drive(py, inner, None)
        })
    }

    /// The program that ran has ended.
    fn end(&self, number: usize) -> PyResult<()> {
        self.with(|inner| {
            inner.run.programs.wait(number, Wait::Done);
            Ok(())
        })
    }

    /// Ends the wait of a program now.
    fn wake(&self, number: usize) -> PyResult<()> {
        self.with(|inner| {
            inner.run.programs.wake(number);
            Ok(())
        })
    }

    /// The cycle of a deadlock of the fabric, a line for each buffer; none without one.
    fn deadlock(&self) -> PyResult<Option<Vec<String>>> {
        self.with(|inner| Ok(inner.run.programs.find_deadlock()))
    }

    /// Starts a send: `to` is rank, tag, context, mode, identity of the memory. Returns the program that goes on, and the request.
    fn send(&self, py: Python<'_>, rank: usize, data: &Bound<'_, PyAny>, to: Target) -> PyResult<(i64, u32)> {
        self.start_send(py, (rank, false), data, to)
    }

    /// Sends, and waits until the memory may be reused. Returns the program that goes on.
    fn send_and_wait(
        &self,
        py: Python<'_>,
        rank: usize,
        data: &Bound<'_, PyAny>,
        to: Target,
    ) -> PyResult<i64> {
        Ok(self.start_send(py, (rank, true), data, to)?.0)
    }

    /// Starts a receive: `from_` is source, tag, context, identity of the memory.
    fn receive(
        &self,
        py: Python<'_>,
        rank: usize,
        buffer: &Bound<'_, PyAny>,
        from_: Origin,
    ) -> PyResult<(i64, u32)> {
        self.start_receive(py, (rank, false), buffer, from_)
    }

    /// Receives, and waits for the message. Returns the program that goes on, and the result if that is the rank's own; else `finished` has it.
    fn receive_and_wait(
        &self,
        py: Python<'_>,
        rank: usize,
        buffer: &Bound<'_, PyAny>,
        from_: Origin,
    ) -> PyResult<(i64, Option<Row>)> {
        let (step, _) = self.start_receive(py, (rank, true), buffer, from_)?;
        let has_ended = step == rank as i64;
        let found = if has_ended { self.finished(rank)?.pop() } else { None };
        Ok((step, found))
    }

    /// Starts a receive, and a send as soon as that has begun. `waits`: and waits for both, which it forgets; `finished` has their results. Returns the
    /// program that goes on, and the requests.
    fn exchange(
        &self,
        py: Python<'_>,
        rank: usize,
        received: Received<'_>,
        sent: Sent<'_>,
        waits: bool,
    ) -> PyResult<(i64, u32, u32)> {
        self.start_exchange(py, (rank, waits), received, sent)
    }

    /// True if the receive of an exchange that waits is complete.
    fn has_received(&self, rank: usize) -> PyResult<bool> {
        self.with(|inner| Ok(inner.run.has_first(rank)))
    }

    /// Waits until some requests are complete, all of them, and forgets them; `finished` has their results. `foreign`: another call started one.
    fn wait_all(&self, py: Python<'_>, rank: usize, requests: Vec<u32>, foreign: bool) -> PyResult<i64> {
        self.with(|inner| {
            let mut held = Held { py, buffers: &mut inner.buffers };
            let first = requests.clone();
            inner.run.begin(&mut held, |world, _, now| world.wait((rank, now), first, foreign));
            inner.run.end_with(rank, requests);
            self.drive(py, inner, Some(rank))
        })
    }

    /// Results of the requests that the last call of a rank waited for, which has forgotten them.
    fn finished(&self, rank: usize) -> PyResult<Vec<Row>> {
        self.with(|inner| Ok(inner.run.arrived(rank).iter().map(row).collect()))
    }

    /// Starts the receive of a message that a probe took.
    fn receive_taken(
        &self,
        py: Python<'_>,
        rank: usize,
        buffer: &Bound<'_, PyAny>,
        message: u32,
        memory: u64,
    ) -> PyResult<(i64, u32)> {
        let (step, request, is_known) =
            self.start(py, (rank, false), buffer, |world, place, at, (request, length)| {
                world.receive_taken(place, at, request, (message, ReceiveCall { length, memory }))
            })?;
        if is_known { Ok((step, request)) } else { Err(bad_input(format!("there is no message {message}"))) }
    }

    /// Waits until one of some requests is complete.
    fn wait_requests(&self, py: Python<'_>, rank: usize, requests: Vec<u32>, foreign: bool) -> PyResult<i64> {
        Ok(self.call(py, rank, |world, _, at| world.wait(at, requests, foreign))?.0)
    }

    /// Makes progress once, unless one of some requests is complete.
    fn test_requests(&self, py: Python<'_>, rank: usize, requests: Vec<u32>) -> PyResult<i64> {
        Ok(self.call(py, rank, |world, _, at| world.test(at, requests))?.0)
    }

    /// Looks for a message; `found` has it. `pattern`: source, tag, context.
    fn probe(
        &self,
        py: Python<'_>,
        rank: usize,
        pattern: (i32, i32, u16),
        take: bool,
        blocks: bool,
    ) -> PyResult<i64> {
        let (source, tag, context) = pattern;
        let pattern = Pattern { source, tag, context };
        Ok(self.call(py, rank, |world, _, at| world.probe(at, pattern, take, blocks))?.0)
    }

    /// The message that a probe found, and its number if it was taken.
    fn found(&self, rank: usize) -> PyResult<Option<(Row, u32)>> {
        self.with(|inner| {
            let found = inner.run.world().take_found(rank);
            Ok(found.map(|(arrival, number)| (row(&arrival), number)))
        })
    }

    /// Results of requests, of those that are complete.
    fn arrivals(&self, rank: usize, requests: Vec<u32>) -> PyResult<Vec<Option<Row>>> {
        self.with(|inner| {
            let world = inner.run.world();
            Ok(requests.into_iter().map(|request| Some(row(&world.arrival(rank, request)?))).collect())
        })
    }

    /// Forgets a request; it still completes.
    fn free(&self, rank: usize, request: u32) -> PyResult<()> {
        self.with(|inner| {
            inner.run.world().free(rank, request);
            Ok(())
        })
    }

    /// Completes a receive that has not matched, as cancelled.
    fn cancel(&self, py: Python<'_>, rank: usize, request: u32) -> PyResult<()> {
        self.with(|inner| {
            let mut held = Held { py, buffers: &mut inner.buffers };
            inner.run.begin(&mut held, |world, place, _| world.cancel(place, rank, request));
            Ok(())
        })
    }

    /// Completes what is in progress.
    fn close(&self, py: Python<'_>, rank: usize) -> PyResult<i64> {
        Ok(self.call(py, rank, |world, _, at| world.close(at))?.0)
    }

    /// Operations that ranks posted: time in picoseconds, from, to, operation, bytes, headers, `wr_id`.
    fn log(&self) -> PyResult<Vec<Posted>> {
        self.with(|inner| {
            let entries = inner.run.world().log().iter();
            Ok(entries
                .map(|of| (of.time.0, of.from, of.to, of.operation, of.bytes, of.header.clone(), of.wr_id))
                .collect())
        })
    }

    /// Ends the run. Returns its results.
    fn result(&self, py: Python<'_>) -> PyResult<Outcome> {
        let inner = self.lock()?.take();
        let inner = inner.ok_or_else(|| bad_input("the results of the ranks were taken before"))?;
        let Inner { mut run, buffers } = inner;
        drop(buffers);
        let (capture, outcome) = py.detach(|| {
            let capture = captures::end(&mut run.programs, self.capture.as_deref().unwrap_or_default())?;
            PyResult::Ok((capture, run.finish(&self.control)))
        })?;
        Ok(Outcome::new(outcome, &self.prepared).with_capture(capture))
    }
}

/// Hosts of ranks, in order: one for each, or blocks of the same size if there are more ranks than hosts.
fn blocks(prepared: &Prepared, ranks: usize) -> Vec<String> {
    let hosts = &prepared.graph.hosts;
    let block = ranks.div_ceil(hosts.len().max(1)).max(1);
    (0..ranks).filter_map(|rank| hosts.get(rank / block)).map(|host| host.name.clone()).collect()
}

fn row(arrival: &Arrival) -> Row {
    let Arrival { source, tag, length, truncated, cancelled } = *arrival;
    (source, tag, length, truncated, cancelled)
}
