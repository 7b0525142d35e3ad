//! Construction of ranks from the list of jobs.

use std::sync::Arc;

use fabricsim_spec::{Experiment, Job as Spec, name};

use super::{Job, JobInfo, NO_RANK, placement};
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
        let name = if spec.name.is_empty() { name(&spec.program) } else { &spec.name };
        if jobs.iter().any(|(_, other)| other.name == name) {
            return Err(place.error("name", Problem::SameName(name.to_owned())));
        }
        let job = job(experiment.seed, spec, place, selector, (hosts, first + entry))?;
        let info = JobInfo {
            name: name.to_owned(),
            stream: job.stream,
            ranks: job.hosts.len() as u32,
            iterations: job.iterations,
        };
        jobs.push((Arc::new(job), info));
    }
    Ok(jobs)
}

fn job(
    seed: u64,
    spec: &Spec,
    place: ErrorLocation<'_>,
    selector: &Selector<'_>,
    (all, stream): (usize, usize),
) -> Result<Job, WorkloadError> {
    let number = place.entry as u16;
    let hosts = selector.select(&spec.hosts, &place.key("hosts"))?.hosts;
    let ranks = spec.ranks.unwrap_or(hosts.len() as u32);
    if ranks as usize > hosts.len() {
        return Err(place.error("ranks", Problem::Ranks { ranks, hosts: hosts.len() }));
    }
    if ranks < 2 {
        return Err(place.range("hosts", &format!("{ranks} rank"), "2 ranks or more"));
    }
    let program = programs::new(&programs::ProgramInput { place, ranks }, &spec.program)?;
    if spec.outstanding > 1 && !program.is_independent() {
        let with = name(&spec.program);
        let why = "each step depends on the one before it; leave it out (it is for `all-to-all` and `fft` with \
                   `pairwise`)";
        return Err(place.error("outstanding", Problem::NoMeaning { with, why }));
    }
    let steps = program.steps();
    if steps.saturating_mul(u64::from(spec.iterations)) > u64::from(u32::MAX) {
        return Err(place.error("iterations", Problem::TooManySteps { iterations: spec.iterations, steps }));
    }
    let mut hosts = placement::order(spec.placement, hosts, seed, number);
    hosts.truncate(ranks as usize);
    let mut of_host = vec![NO_RANK; all];
    hosts.iter().enumerate().for_each(|(rank, host)| of_host[host.index()] = rank as u32);
    Ok(Job {
        number,
        stream: stream as u16,
        program,
        hosts,
        ranks: of_host,
        steps,
        iterations: spec.iterations,
        start: spec.start,
        outstanding: spec.outstanding as usize,
        step_delay: spec.step_delay,
    })
}
