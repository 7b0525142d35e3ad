//! A source endpoint: streams, connection identifiers, and the selection of the next packet.

mod answers;

use fabricsim_units::{HostId, Time};

use super::identifiers::Identifiers;
use super::mutation::Mutation;
use super::options::Close;
use super::outbox::{SourceOutbox, StreamId};
use super::stream::{Mode, SELECTIVE_WINDOW, SYNCHRONIZED_WINDOW, SourceStream};
use super::tally::Tally;
use super::{Cid, Header, Kind, OptionError, Seq, SequenceSpace, SourceOptions, Transfer};

/// Counters of a source endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub struct SourceCounters {
    /// REQs sent, all copies.
    pub sent: Tally,
    /// Of these, those that had been sent before.
    pub resent: Tally,
    /// REQs sent in slow mode.
    pub slow: Tally,
    /// NACKs received: no connection.
    pub no_connection: Tally,
    /// NACKs received: reorder buffer full.
    pub buffer_full: Tally,
    /// NACKs received: no replay buffer.
    pub no_replay: Tally,
    /// Time-outs of REQs.
    pub timeouts: Tally,
    /// FINs sent.
    pub fins: Tally,
    /// Answers that match no packet.
    pub stray: Tally,
}

/// A packet to be sent. FINs have no payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outgoing<P> {
    /// Its receiver.
    pub to: HostId,
    /// Its header.
    pub header: Header,
    /// Payload of a REQ.
    pub payload: Option<P>,
    /// True if a copy was sent before.
    pub retransmitted: bool,
}

/// The sending side of an endpoint. Payloads are small values (an operation, an index of a buffer): they are copied.
///
/// Driving it: [`Source::open`] a stream, [`Source::offer`] packets while there is [`Source::has_room`], and again at each
/// [`SourceOutbox::room`]; whenever the link is free, send [`Source::next`] (or choose among [`Source::candidates`]); hand
/// answers to [`Source::arrive`]; call [`Source::expire`] at [`Source::wake_at`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, fabricsim_state::State)]
pub struct Source<P> {
    #[state(fixed)]
    pub(crate) options: SourceOptions,
    #[state(fixed)]
    pub(crate) space: SequenceSpace,
    pub(crate) streams: Vec<SourceStream<P>>,
    /// Streams that are open, in the order in which they take turns.
    pub(crate) active: Vec<u16>,
    turn: usize,
    pub(crate) identifiers: Identifiers,
    /// No timer ends before this.
    pub(crate) wake: Time,
    counters: SourceCounters,
}

impl<P: Copy> Source<P> {
    /// Errors: an option that is out of range.
    pub fn new(options: SourceOptions) -> Result<Self, OptionError> {
        options.check()?;
        Ok(Self {
            options,
            space: SequenceSpace::new(options.sequence_bits),
            streams: Vec::new(),
            active: Vec::with_capacity(usize::from(options.streams)),
            turn: 0,
            identifiers: Identifiers::new(options.connections),
            wake: Time::MAX,
            counters: SourceCounters::default(),
        })
    }

    /// Opens a stream; `None` if the maximum number is open. With `exactly_once` its operations (in a synchronized
    /// transfer: the synchronization operation) are carried out once, and their results come back.
    pub fn open(&mut self, destination: HostId, mode: Mode, exactly_once: bool) -> Option<StreamId> {
        let number = match self.streams.iter().position(|stream| !stream.open) {
            Some(number) => number,
            None if self.streams.len() < usize::from(self.options.streams) => {
                self.streams.push(SourceStream::new(self.options.window()));
                self.streams.len() - 1
            }
            None => return None,
        };
        let stream = &mut self.streams[number];
        let start = match mode {
            Mode::Ordered | Mode::SourceOrdered => self.space.after(self.options.first_sequence, 0),
            _ => Seq(0),
        };
        stream.window.restart(start);
        (stream.open, stream.ended, stream.offered) = (true, false, 0);
        (stream.destination, stream.mode, stream.exactly_once) = (destination, mode, exactly_once);
        self.active.push(number as u16);
        Some(StreamId(number as u16))
    }

    /// True if another stream may be opened.
    #[inline]
    pub fn can_open(&self) -> bool {
        self.active.len() < usize::from(self.options.streams)
    }

