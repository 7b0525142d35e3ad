//! Random schedules of random configurations, by a clock: latencies that vary, losses, time-outs that come too early.
//!
//! Every schedule follows from its number, which is printed where something does not hold.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;

use fabricsim_model::Random;
use fabricsim_units::Time;

use super::plan::Planned;
use super::world::{InFlight, World};
use crate::ordering::{
    Close, Mode, OnNoConnection, Recovery, Resend, Seq, Source, SourceOptions, StartOffset, TargetOptions,
    TimedOut,
};

const MODES: [Mode; 8] = [
    Mode::Unordered,
    Mode::SourceOrdered,
    Mode::Ordered,
    Mode::SourceSynchronized,
    Mode::Synchronized,
    Mode::GoBackN,
    Mode::Selective,
    Mode::SelectiveOrdered,
];

/// The longest time of a packet in the network, and of an operation in memory, in ps.
const LIFETIME: u64 = 1000;

/// Steps after which a schedule counts as endless.
const PATIENCE: u32 = 200_000;

/// Possible event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet, by its place in the list of packets.
    Arrive(usize),
    Execute,
    Offer(usize),
    Expire,
}

/// A schedule in the course of running.
struct Schedule {
    random: Random,
    world: World,
    plan: Vec<Planned>,
    now: u64,
    /// Time, tie-breaker, event: the earliest first.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    packets: Vec<Option<InFlight>>,
    /// A packet is lost with this probability, in thousandths.
    loss: u64,
    /// The largest latency of most packets.
    spread: u64,
    slow_memory: bool,
    busy_memory: bool,
}

fn pick<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

fn source_options(random: &mut Random, sequence_bits: u8, streams: usize) -> SourceOptions {
    let most = 1_u64 << (sequence_bits.min(7) - 1);
    let outstanding = 1 + random.below(most) as u16;
    SourceOptions {
        streams: streams as u16,
        connections: 1 + random.below(streams as u64) as u16,
        outstanding,
        fast_from: 1 + random.below(u64::from(outstanding.min(3))) as u16,
        sequence_bits,
        first_sequence: Seq(random.bits() as u16 & (u16::MAX >> (16 - sequence_bits))),
        speculative: random.below(4) > 0,
        start_offset: pick(random, &[StartOffset::Never, StartOffset::UntilFirstAck, StartOffset::Always]),
        no_connection: pick(random, &[OnNoConnection::Continue, OnNoConnection::Halt]),
        recovery: pick(random, &[Recovery::OneAtATime, Recovery::Burst]),
        resend: pick(random, &[Resend::Oldest, Resend::Progress]),
        timed_out: pick(random, &[TimedOut::Each, TimedOut::Oldest]),
        close: pick(random, &[Close::Idle, Close::End]),
        timeout: Time(pick(random, &[LIFETIME / 2, 2 * LIFETIME, 5 * LIFETIME])),
        lifetime: Time(2 * LIFETIME),
        ..SourceOptions::default()
    }
}

fn target_options(random: &mut Random, sequence_bits: u8) -> TargetOptions {
    TargetOptions {
        connections: 1 + random.below(4) as u32,
        reorder_capacity: 1 + random.below(8) as u16,
        reorder_ring: 1 << random.below(5),
        reorder_cache: random.below(4) as u16,
        replay: 1 + random.below(6) as u16,
        sequence_bits,
        ..TargetOptions::default()
    }
}

impl Schedule {
    fn new(number: u64) -> Self {
        let mut random = Random::new(number, 0, 0);
        let bits = 3 + random.below(4) as u8;
        let streams = 1 + random.below(4) as usize;
        let plan: Vec<Planned> = (0..streams)
            .map(|_| {
                let mode = pick(&mut random, &MODES);
                // Half of all streams are of the kind that has most to go wrong.
                let mode = if random.below(2) == 0 { Mode::Ordered } else { mode };
                let packets = 1 + random.below(24) as u8;
                Planned::new(mode, random.below(2) == 0, packets).from(random.below(2) as usize)
            })
            .collect();
        let lazy = random.below(2) == 0;
        // Cumulative answers do not show which copies are left, so numbers must not come again within a lifetime.
        let cumulative = |stream: &Planned| {
            matches!(stream.mode, Mode::GoBackN | Mode::Selective | Mode::SelectiveOrdered)
        };
        let sequence_bits = if plan.iter().any(cumulative) { 16 } else { bits };
        let target = target_options(&mut random, sequence_bits);
        let source = source_options(&mut random, sequence_bits, streams);
        let mut schedule = Self {
            world: World::new(source, target, &plan, lazy),
            now: 0,
            events: BinaryHeap::new(),
            packets: Vec::new(),
            loss: pick(&mut random, &[0, 0, 10, 100, 300]),
            spread: 1 + random.below(LIFETIME),
            slow_memory: random.below(3) == 0,
            busy_memory: false,
            plan,
            random,
        };
        if lazy {
            (0..streams).for_each(|stream| schedule.plan_event(0, Event::Offer(stream)));
        }
        schedule
    }

