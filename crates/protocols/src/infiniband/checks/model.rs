//! All schedules of a small configuration: every order of posting, sending, arrival, loss, repetition and time-outs.

use fabricsim_wire::headers::RnrTimer;
use fabricsim_wire::ids::{PKey, Qpn};
use stateright::{Model, Property};

use super::local::Allowed;
use super::plan::{MTU, Plan, Planned};
use super::world::{Fault, Setting, Way, World};
use crate::explore::Ending;
use crate::infiniband::{MigrationState, OutOfOrder, RequesterOptions, ResponderOptions, Status};

/// The property that a schedule has the failure which the configuration names.
pub(super) const FAILS: &str = "it fails when all retries are used up";

/// A configuration.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    pub(super) name: String,
    pub(super) setting: Setting,
    /// Messages are posted one by one at any time; else all at the start.
    pub(super) lazy: bool,
    /// Packets that may be lost.
    pub(super) losses: u8,
    /// Time-outs while packets are still in flight.
    pub(super) early: u8,
    /// Packets of which the network may make a copy.
    pub(super) duplicates: u8,
    /// Ends that may be brought into the error state.
    pub(super) flushes: u8,
    /// Receive requests at the start, and those that are posted at any time later.
    pub(super) receives: (u8, u8),
    /// Packets in flight in each direction, at most.
    pub(super) capacity: usize,
    /// Ends that load a second path, of two; 0: none. With two, the first path may fail when the requester's end is armed, else at any time.
    pub(super) loads: usize,
    /// The first path may fail.
    pub(super) path_may_fail: bool,
    /// The failure that some schedule must have.
    pub(super) fails: Option<Status>,
}

/// Everything in a time step.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct Snapshot {
    pub(super) world: World,
    losses: u8,
    early: u8,
    duplicates: u8,
    flushes: u8,
}

/// Next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Post,
    PostReceive,
    Send,
    Answer,
    Arrive(Way, usize),
    Lose(Way, usize),
    Duplicate(Way, usize),
    /// The timer ends; true: before its time.
    Expire(bool),
    Ready,
    /// The user brings an end into the error state: the requester's for requests, the responder's for responses.
    Flush(Way),
    /// An end loads its second path: 0 that of the requester, 1 that of the responder.
    Load(usize),
    /// The first path fails.
    FailPath,
}

impl Configuration {
    pub(super) fn new(name: &str, plan: &[Planned]) -> Self {
        let plan = Plan(plan.to_vec());
        let takers = plan.before(plan.len(), Planned::takes_receive) as u8;
        let requester = RequesterOptions {
            mtu: MTU,
            destination: Qpn(7),
            p_key: PKey::DEFAULT,
            retries: 7,
            rnr_retries: 7,
            reads: 2,
            ack_every: 0,
            has_credits: false,
            self_contained_writes: false,
        };
        let responder = ResponderOptions {
            mtu: MTU,
            destination: Qpn(3),
            p_key: PKey::DEFAULT,
            reads: 2,
            rnr_timer: RnrTimer::new(1),
            reports_credits: false,
            out_of_order: OutOfOrder::Drop,
        };
        let allowed = Allowed::default();
        Self {
            name: name.to_owned(),
            setting: Setting { plan, requester, responder, allowed, reorders: false, mutation: None },
            lazy: false,
            losses: 0,
            early: 0,
            duplicates: 0,
            flushes: 0,
            receives: (takers, 0),
            capacity: 6,
            loads: 0,
            path_may_fail: false,
            fails: None,
        }
    }

    /// Losses, early time-outs, copies.
    pub(super) fn with(self, losses: u8, early: u8, duplicates: u8) -> Self {
        Self { losses, early, duplicates, ..self }
    }

    /// Packets overtake each other: any delay of each.
    pub(super) fn reordered(mut self) -> Self {
        self.setting.reorders = true;
        self
    }

