//! A run: partitions that advance in windows, before whose end nothing that one does has an effect in another.

mod credits;
mod processes;
mod threads;

use fabricsim_model::Observer;
use fabricsim_units::{HostId, Time, Vl};
use fabricsim_workload::{Message, Source};

pub use self::credits::CreditError;
use self::processes::Joined;
pub use self::processes::{Exchanged, Processes};
pub use self::threads::Scaling;
use self::threads::Threads;
use crate::adapter::{Adapter, HostTransport, OrderingEndpoint, Refused};
use crate::assembly::{Assembly, Directory, assemble};
use crate::failed::Failed;
use crate::mail::Mail;
use crate::management_traffic::ManagementTraffic;
use crate::partition::Partition;
use crate::path_mtu::Paths;
use crate::totals::Totals;

/// Outcome of a call of [`Engine::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// Reached the requested time.
    Reached,
    /// Idle: no event is left before the requested time.
    Idle,
    /// Interrupted by the caller.
    Stopped,
}

/// A fabric in operation.
#[derive(Clone, fabricsim_state::State)]
pub struct Engine<B> {
    #[state(each)]
    pub(crate) partitions: Vec<Partition<B>>,
    #[state(fixed)]
    pub(crate) directory: Directory,
    pub(crate) failed: Failed,
    pub(crate) management: ManagementTraffic,
    /// The paths whose MTUs hosts have to know; none if all links carry what they send.
    #[state(fixed)]
    pub(crate) paths: Option<Box<Paths>>,
    /// Partition of each host, and its adapter's place there.
    #[state(fixed)]
    places: Vec<(u16, u32)>,
    now: Time,
    threads: Threads,
    /// The processes that advance the run, if there are several.
    #[state(fixed)]
    joined: Option<Joined<B>>,
}

/// Events that a partition handles between two checks for a stop by the caller.
const BUDGET: u64 = 1 << 18;

/// Windows between two such checks: windows are short if partitions exchange mail often.
const WINDOWS: u32 = 1 << 10;

impl<B: Observer> Engine<B> {
    /// Assembles a run; `observer` makes one observer for each partition.
    pub fn new(assembly: Assembly<'_>, observer: impl FnMut() -> B) -> Self {
        let paths = Paths::new(assembly.graph, assembly.experiment.host.mtu);
        let (mut partitions, directory, division) = assemble(assembly, observer);
        partitions.iter_mut().for_each(Partition::start);
        let count = partitions.len();
        let several = count > 1;
        for partition in &mut partitions {
            partition.is_one_of_several = several;
        }
        let mut engine = Self {
            places: places_of_hosts(&partitions),
            partitions,
            directory,
            failed: Failed::default(),
            management: ManagementTraffic::default(),
            paths,
            now: Time::ZERO,
            threads: Threads::new(division, count),
            joined: None,
        };
        engine.update_path_mtus();
        engine
    }

    /// Everything before this time has happened.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Advances to `until`. Calls `look` every few hundred thousand events with the counters
    /// so far; stops if it returns false.
    pub fn advance(&mut self, until: Time, look: &mut dyn FnMut(Time, &Totals) -> bool) -> Advance {
        if self.uses_processes() {
            return self.advance_in_processes(until, look, false);
        }
        let mut windows = 0;
        self.threads.begin_advance();
        loop {
            if self.uses_threads() {
                return self.advance_in_threads(until, look);
            }
            let next = self.next_time();
            let Some(next) = next.filter(|&at| at < until) else {
                // The caller may change what is due to be broadcast.
                self.publish(until);
                self.now = until;
                return if next.is_some() { Advance::Reached } else { Advance::Idle };
            };
            if self.partitions.len() > 1 {
                self.publish(next);
            }
            let end = until.min(next.saturating_add(self.lookahead()));
            if !self.window(end, look) {
                return Advance::Stopped;
            }
            self.now = end;
            windows += 1;
            if self.threads.number() > 1 {
                let events = self.partitions.iter().map(Partition::events).sum();
                self.threads.count(1, events);
            }
            if windows % WINDOWS == 0 && !look(end, &self.totals()) {
                return Advance::Stopped;
            }
        }
    }

    /// [`Engine::advance`] for a caller that looks at the state of the run only if it is idle or has stopped: several processes do not exchange their
    /// states then.
    pub fn advance_quietly(&mut self, until: Time, look: &mut dyn FnMut(Time, &Totals) -> bool) -> Advance {
        if self.uses_processes() {
            self.advance_in_processes(until, look, true)
        } else {
            self.advance(until, look)
        }
    }

