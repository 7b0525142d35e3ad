//! All schedules of a small configuration: every order of sending, arrival, loss, memory operations and time-outs.

use fabricsim_units::{HostId, Time};
use stateright::{Model, Property};

use super::plan::Planned;
use super::world::{FAULTS, Fault, World};
use crate::explore::Ending;
use crate::ordering::timers::Timer;
use crate::ordering::{Cid, Header, Mode, Seq, SourceOptions, TargetOptions};

/// A configuration.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    pub(super) name: String,
    pub(super) source: SourceOptions,
    pub(super) target: TargetOptions,
    pub(super) plan: Vec<Planned>,
    /// Packets are offered one by one, at any time; else whenever the source reports room.
    pub(super) lazy: bool,
    /// Packets that may be lost.
    pub(super) losses: u8,
    /// Time-outs of packets that are not lost.
    pub(super) early: u8,
    /// Packets of which the network may make a copy.
    pub(super) duplicates: u8,
    /// Memory takes any time.
    pub(super) slow_memory: bool,
}

/// Everything in a time step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Snapshot {
    pub(super) world: World,
    losses: u8,
    early: u8,
    duplicates: u8,
}

/// Next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Offer(usize),
    Send(usize),
    Arrive(usize),
    Lose(usize),
    Duplicate(usize),
    Execute,
    /// Source, timer; true: it comes early.
    Fire(usize, Timer, bool),
}

impl Configuration {
    pub(super) fn new(name: &str, plan: &[Planned]) -> Self {
        let source = SourceOptions {
            streams: plan.len() as u16,
            connections: plan.len() as u16,
            outstanding: 4,
            sequence_bits: 3,
            first_sequence: Seq(7),
            ..SourceOptions::default()
        };
        let target = TargetOptions {
            connections: 2,
            reorder_capacity: 2,
            reorder_ring: 1,
            reorder_cache: 1,
            replay: 4,
            sequence_bits: 3,
            ..TargetOptions::default()
        };
        let plan = plan.to_vec();
        Self {
            name: name.to_owned(),
            source,
            target,
            plan,
            lazy: false,
            losses: 0,
            early: 0,
            duplicates: 0,
            slow_memory: false,
        }
    }

    pub(super) fn source(mut self, change: impl FnOnce(&mut SourceOptions)) -> Self {
        change(&mut self.source);
        self
    }

    pub(super) fn target(mut self, change: impl FnOnce(&mut TargetOptions)) -> Self {
        change(&mut self.target);
        self
    }

    pub(super) fn with(self, losses: u8, early: u8) -> Self {
        Self { losses, early, ..self }
    }

    /// Returns `None` if this timer cannot end now, `Some(true)` if it can end only before its time.
    fn may_fire(world: &World, number: usize, timer: Timer) -> Option<bool> {
        let source = &world.sources[number];
        match timer {
            Timer::Packet(id, position) | Timer::Copies(id, position) => {
                let stream = &source.streams[usize::from(id.0)];
                let seq = source.space.after(stream.window.base, position);
                let (cid, host) = (world.cid(number, id), HostId(number as u32));
                // Cumulative answers name another packet than the one that they answer, or follow from another one.
                let cumulative =
                    matches!(stream.mode, Mode::GoBackN | Mode::Selective | Mode::SelectiveOrdered);
                let of = |header: &Header| {
                    let named = header.seq == seq || cumulative;
                    header.cid == cid && named
                };
                let travels = world
                    .network
                    .iter()
                    .any(|packet| of(&packet.header) && (packet.from == host || packet.to == host));
                let executes =
                    world.executing.iter().any(|(ticket, _)| ticket.from == host && of(&ticket.header));
                let waits = world.target.reorder_buffer().holds(host, cid, seq);
                let is_there = travels || executes || waits;
                match timer {
                    Timer::Packet(..) => Some(is_there),
                    // This stands for the packet lifetime: never early.
                    _ => (!is_there).then_some(false),
                }
            }
            // These stand for the packet lifetime: never early.
            Timer::Quiet(id) => {
                let bound = Cid::of_stream(id.0);
                let busy =
                    [world.cid(number, id), bound].iter().any(|&cid| world.is_travelling(number, cid, false));
                (!busy).then_some(false)
            }
            Timer::Fin(cid) => Some(world.is_travelling(number, cid, true)),
            Timer::FinQuiet(cid) => (!world.is_travelling(number, cid, true)).then_some(false),
        }
    }

