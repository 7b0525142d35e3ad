//! Partitions that advance in several threads, in the windows of [`fabricsim_exchange`]. As in one thread, windows are no longer than the
//! lookahead of partitions, which exchange what travels over links afterwards, so results are the same bits.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fabricsim_exchange::{End, Exchange, Post, Stop, Windows};
use fabricsim_model::Observer;
use fabricsim_units::Time;

use super::{Advance, BUDGET, Engine, Exchanged, WINDOWS};
use crate::assembly::{Directory, Division};
use crate::mail::Mail;
use crate::partition::Partition;
use crate::totals::Totals;

/// Windows after which it is decided whether threads take part. Fewer are enough if they held the events of this number of windows at the threshold.
const MEASURED: u64 = 64;
/// Events of a call of [`Engine::advance`], for each thread, from which on threads take part: the start of a thread takes the time of a few hundred.
const WORTH_A_START: u64 = 2000;

/// The threads that may advance the partitions, and what they have to do.
#[derive(Clone, Copy, Debug, fabricsim_state::State)]
pub(super) struct Threads {
    #[state(fixed)]
    asked: u32,
    #[state(fixed)]
    number: usize,
    /// Events of a window, for each thread, from which on they take part.
    #[state(fixed)]
    worth: u64,
    /// Calls of [`Engine::advance`] in which they do in any case.
    #[state(fixed)]
    forced: u64,
    /// Calls of [`Engine::advance`], windows, and their events, so far.
    advances: u64,
    windows: u64,
    events: u64,
    /// Of these, the events of calls in which they took part.
    shared: u64,
}

/// Division of a run into partitions and threads, and its use. Results do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scaling {
    /// Threads that the experiment asks for, or that its cores would be worth.
    pub asked: u32,
    /// Partitions.
    pub partitions: usize,
    /// Threads that may advance them: with fewer partitions than threads, as many.
    pub threads: usize,
    /// True if switches broadcast their loads, for which one thread does all.
    pub broadcasts: bool,
    /// Length of the longest window from now on; [`Time::MAX`] if nothing travels between partitions.
    pub lookahead: Time,
    /// Events of a window, for each thread, from which on threads take part.
    pub worth: u64,
    /// Windows; none are counted with one thread.
    pub windows: u64,
    /// Events.
    pub events: u64,
    /// Part of the events that were handled while threads took part.
    pub shared: f64,
    /// Part of the events that the busiest thread has, from 1 / `threads` up.
    pub busiest: f64,
    /// Exchange with other processes.
    pub exchanged: Exchanged,
}

impl Threads {
    pub(super) fn new(division: Division, partitions: usize) -> Self {
        let number = (division.threads as usize).min(partitions);
        Self {
            asked: division.threads,
            number,
            worth: division.worth,
            forced: 0,
            advances: 0,
            windows: 0,
            events: 0,
            shared: 0,
        }
    }

    pub(super) const fn number(&self) -> usize {
        self.number
    }

    pub(super) const fn begin_advance(&mut self) {
        self.advances += 1;
    }

    /// Counts windows; `events` are all so far.
    pub(super) const fn count(&mut self, windows: u64, events: u64) {
        self.windows += windows;
        self.events = events;
    }

    /// True if windows, and advances, have held enough events so far.
    fn are_worth(&self) -> bool {
        let threads = self.number as u64;
        let is_known = self.windows >= MEASURED || self.events >= MEASURED * self.worth * threads;
        is_known
            && self.events >= self.windows * self.worth * threads
            && self.events >= (self.advances - 1) * WORTH_A_START * threads
    }
}

/// Asks the caller whether the run goes on.
type Look<'a> = dyn FnMut(Time, &Totals) -> bool + 'a;

/// Mail for a partition, and the port that it is for.
type Letter = (u32, Mail);

