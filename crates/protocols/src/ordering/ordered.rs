//! Ordered transfers at the target (sections III-D-2 and III-D-3).

use super::mutation::Mutation;
use super::outbox::TargetOutbox;
use super::target::{Arrival, Target};
use super::{Flags, Reason};

impl<P: Copy> Target<P> {
    /// A packet of an ordered transfer.
    #[inline]
    pub(super) fn ordered(&mut self, arrival: Arrival<P>, out: &mut impl TargetOutbox<P>) {
        let flags = arrival.header.flags;
        // Slow mode without CID: no connection is requested.
        if flags.has(Flags::SLOW) && !flags.has(Flags::SYN) {
            return self.deliver_without_connection(arrival, out);
        }
        let Some(slot) = self.connect(&arrival, false) else {
            let may = !flags.has(Flags::EOD) || self.options.mutated(Mutation::SlowExactlyOnce);
            if flags.has(Flags::SLOW) && may {
                return self.deliver_without_connection(arrival, out);
            }
            return self.reject(&arrival, Reason::NoConnection, false, out);
        };
        self.start(slot, &arrival);
        let Some(connection) = self.connections.get(slot) else { return };
        let seq = arrival.header.seq;
        if connection.started && seq == connection.expected {
            if self.forward(slot, &arrival, false, out) {
                self.deliver_held(slot, out);
            }
        } else if connection.started && self.space.precedes(seq, connection.expected) {
            if self.options.mutated(Mutation::ExecuteDuplicates) {
                self.forward(slot, &arrival, false, out);
            } else {
                self.duplicate(slot, &arrival, out);
            }
        } else {
            self.hold(slot, &arrival, out);
        }
    }

    /// Learns the start of the sequence and what has been acknowledged, if the packet carries them.
    #[inline]
    fn start(&mut self, slot: u32, arrival: &Arrival<P>) {
        let Some(connection) = self.connections.get(slot) else { return };
        let header = &arrival.header;
        let any = self.options.mutated(Mutation::StartWithoutSyn);
        let acknowledged = match header.offset() {
            // A late copy carries outdated state, too far back to be compared.
            Some(offset)
                if connection.started
                    && self.space.precedes(header.seq, connection.expected)
                    && u32::from(self.space.distance(header.seq, connection.expected))
                        + u32::from(offset)
                        >= self.space.half() =>
            {
                return;
            }
            Some(offset) => self.space.before(header.seq, offset),
            None if header.flags.has(Flags::SYN) || any => header.seq,
            None => {
                if self.options.mutated(Mutation::FreeReplayEarly) {
                    self.replay.free_before(&mut connection.replay, header.seq, self.space);
                }
                return;
            }
        };
        if !connection.started {
            (connection.started, connection.expected) = (true, acknowledged);
        }
        if header.flags.has(Flags::EOD) {
            self.replay.free_before(&mut connection.replay, acknowledged, self.space);
        }
    }

    /// The expected packet has been forwarded: forwards those that wait right behind it.
    #[inline]
    fn deliver_held(&mut self, slot: u32, out: &mut impl TargetOutbox<P>) {
        loop {
            let Some(connection) = self.connections.get(slot) else { return };
            connection.expected = self.space.after(connection.expected, 1);
            if connection.held == 0 {
                return;
            }
            let (from, cid) = (connection.from, connection.cid);
            let Some((header, payload)) = self.reorder.take(from, cid, connection.expected) else { return };
            connection.held -= 1;
            if !self.forward(slot, &Arrival { from, header, payload }, true, out) {
                return;
            }
        }
    }
}
