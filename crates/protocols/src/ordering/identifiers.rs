//! Connections of a source: the stream of each CID, and the closing of connections.

use std::collections::VecDeque;

use fabricsim_units::{HostId, Time};

use super::{Cid, Header, Kind, StreamId, Transfer};

/// State of a connection identifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, fabricsim_state::Value)]
enum Identifier {
    #[default]
    Free,
    /// It belongs to a stream.
    Open(StreamId),
    /// FIN has been sent, or is queued.
    Closing(Closing),
}

/// A connection that its stream has released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
struct Closing {
    destination: HostId,
    /// FINs sent less FIN-ACKs received.
    copies: u32,
    /// A FIN-ACK has come.
    closed: bool,
    /// FIN is in the queue.
    queued: bool,
    sent_at: Time,
}

/// A FIN that has timed out, or a connection whose quiet time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosingTimer {
    /// Retransmit FIN.
    Resend,
    /// No copy of FIN or FIN-ACK can be in flight.
    Quiet,
}

/// All CIDs of a source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub(crate) struct Identifiers {
    all: Box<[Identifier]>,
    /// The one that has been free for longest first: its old packets have had most time to leave the network.
    free: VecDeque<u16>,
    /// Connections whose FIN is to be sent.
    queue: VecDeque<u16>,
    closing: u16,
}

impl Identifiers {
    pub(crate) fn new(count: u16) -> Self {
        Self {
            all: vec![Identifier::Free; usize::from(count)].into(),
            free: (0..count).collect(),
            queue: VecDeque::with_capacity(usize::from(count)),
            closing: 0,
        }
    }

    #[inline]
    pub(crate) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// True if all are free.
    pub(crate) fn all_free(&self) -> bool {
        self.free.len() == self.all.len()
    }

    /// Assigns a free CID to a stream.
    pub(crate) fn take(&mut self, stream: StreamId) -> Option<Cid> {
        let number = self.free.pop_front()?;
        self.all[usize::from(number)] = Identifier::Open(stream);
        Some(Cid(number))
    }

    /// The stream of a connection that is open.
    #[inline]
    pub(crate) fn stream(&self, cid: Cid) -> Option<StreamId> {
        match self.all.get(usize::from(cid.0)) {
            Some(Identifier::Open(stream)) => Some(*stream),
            _ => None,
        }
    }

    /// The target holds nothing for this CID.
    pub(crate) fn release(&mut self, cid: Cid) {
        self.all[usize::from(cid.0)] = Identifier::Free;
        self.free.push_back(cid.0);
    }

    /// Starts closing the connection.
    pub(crate) fn close(&mut self, cid: Cid, destination: HostId) {
        let closing = Closing { destination, copies: 0, closed: false, queued: true, sent_at: Time::ZERO };
        self.all[usize::from(cid.0)] = Identifier::Closing(closing);
        self.queue.push_back(cid.0);
        self.closing += 1;
    }

    /// Returns the receiver of the next FIN.
    #[inline]
    pub(crate) fn next_fin(&self) -> Option<HostId> {
        let number = *self.queue.front()?;
        match self.all[usize::from(number)] {
            Identifier::Closing(closing) => Some(closing.destination),
            _ => None,
        }
    }

    /// The next FIN is sent.
    pub(crate) fn send_fin(&mut self, now: Time) -> Option<(HostId, Header)> {
        let number = self.queue.pop_front()?;
        let Identifier::Closing(closing) = &mut self.all[usize::from(number)] else { return None };
        closing.queued = false;
        closing.copies += 1;
        closing.sent_at = now;
        let header =
            Header { kind: Kind::Fin, transfer: Transfer::Ordered, cid: Cid(number), ..Header::default() };
        Some((closing.destination, header))
    }

    /// A FIN-ACK has come. True if it was expected.
    pub(crate) fn closed(&mut self, cid: Cid, from: HostId) -> bool {
        let Some(Identifier::Closing(closing)) = self.all.get_mut(usize::from(cid.0)) else { return false };
        if closing.destination != from || closing.copies == 0 {
            return false;
        }
        closing.copies -= 1;
        closing.closed = true;
        self.finish(cid);
        true
    }

