//! Jobs: when iterations began and ended, and what was sent in them.

use fabricsim_model::{Iteration as OfRank, Table};
use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::Serialize;

use super::collector::{Collector, ResultTable};
use crate::input::TableInput;
use crate::timeline::Timeline;
use crate::{JobName, RecorderConfig};

/// Iterations of all jobs.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(crate) struct Jobs {
    /// By job and iteration.
    iterations: Vec<Vec<Iteration>>,
    /// Iterations that single ranks have done.
    done: u64,
    end: Time,
}

#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Iteration {
    /// Time at which the first rank began.
    start: Time,
    /// Time at which the last rank that has done it had done it.
    end: Time,
    /// Ranks that have done it, and bytes that they sent.
    ranks: u32,
    bytes: u64,
    /// Time that the critical rank computed: the one that ended last; of several the one that computed longest.
    compute: Time,
}

const UNTOUCHED: Iteration =
    Iteration { start: Time::MAX, end: Time::ZERO, ranks: 0, bytes: 0, compute: Time::ZERO };

impl Iteration {
    fn add(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        (self.end, self.compute) = (self.end, self.compute).max((other.end, other.compute));
        self.ranks += other.ranks;
        self.bytes += other.bytes;
    }

    fn time(&self) -> Time {
        self.end.saturating_sub(self.start)
    }

    /// The part of its time in which the critical rank did not compute.
    fn exposed(&self) -> Time {
        self.time().saturating_sub(self.compute)
    }
}

/// Jobs in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct JobsSummary {
    /// From the begin of the first job to the end of the last; none if one is incomplete. Left out without jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "time of all jobs", extend("x-unit" = "ns"))]
    pub job_time_ns: Option<f64>,
    /// The jobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobSummary>,
}

/// A job in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JobSummary {
    /// Its name.
    pub job: String,
    /// Its ranks.
    pub ranks: u32,
    /// Iterations that it was to do.
    pub iterations: u32,
    /// Iterations that all ranks have done.
    #[schemars(title = "iterations done")]
    pub done: u32,
    /// Time at which the first rank began.
    #[schemars(extend("x-unit" = "ns"))]
    pub start_ns: f64,
    /// Time at which the last rank had done the last iteration that all have done.
    #[schemars(extend("x-unit" = "ns"))]
    pub end_ns: f64,
    /// From the start of the first iteration to the end of the last that all ranks have done.
    #[schemars(extend("x-unit" = "ns"))]
    pub time_ns: f64,
    /// Time of an iteration, from the first rank's begin to the last one's end.
    pub iteration_ns: IterationTimes,
    /// Time that the rank which ended last computed in an iteration, mean of the iterations.
    #[schemars(title = "computing", extend("x-unit" = "ns"))]
    pub compute_ns: f64,
    /// Exposed communication: time of an iteration without the computing of the rank that ended last, mean of the iterations.
    #[schemars(title = "exposed communication", extend("x-unit" = "ns"))]
    pub exposed_ns: f64,
    /// Bytes that the ranks sent in those iterations.
    #[schemars(extend("x-unit" = "B"))]
    pub bytes: u64,
    /// These bytes over the time of the job, for each rank.
    #[schemars(extend("x-unit" = "Gb/s"))]
    pub gbps_per_rank: f64,
}

/// Times of iterations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IterationTimes {
    /// Mean.
    #[schemars(extend("x-unit" = "ns"))]
    pub mean: f64,
    /// Smallest.
    #[schemars(title = "shortest", extend("x-unit" = "ns"))]
    pub min: f64,
    /// Largest.
    #[schemars(title = "longest", extend("x-unit" = "ns"))]
    pub max: f64,
}

impl Jobs {
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

impl Collector for Jobs {
    type Summary = JobsSummary;

    fn new(_config: &RecorderConfig, _timeline: &Timeline) -> Self {
        Self::default()
    }

    fn iterated(&mut self, _timeline: &mut Timeline, iteration: &OfRank) {
        let OfRank { job, number, start, end, bytes, compute } = *iteration;
        self.at(usize::from(job), number as usize).add(&Iteration { start, end, ranks: 1, bytes, compute });
        self.done += 1;
        self.end = self.end.max(end);
    }

    fn merge(&mut self, other: &Self) {
        for (job, iterations) in other.iterations.iter().enumerate() {
            for (number, iteration) in iterations.iter().enumerate() {
                self.at(job, number).add(iteration);
            }
        }
        self.done += other.done;
        self.end = self.end.max(other.end);
    }

    fn tables(&self, input: &TableInput<'_>) -> Vec<ResultTable> {
        if input.names.jobs.is_empty() {
            return Vec::new();
        }
        vec![ResultTable::new(
            "iteration of a job that all its ranks have completed; with jobs",
            self.table(input),
        )]
    }

