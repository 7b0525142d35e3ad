//! The ranks of a host, of all jobs.

use std::sync::Arc;

use fabricsim_units::{HostId, Time};

use super::worker::Worker;
use super::{Job, LocalMessage};
use crate::Arrival;
use crate::closed::{Event, Out};

/// The ranks of a host. Some begin when others end.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct Ranks {
    #[state(fixed)]
    host: HostId,
    #[state(each)]
    workers: Vec<Worker>,
    #[state(each)]
    jobs: Vec<JobOnHost>,
}

/// A job that has ranks on the host.
#[derive(Clone, Debug, fabricsim_state::State)]
struct JobOnHost {
    #[state(fixed)]
    job: Arc<Job>,
    /// The place of its first rank among the workers; the others follow.
    #[state(fixed)]
    first: usize,
    /// Ranks that have not ended, and the end of the last one that has.
    left: usize,
    ended: Time,
}

impl Ranks {
    /// Ranks that have not begun, by job, and those of a job by number.
    pub(crate) fn new(host: HostId, ranks: impl Iterator<Item = (Arc<Job>, u32)>) -> Self {
        let mut found = Self { host, workers: Vec::new(), jobs: Vec::new() };
        for (job, number) in ranks {
            if found.jobs.last().is_none_or(|last| last.job.number != job.number) {
                let (first, job) = (found.workers.len(), Arc::clone(&job));
                found.jobs.push(JobOnHost { job, first, left: 0, ended: Time::ZERO });
            }
            if let Some(last) = found.jobs.last_mut() {
                last.left += 1;
            }
            found.workers.push(Worker::new(job, number));
        }
        found
    }

    /// The same ranks before their begin.
    pub(crate) fn afresh(&self) -> Self {
        let jobs = self.workers.iter().map(Worker::job);
        Self::new(self.host, jobs.map(|(job, number)| (Arc::clone(job), number)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    #[cfg(test)]
    pub(super) fn job(&self) -> &Arc<Job> {
        &self.jobs[0].job
    }

    /// The streams of their messages.
    pub(crate) fn streams(&self) -> impl Iterator<Item = u16> {
        self.jobs.iter().map(|of| of.job.stream)
    }

    /// Starts the ranks that do not begin after others.
    pub(crate) fn start(&mut self, out: &mut Out) {
        for number in 0..self.jobs.len() {
            let job = &self.jobs[number].job;
            let is_here = |after: u16| self.jobs.iter().any(|of| of.job.number == after);
            if job.after.is_none_or(|after| !is_here(after)) {
                self.start_job(number, job.start, out);
            }
        }
        self.deliver(out);
    }

    fn start_job(&mut self, number: usize, at: Time, out: &mut Out) {
        let JobOnHost { first, left, .. } = self.jobs[number];
        for place in first..first + left {
            self.with(number, place, out, |rank, out| rank.start(at, out));
        }
    }

    /// A packet for a rank, or a part of one, has arrived.
    pub(crate) fn arrived(&mut self, now: Time, arrival: &Arrival, out: &mut Out) {
        let Some(number) = self.number(arrival.stream) else { return };
        let of = self.jobs[number].job.message_of(arrival.source, self.host, arrival.tag);
        let place = self.place(number, of.to);
        let bytes = u64::from(arrival.bytes);
        self.with(number, place, out, |rank, out| rank.arrived(now, of, bytes, out));
        self.deliver(out);
    }

    /// The last byte of a message leaves the host at `at`.
    pub(crate) fn left(&mut self, at: Time, stream: u16, tag: u32, out: &mut Out) {
        let Some(number) = self.number(stream) else { return };
        let (from, step) = self.jobs[number].job.sender(self.host, tag);
        let place = self.place(number, from);
        self.with(number, place, out, |rank, out| rank.left(at, step, out));
        self.deliver(out);
    }

    fn number(&self, stream: u16) -> Option<usize> {
        self.jobs.iter().position(|of| of.job.stream == stream)
    }

    /// The place of a rank of a job among the workers.
    fn place(&self, number: usize, rank: u32) -> usize {
        let of = &self.jobs[number];
        of.first + (rank - of.job.ranks_of(self.host).start) as usize
    }

    /// Delivers the messages between ranks of the host, and those that follow from them. Their times, which may be later than now, are what
    /// counts for a rank, whatever the order.
    fn deliver(&mut self, out: &mut Out) {
        while let Some(LocalMessage { job, of, bytes, left, arrived }) = out.local.pop_front() {
            let Some(number) = self.jobs.iter().position(|known| known.job.number == job) else { return };
            let (from, to) = (self.place(number, of.from), self.place(number, of.to));
            self.with(number, from, out, |rank, out| rank.left(left, of.step, out));
            self.with(number, to, out, |rank, out| rank.arrived(arrived, of, bytes, out));
        }
    }

    /// Lets a rank of a job act; if the job ends on the host by that, the jobs after it begin.
    fn with(&mut self, number: usize, place: usize, out: &mut Out, act: impl FnOnce(&mut Worker, &mut Out)) {
        let before = out.events.len();
        act(&mut self.workers[place], out);
        let of = &mut self.jobs[number];
        let last = of.job.iterations - 1;
        let end = out.events[before..].iter().find_map(|event| match event {
            Event::Iterated(iteration) if iteration.number == last => Some(iteration.end),
            _ => None,
        });
        let Some(end) = end else { return };
        (of.left, of.ended) = (of.left - 1, of.ended.max(end));
        if of.left == 0 {
            let (job, ended) = (of.job.number, of.ended);
            for next in 0..self.jobs.len() {
                let job_after = &self.jobs[next].job;
                if job_after.after == Some(job) {
                    self.start_job(next, job_after.start.max(ended), out);
                }
            }
        }
    }
}
