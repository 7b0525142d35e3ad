//! Requester of an unreliable connection.

use std::collections::VecDeque;

use fabricsim_wire::Psn;
use fabricsim_wire::headers::{Address, Bth, Headers, Opcode, Operation, Position, Service};
use fabricsim_wire::ids::{PKey, Qpn};

use super::UnreliablePostError;
use crate::infiniband::data::data_packet;
use crate::infiniband::{
    Completion, Extra, MAX_MESSAGE, Packet, RequesterOutbox, Status, Verb, Work, segment,
};

/// Settings of an unreliable connection, the same at both ends but for the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UcOptions {
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Queue pair of the other end.
    pub destination: Qpn,
    /// Partition.
    pub p_key: PKey,
}

/// Requester of an unreliable connection: SEND and RDMA WRITE, with immediate data or without.
#[derive(Clone, Debug)]
pub struct UcRequester {
    options: UcOptions,
    queue: VecDeque<Work>,
    /// Number of the next packet.
    next: Psn,
    /// Packets of the first request that are sent.
    sent: u32,
    is_broken: bool,
}

impl UcRequester {
    /// A requester whose first packet has the number `first`.
    pub fn new(options: UcOptions, first: Psn) -> Self {
        Self { options, queue: VecDeque::new(), next: first, sent: 0, is_broken: false }
    }

    /// Sets the partition: of packets that are built from now on, and of those that it takes.
    pub fn set_p_key(&mut self, p_key: PKey) {
        self.options.p_key = p_key;
    }

    /// Adds a request to the send queue. In the error state it ends as flushed.
    pub fn post(&mut self, work: Work, out: &mut impl RequesterOutbox) -> Result<(), UnreliablePostError> {
        let refused = match (work.verb, work.extra) {
            (Verb::Read(_), _) => Some("RDMA READ"),
            (Verb::CompareSwap { .. } | Verb::FetchAdd { .. }, _) => Some("atomic operation"),
            (_, Extra::Invalidate(_)) => Some("SEND with invalidate"),
            _ => None,
        };
        if let Some(operation) = refused {
            let (service, allowed) = ("an unreliable connection", "SEND and RDMA WRITE");
            return Err(UnreliablePostError::NoOperation { service, operation, allowed });
        }
        if work.length > MAX_MESSAGE {
            return Err(UnreliablePostError::TooLong { length: work.length, longest: MAX_MESSAGE });
        }
        if self.is_broken {
            out.complete(Completion { id: work.id, status: Status::Flushed, original: 0 });
        } else {
            self.queue.push_back(work);
        }
        Ok(())
    }

    /// Requests that have not ended.
    pub fn pending(&self) -> usize {
        self.queue.len()
    }

    /// True in the error state.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// The packet that [`UcRequester::next_packet`] would return.
    pub fn peek(&self) -> Option<Packet> {
        Some(self.packet(self.queue.front()?))
    }

    /// The next packet. With the last one of a message its request completes.
    pub fn next_packet(&mut self, out: &mut impl RequesterOutbox) -> Option<Packet> {
        let packet = self.packet(self.queue.front()?);
        self.next = self.next.next();
        self.sent += 1;
        if packet.headers.bth.opcode.operation().is_some_and(Operation::ends_message)
            && let Some(work) = self.queue.pop_front()
        {
            self.sent = 0;
            if work.signaled {
                out.complete(Completion { id: work.id, status: Status::Success, original: 0 });
            }
        }
        Some(packet)
    }

    /// Brings the queue pair into the error state: every request ends as flushed.
    pub fn flush(&mut self, out: &mut impl RequesterOutbox) {
        self.is_broken = true;
        self.sent = 0;
        for work in std::mem::take(&mut self.queue) {
            out.complete(Completion { id: work.id, status: Status::Flushed, original: 0 });
        }
    }

    fn packet(&self, work: &Work) -> Packet {
        let part = segment(work.length, self.options.mtu, self.sent);
        let (operation, operands) = data_packet(work, part.position);
        let ends = matches!(part.position, Position::Last | Position::Only);
        let bth = Bth {
            opcode: Opcode::new(Service::Uc, operation).unwrap_or_default(),
            solicited: ends && work.solicited && work.takes_receive(),
            migrated: true,
            p_key: self.options.p_key,
            dest_qp: self.options.destination,
            psn: self.next,
            ..Bth::default()
        };
        let headers = Headers { bth, address: Address::None, operands };
        Packet { headers, message: work.id, offset: part.offset, length: part.length }
    }
}
