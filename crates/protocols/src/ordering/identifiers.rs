//! Connections of a source: the stream of each CID, and the closing of connections.

use std::collections::VecDeque;

use fabricsim_units::{HostId, Time};

use super::{Cid, Flags, Header, Kind, StreamId, Transfer};

/// State of a connection identifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Identifier {
    #[default]
    Free,
    /// It belongs to a stream.
    Open(StreamId),
    /// FIN has been sent, or is queued.
    Closing(Closing),
}

/// A connection that its stream has released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
        let header = Header {
            kind: Kind::Fin,
            transfer: Transfer::Ordered,
            cid: Cid(number),
            flags: Flags::NONE,
            ..Header::default()
        };
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
