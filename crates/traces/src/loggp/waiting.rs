//! Operations and messages that wait for a processor and an interface of a rank.
//!
//! LogGOPSim puts each of them back into its queue of events until its turn comes, in order of their creation. With `n`
//! waiting that takes `n` steps for each one that starts. Here only one of them, the guard, which no other precedes, is in
//! the queue of events; the others are kept beside it, and the next takes its place when it has started. The order is
//! the same.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::simulate::Event;

/// What is waited for: kind, processor, interface.
pub(crate) type Key = (u8, u8, u8);

#[derive(Debug)]
struct List {
    /// Number of the guard.
    guard: u64,
    parked: BinaryHeap<Reverse<ByNumber>>,
}

/// Lists of one rank.
#[derive(Debug, Default)]
pub(crate) struct Waiting(BTreeMap<Key, List>);

impl Waiting {
    /// An event could not start and is due again at its time. Returns it if it belongs into the queue of events.
    pub(crate) fn park(&mut self, key: Key, event: Event) -> Option<Event> {
        let Some(list) = self.0.get_mut(&key) else {
            self.0.insert(key, List { guard: event.number, parked: BinaryHeap::new() });
            return Some(event);
        };
        if event.number <= list.guard {
            list.guard = event.number;
            return Some(event);
        }
        list.parked.push(Reverse(ByNumber(event)));
        None
    }

    /// An event has started. Returns the next one, if it was the guard.
    pub(crate) fn started(&mut self, key: Key, event: &Event) -> Option<Event> {
        if self.0.is_empty() {
            return None;
        }
        let list = self.0.get_mut(&key).filter(|list| list.guard == event.number)?;
        if let Some(Reverse(ByNumber(next))) = list.parked.pop() {
            list.guard = next.number;
            return Some(next);
        }
        self.0.remove(&key);
        None
    }
}

/// An event in the order of its number.
#[derive(Debug, PartialEq, Eq)]
struct ByNumber(Event);

impl Ord for ByNumber {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.number.cmp(&other.0.number)
    }
}

impl PartialOrd for ByNumber {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
