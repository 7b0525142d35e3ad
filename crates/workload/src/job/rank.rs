//! A rank of a job: a state machine that is notified of arrivals and departures, and returns the messages to send.

use std::collections::VecDeque;
use std::sync::Arc;

use fabricsim_model::Iteration;
use fabricsim_units::Time;

use super::active::{Active, Early};
use super::{Job, MessageOf, Steps};
use crate::closed::{Event, Out};
use crate::programs::After;

/// State of a rank. Steps are counted through all iterations.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct Rank {
    #[state(fixed)]
    job: Arc<Job>,
    #[state(fixed)]
    steps: Steps,
    #[state(fixed)]
    number: u32,
    /// The step that begins next.
    next: u32,
    /// The steps in progress, in order and without gaps: those before them are complete.
    active: VecDeque<Active>,
    early: Early,
    /// Time at which its last message to a rank on its host has left.
    local_free: Time,
    /// Time at which the last step before those in progress was complete, its computing included.
    complete: Time,
    /// Begin of the iteration, and bytes sent and time computed in it so far.
    begun: Time,
    bytes: u64,
    computed: Time,
}

impl Rank {
    /// A rank that has not begun.
    pub(crate) fn new(job: Arc<Job>, steps: Steps, number: u32) -> Self {
        Self {
            number,
            steps,
            next: 0,
            active: VecDeque::new(),
            early: Early::default(),
            local_free: Time::ZERO,
            complete: job.start,
            begun: job.start,
            bytes: 0,
            computed: Time::ZERO,
            job,
        }
    }

    /// Its job, and its number.
    pub(super) fn job(&self) -> (&Arc<Job>, u32) {
        (&self.job, self.number)
    }

    /// Starts the first steps at `at`.
    pub(crate) fn start(&mut self, at: Time, out: &mut Out) {
        (self.complete, self.begun) = (at, at);
        self.go_on(out);
    }

    /// Bytes for the rank arrive at `at`, which may be later than now.
    pub(super) fn arrived(&mut self, at: Time, of: MessageOf, bytes: u64, out: &mut Out) {
        if of.step >= self.next {
            return self.early.add(at, of.step, of.from, bytes);
        }
        if self.in_progress(of.step).is_some_and(|step| step.arrived(at, of.from, bytes)) {
            self.go_on(out);
        }
    }

    /// The last byte of a message of a step leaves at `at`, which may be later than now.
    pub(crate) fn left(&mut self, at: Time, step: u32, out: &mut Out) {
        if self.in_progress(step).is_some_and(|step| step.left(at)) {
            self.go_on(out);
        }
    }

    fn in_progress(&mut self, step: u32) -> Option<&mut Active> {
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
            let computed = first.at.saturating_add(first.compute);
            self.complete = self.complete.max(computed.saturating_add(self.job.step_delay));
            self.computed = self.computed.saturating_add(first.compute);
            let ended = self.next - self.active.len() as u32;
            if u64::from(ended).is_multiple_of(self.steps.count) {
                self.end_iteration(ended, out);
            }
        }
    }

    fn end_iteration(&mut self, ended: u32, out: &mut Out) {
        out.events.push(Event::Iterated(Iteration {
            job: self.job.number,
            number: (u64::from(ended) / self.steps.count) as u32 - 1,
            start: self.begun,
            end: self.complete,
            bytes: std::mem::take(&mut self.bytes),
            compute: std::mem::take(&mut self.computed),
        }));
    }

    /// Begins the next step if it may.
    fn begin(&mut self, out: &mut Out) -> bool {
        let job = &*self.job;
        let within = u64::from(self.next) % self.steps.count;
        let done = u64::from(self.next) / self.steps.count >= u64::from(job.iterations);
        if done || self.active.len() >= self.steps.outstanding || (within == 0 && !self.active.is_empty()) {
            return false;
        }
        out.step.clear();
        self.steps.program.step(self.number, within, &mut out.step);
        if out.step.after == After::All && !self.active.is_empty() {
            return false;
        }
        if within == 0 {
            self.begun = self.complete;
        }
        self.bytes += job.send((self.number, self.next), self.complete, &mut self.local_free, out);
        self.active.push_back(self.early.begin(self.next, self.complete, &out.step));
        self.next += 1;
        true
    }
}
