//! What is known of messages at their receiver beyond what a real one would know: when all of a message is there, and
//! which operations have been carried out before.

use std::collections::VecDeque;

use fabricsim_model::{Label, Packet};
use fabricsim_units::HostId;

/// Operations that are remembered, to tell whether one that is sent again has been carried out before: where packets are
/// lost, and where only a time-out below the round trip makes copies.
const REMEMBERED: usize = 8192;
const REMEMBERED_WITHOUT_LOSS: usize = 1024;

/// The same of those that came by a packet that had been sent again.
const COPIES: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Message {
    source: HostId,
    stream: u16,
    tag: u32,
}

impl Message {
    fn of(packet: &Packet) -> Self {
        Self { source: packet.source, stream: packet.stream, tag: packet.tag }
    }
}

/// An operation: its message, and its number there.
type Operation = (Message, u32);

/// Messages that are partly there.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    remembered: usize,
    partial: Vec<(Message, u32)>,
    carried_out: VecDeque<Operation>,
    copies: VecDeque<Operation>,
}

impl Incoming {
    pub(crate) fn new(is_lossy: bool) -> Self {
        let remembered = if is_lossy { REMEMBERED } else { REMEMBERED_WITHOUT_LOSS };
        Self { remembered, partial: Vec::new(), carried_out: VecDeque::new(), copies: VecDeque::new() }
    }

    /// An operation is carried out. Is that the first time?
    pub(crate) fn is_first(&mut self, packet: &Packet, label: &Label) -> bool {
        let operation = (Message::of(packet), label.number);
        let known = self.copies.contains(&operation) || label.again && self.carried_out.contains(&operation);
        if !known {
            remember(&mut self.carried_out, operation, self.remembered);
            if label.again {
                remember(&mut self.copies, operation, COPIES);
            }
        }
        !known
    }

    /// An operation is visible for the first time. Is its message complete?
    pub(crate) fn completes(&mut self, packet: &Packet, label: &Label) -> bool {
        if label.packets <= 1 {
            return true;
        }
        let message = Message::of(packet);
        let Some(place) = self.partial.iter().position(|(known, _)| *known == message) else {
            self.partial.push((message, label.packets - 1));
            return false;
        };
        self.partial[place].1 -= 1;
        let complete = self.partial[place].1 == 0;
        if complete {
            self.partial.swap_remove(place);
        }
        complete
    }
}

fn remember(list: &mut VecDeque<Operation>, operation: Operation, most: usize) {
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(operation);
}

#[cfg(test)]
mod tests {
    use fabricsim_model::PacketKind;
    use fabricsim_units::Time;

    use super::*;

    fn packet(tag: u32) -> Packet {
        Packet {
            source: HostId(1),
            destination: HostId(2),
            created: Time::ZERO,
            injected: Time::ZERO,
            bytes: 64,
            sequence: 0,
            stream: 0,
            hops: 1,
            tag,
            age: 0,
            kind: PacketKind::Data,
            fecn: false,
            becn: false,
            last: false,
        }
    }

    fn label(number: u32, again: bool) -> Label {
        Label { number, packets: 2, again, ..Label::default() }
    }

    #[test]
    fn a_message_is_complete_with_its_last_operation_in_any_order() {
        let mut incoming = Incoming::new(true);
        assert!(!incoming.completes(&packet(0), &label(1, false)));
        assert!(!incoming.completes(&packet(1), &label(0, false)));
        assert!(incoming.completes(&packet(0), &label(0, false)));
        assert!(incoming.completes(&packet(1), &label(1, false)));
        assert!(incoming.partial.is_empty());
    }

    #[test]
    fn a_copy_is_known_whichever_comes_first() {
        let mut incoming = Incoming::new(true);
        assert!(incoming.is_first(&packet(0), &label(0, false)));
        assert!(!incoming.is_first(&packet(0), &label(0, true)));
        assert!(incoming.is_first(&packet(0), &label(1, true)));
        assert!(!incoming.is_first(&packet(0), &label(1, false)));
    }
}
