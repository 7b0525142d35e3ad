//! Responder of unreliable datagrams (IBA volume 1, section 9.8.3).

use fabricsim_wire::headers::{Address, Headers, Operands, Operation, Service};
use fabricsim_wire::ids::{PKey, Qpn};

use super::receive_connection::unwritable;
use super::{UdOptions, UnreliableCounters};
use crate::infiniband::{Extra, Placement, Receive, Received, ResponderOutbox, Status};

/// Bytes at the start of each receive request that are for the global route header; without one they stay as they are
/// (`ibv_post_recv(3)`).
pub const GRH_BYTES: u32 = 40;

/// The end of a receive request by a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedDatagram {
    /// The receive request. Its length includes [`GRH_BYTES`].
    pub received: Received,
    /// Queue pair that has sent it.
    pub source: Qpn,
    /// It had a global route header: `IBV_WC_GRH`.
    pub has_grh: bool,
}

/// Responder of unreliable datagrams. Packet numbers do not matter: what arrives is delivered, in any order, and twice if it comes twice.
#[derive(Clone, Debug)]
pub struct UdResponder {
    options: UdOptions,
    /// Receive request that was too short for a datagram.
    spare: Option<Receive>,
    counters: UnreliableCounters,
    is_broken: bool,
}

impl UdResponder {
    /// A responder.
    pub fn new(options: UdOptions) -> Self {
        Self { options, spare: None, counters: UnreliableCounters::default(), is_broken: false }
    }

    /// Sets the partition: of packets that are built from now on, and of those that it takes.
    pub fn set_p_key(&mut self, p_key: PKey) {
        self.options.p_key = p_key;
    }

    /// What was executed and dropped.
    pub fn counters(&self) -> &UnreliableCounters {
        &self.counters
    }

    /// A packet has arrived, with `length` bytes of payload. Returns the end of its receive request, if it is delivered. A global route
    /// header is not a part of the payload: the driver writes it to the start of the receive request.
    pub fn receive(
        &mut self,
        headers: &Headers,
        length: u32,
        has_grh: bool,
        out: &mut impl ResponderOutbox,
    ) -> Option<ReceivedDatagram> {
        if self.is_broken {
            return None;
        }
        let counters = &mut self.counters;
        let (bth, opcode) = (headers.bth, headers.bth.opcode);
        let operation = opcode.operation().filter(|_| opcode.service() == Some(Service::Ud));
        let (Some(Operation::SendOnly | Operation::SendOnlyImm), Address::Datagram(deth)) =
            (operation, headers.address)
        else {
            counters.malformed += 1;
            return None;
        };
        if !self.options.p_key.matches(bth.p_key) {
            counters.p_key += 1;
            return None;
        }
        if deth.q_key != self.options.q_key {
            counters.q_key += 1;
            return None;
        }
        if length > self.options.mtu {
            counters.wrong_length += 1;
            return None;
        }
        let Some(receive) = self.spare.take().or_else(|| out.take_receive()) else {
            counters.no_receive += 1;
            return None;
        };
        let whole = GRH_BYTES + length;
        if receive.length < whole {
            counters.wrong_length += 1;
            self.spare = Some(receive);
            return None;
        }
        let first = if has_grh { 0 } else { GRH_BYTES };
        let is_written = length > 0 || has_grh;
        if is_written && !out.allows_receive(first, whole - first) {
            counters.aborted += 1;
            self.is_broken = true;
            let received = unwritable(headers, receive);
            return Some(ReceivedDatagram { received, source: deth.src_qp, has_grh: false });
        }
        counters.messages += 1;
        out.place(Placement::Receive { id: receive.id, offset: GRH_BYTES }, length);
        let extra = match headers.operands {
            Operands::Immediate(immediate) => Extra::Immediate(immediate.data),
            _ => Extra::None,
        };
        let (status, solicited) = (Status::Success, bth.solicited);
        let received = Received { id: receive.id, status, length: whole, extra, is_write: false, solicited };
        Some(ReceivedDatagram { received, source: deth.src_qp, has_grh })
    }

    /// True if the memory of a receive request could not be used: the queue pair is in the error state.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Brings the queue pair into the error state. Returns the receive request that it has taken, which ends as flushed.
    pub fn flush(&mut self) -> Option<Receive> {
        self.is_broken = true;
        self.spare.take()
    }
}