    /// True if a packet may be offered to this stream. Otherwise the number of outstanding or unsent packets is at its
    /// limit.
    #[inline]
    pub fn has_room(&self, stream: StreamId) -> bool {
        let stream = &self.streams[usize::from(stream.0)];
        // A cumulative answer names the packet after the window, or one as far behind it: half the numbers less one.
        let cumulative = self.space.half() as u16 - 1;
        let limit = match stream.mode {
            Mode::Selective | Mode::SelectiveOrdered => SELECTIVE_WINDOW.min(cumulative),
            Mode::GoBackN => cumulative,
            Mode::Synchronized => SYNCHRONIZED_WINDOW,
            _ => u16::MAX,
        };
        let open = stream.window.len() - stream.acknowledged;
        stream.window.has_room() && open < self.options.outstanding && stream.window.len() < limit
    }

    /// Adds a packet to a stream that [`Source::has_room`]. `last` ends the stream (in a synchronized transfer this is the
    /// synchronization operation): nothing may be offered after it.
    #[inline]
    pub fn offer(&mut self, stream: StreamId, payload: P, last: bool) {
        debug_assert!(self.has_room(stream));
        let stream = &mut self.streams[usize::from(stream.0)];
        debug_assert!(stream.open && !stream.ended);
        stream.window.push(payload, last);
        stream.offered += 1;
        stream.ended = last;
    }

