//! Partitions that advance in several threads.
//!
//! As in one thread, they advance in windows that are no longer than the least latency between them, and exchange what travels over links
//! afterwards. A thread has some of the partitions. At the end of a window it puts their mail into boxes, one for each pair of partitions, and
//! waits for the other threads; then it takes what is for its own. Mail of two windows that follow each other is in different boxes, so that one
//! barrier a window is enough. Partitions have the same events at the same times, so results are the same bits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fabricsim_model::Observer;
use fabricsim_units::Time;

use super::barrier::{Barrier, Member};
use super::{Advance, BUDGET, Engine, WINDOWS};
use crate::assembly::{Directory, Division};
use crate::mail::Mail;
use crate::partition::Partition;
use crate::totals::Totals;

/// Windows after which it is decided whether threads take part. Fewer are enough if they held the events of this number of windows at the threshold.
const MEASURED: u64 = 64;
/// Events of a call of [`Engine::advance`], for each thread, from which on threads take part: the start of a thread takes the time of a few hundred.
const WORTH_A_START: u64 = 2000;

/// The threads that may advance the partitions, and what they have to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threads {
    asked: u32,
    number: usize,
    /// Events of a window, for each thread, from which on they take part.
    worth: u64,
    /// They do in any case.
    always: bool,
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
    /// Least latency of a link between two partitions, the longest window; [`Time::MAX`] if there is none.
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
}

impl Threads {
    pub(super) fn new(division: Division, partitions: usize) -> Self {
        let number = (division.threads as usize).min(partitions);
        Self {
            asked: division.threads,
            number,
            worth: division.worth,
            always: false,
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

/// Mail from one partition to another: ports and messages.
type Letters = Mutex<Vec<(u32, Mail)>>;
type Opened<'a> = MutexGuard<'a, Vec<(u32, Mail)>>;

/// What the threads share.
struct Shared<'a> {
    directory: &'a Directory,
    until: Time,
    partitions: usize,
    barrier: Barrier,
    /// By parity of the window, receiver and sender.
    boxes: Vec<Letters>,
    /// By parity of the window: the earliest time at which a thread or its mail has something to do.
    next: [Vec<AtomicU64>; 2],
    /// Counters of the threads' partitions, as of the last look.
    totals: Vec<Mutex<Totals>>,
    /// The number of windows after which all threads stop.
    last: AtomicU64,
}

/// The partitions of a thread: `first` is the number of the first one.
struct Worker<'a, B> {
    number: usize,
    first: usize,
    partitions: &'a mut [Partition<B>],
    windows: u64,
}

impl<B: Observer> Engine<B> {
    /// True if several threads are worth it: there are some, and windows have held enough events. Results do not depend on it.
    pub(super) fn uses_threads(&self) -> bool {
        // Loads that all switches broadcast are exchanged outside of windows.
        self.threads.number > 1
            && (self.threads.always || self.threads.are_worth())
            && self.partitions[0].publish_at == Time::MAX
    }

    /// Threads that may advance the partitions.
    pub(crate) fn threads(&self) -> usize {
        self.threads.number
    }

    /// From now on, threads take part in every window. For tests and measurements: where windows hold few events, that takes longer.
    pub fn always_use_threads(&mut self) {
        self.threads.always = true;
    }

    /// How the run is divided, and what threads have done so far.
    pub fn scaling(&self) -> Scaling {
        let Threads { asked, number, worth, windows, shared, .. } = self.threads;
        let each = self.partitions.len().div_ceil(number);
        let events_of = |of: &[Partition<B>]| of.iter().map(Partition::events).sum::<u64>();
        let events = events_of(&self.partitions);
        let busiest = self.partitions.chunks(each).map(events_of).max().unwrap_or_default();
        let part = |of: u64| of as f64 / events.max(1) as f64;
        Scaling {
            asked,
            partitions: self.partitions.len(),
            threads: number,
            broadcasts: self.partitions[0].publish_at < Time::MAX,
            lookahead: self.directory.lookahead,
            worth,
            windows,
            events,
            shared: part(shared),
            busiest: part(busiest),
        }
    }

