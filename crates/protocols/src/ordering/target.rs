//! A target endpoint: processing of requests by the rules of their transfer.

use fabricsim_units::HostId;

use super::connections::{Connection, Connections};
use super::mutation::Mutation;
use super::outbox::{TargetOutbox, Ticket};
use super::reorder_buffer::{Refusal, ReorderBuffer};
use super::replay_buffer::ReplayBuffers;
use super::tally::Tally;
use super::{Flags, Header, Kind, OptionError, Reason, SequenceSpace, TargetOptions, Transfer};

/// Counters of a target endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub struct TargetCounters {
    /// REQs received, all copies.
    pub received: Tally,
    /// Operations forwarded to target memory.
    pub delivered: Tally,
    /// Of these, those that had waited in the reorder buffer.
    pub reordered: Tally,
    /// Of these, those delivered without a connection.
    pub without_connection: Tally,
    /// REQs dropped: their operation had been forwarded before.
    pub duplicates: Tally,
    /// REQs dropped because no connection was free.
    pub no_connection: Tally,
    /// REQs dropped because the reorder buffer was full.
    pub buffer_full: Tally,
    /// REQs dropped because no replay buffer was free.
    pub no_replay: Tally,
    /// REQs dropped because they were out of sequence (go-back-N).
    pub out_of_sequence: Tally,
}

/// The receiving side of an endpoint.
///
/// Usage: hand REQs and FINs to [`Target::arrive`]; execute the operations that it delivers, in order, and report each with
/// [`Target::visible`], at once or later. It has no timers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, fabricsim_state::State)]
pub struct Target<P> {
    #[state(fixed)]
    pub(crate) options: TargetOptions,
    #[state(fixed)]
    pub(crate) space: SequenceSpace,
    pub(crate) connections: Connections,
    pub(crate) reorder: ReorderBuffer<P>,
    pub(crate) replay: ReplayBuffers,
    pub(crate) counters: TargetCounters,
}

/// A request with its sender, as the target processes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<P> {
    pub(crate) from: HostId,
    pub(crate) header: Header,
    pub(crate) payload: P,
}

impl<P: Copy> Target<P> {
    /// Errors: an option that is out of range.
    pub fn new(options: TargetOptions) -> Result<Self, OptionError> {
        options.check()?;
        Ok(Self {
            options,
            space: SequenceSpace::new(options.sequence_bits),
            connections: Connections::new(options.connections),
            reorder: ReorderBuffer::new(&options),
            replay: ReplayBuffers::new(options.replay),
            counters: TargetCounters::default(),
        })
    }

    /// A REQ (with its payload) or a FIN has arrived. Anything else is ignored.
    #[inline]
    pub fn arrive(
        &mut self,
        from: HostId,
        header: Header,
        payload: Option<P>,
        out: &mut impl TargetOutbox<P>,
    ) {
        match (header.kind, payload) {
            (Kind::Fin, _) => self.finish(from, header, out),
            (Kind::Req, Some(payload)) => {
                self.counters.received.count();
                let arrival = Arrival { from, header, payload };
                match header.transfer {
                    Transfer::Unordered => self.deliver_without_connection(arrival, out),
                    Transfer::Ordered => self.ordered(arrival, out),
                    Transfer::Synchronized => self.synchronized(arrival, out),
                    Transfer::GoBackN => self.go_back_n(arrival, out),
                    Transfer::Selective | Transfer::SelectiveOrdered => self.selective(arrival, out),
                }
            }
            _ => {}
        }
    }