    /// Frees a connection that is closed, and of whose FINs none is in flight.
    fn finish(&mut self, cid: Cid) {
        let Identifier::Closing(closing) = self.all[usize::from(cid.0)] else { return };
        if !closing.closed || closing.copies > 0 {
            return;
        }
        if closing.queued {
            self.queue.retain(|&number| number != cid.0);
        }
        self.closing -= 1;
        self.release(cid);
    }

    /// Handles the expiry of a timer of a connection that is being closed.
    pub(crate) fn expire(&mut self, cid: Cid, timer: ClosingTimer) {
        let Identifier::Closing(closing) = &mut self.all[usize::from(cid.0)] else { return };
        match timer {
            ClosingTimer::Resend if !closing.queued && !closing.closed => {
                closing.queued = true;
                self.queue.push_back(cid.0);
            }
            ClosingTimer::Resend => {}
            ClosingTimer::Quiet => {
                closing.copies = 0;
                if !closing.closed && !closing.queued {
                    closing.queued = true;
                    self.queue.push_back(cid.0);
                }
                self.finish(cid);
            }
        }
    }

    /// Running timers: connection, kind, start.
    pub(crate) fn timers(&self) -> impl Iterator<Item = (Cid, ClosingTimer, Time)> + '_ {
        let all = if self.closing == 0 { &[][..] } else { &self.all[..] };
        all.iter()
            .enumerate()
            .flat_map(|(number, identifier)| {
                let cid = Cid(number as u16);
                let Identifier::Closing(closing) = identifier else { return [None, None] };
                let resend = !closing.queued && !closing.closed && closing.copies > 0;
                let quiet = closing.copies > 0;
                [
                    resend.then_some((cid, ClosingTimer::Resend, closing.sent_at)),
                    quiet.then_some((cid, ClosingTimer::Quiet, closing.sent_at)),
                ]
            })
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: HostId = HostId(7);

    /// Two connections, both taken, and the first `closing` of them closing.
    fn identifiers(closing: u16) -> Identifiers {
        let mut identifiers = Identifiers::new(2);
        (0..2).for_each(|stream| assert_eq!(identifiers.take(StreamId(stream + 5)), Some(Cid(stream))));
        (0..closing).for_each(|cid| identifiers.close(Cid(cid), HERE));
        identifiers
    }

    fn timers(identifiers: &Identifiers) -> Vec<(u16, ClosingTimer, u64)> {
        identifiers.timers().map(|(cid, timer, since)| (cid.0, timer, since.0)).collect()
    }

    /// Sends all FINs that are queued: their connections.
    fn send(identifiers: &mut Identifiers, now: u64) -> Vec<u16> {
        let fins = std::iter::from_fn(|| identifiers.send_fin(Time(now)));
        fins.map(|(_, header)| header.cid.0).collect()
    }

    #[test]
    fn an_open_connection_belongs_to_its_stream() {
        let mut identifiers = Identifiers::new(2);
        assert!(identifiers.has_free() && identifiers.all_free());
        assert_eq!(identifiers.take(StreamId(5)), Some(Cid(0)));
        assert_eq!((identifiers.has_free(), identifiers.all_free()), (true, false));
        assert_eq!(identifiers.take(StreamId(6)), Some(Cid(1)));
        assert_eq!((identifiers.has_free(), identifiers.take(StreamId(7))), (false, None));
        let streams = [0, 1, 2].map(|cid| identifiers.stream(Cid(cid)));
        assert_eq!(streams, [Some(StreamId(5)), Some(StreamId(6)), None]);
        identifiers.release(Cid(0));
        assert_eq!((identifiers.has_free(), identifiers.stream(Cid(0))), (true, None));
    }

