//! Packets that have overtaken others, where the network delivers out of order.

use std::collections::VecDeque;

use fabricsim_wire::headers::{Headers, Operands, Operation};

use super::{Access, Placement, Responder, ResponderOutbox};
use crate::infiniband::Remote;
use crate::infiniband::mutation::Mutation;

/// What a responder does with a packet that has overtaken others of its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub enum OutOfOrder {
    /// Drops it, and sends a NAK for the first missing one (IBA volume 1, section 9.7.4.1.2).
    #[default]
    Drop,
    /// Holds it with its payload until those before it are there: the reorder buffer of the ordering protocols (Eberle and Dennison, SC18), with InfiniBand's
    /// packet numbers. The number is that of packets from the missing one on that may be held; what is further ahead is dropped, with a NAK.
    Hold(u16),
    /// The same, but the payload of a WRITE is placed in memory at once, if the packet is a WRITE of its own
    /// ([`RequesterOptions::self_contained_writes`](crate::infiniband::RequesterOptions)): only its header is held. Outstanding WRITEs to the same bytes, and READs before a WRITE of
    /// the same bytes, then have no defined order, and data behind a failed request may have been written.
    Place(u16),
}

impl OutOfOrder {
    /// Packets from the missing one on that may be held.
    fn window(self) -> usize {
        match self {
            Self::Drop => 0,
            Self::Hold(packets) | Self::Place(packets) => usize::from(packets),
        }
    }
}

/// A packet that is held.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
#[cfg_attr(test, derive(PartialEq))]
struct Ahead {
    headers: Headers,
    length: u32,
    /// Its payload is in memory.
    is_placed: bool,
}

impl Ahead {
    fn is_atomic(&self) -> bool {
        matches!(self.headers.bth.opcode.operation(), Some(Operation::CompareSwap | Operation::FetchAdd))
    }
}

#[cfg(test)]
impl std::hash::Hash for Ahead {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let mut bytes = [0; 40];
        self.headers.emit(&mut bytes).expect("headers are those of their opcode");
        (bytes, self.length, self.is_placed).hash(state);
    }
}

/// Packets that are held, from the expected one on, which is `None`.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
#[cfg_attr(test, derive(PartialEq, Hash))]
pub(super) struct Held(VecDeque<Option<Ahead>>);

impl Held {
    /// The expected packet is one further on by `packets`. Those passed that were held are not executed: they came again, or do not belong there.
    fn advance(&mut self, packets: usize, out: &mut impl ResponderOutbox) {
        let passed = self.0.drain(..packets.min(self.0.len()));
        passed.flatten().for_each(|ahead| out.discard(ahead.headers.bth.psn));
    }
}

impl Responder {
    /// Holds a packet that is `ahead` of the expected one, if there is room. False if there is none.
    pub(super) fn hold(
        &mut self,
        (headers, operation): (&Headers, Operation),
        ahead: i32,
        length: u32,
        out: &mut impl ResponderOutbox,
    ) -> bool {
        let place = ahead as usize;
        let is_held_again = self.mutated(Mutation::HoldAgain);
        if place >= self.options.out_of_order.window() {
            return false;
        }
        let held = &mut self.held.get_or_insert_default().0;
        while held.len() <= place {
            held.push_back(None);
        }
        if held[place].is_some() && !is_held_again {
            return true;
        }
        let remote = self.placed_at_once(headers, operation, length, out);
        if let Some(remote) = remote {
            out.place(Placement::Region(remote), length);
        }
        let is_placed = remote.is_some();
        out.hold(headers.bth.psn, is_placed);
        if let Some(held) = &mut self.held {
            held.0[place] = Some(Ahead { headers: *headers, length, is_placed });
        }
        true
    }

    /// Memory for the payload of a packet that need not wait for those before it.
    fn placed_at_once(
        &self,
        headers: &Headers,
        operation: Operation,
        length: u32,
        out: &mut impl ResponderOutbox,
    ) -> Option<Remote> {
        let is_write = matches!(operation, Operation::WriteOnly | Operation::WriteOnlyImm);
        let (Operands::Rdma(reth) | Operands::RdmaImmediate(reth, _)) = headers.operands else { return None };
        let remote = Remote { va: reth.va, r_key: reth.r_key };
        let is_whole = length > 0 && reth.dma_length == length && length <= self.options.mtu;
        let places = matches!(self.options.out_of_order, OutOfOrder::Place(_));
        (places && is_write && is_whole && out.allows(remote, length, Access::Write)).then_some(remote)
    }

    /// Executes the expected packet, and those behind it that are held.
    pub(super) fn execute_all(
        &mut self,
        headers: &Headers,
        operation: Operation,
        length: u32,
        out: &mut impl ResponderOutbox,
    ) {
        if self.held.is_none() {
            return self.execute(headers, operation, length, out);
        }
        self.execute_one((headers, operation), length, out);
        self.execute_held(out);
    }

    /// True if the expected packet is held: an atomic operation that waits until the data of READs before it has been sent.
    pub fn is_waiting(&self) -> bool {
        self.held.as_ref().is_some_and(|held| matches!(held.0.front(), Some(Some(_))))
    }

    /// Executes the packets that are held and need not wait any more: after others, and when the data of READs has been sent.
    pub fn execute_held(&mut self, out: &mut impl ResponderOutbox) {
        while let Some(ahead) = self.next_held(out.reads_when_sent())
            && let Some(operation) = ahead.headers.bth.opcode.operation()
        {
            let psn = ahead.headers.bth.psn;
            if !self.mutated(Mutation::ForgetHeldPayload) {
                out.resume(psn);
            }
            self.is_placed = ahead.is_placed;
            self.execute_one((&ahead.headers, operation), ahead.length, out);
            self.is_placed = false;
        }
        if self.is_broken {
            self.held = None;
        }
    }

    fn execute_one(
        &mut self,
        (headers, operation): (&Headers, Operation),
        length: u32,
        out: &mut impl ResponderOutbox,
    ) {
        let before = self.expected;
        self.execute(headers, operation, length, out);
        let is_moved = !self.mutated(Mutation::HoldInPlace);
        let packets = if is_moved { self.expected.distance(before) as usize } else { 0 };
        if let Some(held) = &mut self.held {
            held.advance(packets, out);
        }
    }

    /// Takes the expected packet, if it is held and need not wait. One that was refused is not held any more.
    ///
    /// An atomic operation is executed after READs before it (IBA volume 1, section 9.5): if their data is read when it is sent, not before that.
    fn next_held(&mut self, reads_when_sent: bool) -> Option<Ahead> {
        let has_data = reads_when_sent && self.has_data();
        let first = self.held.as_mut()?.0.front_mut()?;
        first.take_if(|ahead| !(has_data && ahead.is_atomic()))
    }
}
