//! Go-back-N at the target, as in RoCE: packets out of sequence are dropped.

use super::outbox::TargetOutbox;
use super::target::{Arrival, Target};
use super::{Flags, Kind, Reason};

impl<P: Copy> Target<P> {
    /// A packet of a go-back-N transfer. SEQ counts from 0 in each connection.
    pub(super) fn go_back_n(&mut self, arrival: Arrival<P>, out: &mut impl TargetOutbox<P>) {
        let Some(slot) = self.connect(&arrival, true) else {
            return self.reject(&arrival, Reason::NoConnection, false, out);
        };
        let Some(connection) = self.connections.get(slot) else { return };
        let seq = arrival.header.seq;
        if seq == connection.expected {
            connection.expected = self.space.after(connection.expected, 1);
            connection.reported = false;
            self.forward(slot, &arrival, false, out);
        } else if self.space.precedes(seq, connection.expected) {
            self.duplicate(slot, &arrival, out);
        } else {
            self.counters.out_of_sequence.count();
            if connection.reported {
                return;
            }
            connection.reported = true;
            let mut answer = arrival.header.answer(Kind::Nack);
            // The number that is missing; operations in execution have been taken.
            (answer.reason, answer.seq) = (Reason::OutOfSequence, connection.expected);
            answer.flags = answer.flags.with(Flags::CON);
            out.respond(arrival.from, answer);
        }
    }
}
