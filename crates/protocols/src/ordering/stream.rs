//! A stream of a source endpoint: selection of the next packet and its header.

use fabricsim_units::{HostId, Time};

use super::mutation::Mutation;
use super::options::{OnNoConnection, Recovery, Resend, SourceOptions, StartOffset, TimedOut};
use super::window::{State, Window};
use super::{Cid, Flags, Header, Kind, Reason, SequenceSpace, Transfer};

/// Ordering of the packets of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, fabricsim_state::Value)]
pub enum Mode {
    /// Not at all.
    Unordered,
    /// At the source: one packet outstanding (slow mode).
    SourceOrdered,
    /// At the target (fast mode, with slow mode where connections run out).
    #[default]
    Ordered,
    /// Data unordered, then a flush, then the synchronization operation.
    SourceSynchronized,
    /// Data unordered; the target holds the synchronization operation until the data is visible.
    Synchronized,
    /// In sequence at the target, which drops packets out of sequence (RoCE).
    GoBackN,
    /// Unordered, with a bitmap at the target (Ultra Ethernet's RUD).
    Selective,
    /// The same with a reorder buffer.
    SelectiveOrdered,
}

/// Number of packets that a selective acknowledgement can distinguish.
pub(crate) const SELECTIVE_WINDOW: u16 = 64;

/// Distance from the first that has not arrived up to which a target can track the packets of a synchronized transfer.
pub(crate) const SYNCHRONIZED_WINDOW: u16 = 128;

/// A stream, open or not.
#[derive(Clone, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub(crate) struct SourceStream<P> {
    pub(crate) open: bool,
    pub(crate) destination: HostId,
    pub(crate) mode: Mode,
    pub(crate) exactly_once: bool,
    /// Its last packet has been offered.
    pub(crate) ended: bool,
    pub(crate) cid: Option<Cid>,
    pub(crate) window: Window<P>,
    /// The target is known to hold a connection.
    pub(crate) connected: bool,
    /// No new packets: there is no connection.
    pub(crate) halted: bool,
    /// Copies have been abandoned, so that the target may hold an unknown connection.
    pub(crate) lossy: bool,
    /// Copies sent less answers received.
    pub(crate) copies: u32,
    /// Copies are not all answered: `copies` is 1 until the quiet time is over.
    pub(crate) uncounted: bool,
    pub(crate) last_sent: Time,
    /// Packets that were rejected or timed out and have not been retransmitted.
    pub(crate) waiting: u16,
    /// Packets that found a buffer full and may be retransmitted.
    pub(crate) permits: u16,
    /// Packets in the window that have been acknowledged.
    pub(crate) acknowledged: u16,
    /// Packets offered so far.
    pub(crate) offered: u32,
}

impl<P: Copy> SourceStream<P> {
    pub(crate) fn new(size: u16) -> Self {
        Self {
            open: false,
            destination: HostId(0),
            mode: Mode::default(),
            exactly_once: false,
            ended: false,
            cid: None,
            window: Window::new(size),
            connected: false,
            halted: false,
            lossy: false,
            copies: 0,
            uncounted: false,
            last_sent: Time::ZERO,
            waiting: 0,
            permits: 0,
            acknowledged: 0,
            offered: 0,
        }
    }

    /// True if the packet at this position has to belong to a connection.
    fn needs_connection(&self, position: u16) -> bool {
        match self.mode {
            Mode::Unordered => false,
            Mode::SourceOrdered | Mode::Ordered => self.exactly_once,
            Mode::SourceSynchronized => self.exactly_once && self.window.get(position).last,
            Mode::Synchronized | Mode::GoBackN | Mode::Selective | Mode::SelectiveOrdered => true,
        }
    }

    /// True if the packet at this position gets a connection if there is a CID.
    pub(crate) fn may_open_connection(&self, position: u16, options: &SourceOptions) -> bool {
        let fast = || self.mode == Mode::Ordered && self.window.len() - position >= options.fast_from;
        self.needs_connection(position) || fast()
    }

    /// True if a stream without CID may take one now: everything that was sent without has been answered.
    pub(crate) fn may_take_cid(&self) -> bool {
        self.cid.is_none() && self.copies == 0
    }

    /// The packet that may be sent next, by its position.
    #[inline]
    pub(crate) fn ready(&self, options: &SourceOptions, free_cid: bool) -> Option<u16> {
        let again = if self.waiting > 0 { self.resendable(options) } else { None };
        let position = again.or_else(|| self.new_packet(options))?;
        let stuck = self.cid.is_none() && self.needs_connection(position) && !free_cid;
        (!stuck).then_some(position)
    }

