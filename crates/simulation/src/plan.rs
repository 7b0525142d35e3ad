//! The plan of a run over a session: warm-up, measurement and drain, watched for deadlock.
//!
//! The plan acts at fixed simulated times, its *checkpoints*, on sums over all partitions. So a run depends neither on the number of
//! partitions nor on where its caller stops in between.

mod quiet;

use std::ops::Deref;

use fabricsim_engine::{Advance, Prepared};
use fabricsim_measure::{DeliveredBatch, Recorder, Steady, Verdict};
use fabricsim_session::{Feed, Session};
use fabricsim_spec::Drain;
use fabricsim_units::Time;
use fabricsim_workload::Workload;

use crate::congestion::Trees;
use crate::control::{Control, Phase};
use crate::outcome::Status;
use crate::packets::PacketTrace;
use crate::recording::{self, Recording};
use crate::watch::DeadlockWatch;

/// Checkpoints between the start of a run and its expected end.
const CHECKPOINTS: u64 = 100;

/// Outcome of [`Run::advance_to`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The requested time.
    Reached,
    /// The requested time; no event is left unless the caller injects a message.
    Idle,
    /// The end of the run, before the requested time or at it.
    Ended,
    /// Stopped by its control.
    Stopped,
}

/// Part of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub(crate) enum Stage {
    Start,
    WarmUp,
    Measurement,
    /// Warm-up and measurement whose ends follow from the measured latency.
    Steady,
    Drain,
    Over,
}

/// A run in progress. `P` refers to its experiment; `B` observes it. A clone is an independent copy.
#[derive(Clone, fabricsim_state::State)]
pub struct Run<P, B = Recorder> {
    #[state(fixed)]
    pub(crate) prepared: P,
    pub(crate) session: Session<B>,
    stage: Stage,
    /// Time between checkpoints.
    #[state(fixed)]
    step: Time,
    pub(crate) status: Option<Status>,
    /// Measurement, once its begin is known.
    pub(crate) window: Option<(Time, Time)>,
    #[state(each)]
    pub(crate) steady: Option<Steady>,
    pub(crate) trees: Trees,
    pub(crate) watch: DeadlockWatch,
    #[state(fixed)]
    jobs: JobsToDo,
    /// Records of packets link by link, if the experiment asks for them and the observer can trace.
    #[state(each)]
    pub(crate) packets: Option<Box<PacketTrace>>,
    /// True if it has ended because its programs have.
    pub(crate) has_ended_early: bool,
}

/// Iterations of jobs to wait for.
#[derive(Clone)]
struct JobsToDo {
    /// Iterations of all ranks.
    iterations: u64,
}

impl JobsToDo {
    fn of(workload: &Workload) -> Self {
        let all = workload.jobs.iter().map(|job| u64::from(job.ranks) * u64::from(job.iterations));
        Self { iterations: all.sum() }
    }

    /// Returns the time at which the last iteration ended, if there are jobs and all are done.
    fn end<B: Recording>(&self, session: &mut Session<B>) -> Option<Time> {
        let progress = session.engine_mut().observers().map(|of| of.recorder().job_progress());
        let (done, end) = progress.fold((0, Time::ZERO), |all, one| (all.0 + one.0, all.1.max(one.1)));
        (self.iterations > 0 && done == self.iterations).then_some(end)
    }
}

impl<P: Deref<Target = Prepared>> Run<P> {
    /// The run of an experiment, at its start.
    pub fn new(prepared: P, control: &Control) -> Self {
        Self::observed(prepared, control, |recorder| recorder)
    }
}

impl<P: Deref<Target = Prepared>> Run<P, Feed<Recorder>> {
    /// The run of an experiment at its start, to whose events the caller may subscribe.
    pub fn with_feed(prepared: P, control: &Control) -> Self {
        Self::observed(prepared, control, Feed::new)
    }
}

impl<P: Deref<Target = Prepared>, B: Recording> Run<P, B> {
    fn observed(prepared: P, control: &Control, observe: impl Fn(Recorder) -> B) -> Self {
        let run = &prepared.experiment.run;
        let jobs = JobsToDo::of(&prepared.workload);
        let config = recording::config(&prepared, jobs.iterations > 0 || !prepared.devices.is_empty());
        control.enter(Phase::Fabric);
        let mut session = Session::new(&prepared, || observe(recording::recorder(&config, &prepared)));
        let packets = PacketTrace::new(&prepared).map(Box::new);
        if packets.is_some() {
            B::start_trace(&mut session);
        }
        control.enter(Phase::WarmUp);
        let whole = run.warmup.saturating_add(run.duration);
        control.expect(whole);
        let steady = run.steady_state.clone().map(|rule| Steady::new(rule, longest_warmup(run)));
        let step = match steady {
            Some(_) => Steady::batch_length(run),
            None => Time(whole.0.div_ceil(CHECKPOINTS)).max(Time::ps(1)),
        };
        Self {
            session,
            stage: Stage::Start,
            step,
            status: None,
            window: None,
            steady,
            trees: Trees::new(&prepared),
            watch: DeadlockWatch::new(&prepared),
            jobs,
            packets,
            has_ended_early: false,
            prepared,
        }
    }

