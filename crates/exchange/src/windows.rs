//! The windows of a thread.

use crate::barrier::{Barrier, Member};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, locked};

/// Letters from one partition to another.
type Letters<L> = Mutex<Vec<L>>;

/// What the threads share.
#[derive(Debug)]
pub struct Exchange<L> {
    until: u64,
    partitions: usize,
    barrier: Barrier,
    /// By parity of the window, receiver and sender.
    boxes: Vec<Letters<L>>,
    /// By parity of the window: the earliest time at which a thread or its letters have something to do.
    next: [Vec<AtomicU64>; 2],
    /// By parity of the window: [`Windows::lookahead`] of the threads.
    lookahead: [Vec<AtomicU64>; 2],
    /// The number of windows after which all threads stop.
    last: AtomicU64,
    /// Sets of boxes that windows use in turn: two.
    sets: u64,
}

/// The partitions of a thread.
pub trait Windows {
    /// What partitions send each other.
    type Letter;

    /// Time of the next event of its partitions; `u64::MAX` if there is none.
    fn next_time(&mut self) -> u64;

    /// Time after an event of its partitions before which that event affects no partition of another thread. It may change from window to window.
    fn lookahead(&mut self) -> u64;

    /// Handles the events before `end`, and posts letters. Returns the earliest time at which a letter has something to do, `end` at least: `u64::MAX`
    /// without letters.
    fn run(&mut self, end: u64, post: &mut Post<'_, Self::Letter>) -> u64;

    /// Takes a letter for partition `receiver`, one of its own, of a window that ended at `end`. Letters come in the order of their senders, and of a
    /// sender in that in which they were posted.
    fn take(&mut self, receiver: usize, letter: Self::Letter, end: u64);

    /// After the window number `window`, which ends at `end`: what to do. Whether this stops all threads is for one thread to say.
    fn ended(&mut self, window: u64, end: u64) -> Stop;
}

/// Whether threads go on after a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// They go on.
    No,
    /// All stop after this window.
    Yes,
}

/// The end of the windows of a thread, which is the same for all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Number of windows.
    pub windows: u64,
    /// Time up to which everything has happened.
    pub time: u64,
    /// True if a thread stopped the windows.
    pub stopped: bool,
    /// True if nothing is left to do; false if that is not known because a thread stopped.
    pub idle: bool,
}

/// Where a thread puts the letters of a window.
#[derive(Debug)]
pub struct Post<'a, L> {
    exchange: &'a Exchange<L>,
    parity: usize,
    /// Most letters are for the same partition as those before: box, and its letters.
    open: Option<(usize, MutexGuard<'a, Vec<L>>)>,
}

impl<L> Post<'_, L> {
    /// Puts a letter into the box from one partition to another.
    pub fn send(&mut self, sender: usize, receiver: usize, letter: L) {
        let place = self.exchange.place(self.parity, receiver, sender);
        let letters = match self.open.take() {
            Some((at, letters)) if at == place => letters,
            _ => locked(&self.exchange.boxes[place]),
        };
        self.open.insert((place, letters)).1.push(letter);
    }
}

impl<L> Exchange<L> {
    /// For `threads` threads with `partitions` partitions together, from now until `until`.
    pub fn new(threads: usize, partitions: usize, until: u64) -> Self {
        let atomics = || (0..threads).map(|_| AtomicU64::new(u64::MAX)).collect();
        Self {
            until,
            partitions,
            barrier: Barrier::new(threads),
            boxes: (0..2 * partitions * partitions).map(|_| Mutex::new(Vec::new())).collect(),
            next: [atomics(), atomics()],
            lookahead: [atomics(), atomics()],
            last: AtomicU64::new(u64::MAX),
            sets: 2,
        }
    }

    /// Advances the partitions of thread `thread`, the first of which has the number `first`, and of which there are `count`. Every thread calls it once.
    ///
    /// # Panics
    ///
    /// If another thread has panicked.
    pub fn work(
        &self,
        thread: usize,
        (first, count): (usize, usize),
        of: &mut impl Windows<Letter = L>,
    ) -> End {
        let _member = Member(&self.barrier);
        let (mut end, mut windows) = (0, 0);
        let mut earliest = of.next_time();
        loop {
            let parity = self.parity(windows);
            self.meet(parity, thread, (earliest, of.lookahead()));
            let next = least(&self.next[parity]);
            self.deliver(parity, first..first + count, end, of);
            // A thread that is late does not stop before the others: the number is that of a later window.
            if self.last.load(Ordering::Acquire) <= windows {
                return End { windows, time: end, stopped: true, idle: false };
            }
            if next >= self.until {
                self.meet(1 - parity, thread, (of.next_time(), of.lookahead()));
                let idle = least(&self.next[1 - parity]) == u64::MAX;
                return End { windows, time: self.until, stopped: false, idle };
            }
            end = self.until.min(next.saturating_add(least(&self.lookahead[parity])));
            windows += 1;
            let mut post = Post { exchange: self, parity: self.parity(windows), open: None };
            let letters = of.run(end, &mut post);
            drop(post);
            earliest = letters.min(of.next_time());
            if of.ended(windows, end) == Stop::Yes {
                self.last.store(windows, Ordering::Release);
            }
        }
    }

    /// Says when a thread has something to do, and its lookahead, and waits for the others.
    fn meet(&self, parity: usize, thread: usize, (earliest, lookahead): (u64, u64)) {
        self.next[parity][thread].store(earliest, Ordering::Release);
        self.lookahead[parity][thread].store(lookahead, Ordering::Release);
        self.barrier.wait();
    }

    /// Takes the letters of a window that ended at `end`.
    fn deliver(
        &self,
        parity: usize,
        receivers: std::ops::Range<usize>,
        end: u64,
        of: &mut impl Windows<Letter = L>,
    ) {
        for receiver in receivers {
            for sender in 0..self.partitions {
                for letter in locked(&self.boxes[self.place(parity, receiver, sender)]).drain(..) {
                    of.take(receiver, letter, end);
                }
            }
        }
    }

    fn place(&self, parity: usize, receiver: usize, sender: usize) -> usize {
        (parity * self.partitions + receiver) * self.partitions + sender
    }

    fn parity(&self, windows: u64) -> usize {
        (windows % self.sets) as usize
    }
}

/// The least of what threads have stored.
fn least(of: &[AtomicU64]) -> u64 {
    of.iter().map(|value| value.load(Ordering::Acquire)).min().unwrap_or(u64::MAX)
}

/// A deliberate defect, for tests that must find it.
#[cfg(feature = "loom")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// All windows use the same boxes.
    OneSetOfBoxes,
    /// The last thread at the barrier goes on without what the others did.
    RelaxedBarrier,
}

#[cfg(feature = "loom")]
impl<L> Exchange<L> {
    /// The exchange with a defect.
    pub fn with(mut self, defect: Defect) -> Self {
        match defect {
            Defect::OneSetOfBoxes => self.sets = 1,
            Defect::RelaxedBarrier => self.barrier.arrive_relaxed(),
        }
        self
    }
}
