//! A rank of a job: a state machine that is notified of arrivals and departures, and returns the messages to send.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use fabricsim_units::{HostId, Time};

use super::{Job, NO_RANK};
use crate::closed::{Event, Out};
use crate::programs::{After, Step};
use crate::{Arrival, Message};

/// State of a rank. Steps are counted through all iterations; the number of a step is the tag of its messages.
#[derive(Clone, Debug)]
pub(crate) struct Rank {
    job: Arc<Job>,
    number: u32,
    /// The step that begins next.
    next: u32,
    /// The steps in progress, in order and without gaps: those before them are complete.
    active: VecDeque<Active>,
    /// Bytes of messages for later steps, by step and sender.
    early: BTreeMap<(u32, u32), u64>,
    /// Time at which the last step before those in progress was complete, its computing included.
    complete: Time,
    /// Begin of the iteration, and bytes sent in it so far.
    begun: Time,
    bytes: u64,
}

/// A step in progress.
#[derive(Clone, Debug)]
struct Active {
    /// Messages that have not left.
    sends: u32,
    /// Messages that have not arrived: sender and bytes.
    receives: Vec<(u32, u64)>,
    /// Time of the latest departure or arrival among its messages.
    at: Time,
    compute: Time,
}

impl Active {
    fn is_complete(&self) -> bool {
        self.sends == 0 && self.receives.is_empty()
    }
}

impl Rank {
    /// A rank that has not begun.
    pub(crate) fn new(job: Arc<Job>, number: u32) -> Self {
        Self {
            number,
            next: 0,
            active: VecDeque::new(),
            early: BTreeMap::new(),
            complete: job.start,
            begun: job.start,
            bytes: 0,
            job,
        }
    }

    /// The stream of its messages.
    pub(crate) fn stream(&self) -> u16 {
        self.job.stream
    }

    /// Starts the first steps.
    pub(crate) fn start(&mut self, out: &mut Out) {
        self.go_on(out);
    }

    /// A packet for the rank, or a part of one, has arrived.
    pub(crate) fn arrived(&mut self, now: Time, arrival: &Arrival, out: &mut Out) {
        let from = self.job.ranks[arrival.source.index()];
        debug_assert_ne!(from, NO_RANK, "messages of a job come from its ranks");
        let bytes = u64::from(arrival.bytes);
        if arrival.tag >= self.next {
            *self.early.entry((arrival.tag, from)).or_default() += bytes;
            return;
        }
        let Some(step) = self.under_way(arrival.tag) else { return };
        let Some(place) = step.receives.iter().position(|receive| receive.0 == from) else { return };
        let left = &mut step.receives[place].1;
        *left -= bytes.min(*left);
        if *left == 0 {
            step.receives.swap_remove(place);
            step.at = step.at.max(now);
            if step.is_complete() {
                self.go_on(out);
            }
        }
    }

    /// The last byte of a message of step `tag` leaves at `at`, which may be later than now.
    pub(crate) fn left(&mut self, at: Time, tag: u32, out: &mut Out) {
        let Some(step) = self.under_way(tag) else { return };
        step.sends -= 1;
        step.at = step.at.max(at);
        if step.is_complete() {
            self.go_on(out);
        }
    }

    fn under_way(&mut self, step: u32) -> Option<&mut Active> {
        let first = self.next - self.active.len() as u32;
        self.active.get_mut(step.checked_sub(first)? as usize)
    }

    /// Ends the steps that are complete, in order, and begins those that may begin then.
    fn go_on(&mut self, out: &mut Out) {
        loop {
            while self.begin(out) {}
            if !self.active.front().is_some_and(Active::is_complete) {
                return;
            }
            let Some(first) = self.active.pop_front() else { return };
            self.complete = self.complete.max(first.at + first.compute + self.job.step_delay);
            let ended = self.next - self.active.len() as u32;
            if u64::from(ended).is_multiple_of(self.job.steps) {
                self.end_iteration(ended, out);
            }
        }
    }

    fn end_iteration(&mut self, ended: u32, out: &mut Out) {
        let iteration = (u64::from(ended) / self.job.steps) as u32 - 1;
        out.events.push(Event::Iteration {
            job: self.job.number,
            iteration,
            start: self.begun,
            end: self.complete,
            bytes: std::mem::take(&mut self.bytes),
        });
    }

    /// Begins the next step if it may.
    fn begin(&mut self, out: &mut Out) -> bool {
        let job = &*self.job;
        let within = u64::from(self.next) % job.steps;
        let done = u64::from(self.next) / job.steps >= u64::from(job.iterations);
        if done || self.active.len() >= job.outstanding || (within == 0 && !self.active.is_empty()) {
            return false;
        }
        out.step.clear();
        job.program.step(self.number, within, &mut out.step);
        if out.step.after == After::All && !self.active.is_empty() {
            return false;
        }
        if within == 0 {
            self.begun = self.complete;
        }
        for &(to, bytes) in &out.step.sends {
            self.bytes += bytes;
            let destination: HostId = job.hosts[to as usize];
            let message =
                Message { created: self.complete, destination, bytes, stream: job.stream, tag: self.next };
            out.ready.push(message);
        }
        let receives = self.outstanding(&out.step);
        let Step { ref sends, compute, .. } = out.step;
        self.active.push_back(Active { sends: sends.len() as u32, receives, at: self.complete, compute });
        self.next += 1;
        true
    }

    /// Messages of a step that have not arrived, by sender.
    fn outstanding(&mut self, step: &Step) -> Vec<(u32, u64)> {
        let mut receives: Vec<(u32, u64)> = Vec::with_capacity(step.receives.len());
        for &(from, bytes) in &step.receives {
            match receives.iter_mut().find(|receive| receive.0 == from) {
                Some(receive) => receive.1 += bytes,
                None => receives.push((from, bytes)),
            }
        }
        receives.retain_mut(|(from, left)| {
            let early = self.early.remove(&(self.next, *from)).unwrap_or_default();
            *left -= early.min(*left);
            *left > 0
        });
        receives
    }
}
