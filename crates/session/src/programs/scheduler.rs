//! Order in which programs run: which one goes on next, and how far the session advances before.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fabricsim_model::Observer;
use fabricsim_units::{HostId, Time};
use fabricsim_verbs::{AsyncEvent, Device};

use super::{Awaited, Wait};
use crate::Session;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A program goes on, now.
    Program(usize),
    /// The session advances to a time, or less far, and asks again.
    Advance(Time),
    /// No program can go on: each waits for something that does not come.
    Blocked,
    /// All programs have ended.
    Done,
}

struct Entry {
    host: HostId,
    /// The program goes on at this time at the earliest.
    clock: Time,
    wait: Wait,
    /// True if it waits for something that may become visible.
    awaits: bool,
    /// Shortest time from what the device does until a completion and until data in memory is visible, once known.
    delays: Option<(Time, Time)>,
    /// The same until it sees what it waits for, once known.
    delay: Option<Time>,
    /// [`Device::changes`] when its time was computed.
    changes: u64,
    /// Time at which it goes on; [`Time::MAX`]: not known. `None` after something may have changed it.
    at: Option<Time>,
}

/// The waits of programs, one or more for each of some hosts. It knows no programs: its caller runs them, and says what they wait for.
#[derive(Default)]
pub struct Scheduler {
    entries: Vec<Entry>,
    /// Numbers of the programs of each host.
    by_host: Vec<Vec<usize>>,
    /// Programs whose time is known, with it: the next one first.
    order: BTreeSet<(Time, usize)>,
    /// Programs whose time is not known.
    stale: Vec<usize>,
    /// The session has advanced since the times were computed.
    has_advanced: bool,
    /// Hosts whose devices have changed, between calls.
    changed: Vec<HostId>,
    /// [`Scheduler::least_delay`], while no delay changes.
    least_delay: Option<Time>,
    /// Programs that have ended.
    done: usize,
    /// Asynchronous events that programs have not taken, with the times from which they are visible.
    events: BTreeMap<HostId, VecDeque<(Time, AsyncEvent)>>,
}

impl Scheduler {
    /// Adds a program that begins at time zero, and returns its number. Of programs that can go on at the same time the one with the smaller number is
    /// first.
    pub fn add(&mut self, host: HostId) -> usize {
        let number = self.entries.len();
        let wait = Wait::Until(Time::ZERO);
        self.entries.push(Entry {
            host,
            clock: Time::ZERO,
            wait,
            awaits: false,
            delays: None,
            delay: None,
            changes: 0,
            at: None,
        });
        if self.by_host.len() <= host.index() {
            self.by_host.resize_with(host.index() + 1, Vec::new);
        }
        self.by_host[host.index()].push(number);
        self.stale.push(number);
        number
    }

    /// Host of a program.
    pub fn host(&self, number: usize) -> HostId {
        self.entries[number].host
    }

    /// Time at which a program goes on at the earliest.
    pub fn clock(&self, number: usize) -> Time {
        self.entries[number].clock
    }

    /// The waits of all programs, with their hosts.
    pub fn waits(&self) -> impl Iterator<Item = (HostId, &Wait)> {
        self.entries.iter().map(|entry| (entry.host, &entry.wait))
    }

    /// A program waits, with its clock at `clock`. Calls that it made before may have changed what other programs of its host wait for.
    pub fn wait(&mut self, number: usize, clock: Time, wait: Wait) {
        let was_done = self.is_done(number);
        let entry = &mut self.entries[number];
        entry.awaits = wait.awaited().next().is_some();
        (entry.clock, entry.wait) = (clock, wait);
        self.done = self.done + usize::from(self.is_done(number)) - usize::from(was_done);
        self.forget(number);
        let host = self.entries[number].host.index();
        for place in 0..self.by_host[host].len() {
            let other = self.by_host[host][place];
            if self.entries[other].awaits {
                self.forget(other);
            }
        }
    }

    /// Ends the wait of a program at `now`, unless it has ended.
    pub fn wake(&mut self, number: usize, now: Time) {
        if !self.is_done(number) {
            let entry = &mut self.entries[number];
            (entry.wait, entry.awaits) = (Wait::Until(now), false);
            self.forget(number);
        }
    }

    /// A program that waits for several things, or a time, waits until `limit` at most.
    pub fn shorten(&mut self, number: usize, limit: Time) {
        if let Wait::Any(_, until) = &mut self.entries[number].wait
            && limit < *until
        {
            *until = limit;
            self.forget(number);
        }
    }

    fn is_done(&self, number: usize) -> bool {
        self.entries[number].wait == Wait::Done
    }

    /// The time of a program is not known any more.
    fn forget(&mut self, number: usize) {
        if let Some(at) = self.entries[number].at.take() {
            self.order.remove(&(at, number));
            self.stale.push(number);
        }
    }