    /// Packets overtake each other, and the responder holds up to `packets` from the missing one on.
    pub(super) fn holds(mut self, packets: u16) -> Self {
        self.setting.responder.out_of_order = OutOfOrder::Hold(packets);
        self.reordered()
    }

    pub(super) fn lazy(self) -> Self {
        Self { lazy: true, ..self }
    }

    /// Both ends load a second path, and the first one may fail then.
    pub(super) fn migrates(self) -> Self {
        Self { loads: 2, path_may_fail: true, ..self }.lazy()
    }

    /// The path may fail, and `loads` of the two ends load a second one.
    pub(super) fn path_fails(self, loads: usize) -> Self {
        Self { loads, path_may_fail: true, ..self }
    }

    pub(super) fn receives(self, first: u8, later: u8) -> Self {
        Self { receives: (first, later), ..self }
    }

    pub(super) fn capacity(self, capacity: usize) -> Self {
        Self { capacity, ..self }
    }

    pub(super) fn requester(mut self, change: impl FnOnce(&mut RequesterOptions)) -> Self {
        change(&mut self.setting.requester);
        self
    }

    /// READs and atomic operations that may be outstanding.
    pub(super) fn reads(mut self, reads: u8) -> Self {
        self.setting.requester.reads = reads;
        self.setting.responder.reads = reads;
        self
    }

    /// End-to-end credits.
    pub(super) fn credits(mut self) -> Self {
        self.setting.requester.has_credits = true;
        self.setting.responder.reports_credits = true;
        self
    }

    /// The connection has `retries`, and may fail when they are used up.
    pub(super) fn retries(mut self, retries: u8) -> Self {
        self.setting.requester.retries = retries;
        self.fails = Some(Status::RetriesExceeded);
        self.may_exceed()
    }

    /// The connection may fail because no answer comes: a responder in the error state has none, so a NAK that is lost stays lost.
    pub(super) fn may_exceed(mut self) -> Self {
        self.setting.allowed.retries_exceeded = true;
        self
    }

    /// An end is brought into the error state at any time; then the other one has no answers.
    pub(super) fn flushed(mut self) -> Self {
        self.flushes = 1;
        self.setting.allowed.flushed = true;
        self.may_exceed()
    }

    /// The receiver may be not ready so many times after the first.
    pub(super) fn rnr_retries(mut self, retries: u8) -> Self {
        self.setting.requester.rnr_retries = retries;
        self.fails = Some(Status::ReceiverNotReady);
        self.setting.allowed.not_ready = true;
        self
    }

    fn arrivals(&self, state: &Snapshot, way: Way, steps: &mut Vec<Step>) {
        let network = match way {
            Way::Request => &state.world.requests,
            Way::Response => &state.world.responses,
        };
        for place in 0..network.len() {
            // Two packets that are alike, one after the other, are one choice.
            if place > 0 && network[place] == network[place - 1] {
                continue;
            }
            if place == 0 || self.setting.reorders {
                steps.push(Step::Arrive(way, place));
            }
            if state.losses > 0 {
                steps.push(Step::Lose(way, place));
            }
            if state.duplicates > 0 {
                steps.push(Step::Duplicate(way, place));
            }
        }
    }
}

impl Ending for Configuration {
    type Fault = Fault;

    fn fault(&self, state: &Snapshot) -> Option<Fault> {
        state.world.fault
    }

    fn is_done(&self, state: &Snapshot) -> bool {
        state.world.is_done(&self.setting.plan)
    }
}

impl Model for Configuration {
    type State = Snapshot;
    type Action = Step;

    fn init_states(&self) -> Vec<Snapshot> {
        let mut world = World::new(&self.setting);
        world.far.posted = self.receives.0;
        while !self.lazy && world.posted < self.setting.plan.len() {
            world.post(&self.setting);
        }
        let &Self { losses, early, duplicates, flushes, .. } = self;
        vec![Snapshot { world, losses, early, duplicates, flushes }]
    }

