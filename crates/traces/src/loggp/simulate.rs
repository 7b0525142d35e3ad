//! The simulation: a queue of events, a clock for each processor and for each direction of each interface.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::matching::{Entry, Matching};
use super::waiting::{Key, Waiting};
use super::{Outcome, Overflow, Parameters, Progress, Unmatched, order};
use crate::{ANY, Kind, Operation, Schedule};

/// Kind of an event: an operation of its rank, or a message that arrives there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    Start,
    Arrive,
}

/// An operation that may start, or a message that arrives. Ordered by time, then by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    time: i64,
    /// Number in order of creation.
    pub(crate) number: u64,
    /// Rank at which it happens.
    host: u32,
    /// Rank of the operation.
    rank: u32,
    operation: u32,
    action: Action,
}

/// Times from which resources are free: 0 for those never used.
#[derive(Debug, Default)]
struct Clocks(Vec<i64>);

impl Clocks {
    fn at(&self, index: u8) -> i64 {
        self.0.get(usize::from(index)).copied().unwrap_or(0)
    }

    fn set(&mut self, index: u8, time: i64) {
        let index = usize::from(index);
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        self.0[index] = time;
    }

    fn raise(&mut self, index: u8, time: i64) {
        if self.at(index) < time {
            self.set(index, time);
        }
    }
}

/// State of a rank.
#[derive(Debug)]
struct Host {
    cpus: Clocks,
    sends: Clocks,
    receives: Clocks,
    matching: Matching,
    waiting: Waiting,
    /// Dependencies of each operation that are not fulfilled.
    missing: Vec<u32>,
    /// Operations that have become executable, in order.
    ready: Vec<u32>,
    /// Operations that have ended.
    done: u64,
}

/// Simulates `schedule`.
pub(super) fn simulate(schedule: &Schedule, parameters: &Parameters) -> Result<Outcome, Overflow> {
    let mut simulation = Simulation::new(schedule, parameters);
    for host in 0..simulation.hosts.len() as u32 {
        simulation.hosts[host as usize].ready = schedule.ranks[host as usize].roots().collect();
        simulation.release(host);
    }
    while let Some(Reverse(event)) = simulation.events.pop() {
        let operation = simulation.operation(event.rank, event.operation);
        match (event.action, operation.kind) {
            (Action::Arrive, _) => simulation.arrive(event, operation)?,
            (Action::Start, Kind::Send) => simulation.send(event, operation)?,
            (Action::Start, Kind::Recv) => simulation.receive(event, operation),
            (Action::Start, Kind::Calc) => simulation.compute(event, operation)?,
        }
    }
    Ok(simulation.outcome())
}

struct Simulation<'a> {
    schedule: &'a Schedule,
    parameters: Parameters,
    hosts: Vec<Host>,
    events: BinaryHeap<Reverse<Event>>,
    next: u64,
}

impl<'a> Simulation<'a> {
    fn new(schedule: &'a Schedule, parameters: &Parameters) -> Self {
        let hosts = schedule.ranks.iter().map(|rank| Host {
            cpus: Clocks::default(),
            sends: Clocks::default(),
            receives: Clocks::default(),
            matching: Matching::default(),
            waiting: Waiting::default(),
            missing: rank.missing().to_vec(),
            ready: Vec::new(),
            done: 0,
        });
        let hosts = hosts.collect();
        Self { schedule, parameters: *parameters, hosts, events: BinaryHeap::new(), next: 0 }
    }

    fn operation(&self, rank: u32, operation: u32) -> Operation {
        self.schedule.ranks[rank as usize].operations()[operation as usize]
    }

