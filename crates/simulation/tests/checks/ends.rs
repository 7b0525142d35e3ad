//! Checks of the ends of runs.

use fabricsim_simulation::Status;
use fabricsim_spec::Drain;

use super::{Failure, Seen, ensure};

/// A deadlock was foretold and is named; nothing interrupts a run.
pub fn status(seen: &Seen) -> Result<(), Failure> {
    let outcome = seen.outcome;
    let named = !outcome.deadlock.is_empty();
    match outcome.status {
        Status::Ok => ensure("deadlocks are named", !named, || format!("{:?}", outcome.deadlock)),
        Status::Interrupted => ensure("the run ends", false, || format!("it was stopped at {}", outcome.end)),
        Status::Deadlock => {
            // Hosts that owe too many responses: a protocol deadlock, which the check of channels does not know.
            let at_hosts = seen.prepared.experiment.host.response_queue.is_some()
                && outcome.deadlock.iter().any(|line| line.contains("responses"));
            ensure("deadlocks are named", named, || "a deadlock without a cycle".to_owned())?;
            // New routes beside packets on old ones, and an engine on what is left of a fabric, may close cycles.
            let experiment = &seen.prepared.experiment;
            let rerouted = experiment.subnet_manager.is_some() && !experiment.faults.plan.is_empty();
            ensure("deadlocks are foretold", seen.cyclic || at_hosts || rerouted, || {
                format!("no cycle was foretold: {:?}", outcome.deadlock)
            })
        }
    }
}

/// A run that drains until it is empty ends empty.
pub fn emptied(seen: &Seen) -> Result<(), Failure> {
    let outcome = seen.outcome;
    if outcome.status != Status::Ok || seen.prepared.experiment.run.drain != Drain::Empty {
        return Ok(());
    }
    // The deadlock of hosts that owe too many responses, of which the run warns: as long as transports repeat requests it does not stop.
    let at_hosts = seen.prepared.experiment.host.response_queue.is_some()
        && outcome.warnings.iter().any(|line| line.contains("for hosts that have to send responses first"));
    if at_hosts {
        return Ok(());
    }
    ensure("an emptied run is empty", outcome.totals.in_flight == 0, || {
        format!("{} packets are in flight at {}", outcome.totals.in_flight, outcome.end)
    })?;
    let limit = seen.prepared.experiment.run.drain_limit.unwrap_or_default();
    // Hosts may wait for ever for what was lost on the way.
    if outcome.warnings.iter().any(|line| line.contains("packets that were lost")) {
        return Ok(());
    }
    ensure("an emptied run is empty", outcome.end < limit, || {
        format!("it ended by its limit, {}", outcome.end)
    })
}

/// A run that ends before its measurement should have ended all its jobs.
pub fn jobs(seen: &Seen) -> Result<(), Failure> {
    let run = &seen.prepared.experiment.run;
    let outcome = seen.outcome;
    let early = outcome.end < run.warmup.saturating_add(run.duration) && run.steady_state.is_none();
    if !early || outcome.status != Status::Ok {
        return Ok(());
    }
    let done = outcome.summary.jobs.jobs.iter().all(|job| job.done == job.iterations);
    ensure("an early end has a reason", done && !outcome.summary.jobs.jobs.is_empty(), || {
        format!("it ended at {} with {:?}", outcome.end, outcome.summary.jobs.jobs)
    })?;
    ensure("an early end has a reason", outcome.totals.in_flight == 0, || {
        format!("{} packets are in flight", outcome.totals.in_flight)
    })
}

/// Rows of precision agree with themselves; a measurement that steady-state detection ended has reached all.
pub fn precision(seen: &Seen) -> Result<(), Failure> {
    let run = &seen.prepared.experiment.run;
    let rows = &seen.outcome.summary.precision;
    let Some(rule) = &run.steady_state else {
        return ensure("precision is that of a steady state", rows.is_empty(), || format!("{rows:?}"));
    };
    let names: Vec<_> = rows.iter().map(|row| row.metric).collect();
    ensure("there is a precision of each number", rule.of.iter().map(|of| of.name()).eq(names), || {
        format!("{rows:?}")
    })?;
    for row in rows {
        let narrow = !row.correlated && row.relative.is_some_and(|found| found <= rule.precision);
        ensure("a precision that is reached is narrow", row.reached == narrow, || format!("{row:?}"))?;
        let counted = row.value.is_some() == (row.batches >= 10);
        ensure("a value has ten batches", counted, || format!("{row:?}"))?;
    }
    let measured = seen.outcome.summary.measured_ns;
    let ended = seen.outcome.status == Status::Ok
        && seen.prepared.workload.jobs.is_empty()
        && measured > 0.0
        && measured < run.duration.as_ns_f64();
    ensure("an early end is precise", !ended || rows.iter().all(|row| row.reached), || {
        format!("measured {measured} ns, {rows:?}")
    })
}