    fn actions(&self, state: &Snapshot, steps: &mut Vec<Step>) {
        let world = &state.world;
        if world.fault.is_some() {
            return;
        }
        if world.posted < self.setting.plan.len() {
            steps.push(Step::Post);
        }
        if world.far.posted < self.receives.0 + self.receives.1 {
            steps.push(Step::PostReceive);
        }
        self.arrivals(state, Way::Request, steps);
        self.arrivals(state, Way::Response, steps);
        if world.requests.len() < self.capacity && world.requester.peek().is_some() {
            steps.push(Step::Send);
        }
        if world.responses.len() < self.capacity && world.responder.peek().is_some() {
            steps.push(Step::Answer);
        }
        if world.local.waits {
            steps.push(Step::Ready);
        }
        if state.flushes > 0 && world.requester.pending() > 0 && !world.requester.is_broken() {
            steps.push(Step::Flush(Way::Request));
        }
        if state.flushes > 0 && !world.responder.is_broken() {
            steps.push(Step::Flush(Way::Response));
        }
        for end in (0..self.loads).filter(|&end| !world.ends[end].has_loaded) {
            steps.push(Step::Load(end));
        }
        let is_ready = self.loads < 2 || world.ends[0].migration.state() == MigrationState::Armed;
        if self.path_may_fail && !world.path_has_failed && is_ready {
            steps.push(Step::FailPath);
        }
        if world.local.timer_runs {
            let is_early = world.is_moving();
            if !is_early || state.early > 0 {
                steps.push(Step::Expire(is_early));
            }
        }
    }

    fn next_state(&self, state: &Snapshot, step: Step) -> Option<Snapshot> {
        let mut next = state.clone();
        let (world, setting) = (&mut next.world, &self.setting);
        match step {
            Step::Post => world.post(setting),
            Step::PostReceive => world.far.posted += 1,
            Step::Send => return world.send(setting).then_some(next),
            Step::Answer => return world.answer(setting).then_some(next),
            Step::Arrive(way, place) => world.arrive(setting, way, place),
            Step::Lose(way, place) => {
                world.network(way).remove(place);
                next.losses -= 1;
            }
            Step::Duplicate(way, place) => {
                world.duplicate(way, place);
                next.duplicates -= 1;
            }
            Step::Expire(is_early) => {
                world.expire(setting);
                next.early -= u8::from(is_early);
            }
            Step::Ready => world.ready(setting),
            Step::Load(end) => world.load(end),
            Step::FailPath => world.fail_path(),
            Step::Flush(way) => {
                world.flush(setting, way);
                next.flushes -= 1;
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let names = [
            "messages are executed in the order of posting",
            "every packet is executed once",
            "data is where it belongs before its receive request ends",
            "READs and atomic operations have the results of this order",
            "requests complete in the order of posting, executed",
            "an error has its cause, and flushes all that follow",
            "no more READs, messages and bytes than allowed",
            "nothing is sent during the time of an RNR NAK",
            "an end migrates only if its path has failed",
        ];
        let conditions: [fn(&Self, &Snapshot) -> bool; 9] = [
            |_, state| state.world.fault != Some(Fault::Order),
            |_, state| state.world.fault != Some(Fault::ExactlyOnce),
            |_, state| state.world.fault != Some(Fault::Data),
            |_, state| state.world.fault != Some(Fault::Result),
            |_, state| state.world.fault != Some(Fault::Completion),
            |_, state| state.world.fault != Some(Fault::Error),
            |_, state| state.world.fault != Some(Fault::Bounds),
            |_, state| state.world.fault != Some(Fault::Wait),
            |_, state| state.world.fault != Some(Fault::Path),
        ];
        let all = names.into_iter().zip(conditions).map(|(name, holds)| Property::always(name, holds));
        let ends = Property::sometimes("it ends, and nothing is left behind", Self::is_done);
        let fails = Property::sometimes(FAILS, |model: &Self, state: &Snapshot| {
            model.fails.is_some() && state.world.local.failed == model.fails
        });
        all.chain([ends, fails]).collect()
    }
}