    /// The first packet that was rejected or timed out and may be retransmitted.
    fn resendable(&self, options: &SourceOptions) -> Option<u16> {
        let in_sequence = matches!(self.mode, Mode::Ordered | Mode::SourceOrdered | Mode::SourceSynchronized);
        // Rule 2, seen from the other side: nothing joins a packet that may be delivered without a connection.
        let oldest = self.window.oldest();
        let end = if in_sequence && self.halted { oldest + 1 } else { self.window.sent };
        (oldest..end.min(self.window.sent)).find(|&position| match self.window.get(position).state {
            State::TimedOut => {
                let each = self.mode != Mode::Ordered || options.timed_out == TimedOut::Each;
                position == oldest || each
            }
            State::Rejected(Reason::NoConnection) => {
                let burst = !in_sequence || options.recovery == Recovery::Burst;
                position == oldest || (self.connected && burst)
            }
            State::Rejected(_) => position == oldest || self.permits > 0,
            _ => false,
        })
    }

    /// The first packet that has not been sent, if it may be.
    #[inline]
    fn new_packet(&self, options: &SourceOptions) -> Option<u16> {
        let position = self.window.sent;
        if position >= self.window.len() {
            return None;
        }
        let oldest = position == self.window.oldest();
        let alone = oldest && self.copies == 0;
        let may = match self.mode {
            Mode::Unordered => true,
            // A connection knows duplicates; without one no copy may be left.
            Mode::SourceOrdered => oldest && (alone || self.cid.is_some()),
            Mode::SourceSynchronized => alone || !self.window.get(position).last,
            Mode::Ordered if self.cid.is_none() => alone,
            _ if self.halted => oldest,
            _ => oldest || options.speculative || self.connected,
        };
        may.then_some(position)
    }

    /// Transfer type of packets, of the last one or the others.
    fn transfer(&self, last: bool) -> Transfer {
        match self.mode {
            Mode::Unordered => Transfer::Unordered,
            Mode::SourceSynchronized if !last => Transfer::Unordered,
            Mode::Synchronized => Transfer::Synchronized,
            Mode::GoBackN => Transfer::GoBackN,
            Mode::Selective => Transfer::Selective,
            Mode::SelectiveOrdered => Transfer::SelectiveOrdered,
            Mode::Ordered | Mode::SourceOrdered | Mode::SourceSynchronized => Transfer::Ordered,
        }
    }

    /// True if this can be an answer to one of its packets.
    #[inline]
    pub(crate) fn expects(&self, header: &Header) -> bool {
        header.transfer == self.transfer(true) || header.transfer == self.transfer(false)
    }

    /// The header with which the packet at this position is sent now.
    #[inline]
    pub(crate) fn header(
        &self,
        number: u16,
        position: u16,
        options: &SourceOptions,
        space: SequenceSpace,
    ) -> Header {
        let entry = self.window.get(position);
        let before = self.window.oldest();
        let oldest = position == before;
        let transfer = self.transfer(entry.last);
        let ordered = transfer == Transfer::Ordered;
        let cid = if transfer == Transfer::Unordered { None } else { self.cid };
        // Rule 2: nothing else of this stream may be in flight.
        let alone = oldest && (self.copies == 0 || options.mutated(Mutation::SlowNotAlone));
        // Rule 5.
        let may = !self.exactly_once || options.mutated(Mutation::SlowExactlyOnce);
        let slow = ordered && (cid.is_none() || (self.halted && alone && may));
        // Rule 3.
        let syn = oldest && cid.is_some() && !(entry.resent && options.mutated(Mutation::ResendWithoutSyn));
        let offset = ordered
            && cid.is_some()
            && match options.start_offset {
                StartOffset::Never => false,
                StartOffset::UntilFirstAck => !self.connected,
                StartOffset::Always => true,
            };
        let counts = transfer == Transfer::Synchronized && entry.last;
        let exactly_once = self.exactly_once && cid.is_some() && (ordered || counts);
        Header {
            kind: Kind::Req,
            transfer,
            flags: Flags::NONE
                .with_if(Flags::SYN, syn)
                .with_if(Flags::EOD, exactly_once)
                .with_if(Flags::SLOW, slow)
                .with_if(Flags::LAST, entry.last)
                .with_if(Flags::OFFSET, offset),
            reason: Reason::None,
            cid: cid.unwrap_or(Cid::of_stream(number)),
            seq: space.after(self.window.base, position),
            word: if counts {
                u64::from(self.offered)
            } else if offset {
                u64::from(position - before)
            } else {
                0
            },
        }
    }

    /// The packet at this position is sent.
    #[inline]
    pub(crate) fn sent(&mut self, position: u16, now: Time) {
        let (oldest, singly) = (self.window.oldest(), self.is_counted_singly());
        let again = position < self.window.sent;
        let entry = self.window.get_mut(position);
        let before = entry.state;
        let counts =
            if singly { !entry.uncounted || entry.copies == 0 } else { !self.uncounted || self.copies == 0 };
        entry.copies += u32::from(singly && counts);
        entry.state = State::Flying;
        entry.sent_at = now;
        entry.resent |= again;
        if again {
            self.waiting -= 1;
            let full = matches!(before, State::Rejected(Reason::BufferFull | Reason::NoReplay));
            if full && position > oldest {
                self.permits -= 1;
            }
            self.permits = self.permits.min(self.waiting);
        } else {
            self.window.sent += 1;
        }
        self.copies += u32::from(counts);
        self.last_sent = now;
    }

