//! Jobs: when iterations began and ended, and what was sent in them.

use fabricsim_model::Table;
use fabricsim_units::Time;
use serde::Serialize;

use crate::report::TableInput;
use crate::tables;

/// Iterations of all jobs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jobs {
    /// By job and iteration.
    iterations: Vec<Vec<Iteration>>,
    /// Iterations that single ranks have done.
    done: u64,
    end: Time,
}

#[derive(Clone, Copy, Debug)]
struct Iteration {
    /// Time at which the first rank began.
    start: Time,
    /// Time at which the last rank that has done it had done it.
    end: Time,
    /// Ranks that have done it, and bytes that they sent.
    ranks: u32,
    bytes: u64,
}

const UNTOUCHED: Iteration = Iteration { start: Time::MAX, end: Time::ZERO, ranks: 0, bytes: 0 };

impl Iteration {
    fn add(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.ranks += other.ranks;
        self.bytes += other.bytes;
    }

    fn time(&self) -> Time {
        self.end.saturating_sub(self.start)
    }
}

/// Name of a job in tables, and its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobName {
    /// Its name.
    pub name: String,
    /// Its ranks.
    pub ranks: u32,
    /// Iterations that it is to do.
    pub iterations: u32,
}

/// A job in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobSummary {
    /// Its name.
    pub job: String,
    /// Its ranks.
    pub ranks: u32,
    /// Iterations that it was to do.
    pub iterations: u32,
    /// Iterations that all ranks have done.
    pub done: u32,
    /// Time at which the first rank began, in nanoseconds.
    pub start_ns: f64,
    /// Time at which the last rank had done the last iteration that all have done, in nanoseconds.
    pub end_ns: f64,
    /// From the one to the other.
    pub time_ns: f64,
    /// Time of an iteration, from the first rank's begin to the last one's end: mean, smallest, largest.
    pub iteration_ns: IterationTimes,
    /// Bytes that the ranks sent in those iterations.
    pub bytes: u64,
    /// The same as a rate for each rank, in Gb/s.
    pub gbps_per_rank: f64,
}

/// Times of iterations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct IterationTimes {
    /// Mean.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl Jobs {
    pub(crate) fn iterated(&mut self, job: u16, iteration: u32, start: Time, end: Time, bytes: u64) {
        self.at(usize::from(job), iteration as usize).add(&Iteration { start, end, ranks: 1, bytes });
        self.done += 1;
        self.end = self.end.max(end);
    }

    fn at(&mut self, job: usize, iteration: usize) -> &mut Iteration {
        if self.iterations.len() <= job {
            self.iterations.resize(job + 1, Vec::new());
        }
        let of_job = &mut self.iterations[job];
        if of_job.len() <= iteration {
            of_job.resize(iteration + 1, UNTOUCHED);
        }
        &mut of_job[iteration]
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (job, iterations) in other.iterations.iter().enumerate() {
            for (number, iteration) in iterations.iter().enumerate() {
                self.at(job, number).add(iteration);
            }
        }
        self.done += other.done;
        self.end = self.end.max(other.end);
    }

    /// Number of iterations completed by single ranks, and the end of the last.
    pub(crate) fn progress(&self) -> (u64, Time) {
        (self.done, self.end)
    }

    /// The iterations that all ranks of a job have completed: those before the first incomplete one.
    fn complete(&self, job: usize, ranks: u32) -> &[Iteration] {
        let all = self.iterations.get(job).map_or(&[][..], Vec::as_slice);
        &all[..all.iter().position(|iteration| iteration.ranks < ranks).unwrap_or(all.len())]
    }
}

/// Each job with its complete iterations.
fn rows<'a>(context: &'a TableInput<'_>) -> Vec<(&'a JobName, &'a [Iteration])> {
    let Some(jobs) = &context.recorder.jobs else { return Vec::new() };
    let names = context.names.jobs.iter().enumerate();
    names.map(|(number, name)| (name, jobs.complete(number, name.ranks))).collect()
}

pub(crate) fn summaries(context: &TableInput<'_>) -> Vec<JobSummary> {
    rows(context).into_iter().map(|(name, iterations)| summary(name, iterations)).collect()
}

