//! Matching of messages and receives of one rank, by source and tag, in order; receives may have either of them open.

use std::collections::{BTreeMap, VecDeque};

use crate::ANY;

/// A receive that is posted, or a message that no receive has matched yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The rank of the operation.
    pub(crate) rank: u32,
    /// Its number.
    pub(crate) operation: u32,
    /// Time at which it was posted or arrived, in ns.
    pub(crate) time: i64,
    /// Position among all entries of its queue.
    order: u64,
}

/// Entries by source and tag.
#[derive(Debug, Default)]
struct Queue {
    lists: BTreeMap<(u32, u32), VecDeque<Entry>>,
    /// Keys with [`ANY`] in them.
    open: usize,
    next: u64,
}

impl Queue {
    fn push(&mut self, key: (u32, u32), rank: u32, operation: u32, time: i64) {
        let entry = Entry { rank, operation, time, order: self.next };
        self.next += 1;
        let list = self.lists.entry(key).or_default();
        if list.is_empty() && is_open(key) {
            self.open += 1;
        }
        list.push_back(entry);
    }

    /// Removes the first entry of a key.
    fn pop(&mut self, key: (u32, u32)) -> Option<Entry> {
        let list = self.lists.get_mut(&key)?;
        let entry = list.pop_front();
        if list.is_empty() {
            self.lists.remove(&key);
            self.open -= usize::from(is_open(key));
        }
        entry
    }

    fn first(&self, key: (u32, u32)) -> Option<(u64, (u32, u32))> {
        self.lists.get(&key).and_then(VecDeque::front).map(|entry| (entry.order, key))
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.lists.values().flatten()
    }
}

fn is_open((source, tag): (u32, u32)) -> bool {
    source == ANY || tag == ANY
}

/// Queues of one rank.
#[derive(Debug, Default)]
pub(crate) struct Matching {
    posted: Queue,
    unexpected: Queue,
}

impl Matching {
    /// A message arrives: the receive that it matches, or none, and the message is kept.
    pub(crate) fn message(&mut self, key: (u32, u32), operation: u32, time: i64) -> Option<Entry> {
        let (source, tag) = key;
        let queue = &mut self.posted;
        let open = [(source, ANY), (ANY, tag), (ANY, ANY)];
        let others = open.iter().take(if queue.open == 0 { 0 } else { 3 });
        let first = std::iter::once(&key).chain(others).filter_map(|key| queue.first(*key)).min();
        if let Some((_, found)) = first {
            return queue.pop(found);
        }
        self.unexpected.push(key, source, operation, time);
        None
    }

    /// A receive of `rank` is posted: the message that it matches, or none, and the receive is kept.
    pub(crate) fn receive(&mut self, key: (u32, u32), rank: u32, operation: u32, time: i64) -> Option<Entry> {
        let queue = &mut self.unexpected;
        let found = if is_open(key) {
            let fits = |(source, tag): &(u32, u32)| {
                (key.0 == ANY || key.0 == *source) && (key.1 == ANY || key.1 == *tag)
            };
            queue.lists.keys().filter(|key| fits(key)).filter_map(|key| queue.first(*key)).min()
        } else {
            queue.first(key)
        };
        if let Some((_, found)) = found {
            return queue.pop(found);
        }
        self.posted.push(key, rank, operation, time);
        None
    }

    /// Receives and messages that are left.
    pub(crate) fn left(&self) -> impl Iterator<Item = &Entry> {
        self.posted.entries().chain(self.unexpected.entries())
    }
}