    /// The target reports that it holds a connection.
    #[inline]
    pub(crate) fn connect(&mut self) {
        (self.connected, self.halted) = (true, false);
    }

    /// The packet at this position is visible in target memory. Returns its payload the first time.
    #[inline]
    pub(crate) fn acknowledge(&mut self, position: u16, options: &SourceOptions) -> Option<P> {
        let entry = self.window.get_mut(position);
        match entry.state {
            State::Acknowledged | State::Unsent => return None,
            State::Rejected(_) | State::TimedOut => self.waiting -= 1,
            State::Flying => {}
        }
        entry.state = State::Acknowledged;
        self.acknowledged += 1;
        if self.waiting == 0 {
            self.permits = 0;
        } else if options.resend == Resend::Progress {
            self.permits = (self.permits + 1).min(self.waiting);
        }
        entry.payload
    }

    /// The packet at this position was rejected.
    pub(crate) fn reject(&mut self, position: u16, reason: Reason, options: &SourceOptions) {
        let entry = self.window.get_mut(position);
        // With several copies in flight, one answer may come while another copy is still to be decided.
        if entry.state != State::Flying || reason == Reason::Held {
            return;
        }
        entry.state = State::Rejected(reason);
        self.waiting += 1;
        if reason == Reason::NoConnection && !self.connected {
            let at_once = self.mode != Mode::Ordered || options.no_connection == OnNoConnection::Halt;
            self.halted |= at_once || self.window.get(position).resent;
        }
    }

    /// There is no answer to the packet at this position in time.
    pub(crate) fn time_out(&mut self, position: u16) {
        debug_assert!(self.window.get(position).state == State::Flying);
        if self.mode == Mode::GoBackN {
            return self.go_back(position);
        }
        self.window.get_mut(position).state = State::TimedOut;
        self.waiting += 1;
    }

    /// Packets from this position on count as not sent (go-back-N). Some copies get no answer from now on, so FIN has to wait
    /// for the quiet time.
    pub(crate) fn go_back(&mut self, position: u16) {
        self.uncounted = true;
        self.copies = self.copies.min(1);
        for later in position..self.window.sent {
            let entry = self.window.get_mut(later);
            if matches!(entry.state, State::Rejected(_) | State::TimedOut) {
                self.waiting -= 1;
            }
            (entry.state, entry.resent) = (State::Unsent, true);
        }
        self.window.sent = self.window.sent.min(position);
    }

    /// True if acknowledgements name the packet that they answer.
    #[inline]
    fn is_counted_singly(&self) -> bool {
        !matches!(self.mode, Mode::GoBackN | Mode::Selective | Mode::SelectiveOrdered)
    }

    /// True if the stream waits until all copies are accounted for.
    pub(crate) fn waits_for_copies(&self) -> bool {
        let slow = self.cid.is_none() || (self.halted && !self.exactly_once);
        self.copies > 0 && (self.window.is_empty() || slow)
    }

    /// An answer has arrived: one copy less is in flight.
    #[inline]
    pub(crate) fn answered(&mut self, header: &Header, space: SequenceSpace) {
        if self.copies == 0 || self.uncounted {
            return;
        }
        if self.is_counted_singly() {
            let Some(position) = self.window.position(header.seq, space) else { return };
            let entry = self.window.get_mut(position);
            if entry.copies == 0 || entry.uncounted {
                return;
            }
            entry.copies -= 1;
        }
        self.copies -= 1;
    }

    /// Changes whenever [`super::Source::has_room`] may become true: packets in the window, and those of them that have been
    /// acknowledged.
    #[inline]
    pub(crate) fn open_places(&self) -> (u16, u16) {
        (self.window.len(), self.acknowledged)
    }

    /// Removes finished packets from the front of the window.
    #[inline]
    pub(crate) fn advance(&mut self, options: &SourceOptions, space: SequenceSpace) {
        self.acknowledged -= self.window.advance(space, options.mutated(Mutation::CloseBeforeAllCopies));
    }

    /// No copy of this acknowledged packet, and no answer to one, can be in the network.
    pub(crate) fn settled(&mut self, position: u16) {
        let entry = self.window.get_mut(position);
        self.copies -= std::mem::take(&mut entry.copies);
        (self.lossy, entry.uncounted) = (true, false);
    }

    /// Nothing of this stream can be in the network any more.
    pub(crate) fn quiet(&mut self) {
        (self.lossy, self.copies, self.uncounted) = (true, 0, false);
        for position in (0..self.window.sent).rev() {
            // A packet may wait in the reorder buffer for any time, and be answered then.
            let entry = self.window.get_mut(position);
            let waits = entry.copies > 0 && entry.state != State::Acknowledged;
            (entry.copies, entry.uncounted) = (0, entry.uncounted || waits);
            if self.window.get(position).state == State::Flying {
                self.time_out(position);
            }
        }
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
