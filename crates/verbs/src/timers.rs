//! Times at which an adapter must be woken.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use fabricsim_units::Time;

/// Reasons to wake, each with its time, earliest first; at the same time in the order of the reasons.
#[derive(Clone, Debug)]
pub struct Timers<K> {
    /// Those of [`Timers::set_next`], in order.
    next: VecDeque<(Time, K)>,
    heap: BinaryHeap<Reverse<(Time, K)>>,
    /// The earliest time of both: it is looked at far more often than a reason is added or taken.
    earliest: Time,
}

impl<K: Ord> Default for Timers<K> {
    fn default() -> Self {
        Self { next: VecDeque::new(), heap: BinaryHeap::new(), earliest: Time::MAX }
    }
}

impl<K: Ord + Copy> Timers<K> {
    /// Adds a reason.
    pub fn set(&mut self, at: Time, reason: K) {
        self.earliest = self.earliest.min(at);
        self.heap.push(Reverse((at, reason)));
    }

    /// [`Timers::set`] for reasons that come nearly in order of their times, which costs less.
    #[inline]
    pub fn set_next(&mut self, at: Time, reason: K) {
        self.earliest = self.earliest.min(at);
        let after = self.next.iter().rev().take_while(|&&other| other > (at, reason)).count();
        if after == 0 {
            self.next.push_back((at, reason));
        } else {
            self.next.insert(self.next.len() - after, (at, reason));
        }
    }

    /// The earliest time; [`Time::MAX`] if there is none.
    #[inline]
    pub fn next(&self) -> Time {
        self.earliest
    }

    /// Takes the earliest reason if its time is not after `now`.
    #[inline]
    pub fn take(&mut self, now: Time) -> Option<K> {
        if self.earliest > now {
            return None;
        }
        let taken = self.pop();
        let first = self.next.front().map_or(Time::MAX, |&(at, _)| at);
        self.earliest = self.heap.peek().map_or(first, |Reverse((at, _))| first.min(*at));
        taken
    }

    fn pop(&mut self) -> Option<K> {
        let is_in_order = match (self.next.front(), self.heap.peek()) {
            (Some(first), Some(Reverse(other))) => first < other,
            (first, _) => first.is_some(),
        };
        if is_in_order {
            return self.next.pop_front().map(|(_, reason)| reason);
        }
        self.heap.pop().map(|Reverse((_, reason))| reason)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Both ways to set a reason give the same order, that of times and reasons.
        #[test]
        fn reasons_are_taken_in_order(
            times in proptest::collection::vec((0_u64..20, 0_u8..4, any::<bool>()), 1..40),
            now in 0_u64..24,
        ) {
            let mut timers = Timers::default();
            for &(at, reason, is_next) in &times {
                if is_next {
                    timers.set_next(Time(at), reason);
                } else {
                    timers.set(Time(at), reason);
                }
            }
            let mut expected: Vec<(u64, u8)> = times.iter().map(|&(at, reason, _)| (at, reason)).collect();
            expected.sort_unstable();
            prop_assert_eq!(timers.next(), Time(expected[0].0));
            let later = expected.iter().find(|&&(at, _)| at > now).map_or(Time::MAX, |&(at, _)| Time(at));
            expected.retain(|&(at, _)| at <= now);
            let taken: Vec<u8> = std::iter::from_fn(|| timers.take(Time(now))).collect();
            prop_assert_eq!(timers.next(), later);
            prop_assert_eq!(taken, expected.iter().map(|&(_, reason)| reason).collect::<Vec<_>>());
        }
    }
}
