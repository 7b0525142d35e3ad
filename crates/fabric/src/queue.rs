use crate::{Arena, NONE};

/// Packets in order of arrival, linked through the arena.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
pub(crate) struct Queue {
    head: u32,
    tail: u32,
}

impl Queue {
    pub(crate) const EMPTY: Self = Self { head: NONE, tail: NONE };

    #[inline]
    pub(crate) fn head(self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// The first packet of a queue that asks for an output: so there is one.
    #[inline]
    pub(crate) fn first(self) -> u32 {
        debug_assert!(self.head != NONE);
        self.head
    }

    /// Adds a packet; true if it is the first.
    #[inline]
    pub(crate) fn push(&mut self, arena: &mut Arena, packet: u32) -> bool {
        arena[packet].next = NONE;
        let first = self.head == NONE;
        if first {
            self.head = packet;
        } else {
            arena[self.tail].next = packet;
        }
        self.tail = packet;
        first
    }

    /// Takes the first packet out; `next` is the one behind it, or [`NONE`].
    #[inline]
    pub(crate) fn advance(&mut self, next: u32) {
        self.head = next;
    }
}
