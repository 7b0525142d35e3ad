//! Times at which an adapter must be woken.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fabricsim_units::Time;

/// Reasons to wake, each with its time, earliest first; at the same time in the order of the reasons.
#[derive(Clone, Debug)]
pub struct Timers<K> {
    heap: BinaryHeap<Reverse<(Time, K)>>,
}

impl<K: Ord> Default for Timers<K> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new() }
    }
}

impl<K: Ord + Copy> Timers<K> {
    /// Adds a reason.
    pub fn set(&mut self, at: Time, reason: K) {
        self.heap.push(Reverse((at, reason)));
    }

    /// The earliest time; [`Time::MAX`] if there is none.
    pub fn next(&self) -> Time {
        self.heap.peek().map_or(Time::MAX, |Reverse((at, _))| *at)
    }

    /// Takes the earliest reason if its time is not after `now`.
    pub fn take(&mut self, now: Time) -> Option<K> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, reason))| reason)
    }
}
