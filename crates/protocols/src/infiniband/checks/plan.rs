//! Planned messages, and their required results.

use fabricsim_wire::Psn;
use fabricsim_wire::ids::RKey;

use crate::infiniband::{Extra, Remote, Status, Verb, Work, packets};

/// Path MTU in bytes: a block of memory, and the length of an atomic operation.
pub(super) const MTU: u32 = 8;
/// The first packet number; numbers wrap within the first messages.
pub(super) const FIRST: Psn = Psn::new(Psn::MODULUS - 2);
/// Key of the region.
pub(super) const KEY: RKey = RKey(0x77);
/// Address of the blocks that WRITEs write and READs read.
pub(super) const BLOCKS: u64 = 0x1000;
/// Address of the word of atomic operations.
pub(super) const WORD: u64 = 0x2000;

/// Operation of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Send,
    Write,
    Read,
    /// Fetch & Add of 1 in even places of the plan, Compare & Swap to the next value in odd ones.
    Atomic,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Planned {
    pub(super) kind: Kind,
    pub(super) packets: u8,
    pub(super) has_immediate: bool,
    pub(super) fence: bool,
    pub(super) signaled: bool,
    /// Its key is wrong, or it is longer than its receive request.
    pub(super) is_bad: bool,
}

pub(super) const SEND: Planned = Planned::new(Kind::Send, 1);
pub(super) const SEND_2: Planned = Planned::new(Kind::Send, 2);
pub(super) const WRITE: Planned = Planned::new(Kind::Write, 1);
pub(super) const WRITE_2: Planned = Planned::new(Kind::Write, 2);
pub(super) const READ: Planned = Planned::new(Kind::Read, 1);
pub(super) const READ_2: Planned = Planned::new(Kind::Read, 2);
pub(super) const READ_3: Planned = Planned::new(Kind::Read, 3);
pub(super) const ATOMIC: Planned = Planned::new(Kind::Atomic, 1);

impl Planned {
    const fn new(kind: Kind, packets: u8) -> Self {
        Self { kind, packets, has_immediate: false, fence: false, signaled: true, is_bad: false }
    }

    pub(super) const fn with_immediate(self) -> Self {
        Self { has_immediate: true, ..self }
    }

    pub(super) const fn fenced(self) -> Self {
        Self { fence: true, ..self }
    }

    pub(super) const fn unsignaled(self) -> Self {
        Self { signaled: false, ..self }
    }

    pub(super) const fn bad(self) -> Self {
        Self { is_bad: true, ..self }
    }

    pub(super) fn takes_receive(self) -> bool {
        self.kind == Kind::Send || self.has_immediate
    }

    /// Bytes. The last packet of a SEND or WRITE is not full.
    pub(super) fn length(self) -> u32 {
        let full = u32::from(self.packets) * MTU;
        if matches!(self.kind, Kind::Send | Kind::Write) { full - 3 } else { full }
    }

    /// Data that it carries besides.
    pub(super) fn extra(self, index: u8) -> Extra {
        if self.has_immediate { Extra::Immediate(u32::from(index)) } else { Extra::None }
    }

    /// The work request in place `index` of the plan.
    pub(super) fn work(self, index: u8, turn: u64) -> Work {
        let r_key = if self.is_bad { RKey(KEY.0 + 1) } else { KEY };
        let (block, word) = (Remote { va: BLOCKS, r_key }, Remote { va: WORD, r_key });
        let verb = match self.kind {
            Kind::Send => Verb::Send,
            Kind::Write => Verb::Write(block),
            Kind::Read => Verb::Read(block),
            Kind::Atomic if index.is_multiple_of(2) => Verb::FetchAdd { remote: word, add: 1 },
            Kind::Atomic => Verb::CompareSwap { remote: word, compare: turn, swap: turn + 1 },
        };
        Work {
            id: u64::from(index),
            verb,
            length: self.length(),
            extra: self.extra(index),
            signaled: self.signaled,
            solicited: false,
            fence: self.fence,
        }
    }
}

/// Messages in the order of posting.
#[derive(Clone, Debug)]
pub(super) struct Plan(pub(super) Vec<Planned>);

impl Plan {
    pub(super) fn len(&self) -> u8 {
        self.0.len() as u8
    }

    pub(super) fn get(&self, index: u8) -> Option<&Planned> {
        self.0.get(usize::from(index))
    }

    /// Number of the first packet of a message.
    pub(super) fn first(&self, index: u8) -> Psn {
        let before: u32 =
            self.0[..usize::from(index)].iter().map(|message| packets(message.length(), MTU)).sum();
        FIRST + before
    }

    /// Messages before this one that fulfil a condition.
    pub(super) fn before(&self, index: u8, condition: impl Fn(Planned) -> bool) -> u64 {
        self.0[..usize::from(index)].iter().filter(|message| condition(**message)).count() as u64
    }

    /// Value of the word that the atomic operation `index` must find.
    pub(super) fn turn(&self, index: u8) -> u64 {
        self.before(index, |message| message.kind == Kind::Atomic)
    }

    /// True if the READ `index` may find that the WRITE `writer` was the last to write a block; 0: none, 1: the first message.
    ///
    /// Whatever was posted before has been executed. What was posted after may have been, unless a fence is between (IBA volume 1,
    /// section 9.5, transaction ordering).
    pub(super) fn allows(&self, index: u8, block: u8, writer: u8) -> bool {
        let writes = |place: u8| {
            self.get(place).is_some_and(|message| message.kind == Kind::Write && block < message.packets)
        };
        let latest = (0..index).rev().find(|&place| writes(place)).map_or(0, |place| place + 1);
        let after = (index + 1..self.len()).take_while(|&place| !self.0[usize::from(place)].fence);
        writer == latest || after.into_iter().any(|place| writes(place) && writer == place + 1)
    }

    /// The planned failure: the message and its status.
    pub(super) fn failure(&self) -> Option<(u8, Status)> {
        let index = self.0.iter().position(|message| message.is_bad)?;
        let status = match self.0[index].kind {
            Kind::Send => Status::RemoteInvalidRequest,
            _ => Status::RemoteAccess,
        };
        Some((index as u8, status))
    }
}
