//! A stream's packets from the oldest unacknowledged one on.

use fabricsim_units::Time;

use super::{Reason, Seq, SequenceSpace};

/// State of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub(crate) enum State {
    /// Not sent.
    #[default]
    Unsent,
    /// Sent, without answer.
    Flying,
    /// Rejected.
    Rejected(Reason),
    /// Timed out.
    TimedOut,
    /// Acknowledged.
    Acknowledged,
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub(crate) struct Entry<P> {
    pub(crate) payload: Option<P>,
    pub(crate) sent_at: Time,
    pub(crate) state: State,
    /// Copies sent less answers received.
    pub(crate) copies: u32,
    /// Not all answers report copies that are counted: `copies` is 1 until no copy can be left.
    pub(crate) uncounted: bool,
    /// True if it has been sent more than once.
    pub(crate) resent: bool,
    /// True if it is the last of the stream.
    pub(crate) last: bool,
}

impl<P> Default for Entry<P> {
    fn default() -> Self {
        Self {
            payload: None,
            sent_at: Time::ZERO,
            state: State::Unsent,
            copies: 0,
            uncounted: false,
            resent: false,
            last: false,
        }
    }
}

/// A ring of packets. Positions count from the oldest packet that is unacknowledged, or of which a copy may still be in the
/// network: so numbers are not reused while old ones can arrive.
#[derive(Clone, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub(crate) struct Window<P> {
    ring: Box<[Entry<P>]>,
    first: u16,
    len: u16,
    /// Sequence number at position 0.
    pub(crate) base: Seq,
    /// Packets before this position have been sent at least once.
    pub(crate) sent: u16,
}

impl<P: Copy> Window<P> {
    /// Room for `size` packets.
    pub(crate) fn new(size: u16) -> Self {
        let ring = (0..size).map(|_| Entry::default()).collect();
        Self { ring, first: 0, len: 0, base: Seq(0), sent: 0 }
    }

    /// Begins at `base`; it is empty.
    pub(crate) fn restart(&mut self, base: Seq) {
        debug_assert!(self.len == 0);
        (self.first, self.base, self.sent) = (0, base, 0);
    }

    #[inline]
    pub(crate) fn len(&self) -> u16 {
        self.len
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        usize::from(self.len) < self.ring.len()
    }

    #[inline]
    fn place(&self, position: u16) -> usize {
        let place = usize::from(self.first) + usize::from(position);
        if place >= self.ring.len() { place - self.ring.len() } else { place }
    }

    #[inline]
    pub(crate) fn get(&self, position: u16) -> &Entry<P> {
        &self.ring[self.place(position)]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, position: u16) -> &mut Entry<P> {
        let place = self.place(position);
        &mut self.ring[place]
    }

    /// Adds a packet at the end; only while there is room.
    #[inline]
    pub(crate) fn push(&mut self, payload: P, last: bool) {
        let position = self.len;
        *self.get_mut(position) = Entry { payload: Some(payload), last, ..Entry::default() };
        self.len += 1;
    }

    /// Position of a packet that has been sent and is still here.
    #[inline]
    pub(crate) fn position(&self, seq: Seq, space: SequenceSpace) -> Option<u16> {
        let position = space.distance(self.base, seq);
        (position < self.sent).then_some(position)
    }

    /// Position of the oldest unacknowledged packet.
    #[inline]
    pub(crate) fn oldest(&self) -> u16 {
        let mut position = 0;
        while position < self.sent && self.get(position).state == State::Acknowledged {
            position += 1;
        }
        position
    }

    /// Removes finished packets from the front; returns their number.
    #[inline]
    pub(crate) fn advance(&mut self, space: SequenceSpace, whatever_copies: bool) -> u16 {
        let before = self.len;
        while self.sent > 0
            && self.get(0).state == State::Acknowledged
            && (self.get(0).copies == 0 || whatever_copies)
        {
            *self.get_mut(0) = Entry::default();
            self.first = self.place(1) as u16;
            self.base = space.after(self.base, 1);
            self.len -= 1;
            self.sent -= 1;
        }
        if self.len == 0 {
            self.first = 0;
        }
        before - self.len
    }

    /// Forgets all packets (a deliberate defect needs it).
    pub(crate) fn clear(&mut self, space: SequenceSpace) {
        self.base = space.after(self.base, self.len);
        self.ring.fill_with(Entry::default);
        (self.first, self.len, self.sent) = (0, 0, 0);
    }
}
