//! Construction of ranks from the list of jobs.

use std::sync::Arc;

use fabricsim_spec::{Experiment, Job as Spec, name};

use super::local::LocalRoute;
use super::{Job, JobInfo, NO_RANK, Schedule, Steps, Work, placement};
use crate::error::ErrorLocation;
use crate::programs;
use crate::select::Selector;
use crate::{Problem, WorkloadError};

/// The jobs of `experiment`, whose messages are streams from number `first` on, on `hosts` hosts.
pub(crate) fn build(
    experiment: &Experiment,
    selector: &Selector<'_>,
    hosts: usize,
    first: usize,
    file: &str,
) -> Result<Vec<(Arc<Job>, JobInfo)>, WorkloadError> {
    let mut jobs: Vec<(Arc<Job>, JobInfo)> = Vec::new();
    for (entry, spec) in experiment.jobs.iter().enumerate() {
        let place = ErrorLocation { file, list: "jobs", entry };
        let name = name_of(spec);
        if jobs.iter().any(|(_, other)| other.name == name) {
            return Err(place.error("name", Problem::SameName(name.to_owned())));
        }
        let mut job = job(experiment, spec, place, selector, (hosts, first + entry))?;
        job.after = after(experiment, spec, place)?;
        let before = job.after.map(|before| &jobs[usize::from(before)].0.first_ranks);
        let meets = |ranks: &Vec<u32>| job.hosts.iter().any(|host| ranks[host.index()] != NO_RANK);
        let unmet = before.is_some_and(|ranks| !meets(ranks));
        let info = JobInfo {
            name: name.to_owned(),
            stream: job.stream,
            ranks: job.count,
            iterations: job.iterations,
            unmet_after: unmet.then(|| spec.after.clone()),
        };
        jobs.push((Arc::new(job), info));
    }
    Ok(jobs)
}

/// Number of the job that must have ended before; its name must be that of a job before this one.
fn after(
    experiment: &Experiment,
    spec: &Spec,
    place: ErrorLocation<'_>,
) -> Result<Option<u16>, WorkloadError> {
    if spec.after.is_empty() {
        return Ok(None);
    }
    let names: Vec<&str> = experiment.jobs.iter().map(name_of).collect();
    let found = names[..place.entry].iter().position(|name| *name == spec.after);
    let problem = || Problem::NoSuchJob {
        name: spec.after.clone(),
        before: names[..place.entry].iter().map(|name| (*name).to_owned()).collect(),
    };
    Ok(Some(found.ok_or_else(|| place.error("after", problem()))? as u16))
}

fn name_of(spec: &Spec) -> &str {
    if spec.name.is_empty() { name(&spec.program) } else { &spec.name }
}

fn job(
    experiment: &Experiment,
    spec: &Spec,
    place: ErrorLocation<'_>,
    selector: &Selector<'_>,
    (all, stream): (usize, usize),
) -> Result<Job, WorkloadError> {
    let number = place.entry as u16;
    let hosts = selector.select(&spec.hosts, &place.key("hosts"))?.hosts;
    let slots = spec.ranks_per_host;
    let places = hosts.len() * slots as usize;
    let ranks = spec.ranks.unwrap_or(places as u32);
    if ranks as usize > places {
        return Err(place.error("ranks", Problem::Ranks { ranks, hosts: hosts.len(), slots }));
    }
    if ranks < 2 {
        return Err(place.range("hosts", &format!("{ranks} rank"), "2 ranks or more"));
    }
    let (work, steps) = work(spec, place, ranks)?;
    let (iterations, most) = (spec.iterations, Job::most_steps(slots));
    if steps.saturating_mul(u64::from(iterations)) > most {
        return Err(place.error("iterations", Problem::TooManySteps { iterations, steps, most }));
    }
    let mut hosts = placement::order(spec.placement, hosts, experiment.seed, number);
    hosts.truncate(ranks.div_ceil(slots) as usize);
    let mut first_ranks = vec![NO_RANK; all];
    (0..).step_by(slots as usize).zip(&hosts).for_each(|(rank, host)| first_ranks[host.index()] = rank);
    Ok(Job {
        number,
        stream: stream as u16,
        work,
        count: ranks,
        hosts,
        first_ranks,
        slots,
        local: LocalRoute::new(&experiment.host.local),
        iterations: spec.iterations,
        start: spec.start,
        after: None,
        step_delay: spec.step_delay,
    })
}

/// The work of an iteration, and the number of its steps.
fn work(spec: &Spec, place: ErrorLocation<'_>, ranks: u32) -> Result<(Work, u64), WorkloadError> {
    let refused = |why| {
        let with = name(&spec.program);
        Err(place.error("outstanding", Problem::NoMeaning { with, why }))
    };
    let operation = match spec.program.clone().into_operation() {
        Ok(operation) => operation,
        Err(_) if spec.outstanding > 1 => {
            return refused(
                "its phases have an order; leave it out, and give `buckets` or `overlap` to a phase",
            );
        }
        Err(sequence) => {
            let key = format!("program.{}", name(&spec.program));
            let schedule = Schedule::new((place, &key), ranks, &sequence)?;
            let steps = schedule.steps();
            return Ok((Work::Sequence(schedule), steps));
        }
    };
    let input = programs::ProgramInput { place, key: "program", ranks };
    let program = programs::new(&input, &operation)?;
    if spec.outstanding > 1 && !program.is_independent() {
        return refused(
            "each step depends on the one before it; leave it out (it is for `all-to-all` and `fft` with \
             `pairwise`)",
        );
    }
    let count = program.steps();
    Ok((Work::Steps(Steps { program, count, outstanding: spec.outstanding as usize }), count))
}