    /// [`Engine::advance`] by several threads. The caller's is one of them.
    pub(super) fn advance_in_threads(
        &mut self,
        until: Time,
        look: &mut dyn FnMut(Time, &Totals) -> bool,
    ) -> Advance {
        let before: u64 = self.partitions.iter().map(Partition::events).sum();
        let (count, each) = (self.partitions.len(), self.partitions.len().div_ceil(self.threads.number));
        let threads = count.div_ceil(each);
        let atomics = || (0..threads).map(|_| AtomicU64::new(u64::MAX)).collect();
        let shared = Shared {
            directory: &self.directory,
            until,
            partitions: count,
            barrier: Barrier::new(threads),
            boxes: (0..2 * count * count).map(|_| Mutex::default()).collect(),
            next: [atomics(), atomics()],
            totals: (0..threads).map(|_| Mutex::default()).collect(),
            last: AtomicU64::new(u64::MAX),
        };
        let workers = self.partitions.chunks_mut(each).enumerate();
        let mut workers = workers.map(|(number, partitions)| {
            let first = number * each;
            Worker { number, first, partitions, windows: 0 }
        });
        let own = workers.next();
        let (how, windows, now) = std::thread::scope(|scope| {
            for mut worker in workers {
                let shared = &shared;
                scope.spawn(move || worker.work(shared, None));
            }
            own.map_or((Advance::Idle, 0, until), |mut worker| worker.work(&shared, Some(look)))
        });
        let events = self.partitions.iter().map(Partition::events).sum();
        self.threads.shared += events - before;
        self.threads.count(windows, events);
        self.now = now;
        how
    }
}

impl<B: Observer> Worker<'_, B> {
    /// Advances to the end. The thread with `look` asks the caller now and then whether the run goes on. Returns how it ended, the number of windows,
    /// and the time up to which everything has happened.
    fn work(&mut self, shared: &Shared<'_>, mut look: Option<&mut Look<'_>>) -> (Advance, u64, Time) {
        let _member = Member(&shared.barrier);
        let mut end = Time::ZERO;
        let mut earliest = self.next_time();
        let mut looked_at = 0;
        loop {
            let parity = (self.windows % 2) as usize;
            shared.next[parity][self.number].store(earliest, Ordering::Release);
            shared.barrier.wait();
            let next = shared.earliest(parity);
            self.take_mail(shared, parity, end);
            // A thread that is late does not stop before the others: the number is that of a later window.
            if shared.last.load(Ordering::Acquire) <= self.windows {
                return (Advance::Stopped, self.windows, end);
            }
            if next >= shared.until.0 {
                return (self.how_it_ends(shared, 1 - parity), self.windows, shared.until);
            }
            end = shared.until.min(Time(next).saturating_add(shared.directory.lookahead));
            self.windows += 1;
            earliest = self.window(shared, end);
            let events = self.partitions.iter().map(Partition::events).sum::<u64>();
            if self.windows.is_multiple_of(u64::from(WINDOWS)) || events >= looked_at + BUDGET {
                looked_at = events;
                self.tell(shared);
                if let Some(look) = &mut look
                    && !look(end, &shared.totals())
                {
                    shared.last.store(self.windows, Ordering::Release);
                }
            }
        }
    }

    /// Whether anything is left to do. That credits have arrived may mean nothing.
    fn how_it_ends(&mut self, shared: &Shared<'_>, parity: usize) -> Advance {
        shared.next[parity][self.number].store(self.next_time(), Ordering::Release);
        shared.barrier.wait();
        if shared.earliest(parity) == u64::MAX { Advance::Idle } else { Advance::Reached }
    }

    /// Handles the events before `end`, and puts mail into the boxes of the next window. Returns the earliest time at which there is more to do: of mail that
    /// carries credits, `end` at least.
    fn window(&mut self, shared: &Shared<'_>, end: Time) -> u64 {
        let parity = (self.windows % 2) as usize;
        let mut earliest = u64::MAX;
        for (place, partition) in self.partitions.iter_mut().enumerate() {
            while partition.run(end, BUDGET) {}
            let sender = self.first + place;
            // Most mail is for the same partition as what came before it.
            let mut open: Option<(u16, Opened<'_>)> = None;
            for mail in partition.context.out.mail.drain(..) {
                let Some((to, port)) = mail.address(shared.directory) else {
                    unreachable!("threads take no part where loads are broadcast")
                };
                earliest = earliest.min(mail.acts_at(end).0);
                let letters = match open.take() {
                    Some((at, letters)) if at == to => letters,
                    _ => shared.letters(parity, usize::from(to), sender),
                };
                open.insert((to, letters)).1.push((port, mail));
            }
        }
        earliest.min(self.next_time())
    }

    /// Takes the mail for its partitions, of a window that ended at `end`, in the order of senders.
    fn take_mail(&mut self, shared: &Shared<'_>, parity: usize, end: Time) {
        for (place, partition) in self.partitions.iter_mut().enumerate() {
            for sender in 0..shared.partitions {
                for (port, mail) in shared.letters(parity, self.first + place, sender).drain(..) {
                    partition.receive(mail, port, end);
                }
            }
        }
    }

    /// Time of the next event of its partitions.
    fn next_time(&mut self) -> u64 {
        let times = self.partitions.iter_mut().filter_map(|partition| partition.context.out.calendar.peek());
        times.min().unwrap_or(u64::MAX)
    }

    /// Leaves its counters for the thread that looks.
    fn tell(&self, shared: &Shared<'_>) {
        let mut totals = Totals::default();
        self.partitions.iter().for_each(|partition| totals.add(&partition.totals()));
        *locked(&shared.totals[self.number]) = totals;
    }
}

impl Shared<'_> {
    /// The earliest time at which there is something to do.
    fn earliest(&self, parity: usize) -> u64 {
        let times = self.next[parity].iter().map(|time| time.load(Ordering::Acquire));
        times.min().unwrap_or(u64::MAX)
    }

    fn letters(&self, parity: usize, receiver: usize, sender: usize) -> Opened<'_> {
        locked(&self.boxes[(parity * self.partitions + receiver) * self.partitions + sender])
    }

    fn totals(&self) -> Totals {
        let mut all = Totals::default();
        self.totals.iter().for_each(|totals| all.add(&locked(totals)));
        all
    }
}

/// What is locked is as good after a panic as before: the run ends with it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