fn summary(name: &JobName, iterations: &[Iteration]) -> JobSummary {
    let mut all = UNTOUCHED;
    for iteration in iterations {
        all.add(iteration);
    }
    let times = || iterations.iter().map(|iteration| iteration.time().as_ns_f64());
    let some = |value: f64| if iterations.is_empty() { f64::NAN } else { value };
    let time = some(all.time().as_ns_f64());
    JobSummary {
        job: name.name.clone(),
        ranks: name.ranks,
        iterations: name.iterations,
        done: iterations.len() as u32,
        start_ns: some(all.start.as_ns_f64()),
        end_ns: some(all.end.as_ns_f64()),
        time_ns: time,
        iteration_ns: IterationTimes {
            mean: times().sum::<f64>() / iterations.len() as f64,
            min: some(times().fold(f64::INFINITY, f64::min)),
            max: some(times().fold(0.0, f64::max)),
        },
        bytes: all.bytes,
        gbps_per_rank: all.bytes as f64 * 8.0 / time / f64::from(name.ranks),
    }
}

/// Time from the first begin to the last end of all jobs, in nanoseconds; `None` without jobs, NaN if one is incomplete.
pub(crate) fn time_ns(jobs: &[JobSummary]) -> Option<f64> {
    if jobs.is_empty() {
        return None;
    }
    if jobs.iter().any(|job| job.done < job.iterations) {
        return Some(f64::NAN);
    }
    let start = jobs.iter().map(|job| job.start_ns).fold(f64::INFINITY, f64::min);
    Some(jobs.iter().map(|job| job.end_ns).fold(0.0, f64::max) - start)
}

/// A row per iteration that all ranks have completed, with jobs.
pub(crate) fn table(context: &TableInput<'_>) -> Option<Table> {
    let jobs = rows(context);
    if jobs.is_empty() {
        return None;
    }
    let rows: Vec<(&JobName, usize, &Iteration)> = jobs
        .iter()
        .flat_map(|&(name, all)| all.iter().enumerate().map(move |(number, one)| (name, number, one)))
        .collect();
    let ns = |value: fn(&Iteration) -> Time| rows.iter().map(|row| value(row.2).as_ns_f64()).collect();
    let rate = |(name, _, one): &(&JobName, usize, &Iteration)| {
        one.bytes as f64 * 8.0 / one.time().as_ns_f64() / f64::from(name.ranks)
    };

    let mut table = tables::new("jobs");
    table.text("job", "Name of the job", rows.iter().map(|row| row.0.name.clone()).collect());
    let numbers = rows.iter().map(|row| row.1 as i64).collect();
    table.whole("iteration", "", "Number of the iteration, from 0", numbers);
    table.real("start_ns", "ns", "When the first rank began it", ns(|one| one.start));
    table.real("end_ns", "ns", "When the last rank had done it", ns(|one| one.end));
    table.real("time_ns", "ns", "From the one to the other", ns(Iteration::time));
    let bytes = rows.iter().map(|row| row.2.bytes as i64).collect();
    table.whole("bytes", "B", "Bytes that the ranks sent in it", bytes);
    let text = "The same as a rate for each rank";
    table.real("gbps_per_rank", "Gb/s", text, rows.iter().map(rate).collect());
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_is_complete_when_all_ranks_have_done_it() {
        let (mut one, mut other) = (Jobs::default(), Jobs::default());
        one.iterated(1, 0, Time::ns(10), Time::ns(30), 100);
        other.iterated(1, 0, Time::ns(12), Time::ns(40), 50);
        one.iterated(1, 1, Time::ns(30), Time::ns(60), 100);
        one.merge(&other);
        assert_eq!(one.progress(), (3, Time::ns(60)));
        assert!(one.complete(0, 2).is_empty());
        let name = JobName { name: "x".to_owned(), ranks: 2, iterations: 2 };
        let summary = summary(&name, one.complete(1, 2));
        assert_eq!((summary.done, summary.start_ns, summary.end_ns, summary.bytes), (1, 10.0, 40.0, 150));
        assert_eq!((summary.iteration_ns.mean, summary.gbps_per_rank), (30.0, 20.0));
        assert!(time_ns(&[summary]).unwrap().is_nan(), "an iteration is missing");
    }
}
