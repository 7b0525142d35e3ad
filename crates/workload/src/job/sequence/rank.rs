//! A rank of a sequence: a state machine that is notified of arrivals and departures, and returns the messages to send.

use std::sync::Arc;

use fabricsim_model::Iteration;
use fabricsim_units::Time;

use super::{Plan, TRACKS, Work};
use crate::closed::{Event, Out};
use crate::job::active::{Active, Early};
use crate::job::{Job, MessageOf};

/// State of a rank. Steps are counted through all iterations.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct SequenceRank {
    #[state(fixed)]
    job: Arc<Job>,
    #[state(fixed)]
    plan: Arc<Plan>,
    #[state(fixed)]
    number: u32,
    iteration: u32,
    tracks: [Track; TRACKS],
    /// By action: the time at which it was, or will be, complete in this iteration; [`Time::MAX`] if that is not known.
    complete: Vec<Time>,
    early: Early,
    /// Begin of the iteration, and bytes sent and time computed in it so far.
    begun: Time,
    bytes: u64,
    computed: Time,
}

#[derive(Clone, Debug, fabricsim_state::Value)]
struct Track {
    /// Place of its next action, or the one in progress, in the plan's track.
    place: usize,
    /// The step of that action that begins next, or is in progress.
    step: u32,
    /// Time at which what it did last was complete.
    free: Time,
    /// Time at which its last message to a rank on the same host has left.
    local_free: Time,
    active: Option<(u32, Active)>,
}

impl SequenceRank {
    /// A rank that has not begun.
    pub(in crate::job) fn new(job: Arc<Job>, plan: Arc<Plan>, number: u32) -> Self {
        let free = job.start;
        let track = || Track { place: 0, step: 0, free, local_free: Time::ZERO, active: None };
        let complete = vec![Time::MAX; plan.actions.len()];
        Self {
            number,
            iteration: 0,
            tracks: std::array::from_fn(|_| track()),
            complete,
            early: Early::default(),
            begun: free,
            bytes: 0,
            computed: Time::ZERO,
            job,
            plan,
        }
    }

    /// Its job, and its number.
    pub(in crate::job) fn job(&self) -> (&Arc<Job>, u32) {
        (&self.job, self.number)
    }

    /// Starts the first actions at `at`.
    pub(in crate::job) fn start(&mut self, at: Time, out: &mut Out) {
        self.begun = at;
        self.tracks.iter_mut().for_each(|track| track.free = at);
        self.go_on(out);
    }

    /// Bytes for the rank arrive at `at`, which may be later than now.
    pub(in crate::job) fn arrived(&mut self, at: Time, of: MessageOf, bytes: u64, out: &mut Out) {
        let Some(step) = self.in_progress(of.step) else {
            return self.early.add(at, of.step, of.from, bytes);
        };
        if step.arrived(at, of.from, bytes) {
            self.go_on(out);
        }
    }

    /// The last byte of a message of a step leaves at `at`, which may be later than now.
    pub(in crate::job) fn left(&mut self, at: Time, step: u32, out: &mut Out) {
        if self.in_progress(step).is_some_and(|step| step.left(at)) {
            self.go_on(out);
        }
    }

    fn in_progress(&mut self, step: u32) -> Option<&mut Active> {
        let mut active = self.tracks.iter_mut().filter_map(|track| track.active.as_mut());
        active.find(|(of, _)| *of == step).map(|(_, step)| step)
    }

    /// Ends all that is complete, and begins all that may begin then.
    fn go_on(&mut self, out: &mut Out) {
        let plan = Arc::clone(&self.plan);
        while self.iteration < self.job.iterations {
            // An action may wait for one of any other track.
            let mut any = true;
            while any {
                any = false;
                for track in 0..TRACKS {
                    any |= self.advance_track(&plan, track, out);
                }
            }
            let is_done = |(track, actions): (&Track, &Vec<u32>)| track.place == actions.len();
            if !self.tracks.iter().zip(&plan.tracks).all(is_done) {
                return;
            }
            self.end_iteration(out);
        }
    }

    fn end_iteration(&mut self, out: &mut Out) {
        let end = self.tracks.iter().map(|track| track.free).max().unwrap_or(self.begun);
        out.events.push(Event::Iterated(Iteration {
            job: self.job.number,
            number: self.iteration,
            start: self.begun,
            end,
            bytes: std::mem::take(&mut self.bytes),
            compute: std::mem::take(&mut self.computed),
        }));
        self.iteration += 1;
        self.begun = end;
        self.complete.fill(Time::MAX);
        for track in &mut self.tracks {
            *track = Track { place: 0, step: 0, free: end, local_free: Time::ZERO, active: None };
        }
    }

    /// True if the track ends or begins something; then it may be able to do more.
    fn advance_track(&mut self, plan: &Plan, track: usize, out: &mut Out) -> bool {
        let mut any = false;
        while self.end_step(plan, track) || self.begin(plan, track, out) {
            any = true;
        }
        any
    }

    /// Ends the step in progress, if it is complete.
    fn end_step(&mut self, plan: &Plan, track: usize) -> bool {
        let of = &mut self.tracks[track];
        let Some((_, step)) = of.active.take_if(|(_, step)| step.is_complete()) else { return false };
        of.free = step.at.saturating_add(step.compute).saturating_add(self.job.step_delay);
        self.computed = self.computed.saturating_add(step.compute);
        of.step += 1;
        let number = plan.tracks[track][of.place] as usize;
        if let Work::Program { steps, .. } = plan.actions[number].work
            && of.step == steps
        {
            self.end_action(track, number);
        }
        true
    }

    fn end_action(&mut self, track: usize, number: usize) {
        let track = &mut self.tracks[track];
        self.complete[number] = track.free;
        (track.place, track.step) = (track.place + 1, 0);
    }

    /// Begins the next step or computing of a track, if it may.
    fn begin(&mut self, plan: &Plan, track: usize, out: &mut Out) -> bool {
        let of = &mut self.tracks[track];
        let Some(&number) = plan.tracks[track].get(of.place).filter(|_| of.active.is_none()) else {
            return false;
        };
        let action = &plan.actions[number as usize];
        if of.step == 0 {
            let waits = action.waits.iter().map(|of| self.complete[*of as usize]);
            let begin = waits.fold(of.free, Time::max);
            if begin == Time::MAX {
                return false;
            }
            of.free = begin;
        }
        match &action.work {
            Work::Compute(time) => {
                of.free = of.free.saturating_add(*time);
                self.computed = self.computed.saturating_add(*time);
                self.end_action(track, number as usize);
            }
            Work::Program { program, group, first, .. } => {
                let (free, step) = (of.free, of.step);
                out.step.clear();
                program.step(group.place(self.number), u64::from(step), &mut out.step);
                for peer in out.step.sends.iter_mut().chain(&mut out.step.receives) {
                    peer.0 = group.rank(self.number, peer.0);
                }
                let step = self.iteration * plan.steps + first + step;
                let local_free = &mut self.tracks[track].local_free;
                self.bytes += self.job.send((self.number, step), free, local_free, out);
                self.tracks[track].active = Some((step, self.early.begin(step, free, &out.step)));
            }
        }
        true
    }
}