    /// Go-back-N drops packets without an answer.
    fn needs_timers(&self) -> bool {
        self.plan.iter().any(|stream| stream.mode == Mode::GoBackN)
    }
}

impl Ending for Configuration {
    type Fault = Fault;

    fn fault(&self, state: &Snapshot) -> Option<Fault> {
        state.world.fault
    }

    fn is_done(&self, state: &Snapshot) -> bool {
        state.world.is_done(&self.plan)
    }
}

impl Model for Configuration {
    type State = Snapshot;
    type Action = Step;

    fn init_states(&self) -> Vec<Snapshot> {
        let world = World::new(self.source, self.target, &self.plan, self.lazy);
        vec![Snapshot { world, losses: self.losses, early: self.early, duplicates: self.duplicates }]
    }

    fn actions(&self, state: &Snapshot, steps: &mut Vec<Step>) {
        let world = &state.world;
        if world.fault.is_some() {
            return;
        }
        for number in 0..self.plan.len() {
            if self.lazy && world.offered(number) < self.plan[number].packets {
                steps.push(Step::Offer(number));
            }
        }
        for place in 0..world.network.len() {
            // Two packets that are alike are one choice.
            if place > 0 && world.network[place] == world.network[place - 1] {
                continue;
            }
            steps.push(Step::Arrive(place));
            if state.losses > 0 {
                steps.push(Step::Lose(place));
            }
            if state.duplicates > 0 {
                steps.push(Step::Duplicate(place));
            }
        }
        if !world.executing.is_empty() {
            steps.push(Step::Execute);
        }
        for (number, source) in world.sources.iter().enumerate() {
            steps.push(Step::Send(number));
            // "In the absence of errors, our protocols do not rely on any timeouts" (section III-C).
            if self.losses + self.early + self.duplicates == 0 && !self.needs_timers() {
                continue;
            }
            for (timer, _) in source.timers() {
                if let Some(early) = Self::may_fire(world, number, timer)
                    && (!early || state.early > 0)
                {
                    steps.push(Step::Fire(number, timer, early));
                }
            }
        }
    }

    fn next_state(&self, state: &Snapshot, step: Step) -> Option<Snapshot> {
        let mut next = state.clone();
        let world = &mut next.world;
        match step {
            Step::Offer(number) => return world.offer(&self.plan, number).then_some(next),
            Step::Send(number) => {
                world.send(number, Time::ZERO)?;
            }
            Step::Arrive(place) => {
                let packet = world.leave(place);
                world.arrive(packet, &self.plan, !self.slow_memory);
            }
            Step::Lose(place) => {
                world.leave(place);
                next.losses -= 1;
            }
            Step::Duplicate(place) => {
                world.duplicate(place);
                next.duplicates -= 1;
            }
            Step::Execute => {
                world.execute(&self.plan);
            }
            Step::Fire(number, timer, early) => {
                world.fire(number, timer, &self.plan);
                next.early -= u8::from(early);
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let names = [
            "in order",
            "exactly once",
            "synchronization after all its data",
            "results are those of the only execution",
            "acknowledged once, and only what is visible",
            "no more buffers and connections than there are",
        ];
        let conditions: [fn(&Self, &Snapshot) -> bool; 6] = [
            |_, state| state.world.fault != Some(Fault::Order),
            |_, state| state.world.fault != Some(Fault::ExactlyOnce),
            |_, state| state.world.fault != Some(Fault::Synchronization),
            |_, state| state.world.fault != Some(Fault::Result),
            |_, state| state.world.fault != Some(Fault::Acknowledgement),
            |_, state| state.world.fault != Some(Fault::Bounds),
        ];
        debug_assert_eq!(FAULTS.len(), names.len());
        let all = names.into_iter().zip(conditions).map(|(name, holds)| Property::always(name, holds));
        all.chain([Property::sometimes("it ends, and nothing is left behind", Self::is_done)]).collect()
    }
}
