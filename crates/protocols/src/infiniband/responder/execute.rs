//! Execution of the expected request packet.

use fabricsim_wire::Psn;
use fabricsim_wire::headers::{Address, Headers, NakCode, Operands, Operation, Reth, Syndrome, Xrceth};

use super::{
    Access, Answer, Atomic, Content, Executed, Message, Placement, Receive, Responder, ResponderOutbox,
};
use crate::infiniband::data::Part;
use crate::infiniband::mutation::Mutation;
use crate::infiniband::{Extra, MAX_MESSAGE, Received, Remote, Status, packets};

/// Reason for which a packet is not executed.
enum Refusal {
    /// The requester sends it again after a time.
    NotReady,
    /// The queue pair goes to the error state.
    Error(NakCode),
    /// The same; the receive request is too short for the message.
    TooShort(Receive),
    /// The same; the message names a key that it may not invalidate.
    Invalidate(Receive),
    /// The same; the memory of the receive request may not be used any more.
    Unwritable(Receive),
}

/// What a packet ends: its message takes a receive request or not.
type End = Option<(Receive, u32, bool)>;

impl Responder {
    pub(super) fn execute(
        &mut self,
        headers: &Headers,
        operation: Operation,
        length: u32,
        out: &mut impl ResponderOutbox,
    ) {
        let done = match operation {
            Operation::ReadRequest => self.read(headers, out),
            Operation::CompareSwap | Operation::FetchAdd => self.atomic(headers, operation, out),
            _ => self.data(headers, operation, length, out),
        };
        match done {
            Ok(()) => {}
            Err(Refusal::NotReady) if self.mutated(Mutation::SkipNotReady) => {
                self.expected = self.expected.next();
            }
            Err(Refusal::NotReady) if self.mutated(Mutation::AcknowledgeNotReady) => {
                self.answer(self.expected, Content::Nothing, out);
            }
            Err(Refusal::NotReady) => {
                self.has_refused = true;
                self.refuse(Syndrome::RnrNak(self.options.rnr_timer));
            }
            Err(Refusal::Error(code)) => self.break_off(code, out),
            Err(Refusal::TooShort(receive)) => {
                self.end_receive(headers, receive, Status::LocalLength, out);
                self.break_off(NakCode::InvalidRequest, out);
            }
            Err(Refusal::Invalidate(receive)) => {
                // The receiver's status is that of the kernel's software adapter (rxe).
                self.end_receive(headers, receive, Status::RemoteInvalidRequest, out);
                self.break_off(NakCode::RemoteAccessError, out);
            }
            Err(Refusal::Unwritable(receive)) => {
                self.end_receive(headers, receive, Status::LocalProtection, out);
                self.break_off(NakCode::RemoteOperationalError, out);
            }
        }
    }

    /// The receive request of a message that is refused ends with a status.
    fn end_receive(
        &mut self,
        headers: &Headers,
        receive: Receive,
        status: Status,
        out: &mut impl ResponderOutbox,
    ) {
        self.message = None;
        out.complete(Received {
            id: receive.id,
            status,
            length: 0,
            extra: Extra::None,
            is_write: false,
            solicited: headers.bth.solicited,
        });
    }

    fn break_off(&mut self, code: NakCode, out: &mut impl ResponderOutbox) {
        self.refuse(Syndrome::Nak(code));
        if self.mutated(Mutation::ContinueAfterRefusal) {
            self.expected = self.expected.next();
            return;
        }
        self.is_broken = true;
        if let Some(Message::Send { receive, .. }) = self.message.take() {
            out.complete(super::flushed(receive));
        }
    }

