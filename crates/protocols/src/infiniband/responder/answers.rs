//! Response packets.

use fabricsim_wire::headers::{
    Address, Aeth, AtomicAckEth, Bth, CreditCode, Extension, Headers, NakCode, Opcode, Operands, Operation,
    Position, Syndrome,
};
use fabricsim_wire::ids::Msn;
use fabricsim_wire::{Psn, Record};

use super::{Answer, Content, Responder, ResponderOutbox};
use crate::infiniband::{Packet, PacketSize, Remote, packets, segment};

impl Responder {
    /// The next response packet, or one of the same size.
    pub fn peek(&self) -> Option<Packet> {
        let Answer { psn, aeth, content, .. } = *self.answers.front()?;
        let (packet, _) = match content {
            Content::Read { remote, length, sent } => {
                self.read_response(psn + sent, remote, (length, sent), aeth)
            }
            Content::Atomic(original) => self.atomic_response(psn, aeth, original),
            Content::Nothing => self.acknowledgement(psn, aeth),
        };
        Some(packet)
    }

    /// Size of [`Responder::peek`]. Less work than the packet: an adapter asks for it whenever its link is free.
    pub fn peek_size(&self) -> Option<PacketSize> {
        let (operands, offset, length) = match self.answers.front()?.content {
            Content::Nothing => (Extension::Aeth.bytes(), 0, 0),
            Content::Atomic(_) => (Extension::Aeth.bytes() + Extension::AtomicAckEth.bytes(), 0, 0),
            Content::Read { length, sent, .. } => {
                let part = segment(length, self.options.mtu, sent);
                let is_middle = part.position == Position::Middle;
                (if is_middle { 0 } else { Extension::Aeth.bytes() }, part.offset, part.length)
            }
        };
        let headers = (Bth::LEN + operands) as u32;
        let size = PacketSize { message: 0, headers, offset, length };
        debug_assert_eq!(Some(size), self.peek().map(|packet| packet.size()));
        Some(size)
    }

    /// Memory of the data of an RDMA READ in [`Responder::peek`], and its bytes; `None` if that has none. Less work than the packet.
    #[inline]
    pub fn peek_data(&self) -> Option<(Remote, u32)> {
        let Content::Read { remote, length, sent } = self.answers.front()?.content else { return None };
        let part = segment(length, self.options.mtu, sent);
        Some((Remote { va: remote.va.wrapping_add(u64::from(part.offset)), ..remote }, part.length))
    }

    /// The next response packet, with the address of its payload in memory. Of acknowledgements that wait one after the other only the last is sent.
    pub fn next_packet(&mut self) -> Option<(Packet, Remote)> {
        self.next_packet_of(usize::MAX)
    }

    /// [`Responder::next_packet`], where only the first `due` answers may be sent: an acknowledgement does not tell of packets whose own is not due.
    pub fn next_packet_of(&mut self, mut due: usize) -> Option<(Packet, Remote)> {
        while due > 1
            && let (Some(first), Some(second)) = (self.answers.front(), self.answers.get(1))
            && is_ack(first)
            && is_ack(second)
        {
            self.answers.pop_front();
            due -= 1;
        }
        let answer = self.answers.front_mut()?;
        let Answer { psn, aeth, content, .. } = *answer;
        match content {
            Content::Read { remote, length, sent } => {
                answer.content = Content::Read { remote, length, sent: sent + 1 };
                if sent + 1 == packets(length, self.options.mtu) {
                    self.answers.pop_front();
                }
                Some(self.read_response(psn + sent, remote, (length, sent), aeth))
            }
            Content::Atomic(original) => {
                self.answers.pop_front();
                Some(self.atomic_response(psn, aeth, original))
            }
            Content::Nothing => {
                self.answers.pop_front();
                Some(self.acknowledgement(psn, aeth))
            }
        }
    }

    #[inline]
    fn atomic_response(&self, psn: Psn, aeth: Aeth, original: u64) -> (Packet, Remote) {
        let operands = Operands::AtomicAcknowledge(aeth, AtomicAckEth { original });
        (self.response(psn, Operation::AtomicAcknowledge, operands, (0, 0)), Remote::default())
    }

    #[inline]
    fn acknowledgement(&self, psn: Psn, aeth: Aeth) -> (Packet, Remote) {
        let operands = Operands::Acknowledge(aeth);
        (self.response(psn, Operation::Acknowledge, operands, (0, 0)), Remote::default())
    }

    fn read_response(
        &self,
        psn: Psn,
        remote: Remote,
        (length, number): (u32, u32),
        aeth: Aeth,
    ) -> (Packet, Remote) {
        let part = segment(length, self.options.mtu, number);
        let aeth = Operands::Acknowledge(aeth);
        let (operation, operands) = match part.position {
            Position::First => (Operation::ReadResponseFirst, aeth),
            Position::Middle => (Operation::ReadResponseMiddle, Operands::None),
            Position::Last => (Operation::ReadResponseLast, aeth),
            Position::Only => (Operation::ReadResponseOnly, aeth),
        };
        let place = Remote { va: remote.va.wrapping_add(u64::from(part.offset)), ..remote };
        (self.response(psn, operation, operands, (part.offset, part.length)), place)
    }

    #[inline(always)]
    fn response(
        &self,
        psn: Psn,
        operation: Operation,
        operands: Operands,
        (offset, length): (u32, u32),
    ) -> Packet {
        let bth = Bth {
            opcode: Opcode::new(self.service, operation).unwrap_or_default(),
            migrated: true,
            p_key: self.options.p_key,
            dest_qp: self.options.destination,
            psn,
            ..Bth::default()
        };
        Packet { headers: Headers { bth, address: Address::None, operands }, message: 0, offset, length }
    }

    /// The memory of the next packet with data of a READ may not be read any more: a NAK takes its place, and the queue pair goes to the error state.
    pub fn refuse_data(&mut self) {
        let Some(&Answer { psn, content: Content::Read { sent, .. }, .. }) = self.answers.front() else {
            return;
        };
        self.answers.clear();
        self.answer_nak(psn + sent, Syndrome::Nak(NakCode::RemoteAccessError));
        self.message = None;
        self.is_broken = true;
    }

    /// A NAK for the expected packet.
    pub(super) fn refuse(&mut self, syndrome: Syndrome) {
        self.answer_nak(self.expected, syndrome);
    }

    /// A NAK for the packet `psn`.
    pub(super) fn answer_nak(&mut self, psn: Psn, syndrome: Syndrome) {
        let aeth = Aeth { syndrome, msn: Msn(self.completed) };
        let content = Content::Nothing;
        self.answers.push_back(Answer { psn, aeth, content, is_repeated: false });
    }

    /// AETH of a success, with credits where they are reported.
    pub(super) fn positive(&self, out: &mut impl ResponderOutbox) -> Aeth {
        let reports = self.options.reports_credits;
        let code = if reports { CreditCode::at_most(out.receives_left()) } else { CreditCode::UNLIMITED };
        Aeth { syndrome: Syndrome::Ack(code), msn: Msn(self.completed) }
    }
}

fn is_ack(answer: &Answer) -> bool {
    matches!((answer.content, answer.aeth.syndrome), (Content::Nothing, Syndrome::Ack(_)))
}