    /// The fabric in operation. Actions of the caller on it are part of the run.
    pub fn session(&mut self) -> &mut Session<B> {
        &mut self.session
    }

    /// The experiment.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// True if the run has come to its end; the caller may still advance it.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Status of a run that has come to its end.
    pub fn status(&self) -> Option<Status> {
        self.status
    }

    /// The cycle of a deadlock that has been found, a line for each buffer.
    pub fn deadlock(&self) -> &[String] {
        &self.watch.deadlock
    }

    /// Advances to `until`, or to the end of the run; beyond the end if it has ended before. `control` may stop it.
    pub fn advance_to(&mut self, until: Time, control: &Control) -> Stop {
        if self.stage == Stage::Start {
            self.begin(control);
            if self.is_over() {
                return Stop::Ended;
            }
        }
        let mut how = Advance::Reached;
        if until <= self.session.now() {
            // What is due now, such as the first sweep of a subnet manager, happens even if no time passes.
            how = self.advance_session(self.session.now(), false, control);
            if how == Advance::Stopped {
                return Stop::Stopped;
            }
        }
        while self.session.now() < until {
            let checkpoint = self.checkpoint();
            let next = until.min(checkpoint).min(self.next_look());
            let quietly = next == checkpoint && next < until && self.is_quiet_at(checkpoint);
            how = self.advance_session(next, quietly, control);
            self.take_traced();
            if how == Advance::Stopped {
                return Stop::Stopped;
            }
            if self.is_over() {
                continue;
            }
            if !self.end_with_jobs(how) {
                if self.session.now() >= self.trees.due() {
                    self.trees.look(&self.session, &self.prepared, self.window);
                }
                if self.session.now() < checkpoint {
                    continue;
                }
                self.watch.take_stock(&self.session, &self.prepared, how, &mut self.status);
            }
            self.after_checkpoint(control);
            if self.is_over() {
                return Stop::Ended;
            }
        }
        if how == Advance::Idle { Stop::Idle } else { Stop::Reached }
    }

    /// Time of the next sample of congestion trees, and of the next look at packets; [`Time::MAX`] if there is none.
    fn next_look(&self) -> Time {
        let trace = self.packets.as_ref().map(|packets| packets.next_look(self.session.now()));
        let trees = if self.is_over() { Time::MAX } else { self.trees.due() };
        trees.min(trace.unwrap_or(Time::MAX))
    }

    /// Records what crossed links until now.
    pub(crate) fn take_traced(&mut self) {
        if let Some(packets) = &mut self.packets {
            let until = self.session.now();
            packets.take(&B::take_traced(&mut self.session, until), &self.prepared.graph);
        }
    }

    /// Time of the next checkpoint; [`Time::MAX`] once the run is over.
    fn checkpoint(&self) -> Time {
        let next = self.step * (self.session.now().0 / self.step.0 + 1);
        let (from, to) = self.window.unwrap_or((Time::MAX, Time::MAX));
        match self.stage {
            Stage::WarmUp => next.min(from),
            Stage::Measurement => next.min(to),
            Stage::Start | Stage::Steady => next,
            Stage::Drain => next.min(self.drain_limit()),
            Stage::Over => Time::MAX,
        }
    }

    fn begin(&mut self, control: &Control) {
        if self.steady.is_some() {
            self.stage = Stage::Steady;
            return;
        }
        let run = &self.prepared.experiment.run;
        let (from, to) = (run.warmup, run.warmup.saturating_add(run.duration));
        self.stage = Stage::WarmUp;
        self.open(from, to);
        self.enter_stages(control);
    }

    /// Acts on the state at a checkpoint.
    fn after_checkpoint(&mut self, control: &Control) {
        if self.stage == Stage::Steady {
            self.judge_batch(control);
        }
        if self.status.is_some() {
            self.stage = Stage::Over;
        }
        self.enter_stages(control);
    }

