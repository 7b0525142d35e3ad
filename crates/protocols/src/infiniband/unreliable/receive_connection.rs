//! Responder of an unreliable connection (IBA volume 1, section 9.8.2).
//!
//! The expected packet is executed. A gap ends the message that is being received; then packets are dropped until one begins a message.
//! The receive request of a SEND that does not end serves the next message, and has no completion.

use fabricsim_wire::Psn;
use fabricsim_wire::headers::{Headers, Operands, Service};
use fabricsim_wire::ids::PKey;

use super::{UcOptions, UnreliableCounters};
use crate::infiniband::data::Part;
use crate::infiniband::{
    Access, Extra, MAX_MESSAGE, Placement, Receive, Received, Remote, ResponderOutbox, Status,
};

/// A message that is being received.
#[derive(Clone, Copy, Debug)]
enum Message {
    Send { receive: Receive, offset: u32 },
    Write { remote: Remote, length: u32, offset: u32 },
}

/// Responder of an unreliable connection.
#[derive(Clone, Debug)]
pub struct UcResponder {
    options: UcOptions,
    expected: Psn,
    message: Option<Message>,
    /// Receive request of a message that did not end.
    spare: Option<Receive>,
    counters: UnreliableCounters,
    is_broken: bool,
}

impl UcResponder {
    /// A responder that expects the packet number `first`.
    pub fn new(options: UcOptions, first: Psn) -> Self {
        let counters = UnreliableCounters::default();
        Self { options, expected: first, message: None, spare: None, counters, is_broken: false }
    }

    /// Sets the partition: of packets that are built from now on, and of those that it takes.
    pub fn set_p_key(&mut self, p_key: PKey) {
        self.options.p_key = p_key;
    }

    /// What was executed and dropped.
    pub fn counters(&self) -> &UnreliableCounters {
        &self.counters
    }

    /// A packet has arrived, with `length` bytes of payload.
    pub fn receive(&mut self, headers: &Headers, length: u32, out: &mut impl ResponderOutbox) {
        if self.is_broken {
            return;
        }
        let opcode = headers.bth.opcode;
        let operation = opcode.operation().filter(|_| opcode.service() == Some(Service::Uc));
        let Some(part) = operation.and_then(Part::of) else {
            self.counters.malformed += 1;
            return;
        };
        if !self.options.p_key.matches(headers.bth.p_key) {
            self.counters.p_key += 1;
            return;
        }
        if headers.bth.psn != self.expected {
            self.counters.gaps += 1;
            self.abort();
        }
        self.expected = headers.bth.psn.next();
        let continues = self
            .message
            .is_some_and(|message| !part.begins && part.is_write == matches!(message, Message::Write { .. }));
        if !continues {
            self.abort();
        }
        if self.message.is_none() && !part.begins {
            self.counters.orphans += 1;
            return;
        }
        if !part.allows(length, self.options.mtu) {
            self.counters.wrong_length += 1;
            self.abort();
            return;
        }
        if part.begins && !self.begin(part, headers, out) {
            return;
        }
        match self.message {
            Some(Message::Send { receive, offset }) => {
                self.send_part(headers, (receive, offset), length, part, out);
            }
            Some(Message::Write { remote, length: whole, offset }) => {
                self.write_part(headers, remote, (whole, offset), length, part, out);
            }
            None => {}
        }
    }

    /// True if the memory of a receive request could not be used: the queue pair is in the error state.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Brings the queue pair into the error state. A receive request that a message has taken ends as flushed; the driver ends the others.
    pub fn flush(&mut self, out: &mut impl ResponderOutbox) {
        self.is_broken = true;
        self.abort();
        if let Some(Receive { id, .. }) = self.spare.take() {
            let (status, extra) = (Status::Flushed, Extra::None);
            out.complete(Received { id, status, length: 0, extra, is_write: false, solicited: false });
        }
    }

    /// The message that is being received does not end.
    fn abort(&mut self) {
        match self.message.take() {
            Some(Message::Send { receive, .. }) => self.spare = Some(receive),
            Some(Message::Write { .. }) => {}
            None => return,
        }
        self.counters.aborted += 1;
    }

