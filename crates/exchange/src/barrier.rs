//! A barrier for threads that meet every few microseconds.

use std::num::NonZeroUsize;
use std::sync::OnceLock;

use crate::sync::{AtomicBool, AtomicUsize, Ordering, yield_now};

/// Looks at the barrier before a thread lets others run, if each has a processor.
const SPINS: u32 = if cfg!(feature = "loom") { 0 } else { 1 << 10 };

/// An atomic number that shares its cache line with no other.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// Threads wait until all of them are here. The last one lets all others go on; they wait without sleep, since that would take longer than what
/// they do in between.
#[derive(Debug)]
pub(crate) struct Barrier {
    threads: usize,
    spins: u32,
    here: Apart<AtomicUsize>,
    turn: Apart<AtomicUsize>,
    is_broken: AtomicBool,
    /// Order in which threads arrive.
    arrive: Ordering,
}

impl Barrier {
    pub(crate) fn new(threads: usize) -> Self {
        let apart = || Apart(AtomicUsize::new(0));
        let spins = if threads <= processors() { SPINS } else { 0 };
        Self {
            threads,
            spins,
            here: apart(),
            turn: apart(),
            is_broken: AtomicBool::new(false),
            arrive: Ordering::AcqRel,
        }
    }

    /// A defect: the last thread goes on without what the others did before.
    #[cfg(feature = "loom")]
    pub(crate) fn arrive_relaxed(&mut self) {
        self.arrive = Ordering::Relaxed;
    }

    /// Waits for the others. What each thread did before is seen by all afterwards.
    ///
    /// # Panics
    ///
    /// If another thread has panicked, since it will not come.
    pub(crate) fn wait(&self) {
        let turn = self.turn.0.load(Ordering::Acquire);
        if self.here.0.fetch_add(1, self.arrive) + 1 == self.threads {
            self.here.0.store(0, Ordering::Relaxed);
            self.turn.0.store(turn.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.turn.0.load(Ordering::Acquire) == turn {
            assert!(!self.is_broken.load(Ordering::Relaxed), "another thread of the run has panicked");
            spins += 1;
            if spins < self.spins {
                std::hint::spin_loop();
            } else {
                yield_now();
            }
        }
    }
}

/// Processors that the program may use. To ask the system takes as long as to start a thread.
fn processors() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get))
}

/// Breaks a barrier if its thread panics.
pub(crate) struct Member<'a>(pub(crate) &'a Barrier);

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.is_broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    /// Every thread sees what all others have written in the round before.
    #[test]
    fn threads_meet_in_every_round() {
        let threads = 3;
        let barrier = Barrier::new(threads);
        let counts: Vec<AtomicUsize> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
        std::thread::scope(|scope| {
            for own in 0..threads {
                let (barrier, counts) = (&barrier, &counts);
                scope.spawn(move || {
                    for round in 1..2_000 {
                        counts[own].store(round, Ordering::Relaxed);
                        barrier.wait();
                        let seen: Vec<_> = counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
                        assert!(seen.iter().all(|&count| count == round), "{seen:?} in round {round}");
                        barrier.wait();
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_ends_the_wait_of_the_others() {
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let _member = Member(&barrier);
                barrier.wait();
            });
            let failing = scope.spawn(|| {
                let _member = Member(&barrier);
                panic!("on purpose");
            });
            assert!(failing.join().is_err());
            assert!(waiting.join().is_err());
        });
    }
}
