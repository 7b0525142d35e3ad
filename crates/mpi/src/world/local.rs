//! Messages between ranks on a host, and of a rank to itself, by shared memory.

use std::collections::BTreeMap;

use fabricsim_units::Time;

use super::{Environment, Op, World};
use crate::header::Header;

/// A message in shared memory.
#[derive(Debug)]
pub(super) struct Note {
    from: u32,
    header: Header,
    data: Vec<u8>,
}

/// Messages for a rank, by the time from which it sees them, and in their order.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    notes: BTreeMap<(Time, u64), Note>,
    count: u64,
}

impl Inbox {
    /// Time of the first message.
    pub(super) fn next(&self) -> Option<Time> {
        self.notes.first_key_value().map(|((at, _), _)| *at)
    }

    fn take(&mut self, now: Time) -> Option<Note> {
        let first = self.notes.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

impl World {
    pub(super) fn send_note(&mut self, rank: usize, to: u32, header: Header, data: &[u8]) {
        let message = Note { from: rank as u32, header, data: data.to_vec() };
        self.push_op(rank, Op::Local { to, message });
    }

    pub(super) fn put_note(&mut self, to: u32, message: Note, now: Time) {
        let at = now.saturating_add(self.options.shared_latency);
        let of = &mut self.ranks[to as usize];
        of.inbox.count += 1;
        of.inbox.notes.insert((at, of.inbox.count), message);
        if of.is_waiting {
            self.noted.push((to as usize, at));
        }
    }

    /// Handles the messages that a rank sees at `now`; true if there is one.
    pub(super) fn receive_notes(&mut self, env: &mut dyn Environment, rank: usize, now: Time) -> bool {
        let mut found = false;
        while let Some(Note { from, header, data }) = self.ranks[rank].inbox.take(now) {
            found = true;
            self.receive_note(env, (rank, from), header, &data);
        }
        found
    }
}