    /// Takes the oldest asynchronous event of a host that is visible by now.
    pub fn take_async_event<B: Observer>(
        &mut self,
        session: &mut Session<B>,
        host: HostId,
    ) -> Option<AsyncEvent> {
        let now = session.now();
        self.collect_events(session.engine_mut().device(host)?, host, now);
        let events = self.events.get_mut(&host)?;
        if events.front().is_some_and(|(at, _)| *at <= now) {
            events.pop_front().map(|(_, event)| event)
        } else {
            None
        }
    }

    /// Decides what comes next.
    pub fn next<B: Observer>(&mut self, session: &mut Session<B>) -> Next {
        let now = session.now();
        self.refresh(session);
        let Some(&(wakes_at, number)) = self.order.first() else { return Next::Done };
        if wakes_at <= now {
            return Next::Program(number);
        }
        if self.done == self.entries.len() {
            return Next::Done;
        }
        // Nothing that happens from now on is visible before this time.
        let delay = self.least_delay();
        let horizon = if wakes_at <= now.saturating_add(delay) {
            wakes_at
        } else {
            let event = session.engine_mut().next_event();
            event.map_or(Time::MAX, |at| at.saturating_add(delay))
        };
        let target = wakes_at.min(horizon).min(session.next_change());
        if target == Time::MAX {
            return Next::Blocked;
        }
        // What happens meanwhile may be what any of them waits for.
        self.has_advanced = true;
        Next::Advance(target)
    }

    /// True if nothing is in progress: no event is left, or nothing but traffic of others, no change of the fabric is planned, and every program that has
    /// not ended waits for something that is not visible and will not be; only the limits of such waits are to come.
    pub fn is_idle<B: Observer>(&mut self, session: &mut Session<B>) -> bool {
        let is_in_vain = |number: usize| match self.entries[number].wait {
            Wait::Until(_) => false,
            Wait::Done => true,
            _ => self.visible(session, number).is_none(),
        };
        (0..self.entries.len()).all(is_in_vain)
            && session.next_change() == Time::MAX
            && (session.engine_mut().next_event().is_none() || self.are_quiet(session))
    }

    /// True if no program can ever go on, although there are events: each waits without a limit, as [`Scheduler::is_idle`] says.
    pub fn is_stuck<B: Observer>(&mut self, session: &mut Session<B>) -> bool {
        let is_endless = |entry: &Entry| entry.wait == Wait::Done || entry.wait.limit() == Time::MAX;
        self.entries.iter().all(is_endless) && self.is_idle(session)
    }

    /// True if nothing is in progress at the adapters of programs.
    fn are_quiet<B: Observer>(&self, session: &mut Session<B>) -> bool {
        let mut hosts = (0..self.by_host.len()).filter(|&host| !self.by_host[host].is_empty());
        hosts.all(|host| {
            let device = session.engine_mut().look_at_device(HostId(host as u32));
            device.is_none_or(|device| device.is_quiet())
        })
    }

    /// True if the wait of a program has reached its limit, and nothing that it waits for is visible.
    pub fn waited_in_vain<B: Observer>(&mut self, session: &mut Session<B>, number: usize) -> bool {
        let entry = &self.entries[number];
        let is_over = matches!(entry.wait, Wait::Any(_, limit) if limit <= session.now());
        let now = session.now();
        is_over && self.visible(session, number).is_none_or(|at| at > now)
    }

    /// Computes the times that are not known.
    fn refresh<B: Observer>(&mut self, session: &mut Session<B>) {
        let now = session.now();
        if std::mem::take(&mut self.has_advanced) {
            self.look_anew(session);
        }
        while let Some(number) = self.stale.pop() {
            let Entry { host, .. } = self.entries[number];
            if let Some(device) = session.engine_mut().look_at_device(host) {
                let costs = device.costs();
                let delays = (costs.completion, costs.receive + costs.payload_write);
                self.entries[number].delays = Some(delays);
                self.entries[number].changes = device.changes();
                self.collect_events(device, host, now);
            }
            let delay = self.entries[number].least_delay();
            if std::mem::replace(&mut self.entries[number].delay, delay) != delay {
                self.least_delay = None;
            }
            let at = self.goes_on_at(session, number);
            self.entries[number].at = Some(at);
            self.order.insert((at, number));
        }
    }

    /// Computes the times of programs that wait for something, after an advance: of those whose devices have changed. Few have.
    fn look_anew<B: Observer>(&mut self, session: &mut Session<B>) {
        let mut changed = std::mem::take(&mut self.changed);
        session.engine_mut().take_changed_devices(&mut changed);
        let now = session.now();
        for host in changed.drain(..) {
            let Some(device) = session.engine_mut().look_at_device(host) else { continue };
            // All programs of the host see the same, events included, which are collected once.
            let changes = device.changes();
            self.collect_events(device, host, now);
            for place in 0..self.by_host.get(host.index()).map_or(0, Vec::len) {
                self.look_at(session, self.by_host[host.index()][place], changes);
            }
        }
        self.changed = changed;
    }