    /// A packet of a SEND or WRITE.
    fn data(
        &mut self,
        headers: &Headers,
        operation: Operation,
        length: u32,
        out: &mut impl ResponderOutbox,
    ) -> Result<(), Refusal> {
        let Some(part) = Part::of(operation) else { return Err(Refusal::Error(NakCode::InvalidRequest)) };
        if part.begins != self.message.is_none() || !part.allows(length, self.options.mtu) {
            return Err(Refusal::Error(NakCode::InvalidRequest));
        }
        let begun = match self.message {
            Some(Message::Send { offset, .. }) if self.mutated(Mutation::TakeReceiveForEachPacket) => {
                Message::Send { receive: take_receive(headers, out)?, offset }
            }
            Some(message) => message,
            None if part.is_write => self.begin_write(headers, out)?,
            None => Message::Send { receive: take_receive(headers, out)?, offset: 0 },
        };
        let end = match (begun, part.is_write) {
            (Message::Send { receive, offset }, false) => {
                self.send_part(headers, (receive, offset), length, part, out)?
            }
            (Message::Write { remote, length: whole, offset }, true) => {
                self.write_part(headers, (remote, whole, offset), length, part, out)?
            }
            _ => return Err(Refusal::Error(NakCode::InvalidRequest)),
        };
        if part.ends || part.begins && self.mutated(Mutation::CompleteAtFirst) {
            self.end_message(headers, end, out);
        }
        self.completed += u32::from(self.mutated(Mutation::CountPackets));
        self.expected = self.expected.next();
        if headers.bth.ack_request {
            self.answer(headers.bth.psn, Content::Nothing, out);
        }
        Ok(())
    }

    /// The first packet of a WRITE.
    fn begin_write(&self, headers: &Headers, out: &mut impl ResponderOutbox) -> Result<Message, Refusal> {
        let (Operands::Rdma(reth) | Operands::RdmaImmediate(reth, _)) = headers.operands else {
            return Err(Refusal::Error(NakCode::InvalidRequest));
        };
        let (remote, length) = (Remote { va: reth.va, r_key: reth.r_key }, reth.dma_length);
        if length > MAX_MESSAGE {
            return Err(Refusal::Error(NakCode::InvalidRequest));
        }
        let is_checked = length > 0 && !self.mutated(Mutation::WriteAnywhere);
        if is_checked && !out.allows(remote, length, Access::Write) {
            return Err(Refusal::Error(NakCode::RemoteAccessError));
        }
        Ok(Message::Write { remote, length, offset: 0 })
    }

    fn send_part(
        &mut self,
        headers: &Headers,
        (receive, offset): (Receive, u32),
        length: u32,
        part: Part,
        out: &mut impl ResponderOutbox,
    ) -> Result<End, Refusal> {
        if receive.length - offset < length {
            return Err(Refusal::TooShort(receive));
        }
        if length > 0 && !out.allows_receive(offset, length) {
            return Err(Refusal::Unwritable(receive));
        }
        // A key that may not be invalidated: the packet is not executed, so that none of its bytes is written.
        if let Operands::Invalidate(ieth) = headers.operands
            && !out.invalidate(ieth.r_key)
        {
            return Err(Refusal::Invalidate(receive));
        }
        out.place(Placement::Receive { id: receive.id, offset }, length);
        let offset = offset + length;
        self.message = (!part.ends).then_some(Message::Send { receive, offset });
        Ok(Some((receive, offset, false)))
    }

    fn write_part(
        &mut self,
        headers: &Headers,
        (remote, whole, offset): (Remote, u32, u32),
        length: u32,
        part: Part,
        out: &mut impl ResponderOutbox,
    ) -> Result<End, Refusal> {
        let left = whole - offset;
        if length > left || part.ends && length != left {
            return Err(Refusal::Error(NakCode::InvalidRequest));
        }
        let place = Remote { va: remote.va.wrapping_add(u64::from(offset)), ..remote };
        // The first packet is checked for the whole message; its key may be withdrawn before the others come.
        let is_checked = offset > 0 && length > 0 && !self.mutated(Mutation::WriteAnywhere);
        if is_checked && !out.allows(place, length, Access::Write) {
            return Err(Refusal::Error(NakCode::RemoteAccessError));
        }
        let receive = if part.has_immediate { Some(take_receive(headers, out)?) } else { None };
        if !self.is_placed {
            out.place(Placement::Region(place), length);
        }
        let offset = offset + length;
        self.message = (!part.ends).then_some(Message::Write { remote, length: whole, offset });
        Ok(receive.map(|receive| (receive, whole, true)))
    }

