//! Order of request packets.

use fabricsim_wire::Psn;
use fabricsim_wire::headers::{Headers, NakCode, Operands, Operation, Reth, Syndrome};

use super::{Access, Answer, Content, Responder, ResponderOutbox};
use crate::infiniband::mutation::Mutation;
use crate::infiniband::{Remote, packets};

impl Responder {
    /// A request packet has arrived, with `length` bytes of payload.
    pub fn receive(&mut self, headers: &Headers, length: u32, out: &mut impl ResponderOutbox) {
        let psn = headers.bth.psn;
        let opcode = headers.bth.opcode;
        let Some(operation) = opcode.operation() else { return };
        let is_ours = opcode.service() == Some(self.service) && self.options.p_key.matches(headers.bth.p_key);
        if self.is_broken || !is_ours || operation.is_response() {
            return;
        }
        match psn.distance(self.expected) {
            0 => {
                self.has_refused = false;
                self.execute_all(headers, operation, length, out);
            }
            ahead if ahead > 0 && self.hold((headers, operation), ahead, length, out) => {}
            ahead if ahead > 0 && self.mutated(Mutation::ExecuteAhead) => {
                self.expected = psn;
                self.execute(headers, operation, length, out);
            }
            ahead if ahead > 0 => {
                if self.mutated(Mutation::NakReceivedNumber) {
                    self.answer_nak(psn, Syndrome::Nak(NakCode::PsnSequenceError));
                } else if !std::mem::replace(&mut self.has_refused, true) {
                    self.refuse(Syndrome::Nak(NakCode::PsnSequenceError));
                }
            }
            _ if self.mutated(Mutation::ExecuteAgain) => self.execute(headers, operation, length, out),
            _ => self.receive_again(headers, operation, out),
        }
    }

    /// A packet that was executed before: its response may be lost.
    fn receive_again(&mut self, headers: &Headers, operation: Operation, out: &mut impl ResponderOutbox) {
        let psn = headers.bth.psn;
        match (operation, headers.operands) {
            (Operation::ReadRequest, Operands::Rdma(reth)) => self.read_again(psn, reth, out),
            (Operation::CompareSwap | Operation::FetchAdd, _)
                if self.mutated(Mutation::ExecuteAtomicAgain) =>
            {
                self.execute(headers, operation, 0, out);
            }
            (Operation::CompareSwap | Operation::FetchAdd, _) => {
                let latest = self.executed.back().filter(|_| self.mutated(Mutation::ReplayLatestResult));
                let result = self.executed.iter().find(|executed| executed.first == psn);
                if let Some(original) = latest.or(result).and_then(|executed| executed.original)
                    && !self.will_answer(psn)
                {
                    self.answer_again(psn, Content::Atomic(original), out);
                }
            }
            _ if headers.bth.ack_request && !self.mutated(Mutation::IgnoreRepeated) => {
                let before = u32::from(!self.mutated(Mutation::AcknowledgeExpected));
                self.answer_again(self.expected - before, Content::Nothing, out);
            }
            _ => {}
        }
    }

    /// An RDMA READ of which responses are missing, from `psn` on: it is executed again.
    fn read_again(&mut self, psn: Psn, reth: Reth, out: &mut impl ResponderOutbox) {
        let count = packets(reth.dma_length, self.options.mtu);
        let is_part = self.executed.iter().any(|executed| {
            let skipped = psn.distance(executed.first);
            let is_whole = skipped == 0 || !self.mutated(Mutation::RestartWholeReadsOnly);
            is_whole
                && executed.original.is_none()
                && skipped >= 0
                && skipped as u32 + count == executed.packets
        });
        let remote = Remote { va: reth.va, r_key: reth.r_key };
        if !is_part || self.will_answer(psn) {
            return;
        }
        if reth.dma_length > 0 && !out.allows(remote, reth.dma_length, Access::Read) {
            return;
        }
        self.answer_again(psn, Content::Read { remote, length: reth.dma_length, sent: 0 }, out);
    }

    /// True if a response with data for the packet `psn` is still to be sent.
    fn will_answer(&self, psn: Psn) -> bool {
        self.answers.iter().any(|answer| match answer.content {
            Content::Atomic(_) => answer.psn == psn,
            Content::Read { length, sent, .. } => {
                let number = psn.distance(answer.psn);
                number >= sent as i32 && (number as u32) < packets(length, self.options.mtu)
            }
            Content::Nothing => false,
        })
    }

    fn answer_again(&mut self, psn: Psn, content: Content, out: &mut impl ResponderOutbox) {
        let aeth = self.positive(out);
        self.answers.push_back(Answer { psn, aeth, content, is_repeated: true });
    }
}
