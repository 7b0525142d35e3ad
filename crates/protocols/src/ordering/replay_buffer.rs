//! Replay buffers: results of exactly-once operations, kept until no source can request them any more.

use super::tally::Tally;
use super::{Seq, SequenceSpace};

const NONE: u16 = u16::MAX;

/// The replay buffers of a connection, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub(crate) struct ReplayList {
    first: u16,
    last: u16,
}

impl Default for ReplayList {
    fn default() -> Self {
        Self { first: NONE, last: NONE }
    }
}

/// One replay buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
struct Buffer {
    seq: Seq,
    next: u16,
    result: Option<u64>,
}

const FREE: Buffer = Buffer { seq: Seq(0), next: NONE, result: None };

/// All replay buffers of a target.
#[derive(Clone, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub(crate) struct ReplayBuffers {
    buffers: Box<[Buffer]>,
    free: Vec<u16>,
    most: Tally,
}

impl ReplayBuffers {
    pub(crate) fn new(count: u16) -> Self {
        Self {
            buffers: vec![FREE; usize::from(count)].into(),
            free: (0..count).rev().collect(),
            most: Tally::default(),
        }
    }

    /// Allocates one for the operation `seq`, which comes after all of `list`. `None` if none is free.
    pub(crate) fn allocate(&mut self, list: &mut ReplayList, seq: Seq) -> Option<u16> {
        let number = self.free.pop()?;
        self.buffers[usize::from(number)] = Buffer { seq, ..FREE };
        if list.last == NONE {
            list.first = number;
        } else {
            self.buffers[usize::from(list.last)].next = number;
        }
        list.last = number;
        self.most.raise(self.in_use() as u64);
        Some(number)
    }

    /// The operation has been carried out.
    pub(crate) fn store(&mut self, number: u16, result: u64) {
        self.buffers[usize::from(number)].result = Some(result);
    }

    /// The result of operation `seq`, if it is still kept.
    pub(crate) fn find(&self, list: ReplayList, seq: Seq) -> Option<u64> {
        let mut number = list.first;
        while number != NONE {
            let buffer = &self.buffers[usize::from(number)];
            if buffer.seq == seq {
                return buffer.result;
            }
            number = buffer.next;
        }
        None
    }

    /// Frees the results before `seq`, which no source requests any more.
    pub(crate) fn free_before(&mut self, list: &mut ReplayList, seq: Seq, space: SequenceSpace) {
        while list.first != NONE && space.precedes(self.buffers[usize::from(list.first)].seq, seq) {
            self.free_first(list);
        }
    }

    /// Frees all results of a connection.
    pub(crate) fn free_all(&mut self, list: &mut ReplayList) {
        while list.first != NONE {
            self.free_first(list);
        }
    }

    fn free_first(&mut self, list: &mut ReplayList) {
        let number = list.first;
        let buffer = std::mem::replace(&mut self.buffers[usize::from(number)], FREE);
        list.first = buffer.next;
        if list.first == NONE {
            list.last = NONE;
        }
        self.free.push(number);
    }

    /// Replay buffers that are allocated.
    pub(crate) fn in_use(&self) -> usize {
        self.buffers.len() - self.free.len()
    }

    /// The largest number that was allocated at a time.
    pub(crate) fn most(&self) -> u64 {
        self.most.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_kept_until_they_are_freed() {
        let space = SequenceSpace::new(16);
        let mut buffers = ReplayBuffers::new(3);
        let (mut a, mut b) = (ReplayList::default(), ReplayList::default());
        for seq in [65534, 65535] {
            let number = buffers.allocate(&mut a, Seq(seq)).expect("there are three");
            buffers.store(number, u64::from(seq));
        }
        let number = buffers.allocate(&mut b, Seq(65535)).expect("there are three");
        assert_eq!(buffers.find(b, Seq(65535)), None);
        buffers.store(number, 7);
        assert_eq!(buffers.allocate(&mut a, Seq(0)), None);
        buffers.free_before(&mut a, Seq(65535), space);
        assert_eq!((buffers.find(a, Seq(65534)), buffers.find(a, Seq(65535))), (None, Some(65535)));
        assert_eq!(buffers.find(b, Seq(65535)), Some(7));
        assert!(buffers.allocate(&mut a, Seq(0)).is_some());
        buffers.free_before(&mut a, Seq(1), space);
        buffers.free_all(&mut b);
        assert_eq!((buffers.in_use(), buffers.most()), (0, 3));
        assert_eq!((a, b), (ReplayList::default(), ReplayList::default()));
    }
}