    fn plan_event(&mut self, delay: u64, event: Event) {
        let tie = self.random.bits();
        self.events.push(Reverse((self.now + delay, tie, event)));
    }

    /// Everything that can be sent is; what is in the network gets its latency, or is lost.
    fn settle(&mut self) {
        for source in 0..self.world.sources.len() {
            while self.world.send(source, Time(self.now)).is_some() {}
        }
        while !self.world.network.is_empty() {
            let packet = self.world.leave(0);
            if self.random.below(1000) < self.loss {
                continue;
            }
            // A few take as long as they may.
            let latency = match self.random.below(20) {
                0 => 1 + self.random.below(LIFETIME),
                _ => 1 + self.random.below(self.spread),
            };
            self.packets.push(Some(packet));
            self.plan_event(latency, Event::Arrive(self.packets.len() - 1));
        }
        if !self.world.executing.is_empty() && !self.busy_memory {
            self.busy_memory = true;
            // All that waits for memory is done within a lifetime.
            let delay = self.random.below(LIFETIME / 200);
            self.plan_event(delay, Event::Execute);
        }
        let wake = self.world.sources.iter().map(Source::wake_at).min().unwrap_or(Time::MAX);
        let planned = self.events.peek().map_or(u64::MAX, |Reverse((at, _, _))| *at);
        if wake < Time::MAX && wake.0 <= planned {
            self.plan_event(wake.0.saturating_sub(self.now), Event::Expire);
        }
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Arrive(place) => {
                if let Some(packet) = self.packets[place].take() {
                    self.world.arrive(packet, &self.plan, !self.slow_memory);
                }
            }
            Event::Execute => {
                self.busy_memory = false;
                self.world.execute(&self.plan);
            }
            Event::Offer(stream) => {
                self.world.offer(&self.plan, stream);
                if self.world.offered(stream) < self.plan[stream].packets {
                    let delay = 1 + self.random.below(300);
                    self.plan_event(delay, Event::Offer(stream));
                }
            }
            Event::Expire => {
                for source in 0..self.world.sources.len() {
                    self.world.expire(source, Time(self.now), &self.plan);
                }
            }
        }
    }

    /// Runs the schedule. The error states what does not hold.
    fn run(mut self) -> Result<(), String> {
        for _ in 0..PATIENCE {
            self.settle();
            let Some(Reverse((at, _, event))) = self.events.pop() else {
                let done = self.world.is_done(&self.plan);
                return if done {
                    Ok(())
                } else {
                    Err(format!("stuck at {}: {}", self.now, self.world.summary()))
                };
            };
            self.now = at;
            self.step(event);
            if let Some(fault) = self.world.fault {
                return Err(format!("{fault:?}"));
            }
        }
        Err(format!("no end at {}: {}", self.now, self.world.summary()))
    }
}

fn run(numbers: std::ops::Range<u64>) {
    let count = numbers.end - numbers.start;
    for number in numbers {
        let schedule = Schedule::new(number);
        let (plan, source, target) =
            (schedule.plan.clone(), schedule.world.sources[0].options, schedule.world.target.options);
        if let Err(problem) = schedule.run() {
            panic!("schedule {number}: {problem}\n{plan:#?}\n{source:#?}\n{target:#?}");
        }
    }
    let told = writeln!(std::io::stderr(), "ordering protocols: all of {count} random schedules are good");
    told.expect("there is a place for messages");
}

#[test]
fn random_schedules() {
    run(0..4000);
}

#[test]
#[ignore = "minutes: make check-protocols"]
fn millions_of_random_schedules() {
    run(0..2_000_000);
}
