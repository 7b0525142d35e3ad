//! Requester of unreliable datagrams: a SEND of one packet to any queue pair.

use std::collections::VecDeque;

use fabricsim_wire::Psn;
use fabricsim_wire::headers::{Address, Bth, Deth, Headers, Opcode, Position, Service};
use fabricsim_wire::ids::{PKey, QKey, Qpn};

use super::UnreliablePostError;
use crate::infiniband::data::data_packet;
use crate::infiniband::{Completion, Extra, Packet, RequesterOutbox, Status, Verb, Work};

/// Settings of a datagram queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdOptions {
    /// MTU of the port in bytes: the longest datagram.
    pub mtu: u32,
    /// Its own number.
    pub number: Qpn,
    /// Its queue key.
    pub q_key: QKey,
    /// Partition.
    pub p_key: PKey,
}

/// Receiver of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramAddress {
    /// Queue pair; [`Qpn::MULTICAST`] for a group.
    pub destination: Qpn,
    /// Queue key of the receiver. With its highest bit set, the sender's own key is sent instead (section 10.2.5).
    pub q_key: QKey,
}

/// The bit of a queue key that stands for the queue pair's own key.
const CONTROLLED: u32 = 1 << 31;

/// Requester of unreliable datagrams.
#[derive(Clone, Debug)]
pub struct UdRequester {
    options: UdOptions,
    queue: VecDeque<(Work, DatagramAddress)>,
    /// Number of the next packet. Receivers do not use it.
    next: Psn,
    is_broken: bool,
}

impl UdRequester {
    /// A requester whose first packet has the number `first`.
    pub fn new(options: UdOptions, first: Psn) -> Self {
        Self { options, queue: VecDeque::new(), next: first, is_broken: false }
    }

    /// Sets the partition: of packets that are built from now on, and of those that it takes.
    pub fn set_p_key(&mut self, p_key: PKey) {
        self.options.p_key = p_key;
    }

    /// Adds a SEND of at most the MTU to the send queue. In the error state it ends as flushed.
    pub fn post(
        &mut self,
        work: Work,
        to: DatagramAddress,
        out: &mut impl RequesterOutbox,
    ) -> Result<(), UnreliablePostError> {
        let refused = match (work.verb, work.extra) {
            (Verb::Write(_), _) => Some("RDMA WRITE"),
            (Verb::Read(_), _) => Some("RDMA READ"),
            (Verb::CompareSwap { .. } | Verb::FetchAdd { .. }, _) => Some("atomic operation"),
            (Verb::Send, Extra::Invalidate(_)) => Some("SEND with invalidate"),
            (Verb::Send, _) => None,
        };
        if let Some(operation) = refused {
            let (service, allowed) = ("an unreliable datagram queue pair", "SEND");
            return Err(UnreliablePostError::NoOperation { service, operation, allowed });
        }
        if work.length > self.options.mtu {
            return Err(UnreliablePostError::TooLong { length: work.length, longest: self.options.mtu });
        }
        if self.is_broken {
            out.complete(Completion { id: work.id, status: Status::Flushed, original: 0 });
        } else {
            self.queue.push_back((work, to));
        }
        Ok(())
    }

    /// Requests that have not ended.
    pub fn pending(&self) -> usize {
        self.queue.len()
    }

    /// The packet that [`UdRequester::next_packet`] would return, and its receiver.
    pub fn peek(&self) -> Option<(Packet, DatagramAddress)> {
        let (work, to) = self.queue.front()?;
        Some((self.packet(work, *to), *to))
    }

    /// The next packet and its receiver. Its request completes.
    pub fn next_packet(&mut self, out: &mut impl RequesterOutbox) -> Option<(Packet, DatagramAddress)> {
        let (work, to) = self.queue.pop_front()?;
        let packet = self.packet(&work, to);
        self.next = self.next.next();
        if work.signaled {
            out.complete(Completion { id: work.id, status: Status::Success, original: 0 });
        }
        Some((packet, to))
    }

    /// Brings the queue pair into the error state: every request ends as flushed.
    pub fn flush(&mut self, out: &mut impl RequesterOutbox) {
        self.is_broken = true;
        for (work, _) in std::mem::take(&mut self.queue) {
            out.complete(Completion { id: work.id, status: Status::Flushed, original: 0 });
        }
    }

    fn packet(&self, work: &Work, to: DatagramAddress) -> Packet {
        let (operation, operands) = data_packet(work, Position::Only);
        let bth = Bth {
            opcode: Opcode::new(Service::Ud, operation).unwrap_or_default(),
            solicited: work.solicited,
            migrated: true,
            p_key: self.options.p_key,
            dest_qp: to.destination,
            psn: self.next,
            ..Bth::default()
        };
        let q_key = if to.q_key.0 & CONTROLLED == 0 { to.q_key } else { self.options.q_key };
        let address = Address::Datagram(Deth { q_key, src_qp: self.options.number });
        let headers = Headers { bth, address, operands };
        Packet { headers, message: work.id, offset: 0, length: work.length }
    }
}