    /// Broadcasts the loads that are due before `time`, where nothing happens before it.
    fn publish(&mut self, time: Time) {
        if self.partitions[0].publish_at < time {
            self.partitions.iter_mut().for_each(|partition| partition.publish(time, false));
            self.exchange(time);
        }
    }

    /// Time after an event before which it has no effect in another partition.
    pub(crate) fn lookahead(&self) -> Time {
        let of_partitions = self.partitions.iter().map(|partition| partition.lookahead(&self.directory));
        of_partitions.min().unwrap_or(Time::MAX)
    }

    pub(crate) fn next_time(&mut self) -> Option<Time> {
        self.partitions.iter_mut().filter_map(|p| p.context.out.calendar.peek()).min().map(Time)
    }

    /// Handles all events before `end`, then exchanges the mail. False if the caller stops the run: one partition
    /// does so at once, several at the end of their window, which is short, so that they are all at the same time.
    fn window(&mut self, end: Time, look: &mut dyn FnMut(Time, &Totals) -> bool) -> bool {
        let mut goes_on = true;
        for i in 0..self.partitions.len() {
            while self.partitions[i].run(end, BUDGET) {
                let at = self.partitions[i].context.out.calendar.peek().map_or(end, Time);
                goes_on = goes_on && look(at, &self.totals());
                if !goes_on && self.partitions.len() == 1 {
                    self.now = at;
                    return false;
                }
            }
        }
        if self.partitions.len() > 1 {
            self.exchange(end);
        }
        if !goes_on {
            self.now = end;
        }
        goes_on
    }

    pub(crate) fn exchange(&mut self, now: Time) {
        for i in 0..self.partitions.len() {
            let mut mail = std::mem::take(&mut self.partitions[i].context.out.mail);
            for message in mail.drain(..) {
                let Some((to, port)) = message.address(&self.directory) else {
                    for partition in &mut self.partitions {
                        partition.receive(message.clone(), 0, now);
                    }
                    continue;
                };
                self.partitions[usize::from(to)].receive(message, port, now);
            }
            self.partitions[i].context.out.mail = mail;
        }
    }

    /// After [`Advance::Idle`]: sets the clock back to `end`, or to the last event if that was later. Returns
    /// that time.
    pub fn end_at(&mut self, end: Time) -> Time {
        let last = self.partitions.iter().map(|p| p.context.now).max().unwrap_or_default();
        self.now = self.now.min(end.max(last));
        self.now
    }

