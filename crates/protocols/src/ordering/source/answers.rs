//! Acknowledgements and refusals of packets, by kind of transfer.

use super::Source;
use crate::ordering::mutation::Mutation;
use crate::ordering::outbox::{SourceOutbox, StreamId};
use crate::ordering::window::State;
use crate::ordering::{Header, Kind, Reason};

impl<P: Copy> Source<P> {
    /// An ACK for one packet.
    #[inline]
    pub(super) fn single(&mut self, id: StreamId, header: &Header, out: &mut impl SourceOutbox<P>) {
        let stream = &mut self.streams[usize::from(id.0)];
        let Some(position) = stream.window.position(header.seq, self.space) else { return };
        if let Some(payload) = stream.acknowledge(position, &self.options) {
            out.acknowledged(id, payload, header.result());
        }
        if self.options.mutated(Mutation::CloseOnLastAck) && position + 1 == stream.window.len() {
            stream.window.clear(self.space);
            (stream.copies, stream.waiting, stream.permits, stream.acknowledged) = (0, 0, 0, 0);
        }
    }

    /// An ACK with a bitmap.
    pub(super) fn selective(&mut self, id: StreamId, header: &Header, out: &mut impl SourceOutbox<P>) {
        let stream = &mut self.streams[usize::from(id.0)];
        let base = self.space.distance(stream.window.base, header.seq);
        // Answers overtake one another: one that is behind the window reports packets after its SEQ, too.
        let behind = self.space.precedes(header.seq, stream.window.base);
        let skip = if behind { self.space.distance(header.seq, stream.window.base) } else { 0 };
        if !behind && base > stream.window.sent {
            return;
        }
        for position in 0..stream.window.sent {
            let arrived = if behind {
                let bit = u32::from(skip) + u32::from(position);
                header.bitmap().checked_shr(bit).unwrap_or(0) & 1 == 1
            } else if position < base {
                true
            } else {
                header.bitmap().checked_shr(u32::from(position - base)).unwrap_or(0) & 1 == 1
            };
            if arrived && let Some(payload) = stream.acknowledge(position, &self.options) {
                out.acknowledged(id, payload, 0);
            }
        }
    }

    /// Go-back-N: an ACK reports that all before SEQ is visible; a NACK requests the packets from SEQ on.
    pub(super) fn cumulative(&mut self, id: StreamId, header: &Header, out: &mut impl SourceOutbox<P>) {
        let stream = &mut self.streams[usize::from(id.0)];
        let position = self.space.distance(stream.window.base, header.seq);
        if position > stream.window.len() {
            return;
        }
        if header.kind == Kind::Nack {
            stream.halted |= header.reason == Reason::NoConnection && !stream.connected;
            return stream.go_back(position);
        }
        for before in 0..position {
            // An answer to a copy from before going back may report packets that count as not sent since.
            if stream.window.get(before).state == State::Unsent {
                stream.window.get_mut(before).state = State::Flying;
            }
            if let Some(payload) = stream.acknowledge(before, &self.options) {
                out.acknowledged(id, payload, 0);
            }
        }
        stream.window.sent = stream.window.sent.max(position);
    }

    pub(super) fn reject(&mut self, id: StreamId, header: &Header) {
        match header.reason {
            Reason::NoConnection => self.counters.no_connection.count(),
            Reason::BufferFull => self.counters.buffer_full.count(),
            Reason::NoReplay => self.counters.no_replay.count(),
            Reason::None | Reason::Held | Reason::OutOfSequence => {}
        }
        let stream = &mut self.streams[usize::from(id.0)];
        if let Some(position) = stream.window.position(header.seq, self.space) {
            stream.reject(position, header.reason, &self.options);
        }
    }
}
