//! Responses.

use fabricsim_wire::Psn;
use fabricsim_wire::headers::{Aeth, Headers, NakCode, Operands, Operation, Syndrome};

use super::{Entry, Requester, RequesterOutbox};
use crate::infiniband::mutation::Mutation;
use crate::infiniband::{Completion, Status, Verb, segment};

impl Requester {
    /// A response has arrived, with `length` bytes of payload.
    pub fn receive(&mut self, headers: &Headers, length: u32, out: &mut impl RequesterOutbox) {
        let bth = headers.bth;
        if bth.opcode.service() != Some(self.service) || !self.options.p_key.matches(bth.p_key) {
            return;
        }
        let psn = bth.psn;
        let is_expected = !psn.is_before(self.oldest) && psn.is_before(self.fresh);
        if self.is_broken || !is_expected {
            // A response that comes again, or too late. An acknowledgement may bring credits.
            if let (Operands::Acknowledge(aeth), false) = (headers.operands, self.is_broken) {
                self.take_credits(aeth);
            }
            return;
        }
        match (bth.opcode.operation(), headers.operands) {
            (Some(Operation::Acknowledge), Operands::Acknowledge(aeth)) => self.acknowledge(psn, aeth, out),
            (Some(Operation::AtomicAcknowledge), Operands::AtomicAcknowledge(aeth, result)) => {
                self.take_credits(aeth);
                self.data(psn, (Operation::AtomicAcknowledge, 0), result.original, out);
            }
            (Some(operation), operands) if operation.is_response() => {
                if let Operands::Acknowledge(aeth) = operands {
                    self.take_credits(aeth);
                }
                self.data(psn, (operation, length), 0, out);
            }
            _ => {}
        }
    }

    fn acknowledge(&mut self, psn: Psn, aeth: Aeth, out: &mut impl RequesterOutbox) {
        match aeth.syndrome {
            Syndrome::Ack(_) => {
                self.take_credits(aeth);
                self.advance(psn.next(), out);
            }
            Syndrome::RnrNak(time) if self.advance(psn, out) => self.not_ready(time, out),
            Syndrome::Nak(NakCode::PsnSequenceError) => {
                let itself = u32::from(self.mutated(Mutation::NakAcknowledgesItself));
                if self.advance(psn + itself, out) {
                    self.retry(out);
                }
            }
            Syndrome::Nak(code) if self.advance(psn, out) => self.fail(
                match code {
                    NakCode::InvalidRequest => Status::RemoteInvalidRequest,
                    NakCode::RemoteAccessError => Status::RemoteAccess,
                    NakCode::RemoteOperationalError => Status::RemoteOperation,
                    _ => Status::BadResponse,
                },
                out,
            ),
            _ => {}
        }
    }

    /// A response with data, of a READ or of an atomic operation; it acknowledges what came before.
    fn data(
        &mut self,
        psn: Psn,
        (operation, length): (Operation, u32),
        original: u64,
        out: &mut impl RequesterOutbox,
    ) {
        if !self.advance(psn, out) {
            return;
        }
        let Some(&entry) = self.queue.front() else { return };
        let number = psn.distance(entry.first) as u32;
        if !fits(&entry, number, self.options.mtu, (operation, length)) {
            self.fail(Status::BadResponse, out);
            return;
        }
        if !entry.work.verb.is_atomic() {
            out.read(entry.work.id, number * self.options.mtu, length);
        }
        self.progress(psn.next());
        if psn.next() == entry.end() {
            self.complete_first(original, out);
        }
        out.timer(self.awaits_responses());
    }

    /// Everything before `psn` has been executed. False if a response with data is missing: then its request is sent anew.
    fn advance(&mut self, psn: Psn, out: &mut impl RequesterOutbox) -> bool {
        let before = self.oldest;
        while self.oldest != psn {
            let Some(entry) = self.queue.front() else { break };
            let end = entry.end();
            if entry.work.verb.is_read() && !self.mutated(Mutation::SkipMissingData) {
                self.find_gap(out);
                return false;
            }
            if psn.is_before(end) {
                self.progress(psn);
            } else {
                self.progress(end);
                self.complete_first(0, out);
            }
        }
        if self.oldest != before {
            out.timer(self.awaits_responses() && !self.mutated(Mutation::StopTimerEarly));
        }
        true
    }

    /// All packets before `psn` are acknowledged.
    fn progress(&mut self, psn: Psn) {
        self.oldest = psn;
        self.retries = self.options.retries;
        self.rnr_retries = self.options.rnr_retries;
        if self.next.is_before(psn) {
            // Acknowledged before it was sent anew.
            self.next = psn;
        }
    }

    /// The first request of the queue is executed.
    fn complete_first(&mut self, original: u64, out: &mut impl RequesterOutbox) {
        let Some(entry) = self.queue.pop_front() else { return };
        if self.at > 0 {
            self.at -= 1;
            let is_read = entry.work.verb.is_read() && !self.mutated(Mutation::LeakReadSlots);
            self.reads -= u8::from(is_read);
        }
        if entry.work.signaled {
            out.complete(Completion { id: entry.work.id, status: Status::Success, original });
        }
    }

    /// Credits of a responder, which count from the last message that it has completed.
    fn take_credits(&mut self, aeth: Aeth) {
        let Syndrome::Ack(code) = aeth.syndrome else { return };
        self.limit = code.credits().and_then(|credits| {
            let (limit, new) = (self.limit?, Psn::new(aeth.msn.0 + credits));
            Some(if Psn::new(limit).is_before(new) { new.get() } else { limit })
        });
    }
}

/// True if a response is one for the `number`-th packet of a request.
fn fits(entry: &Entry, number: u32, mtu: u32, (operation, length): (Operation, u32)) -> bool {
    let is_atomic = operation == Operation::AtomicAcknowledge;
    let Verb::Read(_) = entry.work.verb else { return entry.work.verb.is_atomic() && is_atomic };
    // A READ that was restarted in the middle is answered as one of its own.
    let is_last = number + 1 == entry.packets;
    let fits = match operation {
        Operation::ReadResponseFirst | Operation::ReadResponseMiddle => !is_last,
        Operation::ReadResponseLast | Operation::ReadResponseOnly => is_last,
        _ => false,
    };
    fits && length == segment(entry.work.length, mtu, number).length
}