    /// An operation that was delivered has become visible in target memory, and returned `result`. For each connection in
    /// the order of delivery.
    #[inline]
    pub fn visible(&mut self, ticket: Ticket, result: u64, out: &mut impl TargetOutbox<P>) {
        // These were acknowledged when they arrived; their connection may be gone.
        if matches!(ticket.header.transfer, Transfer::Selective | Transfer::SelectiveOrdered) {
            return;
        }
        let mut answer = ticket.header.answer(Kind::Ack);
        if ticket.header.flags.has(Flags::EOD) {
            answer.word = result;
        }
        let Some(connection) = self.connections.get(ticket.connection) else {
            return out.respond(ticket.from, answer);
        };
        connection.executing -= 1;
        if ticket.replay != u16::MAX {
            self.replay.store(ticket.replay, result);
        }
        match ticket.header.transfer {
            Transfer::GoBackN => {
                // Operations in execution are the last ones before `expected`.
                answer.seq = self.space.before(connection.expected, connection.executing);
            }
            Transfer::Synchronized if !ticket.is_last() => connection.counted += 1,
            _ => {}
        }
        answer.flags = answer.flags.with(Flags::CON);
        out.respond(ticket.from, answer);
        if ticket.header.transfer == Transfer::Synchronized {
            self.release_synchronization(ticket.connection, out);
        }
    }

    /// FIN: the connection and all that belongs to it is freed. By rule 1 nothing of it is left in the network.
    fn finish(&mut self, from: HostId, header: Header, out: &mut impl TargetOutbox<P>) {
        if let Some(slot) = self.connections.find(from, header.cid)
            && let Some(connection) = self.connections.get(slot)
        {
            // A source that follows the rules has its answers to these. Others must not leave them to later connections.
            if connection.executing > 0 || connection.held > 0 {
                return;
            }
            if !self.options.mutated(Mutation::LeakReplay) {
                self.replay.free_all(&mut connection.replay);
            }
            self.connections.close(slot);
        }
        out.respond(from, header.answer(Kind::FinAck));
    }

    /// The connection of a packet; one is opened if there is none. `None` as well if it belongs to a transfer of another kind.
    pub(super) fn connect(&mut self, arrival: &Arrival<P>, started: bool) -> Option<u32> {
        let (from, cid, transfer) = (arrival.from, arrival.header.cid, arrival.header.transfer);
        let Some(slot) = self.connections.find(from, cid) else {
            return self.connections.open(Connection {
                from,
                cid,
                transfer,
                started,
                ..Connection::default()
            });
        };
        let fits = self.connections.get(slot).is_some_and(|connection| connection.transfer == transfer);
        fits.then_some(slot)
    }

    /// Rejects a packet. `connected`: the target holds its connection.
    pub(super) fn reject(
        &mut self,
        arrival: &Arrival<P>,
        reason: Reason,
        connected: bool,
        out: &mut impl TargetOutbox<P>,
    ) {
        match reason {
            Reason::NoConnection => self.counters.no_connection.count(),
            Reason::BufferFull => self.counters.buffer_full.count(),
            Reason::NoReplay => self.counters.no_replay.count(),
            Reason::Held => self.counters.duplicates.count(),
            Reason::OutOfSequence | Reason::None => self.counters.out_of_sequence.count(),
        }
        if reason == Reason::BufferFull && self.options.mutated(Mutation::DropSilently) {
            return;
        }
        let mut answer = arrival.header.answer(Kind::Nack);
        answer.reason = reason;
        answer.flags = answer.flags.with_if(Flags::CON, connected);
        out.respond(arrival.from, answer);
    }

    /// Forwards an operation of a connection to memory. False: there is no replay buffer, and it has been rejected.
    #[inline]
    pub(super) fn forward(
        &mut self,
        slot: u32,
        arrival: &Arrival<P>,
        reordered: bool,
        out: &mut impl TargetOutbox<P>,
    ) -> bool {
        let Some(connection) = self.connections.get(slot) else { return false };
        let mut replay = u16::MAX;
        if arrival.header.flags.has(Flags::EOD) {
            // No source has more than half the numbers outstanding: what is further back has been acknowledged, and
            // could not be compared any more.
            let oldest = self.space.before(arrival.header.seq, self.space.half() as u16 - 1);
            self.replay.free_before(&mut connection.replay, oldest, self.space);
            let Some(buffer) = self.replay.allocate(&mut connection.replay, arrival.header.seq) else {
                self.reject(arrival, Reason::NoReplay, true, out);
                return false;
            };
            replay = buffer;
        }
        let selective = matches!(arrival.header.transfer, Transfer::Selective | Transfer::SelectiveOrdered);
        connection.executing += u16::from(!selective);
        self.counters.delivered.count();
        if reordered {
            self.counters.reordered.count();
        }
        let ticket =
            Ticket { from: arrival.from, header: arrival.header, connection: slot, replay, reordered };
        out.deliver(ticket, arrival.payload);
        true
    }