    /// Counters of the whole run so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.partitions.iter().for_each(|p| totals.add(&p.totals()));
        let mail = self.partitions.iter().flat_map(|p| &p.context.out.mail);
        totals.in_flight += mail.filter(|message| matches!(message, Mail::Packet { .. })).count() as u64;
        totals
    }

    /// The observers, one of each partition.
    pub fn observers(&mut self) -> impl Iterator<Item = &mut B> {
        self.partitions.iter_mut().map(|p| &mut p.context.observer)
    }

    /// Reports every transmission in progress to the observer of its partition: sending port, lane, and its end, which is
    /// after now. [`Observer::transmitted`] has reported it as it began.
    pub fn visit_transmissions(&mut self, mut visit: impl FnMut(&mut B, u32, Vl, Time)) {
        let (now, management) = (self.now, &self.management);
        for partition in &mut self.partitions {
            let (context, failed) = (&mut partition.context, &partition.failed);
            for (port, sender) in context.ports.senders.iter().enumerate() {
                let busy_until = failed.get(&(port as u32)).copied().unwrap_or(sender.busy_until);
                let until = sender.transmitting_until(busy_until);
                let until = management.data_until(sender.channel, until);
                if until > now {
                    visit(&mut context.observer, sender.channel, sender.last_lane, until);
                }
            }
        }
    }

    /// The sources of all hosts, in order of partitions.
    pub fn sources(&mut self) -> impl Iterator<Item = (HostId, &mut Source)> {
        self.partitions
            .iter_mut()
            .flat_map(|p| p.adapters.iter_mut())
            .map(|adapter| (adapter.id(), &mut adapter.chain.app))
    }

    /// Number of times that a notification found or brought a flow to the level at which an event is reported
    /// (InfiniBand's trigger threshold).
    pub fn congestion_events(&self) -> u64 {
        self.adapters()
            .filter_map(|adapter| adapter.chain.pacing.as_ref())
            .map(|pacing| pacing.events())
            .sum()
    }

    /// Counters of the hosts' transports, in order of partitions; nothing if there are none.
    pub fn transports(&self) -> impl Iterator<Item = HostTransport> {
        self.adapters().filter_map(Adapter::ordering).map(OrderingEndpoint::report)
    }

    /// Injects a message at a host, which sends it at `message.created` or later. That must not be
    /// before now.
    ///
    /// # Panics
    ///
    /// If there is no such host.
    pub fn inject(&mut self, source: HostId, message: Message) {
        let at = message.created.max(self.now);
        let (partition, h) = self.host(source);
        partition.adapters[h].chain.app.inject(message);
        partition.wake_host(h, at);
    }

    /// Lets a host open messages from now on, or not. Those that it has opened are sent in any case; those that its sources
    /// create while it opens none wait.
    ///
    /// # Panics
    ///
    /// If there is no such host.
    pub fn set_traffic(&mut self, host: HostId, sends: bool) {
        let now = self.now;
        let (partition, h) = self.host(host);
        partition.adapters[h].chain.stopped = !sends;
        if sends {
            partition.wake_host(h, now);
        }
    }

    /// A host, as its number in its partition.
    pub(crate) fn host(&mut self, id: HostId) -> (&mut Partition<B>, usize) {
        let found = self.places.get(id.index()).filter(|&&place| place != NO_PLACE);
        // Callers have the number of a host of the graph, whose adapters are all here; they document the panic for others.
        let &(number, place) = found.unwrap_or_else(|| panic!("no host {id:?}"));
        (&mut self.partitions[usize::from(number)], place as usize)
    }

    /// No host opens another message from now on.
    pub fn stop_sources(&mut self) {
        self.partitions
            .iter_mut()
            .flat_map(|p| p.adapters.iter_mut())
            .for_each(|adapter| adapter.chain.stopped = true);
    }

    /// True if every host has sent all that it opened, and answered every request.
    pub fn sources_drained(&self) -> bool {
        self.adapters().all(Adapter::is_drained)
    }

    /// True if every message created before `time` has been sent, and every packet of those has been delivered.
    pub fn delivered_all_created_before(&self, time: Time) -> bool {
        self.partitions.iter().all(|p| {
            p.context.arena.iter().all(|(_, slot)| slot.packet.created >= time)
                && p.adapters.iter().all(|adapter| adapter.has_sent_all_before(time, self.now))
        })
    }

    /// The requests that hosts do not accept at present, because they have too many pending responses, in order of hosts and lanes.
    pub fn refused(&self) -> Vec<Refused> {
        let mut all: Vec<Refused> = self.partitions.iter().flat_map(Partition::refused).collect();
        all.sort_by_key(|refused| (refused.host, refused.lane));
        all
    }

    /// Data packets of a stream that were lost.
    pub fn lost_of_stream(&self, stream: u16) -> u64 {
        self.partitions.iter().map(|p| p.lost_of_stream(stream)).sum()
    }

    /// Progress of transports, all hosts together: operations that became visible for the first
    /// time, and messages that were sent. `None` without transports, and if a response that has been created is due later.
    pub fn transport_progress(&self) -> Option<u64> {
        if !self.adapters().any(Adapter::acknowledges) {
            return None;
        }
        let is_later = |due: Option<Time>| due.is_some_and(|due| due > self.now);
        if self.adapters().any(|adapter| is_later(adapter.chain.app.next_response())) {
            return None;
        }
        Some(self.adapters().map(Adapter::progress).sum())
    }

    /// Longest remaining time for which congestion control rate-limits a host that refuses requests.
    pub fn refusing_rate_limited_for(&self) -> Time {
        let refuses = |adapter: &&Adapter| {
            adapter.chain.admission.as_ref().is_some_and(|gate| gate.lanes().next().is_some())
        };
        let held = self.adapters().filter(refuses).map(|adapter| adapter.rate_limited_for(self.now));
        held.max().unwrap_or_default()
    }

    /// The adapters of all hosts, in order of partitions.
    pub(crate) fn adapters(&self) -> impl Iterator<Item = &Adapter> {
        self.partitions.iter().flat_map(|p| &p.adapters)
    }

    /// Reports unfinished transmissions and stalls to the observers, and returns them, one of each partition.
    pub fn finish(mut self) -> Vec<B> {
        let now = self.now;
        self.partitions.iter_mut().for_each(|p| p.finish(now));
        self.partitions.into_iter().map(|p| p.context.observer).collect()
    }
}

/// Of a host without an adapter.
const NO_PLACE: (u16, u32) = (u16::MAX, u32::MAX);

/// The partition of each host, and its adapter's place there.
fn places_of_hosts<B>(partitions: &[Partition<B>]) -> Vec<(u16, u32)> {
    let mut places = Vec::new();
    for (number, partition) in partitions.iter().enumerate() {
        for (place, adapter) in partition.adapters.iter().enumerate() {
            let host = adapter.id().index();
            if places.len() <= host {
                places.resize(host + 1, NO_PLACE);
            }
            places[host] = (number as u16, place as u32);
        }
    }
    places
}

#[cfg(test)]
mod tests;