    /// The first packet of a message. False if the message is dropped.
    fn begin(&mut self, part: Part, headers: &Headers, out: &mut impl ResponderOutbox) -> bool {
        if !part.is_write {
            let Some(receive) = self.take_receive(out) else { return false };
            self.message = Some(Message::Send { receive, offset: 0 });
            return true;
        }
        let (Operands::Rdma(reth) | Operands::RdmaImmediate(reth, _)) = headers.operands else {
            self.counters.malformed += 1;
            return false;
        };
        let (remote, length) = (Remote { va: reth.va, r_key: reth.r_key }, reth.dma_length);
        if length > MAX_MESSAGE || length > 0 && !out.allows(remote, length, Access::Write) {
            self.counters.refused += 1;
            return false;
        }
        self.message = Some(Message::Write { remote, length, offset: 0 });
        true
    }

    /// A receive request for a message. Without one the message is dropped.
    fn take_receive(&mut self, out: &mut impl ResponderOutbox) -> Option<Receive> {
        let receive = self.spare.take().or_else(|| out.take_receive());
        self.counters.no_receive += u64::from(receive.is_none());
        receive
    }

    fn send_part(
        &mut self,
        headers: &Headers,
        (receive, offset): (Receive, u32),
        length: u32,
        part: Part,
        out: &mut impl ResponderOutbox,
    ) {
        if receive.length - offset < length {
            self.counters.wrong_length += 1;
            self.abort();
            return;
        }
        if length > 0 && !out.allows_receive(offset, length) {
            self.message = None;
            self.counters.aborted += 1;
            self.is_broken = true;
            out.complete(unwritable(headers, receive));
            return;
        }
        out.place(Placement::Receive { id: receive.id, offset }, length);
        let offset = offset + length;
        self.message = (!part.ends).then_some(Message::Send { receive, offset });
        if part.ends {
            self.counters.messages += 1;
            out.complete(received(headers, receive, offset, false));
        }
    }

    fn write_part(
        &mut self,
        headers: &Headers,
        remote: Remote,
        (whole, offset): (u32, u32),
        length: u32,
        part: Part,
        out: &mut impl ResponderOutbox,
    ) {
        let left = whole - offset;
        if length > left || part.ends && length != left {
            self.counters.wrong_length += 1;
            self.abort();
            return;
        }
        let place = Remote { va: remote.va.wrapping_add(u64::from(offset)), ..remote };
        // The first packet is checked for the whole message; its key may be withdrawn before the others come.
        if offset > 0 && length > 0 && !out.allows(place, length, Access::Write) {
            self.abort();
            return;
        }
        let receive = if part.has_immediate { self.take_receive(out) } else { None };
        if part.has_immediate && receive.is_none() {
            self.abort();
            return;
        }
        out.place(Placement::Region(place), length);
        let offset = offset + length;
        self.message = (!part.ends).then_some(Message::Write { remote, length: whole, offset });
        self.counters.messages += u64::from(part.ends);
        if let Some(receive) = receive {
            out.complete(received(headers, receive, whole, true));
        }
    }
}

/// The end of a receive request whose memory may not be used any more: the queue pair goes to the error state, as one of a reliable connection does
/// (class A of the responder's errors; the kernel's software adapter, rxe).
pub(super) fn unwritable(headers: &Headers, receive: Receive) -> Received {
    let (status, extra, solicited) = (Status::LocalProtection, Extra::None, headers.bth.solicited);
    Received { id: receive.id, status, length: 0, extra, is_write: false, solicited }
}

/// The end of a receive request.
fn received(headers: &Headers, receive: Receive, length: u32, is_write: bool) -> Received {
    let extra = match headers.operands {
        Operands::Immediate(immediate) | Operands::RdmaImmediate(_, immediate) => {
            Extra::Immediate(immediate.data)
        }
        _ => Extra::None,
    };
    let solicited = headers.bth.solicited;
    Received { id: receive.id, status: Status::Success, length, extra, is_write, solicited }
}
