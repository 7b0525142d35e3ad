//! Messages that the caller of a session injects at a host.

use std::collections::BTreeMap;

use fabricsim_units::{HostId, Time};

use crate::Message;
use crate::closed::Queue;

/// The caller's messages of one host.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(crate) struct Injected {
    queue: Queue,
    /// Bytes offered within the window, by destination.
    offered: BTreeMap<HostId, u64>,
}

impl Injected {
    pub(crate) fn push(&mut self, message: Message) {
        self.queue.push(message);
    }

    /// Time at which the next message is created; [`Time::MAX`] if there is none.
    pub(crate) fn next(&self) -> Time {
        self.queue.next()
    }

    /// The next message, if it is created at `now` or before. Counts it as offered if that is within `from` to `to`.
    pub(crate) fn take(&mut self, now: Time, from: Time, to: Time) -> Option<Message> {
        let message = self.queue.take(now)?;
        if (from..to).contains(&message.created) {
            let bytes = self.offered.entry(message.destination).or_default();
            *bytes = bytes.saturating_add(message.bytes);
        }
        Some(message)
    }

    /// Bytes offered within the window, by destination.
    pub(crate) fn offered(&self) -> impl Iterator<Item = (HostId, u64)> {
        self.offered.iter().map(|(&destination, &bytes)| (destination, bytes))
    }

    /// Restarts the window.
    pub(crate) fn forget_offered(&mut self) {
        self.offered.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_offered_if_created_within_the_window() {
        let mut injected = Injected::default();
        for (at, destination) in [(1, 7), (2, 7), (3, 8), (4, 7)] {
            let (created, destination) = (Time::ns(at), HostId(destination));
            injected.push(Message { created, destination, bytes: 10, stream: 0, tag: 0 });
        }
        while injected.take(Time::ns(9), Time::ns(2), Time::ns(4)).is_some() {}
        assert_eq!(injected.offered().collect::<Vec<_>>(), [(HostId(7), 10), (HostId(8), 10)]);
        injected.forget_offered();
        assert_eq!((injected.offered().count(), injected.next()), (0, Time::MAX));
    }
}