    /// Streams that may have something to send, in turn.
    #[inline]
    pub fn candidates(&self) -> impl Iterator<Item = StreamId> + '_ {
        let (before, after) = self.active.split_at(self.turn.min(self.active.len()));
        after.iter().chain(before).map(|&number| StreamId(number))
    }

    /// Streams that are open.
    #[inline]
    pub fn open_streams(&self) -> usize {
        self.active.len()
    }

    /// The stream that is `place` positions after the one whose turn it is, from 0 to [`Source::open_streams`] - 1.
    #[inline]
    pub fn in_turn(&self, place: usize) -> StreamId {
        let place = self.turn + place;
        let count = self.active.len();
        StreamId(self.active[if place < count { place } else { place - count }])
    }

    /// Receiver and payload of the packet that this stream would send now.
    #[inline]
    pub fn peek(&self, stream: StreamId) -> Option<(HostId, P)> {
        let stream = &self.streams[usize::from(stream.0)];
        let position = stream.ready(&self.options, self.identifiers.has_free())?;
        stream.window.get(position).payload.map(|payload| (stream.destination, payload))
    }

    /// Sends the packet of [`Source::peek`].
    #[inline]
    pub fn send(&mut self, id: StreamId, now: Time) -> Option<Outgoing<P>> {
        let stream = &mut self.streams[usize::from(id.0)];
        let position = stream.ready(&self.options, self.identifiers.has_free())?;
        if stream.may_take_cid() && stream.may_open_connection(position, &self.options) {
            stream.cid = self.identifiers.take(id);
            (stream.connected, stream.halted) = (false, false);
        }
        let header = stream.header(id.0, position, &self.options, self.space);
        let payload = stream.window.get(position).payload;
        let retransmitted = stream.window.get(position).resent || position < stream.window.sent;
        self.counters.sent.count();
        if retransmitted {
            self.counters.resent.count();
        }
        if header.flags.has(super::Flags::SLOW) {
            self.counters.slow.count();
        }
        stream.sent(position, now);
        let to = stream.destination;
        self.wake = self.wake.min(now.saturating_add(self.options.timeout.min(self.options.quiet_time())));
        if let Some(place) = self.active.iter().position(|&number| number == id.0) {
            self.turn = if place + 1 == self.active.len() { 0 } else { place + 1 };
        }
        Some(Outgoing { to, header, payload, retransmitted })
    }

    /// Receiver of the next FIN, if there is one to be sent.
    #[inline]
    pub fn peek_fin(&self) -> Option<HostId> {
        self.identifiers.next_fin()
    }

    /// Sends the FIN of [`Source::peek_fin`].
    pub fn send_fin(&mut self, now: Time) -> Option<Outgoing<P>> {
        let (to, header) = self.identifiers.send_fin(now)?;
        self.counters.fins.count();
        if self.options.mutated(Mutation::ReuseBeforeFinAck) {
            self.identifiers.release(header.cid);
        }
        self.wake = self.wake.min(now.saturating_add(self.options.timeout.min(self.options.quiet_time())));
        Some(Outgoing { to, header, payload: None, retransmitted: false })
    }

    /// The next packet of any kind: FIN first, then streams in turn.
    pub fn next(&mut self, now: Time) -> Option<Outgoing<P>> {
        if self.peek_fin().is_some() {
            return self.send_fin(now);
        }
        let stream = self.candidates().find(|&stream| self.peek(stream).is_some())?;
        self.send(stream, now)
    }

    /// An answer has arrived: ACK, NACK or FIN-ACK.
    pub fn arrive(&mut self, from: HostId, header: Header, out: &mut impl SourceOutbox<P>) {
        if header.kind == Kind::FinAck {
            if !self.identifiers.closed(header.cid, from) {
                self.counters.stray.count();
            }
            return;
        }
        let Some(id) = self.stream_of(header.cid).filter(|id| self.is_answer(*id, from, &header)) else {
            self.counters.stray.count();
            return;
        };
        let stream = &mut self.streams[usize::from(id.0)];
        let before = stream.open_places();
        stream.answered(&header, self.space);
        if header.flags.has(super::Flags::CON) && stream.cid == Some(header.cid) {
            stream.connect();
        }
        let acknowledges = header.kind == Kind::Ack || self.options.mutated(Mutation::NackAsAck);
        match header.transfer {
            Transfer::GoBackN => self.cumulative(id, &header, out),
            Transfer::Selective | Transfer::SelectiveOrdered if acknowledges => {
                self.selective(id, &header, out);
            }
            _ if acknowledges => self.single(id, &header, out),
            _ => self.reject(id, &header),
        }
        let stream = &mut self.streams[usize::from(id.0)];
        stream.advance(&self.options, self.space);
        if stream.open_places() != before {
            self.report_room(id, out);
        }
        self.settle(id, out);
    }

    /// Reports a place in the window of a stream that has more packets to come.
    #[inline]
    pub(crate) fn report_room(&self, id: StreamId, out: &mut impl SourceOutbox<P>) {
        if !self.streams[usize::from(id.0)].ended && self.has_room(id) {
            out.room(id);
        }
    }

    fn stream_of(&self, cid: Cid) -> Option<StreamId> {
        match cid.stream() {
            Some(number) => Some(StreamId(number)),
            None => self.identifiers.stream(cid),
        }
    }

    fn is_answer(&self, id: StreamId, from: HostId, header: &Header) -> bool {
        let stream = self.streams.get(usize::from(id.0));
        let answer = matches!(header.kind, Kind::Ack | Kind::Nack);
        answer
            && stream
                .is_some_and(|stream| stream.open && stream.destination == from && stream.expects(header))
    }

    /// Closes the connection of a stream that has nothing outstanding, and the stream if it has ended.
    pub(crate) fn settle(&mut self, id: StreamId, out: &mut impl SourceOutbox<P>) {
        let stream = &mut self.streams[usize::from(id.0)];
        // Rule 1.
        let quiet = stream.copies == 0 || self.options.mutated(Mutation::CloseBeforeAllCopies);
        if !stream.window.is_empty() || !quiet {
            return;
        }
        let idle =
            self.options.close == Close::Idle && matches!(stream.mode, Mode::Ordered | Mode::SourceOrdered);
        if stream.ended || idle {
            if let Some(cid) = stream.cid.take() {
                if stream.connected || stream.lossy {
                    self.identifiers.close(cid, stream.destination);
                } else {
                    self.identifiers.release(cid);
                }
            }
            (stream.connected, stream.halted, stream.lossy, stream.uncounted) = (false, false, false, false);
            stream.last_sent = Time::ZERO;
        }
        if stream.ended {
            (stream.open, stream.ended, stream.copies) = (false, false, 0);
            if let Some(place) = self.active.iter().position(|&number| number == id.0) {
                self.active.remove(place);
                self.turn -= usize::from(place < self.turn);
                if self.turn >= self.active.len() {
                    self.turn = 0;
                }
            }
            out.finished(id);
        }
    }

    pub(crate) fn count_timeout(&mut self) {
        self.counters.timeouts.count();
    }

    /// Returns the counters.
    pub fn counters(&self) -> &SourceCounters {
        &self.counters
    }

    /// Packets of this stream that have been sent and not been acknowledged.
    pub fn outstanding(&self, stream: StreamId) -> u16 {
        let stream = &self.streams[usize::from(stream.0)];
        stream.window.sent - stream.acknowledged
    }

    /// True if no stream is open, and all connections are closed.
    pub fn is_idle(&self) -> bool {
        self.active.is_empty() && self.identifiers.all_free()
    }
}

#[cfg(test)]
mod tests;