    fn summarize(&self, input: &TableInput<'_>) -> JobsSummary {
        let jobs: Vec<JobSummary> =
            self.rows(input).map(|(name, iterations)| summary(name, iterations)).collect();
        JobsSummary { job_time_ns: time_ns(&jobs), jobs }
    }
}

impl Jobs {
    /// Each job with its complete iterations.
    fn rows<'a>(&'a self, input: &'a TableInput<'_>) -> impl Iterator<Item = (&'a JobName, &'a [Iteration])> {
        let names = input.names.jobs.iter().enumerate();
        names.map(|(number, name)| (name, self.complete(number, name.ranks)))
    }

    /// A row per iteration that all ranks have completed.
    fn table(&self, input: &TableInput<'_>) -> Table {
        let rows: Vec<(&JobName, usize, &Iteration)> = self
            .rows(input)
            .flat_map(|(name, all)| all.iter().enumerate().map(move |(number, one)| (name, number, one)))
            .collect();
        let ns = |value: fn(&Iteration) -> Time| rows.iter().map(|row| value(row.2).as_ns_f64()).collect();
        let rate = |(name, _, one): &(&JobName, usize, &Iteration)| {
            one.bytes as f64 * 8.0 / one.time().as_ns_f64() / f64::from(name.ranks)
        };

        let mut table = Table::new("jobs");
        table.text("job", "Name of the job", rows.iter().map(|row| row.0.name.clone()).collect());
        let numbers = rows.iter().map(|row| row.1 as i64).collect();
        table.whole("iteration", "", "Number of the iteration, from 0", numbers);
        table.real("start_ns", "ns", "When the first rank began it", ns(|one| one.start));
        table.real("end_ns", "ns", "When the last rank had done it", ns(|one| one.end));
        table.real("time_ns", "ns", "From the one to the other", ns(Iteration::time));
        let text = "Time that the rank which ended last computed in it";
        table.real("compute_ns", "ns", text, ns(|one| one.compute));
        let text = "Exposed communication: `time_ns` without `compute_ns`";
        table.real("exposed_ns", "ns", text, ns(Iteration::exposed));
        let bytes = rows.iter().map(|row| row.2.bytes as i64).collect();
        table.whole("bytes", "B", "Bytes that the ranks sent in it", bytes);
        let text = "The same as a rate for each rank";
        table.real("gbps_per_rank", "Gb/s", text, rows.iter().map(rate).collect());
        table
    }
}

fn summary(name: &JobName, iterations: &[Iteration]) -> JobSummary {
    let mut all = UNTOUCHED;
    for iteration in iterations {
        all.add(iteration);
    }
    let mean = |value: fn(&Iteration) -> Time| {
        iterations.iter().map(|one| value(one).as_ns_f64()).sum::<f64>() / iterations.len() as f64
    };
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
            mean: mean(Iteration::time),
            min: some(times().fold(f64::INFINITY, f64::min)),
            max: some(times().fold(0.0, f64::max)),
        },
        compute_ns: mean(|one| one.compute),
        exposed_ns: mean(Iteration::exposed),
        bytes: all.bytes,
        gbps_per_rank: all.bytes as f64 * 8.0 / time / f64::from(name.ranks),
    }
}

/// Time from the first begin to the last end of all jobs, in nanoseconds; `None` without jobs, NaN if one is incomplete.
fn time_ns(jobs: &[JobSummary]) -> Option<f64> {
    if jobs.is_empty() {
        return None;
    }
    if jobs.iter().any(|job| job.done < job.iterations) {
        return Some(f64::NAN);
    }
    let start = jobs.iter().map(|job| job.start_ns).fold(f64::INFINITY, f64::min);
    Some(jobs.iter().map(|job| job.end_ns).fold(0.0, f64::max) - start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Window;
    use crate::grid::Axis;

    #[test]
    fn an_iteration_is_complete_when_all_ranks_have_done_it() {
        let (mut one, mut other) = (Jobs::default(), Jobs::default());
        let mut timeline = Timeline { window: Window::CLOSED, axis: Axis::new(Time::ns(1), 8) };
        let timeline = &mut timeline;
        let of = |number, start, end, bytes, compute| OfRank {
            job: 1,
            number,
            start: Time::ns(start),
            end: Time::ns(end),
            bytes,
            compute: Time::ns(compute),
        };
        one.iterated(timeline, &of(0, 10, 30, 100, 9));
        other.iterated(timeline, &of(0, 12, 40, 50, 7));
        one.iterated(timeline, &of(1, 30, 60, 100, 9));
        one.merge(&other);
        assert_eq!(one.progress(), (3, Time::ns(60)));
        assert!(one.complete(0, 2).is_empty());
        let name = JobName { name: "x".to_owned(), ranks: 2, iterations: 2 };
        let summary = summary(&name, one.complete(1, 2));
        assert_eq!((summary.done, summary.start_ns, summary.end_ns, summary.bytes), (1, 10.0, 40.0, 150));
        assert_eq!((summary.iteration_ns.mean, summary.gbps_per_rank), (30.0, 20.0));
        // The second rank ended last, after 40 - 10 ns, of which it computed 7 ns.
        assert_eq!((summary.compute_ns, summary.exposed_ns), (7.0, 23.0));
        assert!(time_ns(&[summary]).unwrap().is_nan(), "an iteration is missing");
    }
}
