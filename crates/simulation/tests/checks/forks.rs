//! Copies of a run in progress: both come to the same end as a run that was never copied, and one that begins without its later failures
//! as well.

use std::sync::Arc;

use fabricsim_engine::Prepared;
use fabricsim_measure::Recorder;
use fabricsim_session::Feed;
use fabricsim_simulation::{Control, ForkError, Outcome, Run};
use fabricsim_spec::Experiment;
use fabricsim_units::Time;

use super::{Failure, ensure, partitions, prepare};

type Running = Run<Arc<Prepared>, Feed<Recorder>>;

/// Copies a run at a time that follows from its fingerprint, in one partition or in three; `alone` is the run that was never copied.
pub fn forked(text: &str, alone: &Outcome) -> Result<(), Failure> {
    let random = alone.totals.fingerprint;
    let at = Time(if alone.end.0 == 0 { 0 } else { random % alone.end.0 });
    let count = if random.is_multiple_of(2) { "1" } else { "3" };
    let overrides = [("run.allow_deadlock", "true"), ("run.partitions", count)];
    let prepared = prepare(text, &overrides).map_err(failure)?;
    let run = warm(&prepared, at);
    // One is at its end before the other goes on.
    let copied = to_the_end(run.clone());
    let compare = |outcome: &Outcome, what| first(partitions::same(alone, outcome, count), what, at);
    compare(&copied, "copy")?;
    if let Some(resumed) = resumed(&run, &prepared) {
        compare(&to_the_end(resumed), "run that continues from its state as bytes")?;
    }
    compare(&to_the_end(run), "run that was copied")?;
    with_later_failures(&prepared, at).map_or(Ok(()), |outcome| compare(&outcome, "copy with failures"))
}

/// A fresh run of the experiment with the state of `run`, by way of bytes. None if the state cannot be written, which is so with a subnet
/// manager only.
fn resumed(run: &Running, prepared: &Prepared) -> Option<Running> {
    let control = Control::default();
    let mut resumed = Run::with_feed(Arc::new(prepared.clone()), &control);
    let bytes = match run.save() {
        Err(_) if prepared.experiment.subnet_manager.is_some() => return None,
        bytes => bytes.unwrap_or_else(|refused| panic!("{refused}")),
    };
    resumed.restore(&bytes, &control).unwrap_or_else(|damaged| panic!("{damaged}"));
    Some(resumed)
}

/// A run that begins without the failures after `at`, and is copied there with all of them. None if there are no such failures, or
/// nothing was left to happen before.
fn with_later_failures(prepared: &Prepared, at: Time) -> Option<Outcome> {
    let experiment = prepared.experiment.clone();
    let mut faults = experiment.faults.clone();
    faults.plan.retain(|fault| fault.at <= at);
    if faults.plan.len() == experiment.faults.plan.len() {
        return None;
    }
    let before = Experiment { faults, ..experiment.clone() };
    let before = prepared.with_faults(before, "generated.toml").unwrap_or_else(|error| panic!("{error}"));
    let run = warm(&before, at);
    match run.fork_with(experiment, "generated.toml") {
        Ok((copy, _)) => Some(to_the_end(copy)),
        Err(ForkError::Past { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

fn warm(prepared: &Prepared, at: Time) -> Running {
    let mut run = Run::with_feed(Arc::new(prepared.clone()), &Control::default());
    run.advance_to(at, &Control::default());
    run
}

fn to_the_end(mut run: Running) -> Outcome {
    let control = Control::default();
    run.advance_to(Time::MAX, &control);
    run.finish(&control)
}

fn first(differences: Vec<Failure>, what: &str, at: Time) -> Result<(), Failure> {
    let Some(Failure { message, .. }) = differences.into_iter().next() else { return Ok(()) };
    ensure("forks", false, || format!("the {what}, at {at}: {message}"))
}

fn failure(message: String) -> Failure {
    Failure { check: "forks", message }
}
