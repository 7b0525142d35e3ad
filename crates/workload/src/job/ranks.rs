//! The ranks of a host, one of each job.

use std::sync::Arc;

use fabricsim_units::Time;

use super::Job;
use super::worker::Worker;
use crate::Arrival;
use crate::closed::{Event, Out};

/// The ranks of a host. Some begin when others end.
#[derive(Clone, Debug)]
pub(crate) struct Ranks(Vec<Worker>);

impl Ranks {
    /// Ranks that have not begun, by job.
    pub(crate) fn new(ranks: impl Iterator<Item = (Arc<Job>, u32)>) -> Self {
        Self(ranks.map(|(job, number)| Worker::new(job, number)).collect())
    }

    /// The same ranks before their begin.
    pub(crate) fn afresh(&self) -> Self {
        let jobs = self.0.iter().map(Worker::job);
        Self::new(jobs.map(|(job, number)| (Arc::clone(job), number)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The streams of their messages.
    pub(crate) fn streams(&self) -> impl Iterator<Item = u16> {
        self.0.iter().map(Worker::stream)
    }

    /// Starts the ranks that do not begin after others.
    pub(crate) fn start(&mut self, out: &mut Out) {
        let jobs: Vec<u16> = self.0.iter().map(|rank| rank.job().0.number).collect();
        for place in 0..self.0.len() {
            let job = self.0[place].job().0;
            if job.after.is_none_or(|after| !jobs.contains(&after)) {
                let at = job.start;
                self.with(place, out, |rank, out| rank.start(at, out));
            }
        }
    }

    /// A packet for a rank, or a part of one, has arrived.
    pub(crate) fn arrived(&mut self, now: Time, arrival: &Arrival, out: &mut Out) {
        if let Some(place) = self.place(arrival.stream) {
            self.with(place, out, |rank, out| rank.arrived(now, arrival, out));
        }
    }

    /// The last byte of a message leaves the host at `at`.
    pub(crate) fn left(&mut self, at: Time, stream: u16, tag: u32, out: &mut Out) {
        if let Some(place) = self.place(stream) {
            self.with(place, out, |rank, out| rank.left(at, tag, out));
        }
    }

    fn place(&self, stream: u16) -> Option<usize> {
        self.0.iter().position(|rank| rank.stream() == stream)
    }

    /// Lets a rank act; if it ends by that, the ranks after it begin.
    fn with(&mut self, place: usize, out: &mut Out, act: impl FnOnce(&mut Worker, &mut Out)) {
        let before = out.events.len();
        act(&mut self.0[place], out);
        self.begin_after(place, before, out);
    }

    /// Begins the ranks after a rank, if an event from number `before` on is its end.
    fn begin_after(&mut self, place: usize, before: usize, out: &mut Out) {
        let job = self.0[place].job().0;
        let (number, last) = (job.number, job.iterations - 1);
        let end = out.events[before..].iter().find_map(|event| match event {
            Event::Iterated(of) if of.job == number && of.number == last => Some(of.end),
            _ => None,
        });
        let Some(end) = end else { return };
        for next in 0..self.0.len() {
            let job = self.0[next].job().0;
            if job.after == Some(number) {
                let (at, before) = (job.start.max(end), out.events.len());
                self.0[next].start(at, out);
                self.begin_after(next, before, out);
            }
        }
    }
}