    /// FIN, FIN-ACK: the connection belongs to no stream meanwhile, and is free afterwards. Answers of others do not count.
    #[test]
    fn a_connection_is_closed_by_one_answer_of_its_target() {
        let mut identifiers = identifiers(0);
        assert_eq!((identifiers.next_fin(), identifiers.send_fin(Time(1))), (None, None));
        identifiers.close(Cid(1), HERE);
        assert_eq!((identifiers.stream(Cid(1)), identifiers.next_fin()), (None, Some(HERE)));
        assert!(!identifiers.closed(Cid(1), HERE), "no FIN is in flight");
        assert_eq!(timers(&identifiers), []);
        let fin = Header { kind: Kind::Fin, transfer: Transfer::Ordered, cid: Cid(1), ..Header::default() };
        assert_eq!(identifiers.send_fin(Time(10)), Some((HERE, fin)));
        assert_eq!(timers(&identifiers), [(1, ClosingTimer::Resend, 10), (1, ClosingTimer::Quiet, 10)]);
        assert!(!identifiers.closed(Cid(1), HostId(8)) && !identifiers.closed(Cid(0), HERE));
        assert!(!identifiers.has_free());
        assert!(identifiers.closed(Cid(1), HERE) && identifiers.has_free());
        assert_eq!((timers(&identifiers), identifiers.closing), (vec![], 0));
        assert!(!identifiers.closed(Cid(1), HERE));
    }

    /// Rule 1: the connection is free when each FIN has its answer, or none can be in flight.
    #[test]
    fn a_connection_is_free_when_no_copy_is_under_way() {
        for by_time in [false, true] {
            let mut identifiers = identifiers(1);
            assert_eq!(send(&mut identifiers, 10), [0]);
            // As often as the timer ends before FIN is sent, it is in the queue once.
            (0..2).for_each(|_| identifiers.expire(Cid(0), ClosingTimer::Resend));
            assert_eq!(timers(&identifiers), [(0, ClosingTimer::Quiet, 10)]);
            assert_eq!(send(&mut identifiers, 20), [0]);
            assert_eq!(timers(&identifiers), [(0, ClosingTimer::Resend, 20), (0, ClosingTimer::Quiet, 20)]);
            assert!(identifiers.closed(Cid(0), HERE));
            // It is closed, so that FIN is not repeated; the other copy is in flight.
            assert!(!identifiers.has_free());
            assert_eq!(timers(&identifiers), [(0, ClosingTimer::Quiet, 20)]);
            identifiers.expire(Cid(0), ClosingTimer::Resend);
            assert_eq!(identifiers.next_fin(), None);
            if by_time {
                identifiers.expire(Cid(0), ClosingTimer::Quiet);
            } else {
                assert!(identifiers.closed(Cid(0), HERE));
            }
            assert!(identifiers.has_free() && identifiers.next_fin().is_none());
            assert_eq!((timers(&identifiers), identifiers.closing), (vec![], 0));
        }
    }

    /// No answer at all: FIN is sent until there is one.
    #[test]
    fn a_connection_without_answer_is_closed_anew() {
        let mut identifiers = identifiers(1);
        for round in 1..4 {
            assert_eq!(send(&mut identifiers, round), [0]);
            // Once, even if the quiet time ends again before FIN is sent.
            (0..2).for_each(|_| identifiers.expire(Cid(0), ClosingTimer::Quiet));
            assert_eq!((timers(&identifiers), identifiers.has_free()), (vec![], false));
        }
        // So it is if the timer of the answer has ended before.
        assert_eq!(send(&mut identifiers, 9), [0]);
        identifiers.expire(Cid(0), ClosingTimer::Resend);
        identifiers.expire(Cid(0), ClosingTimer::Quiet);
        assert_eq!(send(&mut identifiers, 10), [0]);
        assert!(identifiers.closed(Cid(0), HERE) && identifiers.has_free());
    }

    /// A FIN of a connection that has become free is not sent; the others in the queue are.
    #[test]
    fn the_queue_forgets_connections_that_are_free() {
        let mut identifiers = identifiers(2);
        assert_eq!(send(&mut identifiers, 1), [0, 1]);
        (0..2).for_each(|cid| identifiers.expire(Cid(cid), ClosingTimer::Resend));
        assert!(identifiers.closed(Cid(0), HERE));
        assert_eq!((identifiers.has_free(), identifiers.closing), (true, 1));
        assert_eq!(send(&mut identifiers, 2), [1]);
        assert_eq!(timers(&identifiers), [(1, ClosingTimer::Resend, 2), (1, ClosingTimer::Quiet, 2)]);
    }
}