/// The partitions of a thread: `first` is the number of the first one.
struct Worker<'a, B> {
    number: usize,
    first: usize,
    partitions: &'a mut [Partition<B>],
    directory: &'a Directory,
    /// Counters of the threads' partitions, as of the last look.
    totals: &'a [Mutex<Totals>],
    /// One thread asks the caller now and then whether the run goes on.
    look: Option<&'a mut Look<'a>>,
    /// Events at the last look.
    looked_at: u64,
}

impl<B: Observer> Engine<B> {
    /// True if several threads are worth it: there are some, and windows have held enough events. Results do not depend on it.
    pub(super) fn uses_threads(&self) -> bool {
        // Loads that all switches broadcast are exchanged outside of windows.
        self.threads.number > 1
            && (self.threads.advances <= self.threads.forced || self.threads.are_worth())
            && self.partitions[0].publish_at == Time::MAX
    }

    /// Threads that may advance the partitions.
    pub(crate) fn threads(&self) -> usize {
        self.threads.number
    }

    /// Threads take part in every window of the next `advances` calls of [`Engine::advance`]. For tests and measurements: where windows hold few
    /// events, that takes longer.
    pub fn force_threads(&mut self, advances: u64) {
        self.threads.forced = self.threads.advances.saturating_add(advances);
    }

    /// How the run is divided, and what threads have done so far.
    pub fn scaling(&self) -> Scaling {
        let Threads { asked, number, worth, windows, shared, .. } = self.threads;
        let events_of = |of: &[Partition<B>]| of.iter().map(Partition::events).sum::<u64>();
        let events = events_of(&self.partitions);
        let of_threads = self.shares().into_iter().map(|share| events_of(&self.partitions[share]));
        let busiest = of_threads.max().unwrap_or_default();
        let part = |of: u64| of as f64 / events.max(1) as f64;
        Scaling {
            asked,
            partitions: self.partitions.len(),
            threads: number,
            broadcasts: self.partitions[0].publish_at < Time::MAX,
            lookahead: self.lookahead(),
            worth,
            windows,
            events,
            shared: part(shared),
            busiest: part(busiest),
            exchanged: self.exchanged(),
        }
    }

    /// The partitions of each thread: as many as make its share of the events so far.
    fn shares(&self) -> Vec<Range<usize>> {
        let events: Vec<u64> = self.partitions.iter().map(Partition::events).collect();
        shares(&events, self.threads.number)
    }

    /// [`Engine::advance`] by several threads. The caller's is one of them.
    pub(super) fn advance_in_threads(
        &mut self,
        until: Time,
        look: &mut dyn FnMut(Time, &Totals) -> bool,
    ) -> Advance {
        let before: u64 = self.partitions.iter().map(Partition::events).sum();
        let (count, shares) = (self.partitions.len(), self.shares());
        let threads = shares.len();
        let directory = &self.directory;
        let exchange = Exchange::new(threads, count, until.0);
        let totals: Vec<_> = (0..threads).map(|_| Mutex::default()).collect();
        let totals = &totals;
        let exchange = &exchange;
        let mut rest = &mut *self.partitions;
        let parts: Vec<_> = shares
            .iter()
            .map(|share| {
                let (own, others) = std::mem::take(&mut rest).split_at_mut(share.len());
                rest = others;
                (share.start, own)
            })
            .collect();
        let mut parts = parts.into_iter().enumerate();
        let own = parts.next();
        let work = |(number, (first, partitions)), look| {
            Worker { number, first, partitions, directory, totals, look, looked_at: 0 }.work(exchange)
        };
        let end = std::thread::scope(|scope| {
            for part in parts {
                scope.spawn(move || work(part, None));
            }
            own.map(|part| work(part, Some(look)))
        });
        let Some(end) = end else { unreachable!("there is a partition") };
        let events = self.partitions.iter().map(Partition::events).sum();
        self.threads.shared += events - before;
        self.threads.count(end.windows, events);
        self.now = Time(end.time);
        match end {
            End { stopped: true, .. } => Advance::Stopped,
            End { idle: true, .. } => Advance::Idle,
            End { .. } => Advance::Reached,
        }
    }
}

