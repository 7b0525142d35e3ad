//! Times at which a host's queue pairs must be woken.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fabricsim_units::Time;

/// Reason to wake a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, fabricsim_state::Value)]
pub(super) enum Timer {
    /// Its timer may have ended.
    Retry,
    /// The time of an RNR NAK is over.
    Ready,
    /// A receive request is there again.
    Receive,
}

/// The next time of every reason, in order. A timer that is set anew keeps its entry, so a queue pair has one at a time.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Time, u32, Timer)>>,
}

impl Timers {
    pub(super) fn set(&mut self, at: Time, connection: u32, timer: Timer) {
        self.heap.push(Reverse((at, connection, timer)));
    }

    /// The earliest time; [`Time::MAX`] if there is none.
    pub(super) fn next(&self) -> Time {
        self.heap.peek().map_or(Time::MAX, |Reverse((at, ..))| *at)
    }

    /// Takes the earliest entry if it is not later than `now`.
    pub(super) fn take(&mut self, now: Time) -> Option<(u32, Timer)> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, connection, timer))| (connection, timer))
    }
}