    /// Enters the stages that begin now.
    fn enter_stages(&mut self, control: &Control) {
        let now = self.session.now();
        let Some((from, to)) = self.window else { return };
        if self.stage == Stage::WarmUp && now >= from {
            self.stage = Stage::Measurement;
            control.enter(Phase::Measurement);
        }
        if self.stage == Stage::Measurement && now >= to {
            self.begin_drain(control);
        }
        if self.stage == Stage::Drain && (self.is_drained(to) || now >= self.drain_limit()) {
            self.stage = Stage::Over;
            self.status = Some(Status::Ok);
        }
    }

    fn begin_drain(&mut self, control: &Control) {
        self.stage = Stage::Drain;
        control.enter(Phase::Drain);
        if self.prepared.experiment.run.drain == Drain::Empty {
            self.session.stop_traffic();
        }
    }

    /// Reports the part of the plan that a restored run is in.
    pub(crate) fn report_phase(&self, control: &Control) {
        control.enter(match self.stage {
            Stage::Start | Stage::WarmUp | Stage::Steady => Phase::WarmUp,
            Stage::Measurement => Phase::Measurement,
            Stage::Drain => Phase::Drain,
            Stage::Over => Phase::Done,
        });
    }

    fn drain_limit(&self) -> Time {
        let end = self.window.map_or(Time::MAX, |(_, to)| to);
        end.saturating_add(self.prepared.experiment.run.drain_limit.unwrap_or(end * 10))
    }

    /// True if the drain of a measurement that ended at `end` is complete.
    pub(crate) fn is_drained(&self, end: Time) -> bool {
        let engine = self.session.engine();
        match self.prepared.experiment.run.drain {
            Drain::None => true,
            Drain::Measured => engine.delivered_all_created_before(end),
            Drain::Empty => engine.totals().in_flight == 0 && engine.sources_drained(),
        }
    }

    /// With the last batch, begins the measurement, or ends it.
    fn judge_batch(&mut self, control: &Control) {
        let longest = self.prepared.experiment.run.duration;
        let now = self.session.now();
        let mut batch = DeliveredBatch::default();
        self.session.engine_mut().observers().for_each(|of| batch += of.recorder().take_batch());
        let Some(steady) = &mut self.steady else { return };
        let verdict = steady.push(batch);
        if verdict == Verdict::Open {
            let engine = self.session.engine_mut();
            engine.observers().for_each(|of| of.recorder().open_window(now));
            engine.visit_transmissions(|of, port, lane, end| of.recorder().reach_into(port, lane, end));
            self.open(now, Time::MAX);
            control.expect(now.saturating_add(longest));
            control.enter(Phase::Measurement);
        }
        let is_longest = self.window.is_some_and(|(from, _)| now.saturating_sub(from) >= longest);
        if verdict == Verdict::Close || is_longest {
            self.close(now);
            if self.status.is_none() {
                self.begin_drain(control);
            }
        }
    }

    fn open(&mut self, from: Time, to: Time) {
        self.window = Some((from, to));
        self.session.engine_mut().sources().for_each(|(_, source)| source.set_window(from, to));
    }

    /// Ends the measurement at `to`, which is not after now or, if that has not begun, its begin.
    pub(crate) fn close(&mut self, to: Time) {
        let Some((from, _)) = self.window else { return };
        let engine = self.session.engine_mut();
        engine.visit_transmissions(|of, port, lane, end| of.recorder().cut_off(to, port, lane, end));
        engine.observers().for_each(|of| of.recorder().close_window(to));
        self.open(from, to);
    }

    /// All programs have ended: the measurement ends now. Packets in flight, such as acknowledgements, stay there.
    pub(crate) fn end_with_programs(&mut self) {
        if let Some((from, to)) = self.window {
            let now = self.session.now();
            self.close(to.min(now.max(from)));
        }
        self.has_ended_early = true;
        self.status = self.status.or(Some(Status::Ok));
        self.stage = Stage::Over;
    }

    /// If all jobs are complete and no event is left, the measurement ends with them.
    fn end_with_jobs(&mut self, how: Advance) -> bool {
        if how != Advance::Idle || self.session.totals().in_flight > 0 {
            return false;
        }
        let Some(end) = self.jobs.end(&mut self.session) else { return false };
        // The end of computing that nothing follows is known when it begins.
        if end > self.session.now() {
            return false;
        }
        let now = self.session.engine_mut().end_at(end);
        if let Some((from, to)) = self.window {
            self.close(to.min(now.max(from)));
        }
        self.status = Some(Status::Ok);
        true
    }
}

/// Batches of the longest warm-up: the experiment's own warm-up, but not less than the measurement's length.
fn longest_warmup(run: &fabricsim_spec::Run) -> usize {
    (run.warmup.max(run.duration).0 / Steady::batch_length(run).0).max(1) as usize
}
