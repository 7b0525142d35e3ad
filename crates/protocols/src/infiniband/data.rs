//! Packets of SEND and RDMA WRITE, of all connected services.

use fabricsim_wire::headers::{Ieth, ImmDt, Operands, Operation, Position, Reth};

use super::{Extra, Remote, Segment, Verb, Work};

/// Operation and operands of a packet of a SEND or WRITE.
#[inline]
pub(super) fn data_packet(work: &Work, position: Position) -> (Operation, Operands) {
    let ends = matches!(position, Position::Last | Position::Only);
    let extra = if ends { work.extra } else { Extra::None };
    if let Verb::Write(remote) = work.verb {
        let reth = Reth { va: remote.va, r_key: remote.r_key, dma_length: work.length };
        return match (position, extra) {
            (Position::First, _) => (Operation::WriteFirst, Operands::Rdma(reth)),
            (Position::Middle, _) => (Operation::WriteMiddle, Operands::None),
            (Position::Last, Extra::Immediate(data)) => {
                (Operation::WriteLastImm, Operands::Immediate(ImmDt { data }))
            }
            (Position::Last, _) => (Operation::WriteLast, Operands::None),
            (Position::Only, Extra::Immediate(data)) => {
                (Operation::WriteOnlyImm, Operands::RdmaImmediate(reth, ImmDt { data }))
            }
            (Position::Only, _) => (Operation::WriteOnly, Operands::Rdma(reth)),
        };
    }
    let is_only = position == Position::Only;
    match extra {
        Extra::Immediate(data) => {
            let operation = if is_only { Operation::SendOnlyImm } else { Operation::SendLastImm };
            (operation, Operands::Immediate(ImmDt { data }))
        }
        Extra::Invalidate(r_key) => {
            let operation =
                if is_only { Operation::SendOnlyInvalidate } else { Operation::SendLastInvalidate };
            (operation, Operands::Invalidate(Ieth { r_key }))
        }
        Extra::None => {
            let operation = match position {
                Position::First => Operation::SendFirst,
                Position::Middle => Operation::SendMiddle,
                Position::Last => Operation::SendLast,
                Position::Only => Operation::SendOnly,
            };
            (operation, Operands::None)
        }
    }
}

/// The same of a packet of a WRITE without immediate data that is a WRITE of its own, with the address of its part.
pub(super) fn write_of_packet(work: &Work, part: Segment) -> (Operation, Operands) {
    let verb = match work.verb {
        Verb::Write(remote) => {
            Verb::Write(Remote { va: remote.va.wrapping_add(u64::from(part.offset)), ..remote })
        }
        other => other,
    };
    data_packet(&Work { verb, length: part.length, ..*work }, Position::Only)
}

/// A packet's part of a SEND or WRITE.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) is_write: bool,
    pub(super) begins: bool,
    pub(super) ends: bool,
    /// A WRITE that takes a receive request.
    pub(super) has_immediate: bool,
}

impl Part {
    /// `None` for other operations.
    pub(super) fn of(operation: Operation) -> Option<Self> {
        let (is_write, begins, ends) = match operation {
            Operation::SendFirst => (false, true, false),
            Operation::SendMiddle => (false, false, false),
            Operation::SendLast | Operation::SendLastImm | Operation::SendLastInvalidate => {
                (false, false, true)
            }
            Operation::SendOnly | Operation::SendOnlyImm | Operation::SendOnlyInvalidate => {
                (false, true, true)
            }
            Operation::WriteFirst => (true, true, false),
            Operation::WriteMiddle => (true, false, false),
            Operation::WriteLast | Operation::WriteLastImm => (true, false, true),
            Operation::WriteOnly | Operation::WriteOnlyImm => (true, true, true),
            _ => return None,
        };
        let has_immediate = matches!(operation, Operation::WriteLastImm | Operation::WriteOnlyImm);
        Some(Self { is_write, begins, ends, has_immediate })
    }

    /// True if a packet of a message may have so many bytes of payload: all but the last are full (IBA volume 1, section 9.4.1).
    pub(super) fn allows(self, length: u32, mtu: u32) -> bool {
        match (self.begins, self.ends) {
            (_, false) => length == mtu,
            (false, true) => (1..=mtu).contains(&length),
            (true, true) => length <= mtu,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infiniband::Remote;
    use fabricsim_wire::headers::{Bth, Headers, Opcode, Service};
    use fabricsim_wire::ids::RKey;

    /// Written and read again, each packet has its place in a message of its kind, and the headers of its opcode.
    #[test]
    fn packets_are_read_as_they_are_written() {
        let positions = [Position::First, Position::Middle, Position::Last, Position::Only];
        for verb in [Verb::Send, Verb::Write(Remote::default())] {
            for extra in [Extra::None, Extra::Immediate(7), Extra::Invalidate(RKey(9))] {
                for position in positions {
                    let is_write = verb != Verb::Send;
                    if is_write && matches!(extra, Extra::Invalidate(_)) {
                        continue;
                    }
                    let (id, length) = (1, 9);
                    let work =
                        Work { id, verb, length, extra, signaled: true, solicited: false, fence: false };
                    let (operation, operands) = data_packet(&work, position);
                    let opcode = Opcode::new(Service::Rc, operation).unwrap();
                    let headers =
                        Headers { bth: Bth { opcode, ..Bth::default() }, operands, ..Headers::default() };
                    assert_eq!(headers.check(), Ok(()), "{opcode}");
                    let part = Part::of(operation).unwrap();
                    let begins = matches!(position, Position::First | Position::Only);
                    let ends = matches!(position, Position::Last | Position::Only);
                    let has_immediate = is_write && ends && extra == Extra::Immediate(7);
                    let expected = (is_write, begins, ends, has_immediate);
                    assert_eq!(
                        (part.is_write, part.begins, part.ends, part.has_immediate),
                        expected,
                        "{opcode}"
                    );
                }
            }
        }
        assert!(Part::of(Operation::ReadRequest).is_none());
    }

    #[test]
    fn all_but_the_last_packet_are_full() {
        let allowed = |operation, length| Part::of(operation).unwrap().allows(length, 256);
        assert!(allowed(Operation::SendFirst, 256) && !allowed(Operation::SendFirst, 255));
        assert!(allowed(Operation::WriteMiddle, 256) && !allowed(Operation::WriteMiddle, 260));
        assert!(allowed(Operation::SendLast, 1) && !allowed(Operation::SendLast, 0));
        assert!(allowed(Operation::SendOnly, 0) && !allowed(Operation::SendOnly, 257));
    }
}