    fn end_message(&mut self, headers: &Headers, end: End, out: &mut impl ResponderOutbox) {
        let extra = match headers.operands {
            Operands::Immediate(immediate) | Operands::RdmaImmediate(_, immediate) => {
                Extra::Immediate(immediate.data)
            }
            Operands::Invalidate(ieth) => Extra::Invalidate(ieth.r_key),
            _ => Extra::None,
        };
        self.completed = (self.completed + 1) & 0x00ff_ffff;
        if let Some((receive, length, is_write)) = end {
            let solicited = headers.bth.solicited;
            let status = Status::Success;
            out.complete(Received { id: receive.id, status, length, extra, is_write, solicited });
        }
    }

    fn read(&mut self, headers: &Headers, out: &mut impl ResponderOutbox) -> Result<(), Refusal> {
        let Operands::Rdma(Reth { va, r_key, dma_length: length }) = headers.operands else {
            return Err(Refusal::Error(NakCode::InvalidRequest));
        };
        let remote = Remote { va, r_key };
        if self.message.is_some() || length > MAX_MESSAGE || self.has_too_many_reads() {
            return Err(Refusal::Error(NakCode::InvalidRequest));
        }
        if length > 0 && !out.allows(remote, length, Access::Read) {
            return Err(Refusal::Error(NakCode::RemoteAccessError));
        }
        let count = packets(length, self.options.mtu);
        self.keep(Executed { first: self.expected, packets: count, original: None });
        self.answer(self.expected, Content::Read { remote, length, sent: 0 }, out);
        self.expected = self.expected + count;
        Ok(())
    }

    fn atomic(
        &mut self,
        headers: &Headers,
        operation: Operation,
        out: &mut impl ResponderOutbox,
    ) -> Result<(), Refusal> {
        let Operands::Atomic { va, r_key, swap_or_add, compare } = headers.operands else {
            return Err(Refusal::Error(NakCode::InvalidRequest));
        };
        let remote = Remote { va, r_key };
        if self.message.is_some() || !va.is_multiple_of(8) || self.has_too_many_reads() {
            return Err(Refusal::Error(NakCode::InvalidRequest));
        }
        if !out.allows(remote, 8, Access::Atomic) {
            return Err(Refusal::Error(NakCode::RemoteAccessError));
        }
        let atomic = if operation == Operation::CompareSwap {
            Atomic::CompareSwap { compare, swap: swap_or_add }
        } else {
            Atomic::FetchAdd(swap_or_add)
        };
        let original = out.atomic(remote, atomic);
        self.keep(Executed { first: self.expected, packets: 1, original: Some(original) });
        self.answer(self.expected, Content::Atomic(original), out);
        self.expected = self.expected.next();
        Ok(())
    }

    fn answer(&mut self, psn: Psn, content: Content, out: &mut impl ResponderOutbox) {
        let aeth = self.positive(out);
        self.answers.push_back(Answer { psn, aeth, content, is_repeated: false });
    }

    /// True if the requester has more RDMA READs and atomic operations outstanding than agreed.
    fn has_too_many_reads(&self) -> bool {
        let is_read = |answer: &&Answer| !answer.is_repeated && !matches!(answer.content, Content::Nothing);
        let reads = self.answers.iter().filter(is_read);
        reads.count() >= usize::from(self.options.reads)
    }

    /// Counts an executed RDMA READ or atomic operation, and keeps its result while the requester may send it again.
    fn keep(&mut self, executed: Executed) {
        self.completed = (self.completed + 1) & 0x00ff_ffff;
        if self.mutated(Mutation::ForgetResults) {
            return;
        }
        let kept = usize::from(self.options.reads) - usize::from(self.mutated(Mutation::KeepOneLess));
        if self.executed.len() == kept {
            self.executed.pop_front();
        }
        self.executed.push_back(executed);
    }
}

/// The receive request for a message, of the shared receive queue that it names, if it names one.
fn take_receive(headers: &Headers, out: &mut impl ResponderOutbox) -> Result<Receive, Refusal> {
    let receive = match headers.address {
        Address::Xrc(Xrceth { srq }) if !out.has_shared_queue(srq) => {
            return Err(Refusal::Error(NakCode::InvalidRequest));
        }
        Address::Xrc(Xrceth { srq }) => out.take_shared_receive(srq),
        _ => out.take_receive(),
    };
    receive.ok_or(Refusal::NotReady)
}