    /// Computes the time of a program that waits for something, if its device has changed since: to `changes`.
    fn look_at<B: Observer>(&mut self, session: &mut Session<B>, number: usize, changes: u64) {
        let Entry { changes: seen, at: Some(before), awaits: true, .. } = self.entries[number] else {
            return;
        };
        if seen == changes {
            return;
        }
        self.entries[number].changes = changes;
        let at = self.goes_on_at(session, number);
        if at != before {
            self.order.remove(&(before, number));
            self.order.insert((at, number));
            self.entries[number].at = Some(at);
        }
    }

    /// Time at which a program goes on, as far as it is known.
    fn goes_on_at<B: Observer>(&self, session: &mut Session<B>, number: usize) -> Time {
        let visible = self.visible(session, number).unwrap_or(Time::MAX);
        let entry = &self.entries[number];
        visible.min(entry.wait.limit()).max(entry.clock)
    }

    /// Time at which the first of the things that a program waits for is visible, as far as it is known.
    fn visible<B: Observer>(&self, session: &mut Session<B>, number: usize) -> Option<Time> {
        let Entry { host, wait, .. } = &self.entries[number];
        let device = session.engine_mut().look_at_device(*host)?;
        let wake_up = device.costs().wake_up;
        let time = |awaited| match awaited {
            Awaited::Completion(cq) => device.next_completion(cq).ok()?,
            Awaited::Event(cq) => Some(device.next_cq_event(cq).ok()?? + wake_up),
            Awaited::Write(mr) => device.next_write(mr),
            Awaited::ConnectionEvent(channel) => Some(device.next_cm_event(channel)? + wake_up),
            Awaited::AsyncEvent => Some(self.events.get(host)?.front()?.0 + wake_up),
        };
        wait.awaited().filter_map(time).min()
    }

    fn collect_events(&mut self, device: &mut Device, host: HostId, now: Time) {
        while let Some(event) = device.async_event() {
            self.events.entry(host).or_default().push_back((now, event));
        }
    }

    /// Shortest time from what a device does until a program sees it.
    fn least_delay(&mut self) -> Time {
        let delays = || self.entries.iter().filter_map(|entry| entry.delay);
        *self.least_delay.get_or_insert_with(|| delays().min().unwrap_or_default().max(Time(1)))
    }
}

impl Entry {
    /// Shortest time from what the device does until the program sees it.
    fn least_delay(&self) -> Option<Time> {
        let (completion, data) = self.delays?;
        let delay = |awaited| if let Awaited::Write(_) = awaited { data } else { completion };
        Some(self.wait.awaited().map(delay).min().unwrap_or(completion))
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_verbs::Cq;

    use super::*;

    fn limits(scheduler: &Scheduler) -> Vec<Time> {
        scheduler.waits().map(|(_, wait)| wait.limit()).collect()
    }

    /// A program that waits for an event without a limit, with its time known.
    fn waiting() -> Scheduler {
        let mut scheduler = Scheduler::default();
        let number = scheduler.add(HostId(0));
        scheduler.wait(number, Time::ns(5), Wait::Any(vec![Awaited::AsyncEvent], Time::MAX));
        scheduler.entries[number].at = Some(Time::MAX);
        scheduler.order.insert((Time::MAX, number));
        scheduler.stale.clear();
        scheduler
    }

    #[test]
    fn limits_are_lowered_and_never_raised() {
        let mut scheduler = waiting();
        for (limit, found) in [(40, 40), (60, 40), (40, 40), (20, 20)] {
            scheduler.shorten(0, Time::ns(limit));
            assert_eq!(limits(&scheduler), [Time::ns(found)]);
        }
        assert_eq!(scheduler.clock(0), Time::ns(5));
    }

    #[test]
    fn other_waits_keep_their_end() {
        let mut scheduler = Scheduler::default();
        let waits = [Wait::Until(Time::ns(80)), Wait::Completion(Cq(0)), Wait::Done];
        for (number, wait) in waits.iter().enumerate() {
            scheduler.add(HostId(number as u32));
            scheduler.wait(number, Time::ZERO, wait.clone());
            scheduler.shorten(number, Time::ns(40));
        }
        let found: Vec<Wait> = scheduler.waits().map(|(_, wait)| wait.clone()).collect();
        assert_eq!(found, waits);
    }

    /// The time at which the program goes on is computed anew if its limit has changed, and only then.
    #[test]
    fn a_new_limit_is_a_new_time() {
        let mut scheduler = waiting();
        scheduler.shorten(0, Time::MAX);
        assert_eq!((scheduler.entries[0].at, scheduler.stale.len()), (Some(Time::MAX), 0));
        scheduler.shorten(0, Time::ns(40));
        assert_eq!((scheduler.entries[0].at, &scheduler.stale[..]), (None, &[0][..]));
        assert!(scheduler.order.is_empty());
    }
}