/// Contiguous shares of partitions that have had this number of events each, of nearly equal sums: at most `threads`, each of a partition at least.
fn shares(events: &[u64], threads: usize) -> Vec<Range<usize>> {
    let weight = |&events: &u64| u128::from(events) + 1;
    let total: u128 = events.iter().map(weight).sum();
    let mut shares: Vec<Range<usize>> = Vec::new();
    let (mut sum, mut last) = (0, None);
    for (place, events) in events.iter().enumerate() {
        // The thread of its middle.
        let thread = (2 * sum + weight(events)) * threads as u128 / (2 * total);
        sum += weight(events);
        match shares.last_mut() {
            Some(share) if last == Some(thread) => share.end = place + 1,
            _ => shares.push(place..place + 1),
        }
        last = Some(thread);
    }
    shares
}

impl<B: Observer> Worker<'_, B> {
    fn work(&mut self, exchange: &Exchange<Letter>) -> End {
        exchange.work(self.number, (self.first, self.partitions.len()), self)
    }

    /// Leaves its counters for the thread that looks.
    fn tell(&self) {
        let mut totals = Totals::default();
        self.partitions.iter().for_each(|partition| totals.add(&partition.totals()));
        *locked(&self.totals[self.number]) = totals;
    }
}

impl<B: Observer> Windows for Worker<'_, B> {
    type Letter = Letter;

    fn next_time(&mut self) -> u64 {
        let times = self.partitions.iter_mut().filter_map(|partition| partition.context.out.calendar.peek());
        times.min().unwrap_or(u64::MAX)
    }

    fn lookahead(&mut self) -> u64 {
        let own = self.partitions.iter().map(|partition| partition.lookahead(self.directory));
        own.min().map_or(u64::MAX, |time| time.0)
    }

    fn run(&mut self, end: u64, post: &mut Post<'_, Letter>) -> u64 {
        let end = Time(end);
        let mut earliest = u64::MAX;
        for (place, partition) in self.partitions.iter_mut().enumerate() {
            while partition.run(end, BUDGET) {}
            for mail in partition.context.out.mail.drain(..) {
                let Some((to, port)) = mail.address(self.directory) else {
                    unreachable!("threads take no part where loads are broadcast")
                };
                // That credits have arrived may mean nothing.
                earliest = earliest.min(mail.acts_at(end).0);
                post.send(self.first + place, usize::from(to), (port, mail));
            }
        }
        earliest
    }

    fn take(&mut self, receiver: usize, (port, mail): Letter, end: u64) {
        self.partitions[receiver - self.first].receive(mail, port, Time(end));
    }

    fn ended(&mut self, window: u64, end: u64) -> Stop {
        let events = self.partitions.iter().map(Partition::events).sum::<u64>();
        if !window.is_multiple_of(u64::from(WINDOWS)) && events < self.looked_at + BUDGET {
            return Stop::No;
        }
        self.looked_at = events;
        self.tell();
        let Some(look) = &mut self.look else { return Stop::No };
        let mut all = Totals::default();
        self.totals.iter().for_each(|totals| all.add(&locked(totals)));
        if look(Time(end), &all) { Stop::No } else { Stop::Yes }
    }
}

/// What is locked is as good after a panic as before: the run ends with it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn threads_have_nearly_equal_shares_of_the_events() {
        assert_eq!(shares(&[0; 4], 2), [0..2, 2..4]);
        assert_eq!(shares(&[0; 7], 3), [0..2, 2..5, 5..7]);
        assert_eq!(shares(&[900, 100, 100, 100, 100, 100], 2), [0..1, 1..6]);
        assert_eq!(shares(&[10, 10, 10, 10, 10, 500, 500], 2), [0..6, 6..7]);
        assert_eq!(shares(&[90, 10], 2), [0..1, 1..2]);
        assert_eq!(shares(&[u64::MAX, 0, u64::MAX], 7).len(), 3, "a partition is not divided");
        assert_eq!(shares(&[5], 1).len(), 1);
    }
}
