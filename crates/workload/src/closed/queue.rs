use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fabricsim_units::Time;

use crate::Message;

/// Messages by the time at which they are ready; those of equal time in order of insertion.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<Entry>>,
    pushed: u64,
}

#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Entry {
    order: (Time, u64),
    message: Message,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}

impl Queue {
    pub(crate) fn push(&mut self, message: Message) {
        self.heap.push(Reverse(Entry { order: (message.created, self.pushed), message }));
        self.pushed += 1;
    }

    /// Time at which the first message is ready; [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.heap.peek().map_or(Time::MAX, |first| first.0.message.created)
    }

    /// The first message, if it is ready at `now`.
    pub(crate) fn take(&mut self, now: Time) -> Option<Message> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|first| first.0.message)
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_units::HostId;

    use super::*;

    #[test]
    fn by_time_then_by_order() {
        let mut queue = Queue::default();
        for (tag, at) in [5, 3, 5, 3, 4].into_iter().enumerate() {
            let tag = tag as u32;
            queue.push(Message { created: Time::ns(at), destination: HostId(0), bytes: 1, stream: 0, tag });
        }
        assert_eq!((queue.next(), queue.take(Time::ns(2))), (Time::ns(3), None));
        let order: Vec<u32> = std::iter::from_fn(|| queue.take(Time::ns(9))).map(|m| m.tag).collect();
        assert_eq!(order, [1, 3, 4, 0, 2]);
        assert!(queue.len() == 0 && queue.next() == Time::MAX);
    }
}