    fn host(&mut self, host: u32) -> &mut Host {
        &mut self.hosts[host as usize]
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn compute(&mut self, event: Event, operation: Operation) -> Result<(), Overflow> {
        let key = (Kind::Calc as u8, operation.cpu, 0);
        let host = self.host(event.host);
        let free = host.cpus.at(operation.cpu);
        if free > event.time {
            self.park(key, event, free);
            return Ok(());
        }
        host.cpus.set(operation.cpu, later(&event, &[operation.size as i64])?);
        self.start(event.host, event.operation);
        self.end(event.host, event.operation);
        self.unpark(key, event);
        self.release(event.host);
        Ok(())
    }

    fn send(&mut self, event: Event, operation: Operation) -> Result<(), Overflow> {
        let Parameters { L, o, g, G, O, S } = self.parameters;
        let key = (Kind::Send as u8, operation.cpu, operation.nic);
        let host = self.host(event.host);
        let free = host.cpus.at(operation.cpu).max(host.sends.at(operation.nic));
        if free > event.time {
            self.park(key, event, free);
            return Ok(());
        }
        let busy = later(&event, &[i64::from(o), per_byte(&event, operation.size, O)?])?;
        let gap = later(&event, &[i64::from(g), per_byte(&event, operation.size, G)?])?;
        host.cpus.set(operation.cpu, busy);
        host.sends.set(operation.nic, gap);
        let time = later(&event, &[i64::from(o), i64::from(L)])?;
        self.start(event.host, event.operation);
        let number = self.number();
        let message = Event { time, number, host: operation.peer, action: Action::Arrive, ..event };
        self.events.push(Reverse(message));
        if operation.size <= S {
            self.end(event.host, event.operation);
        }
        self.unpark(key, event);
        self.release(event.host);
        Ok(())
    }

    fn receive(&mut self, event: Event, operation: Operation) {
        self.start(event.host, event.operation);
        let source = (operation.peer, operation.tag);
        let matching = &mut self.host(event.host).matching;
        let found = matching.receive(source, event.host, event.operation, event.time);
        if let Some(message) = found {
            let size = self.operation(message.rank, message.operation).size;
            if size > self.parameters.S {
                self.end_rendezvous(message.rank, message.operation, &operation, event.time);
            }
            self.end(event.host, event.operation);
            self.release_two(event.host, message.rank);
        } else {
            self.release(event.host);
        }
    }

    fn arrive(&mut self, event: Event, operation: Operation) -> Result<(), Overflow> {
        let Parameters { o, g, G, O, S, .. } = self.parameters;
        // A message takes the processor and the interface of the receiver that have the numbers of the sender's.
        let key = (0, operation.cpu, operation.nic);
        let host = self.host(event.host);
        let free = host.cpus.at(operation.cpu).max(host.receives.at(operation.nic));
        if free > event.time {
            self.park(key, event, free);
            return Ok(());
        }
        let (cost, gap) = (per_byte(&event, operation.size, O)?, per_byte(&event, operation.size, G)?);
        // Unsigned numbers there: a negative one, of an empty message, is larger than 0.
        let longer =
            if operation.size > 0 || (cost < 0) == (gap < 0) { cost.max(gap) } else { cost.min(gap) };
        let busy = later(&event, &[i64::from(o), longer])?;
        let next = later(&event, &[i64::from(g), gap])?;
        host.cpus.set(operation.cpu, busy);
        host.receives.set(operation.nic, next);
        let found = host.matching.message((event.rank, operation.tag), event.operation, event.time);
        self.unpark(key, event);
        if let Some(Entry { operation: receive, .. }) = found {
            if operation.size > S {
                self.end_rendezvous(event.rank, event.operation, &operation, event.time);
            }
            self.end(event.host, receive);
            self.release_two(event.host, event.rank);
        }
        Ok(())
    }

    /// Ends a send that has waited for its match. The resources of the sender with the numbers of `by` are not free before `time`.
    fn end_rendezvous(&mut self, rank: u32, operation: u32, by: &Operation, time: i64) {
        self.end(rank, operation);
        let sender = self.host(rank);
        sender.cpus.raise(by.cpu, time);
        sender.sends.raise(by.nic, time);
    }

    fn start(&mut self, host: u32, operation: u32) {
        let dependents = self.schedule.ranks[host as usize].after_start(operation);
        fulfil(&mut self.hosts[host as usize], dependents);
    }

    fn end(&mut self, host: u32, operation: u32) {
        let dependents = self.schedule.ranks[host as usize].after_end(operation);
        let host = &mut self.hosts[host as usize];
        host.done += 1;
        fulfil(host, dependents);
    }

    /// Makes the operations of two ranks due that have become executable; the lower rank's first.
    fn release_two(&mut self, a: u32, b: u32) {
        self.release(a.min(b));
        if a != b {
            self.release(a.max(b));
        }
    }

    /// Makes the operations of a rank due that have become executable.
    fn release(&mut self, rank: u32) {
        let operations = self.schedule.ranks[rank as usize].operations();
        let host = &mut self.hosts[rank as usize];
        if host.ready.len() > 1 {
            order::sort(&mut host.ready, &|number| operations[*number as usize].kind);
        }
        for operation in host.ready.drain(..) {
            let Operation { kind, cpu, nic, .. } = operations[operation as usize];
            let time = match kind {
                Kind::Send => host.cpus.at(cpu).max(host.sends.at(nic)),
                Kind::Recv | Kind::Calc => host.cpus.at(cpu),
            };
            self.next += 1;
            let (number, action) = (self.next, Action::Start);
            self.events.push(Reverse(Event { time, number, host: rank, rank, operation, action }));
        }
    }

    /// An event has to wait until `free`.
    fn park(&mut self, key: Key, event: Event, free: i64) {
        let event = Event { time: free, ..event };
        if let Some(event) = self.hosts[event.host as usize].waiting.park(key, event) {
            self.events.push(Reverse(event));
        }
    }

    /// An event has started: the next one that waits for the same is due, at the same time at the earliest.
    fn unpark(&mut self, key: Key, event: Event) {
        if let Some(next) = self.hosts[event.host as usize].waiting.started(key, &event) {
            self.events.push(Reverse(Event { time: next.time.max(event.time), ..next }));
        }
    }

    fn outcome(self) -> Outcome {
        let ends: Vec<u64> = self.hosts.iter().map(|host| end(&host.cpus)).collect();
        let mut unmatched: Vec<Unmatched> = Vec::new();
        for entry in self.hosts.iter().flat_map(|host| host.matching.left()) {
            unmatched.push(self.unmatched(entry));
        }
        unmatched.sort_by_key(|one| (one.rank, one.operation));
        let totals = self.schedule.ranks.iter().map(|rank| rank.operations().len() as u64);
        let progress = self.hosts.iter().zip(totals).enumerate();
        let unfinished =
            progress.filter(|(_, (host, total))| host.done < *total).map(|(rank, (host, total))| Progress {
                rank: rank as u32,
                done: host.done,
                operations: total,
                end_ns: end(&host.cpus),
            });
        let unfinished = unfinished.collect();
        Outcome { ends_ns: ends, steps: self.next, unmatched, unfinished }
    }

    fn unmatched(&self, entry: &Entry) -> Unmatched {
        let operation = self.operation(entry.rank, entry.operation);
        let known = |value: u32| (value != ANY).then_some(value);
        Unmatched {
            rank: entry.rank,
            kind: operation.kind.name(),
            peer: known(operation.peer),
            tag: known(operation.tag),
            bytes: operation.size,
            operation: entry.operation,
            time_ns: entry.time as u64,
        }
    }
}

fn end(cpus: &Clocks) -> u64 {
    cpus.0.iter().copied().max().unwrap_or(0) as u64
}

/// Counts a dependency of `operations` as fulfilled.
fn fulfil(host: &mut Host, operations: &[u32]) {
    for operation in operations {
        let missing = &mut host.missing[*operation as usize];
        *missing -= 1;
        if *missing == 0 {
            host.ready.push(*operation);
        }
    }
}

/// The time of an event and durations behind it; never below 0.
fn later(event: &Event, durations: &[i64]) -> Result<i64, Overflow> {
    let sum = durations.iter().try_fold(event.time, |time, duration| time.checked_add(*duration));
    sum.map(|time| time.max(0)).ok_or_else(|| overflow(event))
}

/// Duration of all bytes but the first: negative for an empty message, as in LogGOPSim.
fn per_byte(event: &Event, bytes: u64, duration: u32) -> Result<i64, Overflow> {
    (bytes as i64 - 1).checked_mul(i64::from(duration)).ok_or_else(|| overflow(event))
}

fn overflow(event: &Event) -> Overflow {
    Overflow { rank: event.rank, operation: event.operation }
}
