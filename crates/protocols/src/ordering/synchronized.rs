//! Transfers whose data is delivered on arrival: synchronized (section III-E) and selective (Ultra Ethernet's RUD).

use super::connections::Connection;
use super::mutation::Mutation;
use super::outbox::TargetOutbox;
use super::stream::{SELECTIVE_WINDOW, SYNCHRONIZED_WINDOW};
use super::target::{Arrival, Target};
use super::{Flags, Kind, Reason, Seq, SequenceSpace, Transfer};

/// State of a packet in a connection's bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    New,
    Duplicate,
    TooFar,
}

impl Connection {
    fn look(&self, seq: Seq, space: SequenceSpace, window: u16) -> Seen {
        let ahead = space.distance(self.expected, seq);
        let window = window.min(space.half() as u16);
        if space.precedes(seq, self.expected) || (ahead < window && self.arrived >> ahead & 1 == 1) {
            return Seen::Duplicate;
        }
        if ahead < window { Seen::New } else { Seen::TooFar }
    }

    fn mark(&mut self, seq: Seq, space: SequenceSpace) {
        // Zero if a peer that violates the rules has used a number twice.
        self.arrived |= 1_u128.checked_shl(u32::from(space.distance(self.expected, seq))).unwrap_or(0);
    }

    /// Advances `expected` past all packets that have arrived; returns their number.
    fn advance(&mut self, space: SequenceSpace) -> u16 {
        let steps = self.arrived.trailing_ones() as u16;
        self.arrived = self.arrived.checked_shr(u32::from(steps)).unwrap_or(0);
        self.expected = space.after(self.expected, steps);
        steps
    }
}

impl<P: Copy> Target<P> {
    /// A packet of a synchronized transfer. SEQ counts from 0 in each.
    pub(super) fn synchronized(&mut self, arrival: Arrival<P>, out: &mut impl TargetOutbox<P>) {
        let Some(slot) = self.connect(&arrival, true) else {
            return self.reject(&arrival, Reason::NoConnection, false, out);
        };
        let Some(connection) = self.connections.get(slot) else { return };
        let (seq, count) = (arrival.header.seq, arrival.header.count());
        match connection.look(seq, self.space, SYNCHRONIZED_WINDOW) {
            Seen::TooFar => self.reject(&arrival, Reason::BufferFull, true, out),
            Seen::Duplicate if self.options.mutated(Mutation::CountDuplicates) => {
                self.forward(slot, &arrival, false, out);
            }
            Seen::Duplicate => self.duplicate(slot, &arrival, out),
            Seen::New if arrival.header.flags.has(Flags::LAST) => {
                if self.hold(slot, &arrival, out)
                    && let Some(connection) = self.connections.get(slot)
                {
                    connection.held_operation = Some((seq, count));
                    self.release_synchronization(slot, out);
                }
            }
            Seen::New => {
                connection.mark(seq, self.space);
                connection.advance(self.space);
                self.forward(slot, &arrival, false, out);
            }
        }
    }

    /// Forwards the synchronization operation once all data is visible.
    pub(super) fn release_synchronization(&mut self, slot: u32, out: &mut impl TargetOutbox<P>) {
        let early = u64::from(self.options.mutated(Mutation::ReleaseEarly));
        let Some(connection) = self.connections.get(slot) else { return };
        let Some((seq, count)) = connection.held_operation else { return };
        if connection.counted + 1 + early < count {
            return;
        }
        let (from, cid) = (connection.from, connection.cid);
        let Some((header, payload)) = self.reorder.take(from, cid, seq) else { return };
        connection.held_operation = None;
        connection.held -= 1;
        if self.forward(slot, &Arrival { from, header, payload }, true, out)
            && let Some(connection) = self.connections.get(slot)
        {
            connection.mark(seq, self.space);
            connection.advance(self.space);
        }
    }

    /// A packet of a selective transfer. SEQ counts from 0 in each connection.
    pub(super) fn selective(&mut self, arrival: Arrival<P>, out: &mut impl TargetOutbox<P>) {
        let Some(slot) = self.connect(&arrival, true) else {
            return self.reject(&arrival, Reason::NoConnection, false, out);
        };
        let Some(connection) = self.connections.get(slot) else { return };
        let seq = arrival.header.seq;
        match connection.look(seq, self.space, SELECTIVE_WINDOW) {
            Seen::TooFar => return self.reject(&arrival, Reason::BufferFull, true, out),
            Seen::Duplicate => self.counters.duplicates.count(),
            Seen::New if arrival.header.transfer == Transfer::Selective => {
                connection.mark(seq, self.space);
                connection.advance(self.space);
                self.forward(slot, &arrival, false, out);
            }
            Seen::New if seq == connection.expected => {
                connection.mark(seq, self.space);
                let steps = connection.advance(self.space);
                self.forward(slot, &arrival, false, out);
                self.deliver_arrived(slot, seq, steps, out);
            }
            Seen::New => {
                if !self.hold(slot, &arrival, out) {
                    return;
                }
                if let Some(connection) = self.connections.get(slot) {
                    connection.mark(seq, self.space);
                }
            }
        }
        self.answer_with_bitmap(slot, &arrival, out);
    }

    /// Delivers the packets that wait behind `first`: `steps` packets, itself included.
    fn deliver_arrived(&mut self, slot: u32, first: Seq, steps: u16, out: &mut impl TargetOutbox<P>) {
        for step in 1..steps {
            let Some(connection) = self.connections.get(slot) else { return };
            let (from, cid) = (connection.from, connection.cid);
            let Some((header, payload)) = self.reorder.take(from, cid, self.space.after(first, step)) else {
                return;
            };
            connection.held -= 1;
            self.forward(slot, &Arrival { from, header, payload }, true, out);
        }
    }

    fn answer_with_bitmap(&mut self, slot: u32, arrival: &Arrival<P>, out: &mut impl TargetOutbox<P>) {
        let Some(connection) = self.connections.get(slot) else { return };
        let mut answer = arrival.header.answer(Kind::Ack);
        answer.seq = connection.expected;
        answer.word = connection.arrived as u64;
        answer.flags = answer.flags.with(Flags::CON);
        out.respond(arrival.from, answer);
    }
}