    /// Forwards an operation to memory without keeping state.
    #[inline]
    pub(super) fn deliver_without_connection(&mut self, arrival: Arrival<P>, out: &mut impl TargetOutbox<P>) {
        self.counters.delivered.count();
        self.counters.without_connection.count();
        let ticket = Ticket {
            from: arrival.from,
            header: arrival.header,
            connection: Ticket::NONE,
            replay: u16::MAX,
            reordered: false,
        };
        out.deliver(ticket, arrival.payload);
    }

    /// Puts a packet into the reorder buffer or rejects it. True if it is in.
    pub(super) fn hold(&mut self, slot: u32, arrival: &Arrival<P>, out: &mut impl TargetOutbox<P>) -> bool {
        match self.reorder.put(arrival.from, arrival.header, arrival.payload) {
            Ok(()) => {
                if let Some(connection) = self.connections.get(slot) {
                    connection.held += 1;
                }
                if self.options.mutated(Mutation::AckWhenBuffered) {
                    out.respond(arrival.from, arrival.header.answer(Kind::Ack));
                }
                true
            }
            Err(Refusal::Held) => {
                self.reject(arrival, Reason::Held, true, out);
                false
            }
            Err(Refusal::Overflow) => {
                // A connection without state is not kept for a packet that is rejected.
                let bare = |c: &mut Connection| !c.started && c.held == 0;
                let close = self.connections.get(slot).is_some_and(bare);
                if close {
                    self.connections.close(slot);
                }
                self.reject(arrival, Reason::BufferFull, !close, out);
                false
            }
        }
    }

    /// Answers a packet whose operation has been forwarded before.
    pub(super) fn duplicate(&mut self, slot: u32, arrival: &Arrival<P>, out: &mut impl TargetOutbox<P>) {
        let Some(connection) = self.connections.get(slot) else { return };
        let cumulative = arrival.header.transfer == Transfer::GoBackN;
        if connection.executing > 0 && !cumulative {
            return self.reject(arrival, Reason::Held, true, out);
        }
        self.counters.duplicates.count();
        let mut answer = arrival.header.answer(Kind::Ack);
        let kept = self.replay.find(connection.replay, arrival.header.seq);
        if !self.options.mutated(Mutation::ForgetResult) {
            // Freed results have arrived: the source knows this answer, and only counts it.
            answer.word = kept.unwrap_or(0);
        }
        if cumulative {
            answer.seq = self.space.before(connection.expected, connection.executing);
        }
        answer.flags = answer.flags.with(Flags::CON);
        out.respond(arrival.from, answer);
    }

    /// Returns the counters.
    pub fn counters(&self) -> &TargetCounters {
        &self.counters
    }

    /// The reorder buffer.
    pub fn reorder_buffer(&self) -> &ReorderBuffer<P> {
        &self.reorder
    }

    /// Connections that are open.
    pub fn open_connections(&self) -> u32 {
        self.connections.open_now()
    }

    /// The largest number of connections that were open at a time.
    pub fn most_connections(&self) -> u64 {
        self.connections.most()
    }

    /// Replay buffers in use.
    pub fn replay_buffers(&self) -> usize {
        self.replay.in_use()
    }

    /// The largest number of replay buffers that were in use at a time.
    pub fn most_replay_buffers(&self) -> u64 {
        self.replay.most()
    }

    /// True if it holds nothing: no connection, no packet, no result.
    pub fn is_idle(&self) -> bool {
        self.open_connections() == 0 && self.reorder.is_empty() && self.replay_buffers() == 0
    }
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
