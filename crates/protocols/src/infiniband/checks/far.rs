//! The responder's adapter: memory, receive requests, and the check of what is executed.

use fabricsim_wire::Psn;
use fabricsim_wire::ids::RKey;

use super::plan::{BLOCKS, KEY, Kind, MTU, Plan, Planned, WORD};
use super::world::Fault;
use crate::infiniband::{
    Access, Atomic, Placement, Receive, Received, Remote, ResponderOutbox, Status, packets,
};

/// Content of a packet: the part of a message, or a block of memory with the message that wrote it last (0: none, 1: the first).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Content {
    pub(super) message: u8,
    pub(super) part: u8,
    pub(super) length: u8,
}

/// State of the responder's adapter.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct Far {
    /// Receive requests posted, taken by messages, and ended.
    pub(super) posted: u8,
    taken: u8,
    ended: u8,
    /// Messages that are executed.
    pub(super) executed: u8,
    /// Packets of the next one that are.
    pub(super) part: u8,
    /// Message that wrote a block last.
    blocks: [u8; 3],
    word: u64,
    /// Contents of packets that are held, by number.
    held: Vec<(Psn, Content)>,
}

impl Far {
    /// Content of the block at an address.
    pub(super) fn load(&self, address: u64) -> Content {
        let part = (address.wrapping_sub(BLOCKS) / u64::from(MTU)) as u8;
        let message = self.blocks.get(usize::from(part)).copied().unwrap_or(u8::MAX);
        Content { message, part, length: MTU as u8 }
    }

    /// A message is executed.
    pub(super) fn finish(&mut self) {
        self.executed += 1;
        self.part = 0;
    }

    /// True if no payload is held.
    pub(super) fn holds_nothing(&self) -> bool {
        self.held.is_empty()
    }

    /// The packet `expected` is next: a READ before it is executed, which nothing else reports.
    pub(super) fn finish_read(&mut self, plan: &Plan, expected: Psn) -> bool {
        let executed = self.executed;
        let is_read = |message: &Planned| message.kind == Kind::Read && !message.is_bad;
        let is_executed = plan.get(executed).is_some_and(|message| {
            is_read(message) && expected == plan.first(executed) + packets(message.length(), MTU)
        });
        if is_executed {
            self.finish();
        }
        is_executed
    }

    /// Receive requests that a message has taken and that have not ended.
    pub(super) fn open_receives(&self) -> u8 {
        self.taken - self.ended
    }
}

/// Execution of a packet.
pub(super) struct Execution<'a> {
    pub(super) plan: &'a Plan,
    pub(super) far: &'a mut Far,
    pub(super) content: Content,
    pub(super) fault: Option<Fault>,
}

impl Execution<'_> {
    fn report(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    /// Reports a fault unless the packet is the next one of a good message of these kinds.
    fn check(&mut self, kind: Kind) -> bool {
        let Content { message, part, .. } = self.content;
        let (executed, next) = (self.far.executed, self.far.part);
        let fault = match self.plan.get(executed) {
            _ if (message, part) < (executed, next) => Some(Fault::ExactlyOnce),
            _ if message > executed => Some(Fault::Order),
            Some(planned) if planned.is_bad && kind != Kind::Send => Some(Fault::Bounds),
            Some(planned) if planned.kind == kind && part == next => None,
            _ => Some(Fault::Data),
        };
        fault.map(|fault| self.report(fault)).is_none()
    }
}

impl ResponderOutbox for Execution<'_> {
    fn allows(&mut self, remote: Remote, length: u32, access: Access) -> bool {
        let start = if access == Access::Atomic { WORD } else { BLOCKS };
        let end = start + u64::from(MTU) * 3;
        remote.r_key == KEY && remote.va >= start && remote.va + u64::from(length) <= end
    }

    fn take_receive(&mut self) -> Option<Receive> {
        if self.far.taken == self.far.posted {
            return None;
        }
        self.far.taken += 1;
        let short = self.plan.get(self.far.executed).is_some_and(|message| message.is_bad);
        // The receive request of a bad SEND has room for less than its last packet.
        let length = if short { MTU } else { 3 * MTU };
        Some(Receive { id: u64::from(self.far.taken - 1), length })
    }

    fn receives_left(&mut self) -> u32 {
        u32::from(self.far.posted - self.far.taken)
    }

    fn place(&mut self, placement: Placement, length: u32) {
        let offset = u32::from(self.content.part) * MTU;
        let is_right = match placement {
            Placement::Receive { id, offset: place } => {
                let expected = self.plan.before(self.far.executed, Planned::takes_receive);
                self.check(Kind::Send) && (id, place) == (expected, offset)
            }
            Placement::Region(Remote { va, r_key }) => {
                if r_key != KEY {
                    self.report(Fault::Bounds);
                }
                self.check(Kind::Write) && va == BLOCKS + u64::from(offset)
            }
        };
        if !is_right || length != u32::from(self.content.length) {
            self.report(Fault::Data);
            return;
        }
        if let (Placement::Region(_), Some(block)) =
            (placement, self.far.blocks.get_mut(usize::from(self.content.part)))
        {
            *block = self.content.message + 1;
        }
        self.far.part += 1;
        let message = self.plan.get(self.far.executed);
        if message.is_some_and(|message| message.packets == self.far.part && !message.takes_receive()) {
            self.far.finish();
        }
    }

    fn atomic(&mut self, remote: Remote, operation: Atomic) -> u64 {
        if self.check(Kind::Atomic) && remote != (Remote { va: WORD, r_key: KEY }) {
            self.report(Fault::Bounds);
        }
        let original = self.far.word;
        match operation {
            Atomic::FetchAdd(add) => self.far.word += add,
            Atomic::CompareSwap { compare, swap } if compare == original => self.far.word = swap,
            Atomic::CompareSwap { .. } => {}
        }
        self.far.finish();
        original
    }

    fn invalidate(&mut self, _: RKey) -> bool {
        true
    }

    fn hold(&mut self, psn: Psn, is_placed: bool) {
        if is_placed || self.far.held.iter().any(|&(other, _)| other == psn) {
            self.report(Fault::ExactlyOnce);
        }
        self.far.held.push((psn, self.content));
    }

    fn resume(&mut self, psn: Psn) {
        self.far.finish_read(self.plan, psn);
        match self.far.held.iter().position(|&(other, _)| other == psn) {
            Some(place) => self.content = self.far.held.remove(place).1,
            None => self.report(Fault::Data),
        }
    }

    fn complete(&mut self, received: Received) {
        let executed = self.far.executed;
        let id = self.plan.before(executed, Planned::takes_receive);
        self.far.ended += 1;
        let Some(message) = self.plan.get(executed) else { return self.report(Fault::ExactlyOnce) };
        if received.status != Status::Success {
            let fails = self.plan.failure().is_some_and(|(bad, _)| bad == executed);
            if !(fails && received.status == Status::LocalLength || received.status == Status::Flushed) {
                self.report(Fault::Error);
            }
            return;
        }
        let is_whole = message.takes_receive() && self.far.part == message.packets;
        let told = (received.id, received.length, received.extra, received.is_write);
        if !is_whole || told != (id, message.length(), message.extra(executed), message.kind == Kind::Write) {
            self.report(Fault::Data);
        }
        self.far.finish();
    }
}
