//! Requests of a rank, and messages between arrival and receive.

use crate::header::Memory;
use crate::matching::{Envelop, Pattern};
use crate::world::Region;

/// Mode of a send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Complete when the data may be overwritten.
    #[default]
    Standard,
    /// The data is copied at once.
    Buffered,
    /// Complete when the receiver has matched as well.
    Synchronous,
    /// The receive is posted: as standard.
    Ready,
}

/// Description of a message: the result of a receive or of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Rank of the sender.
    pub source: u32,
    /// Tag.
    pub tag: i32,
    /// Bytes of the message as sent.
    pub length: u64,
    /// The buffer was too small: only the bytes that fit were written.
    pub truncated: bool,
    /// The receive was cancelled.
    pub cancelled: bool,
}

/// Arguments of a send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCall {
    /// Rank of the receiver.
    pub to: u32,
    /// Tag, 0 or more.
    pub tag: i32,
    /// Context.
    pub context: u16,
    /// Mode.
    pub mode: Mode,
    /// Bytes.
    pub length: u64,
    /// Identity of the memory, for the registration cache; 0: another one each time.
    pub memory: u64,
}

/// Arguments of a receive, besides its pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveCall {
    /// Bytes of the buffer.
    pub length: u64,
    /// Identity of the memory, as of a send.
    pub memory: u64,
}

/// A request of a rank.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) kind: Kind,
    /// Result, once it is complete.
    pub(crate) arrival: Option<Arrival>,
    /// The protocol still uses it.
    pub(crate) is_active: bool,
    /// The program has forgotten it.
    pub(crate) is_freed: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Number without a call.
    Reserved,
    Send(Sending),
    Receive(Receiving),
}

/// State of a send.
#[derive(Clone, Debug)]
pub(crate) struct Sending {
    pub(crate) call: SendCall,
    /// Copy of the data, of a buffered send.
    pub(crate) copy: Option<Vec<u8>>,
    /// Memory for the adapter.
    pub(crate) region: Option<Region>,
    /// Bytes that have been given to the adapter, and bytes that are transferred.
    pub(crate) given: u64,
    pub(crate) done: u64,
    /// Bytes that go by FRAGs.
    pub(crate) send_length: u64,
    /// FRAGs in progress.
    pub(crate) parts: u32,
    /// Request of the receiver.
    pub(crate) receive: u64,
}

/// State of a receive.
#[derive(Clone, Debug)]
pub(crate) struct Receiving {
    pub(crate) pattern: Pattern,
    pub(crate) call: ReceiveCall,
    /// The message, once matched: source, tag, length.
    pub(crate) matched: Option<(u32, i32, u64)>,
    /// Request of the sender.
    pub(crate) send: u64,
    /// Bytes that are there.
    pub(crate) done: u64,
    /// Bytes that were requested by PUTs, with those that need none before them.
    pub(crate) requested: u64,
}

impl Request {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, arrival: None, is_active: true, is_freed: false }
    }

    pub(crate) fn send(&mut self) -> Option<&mut Sending> {
        match &mut self.kind {
            Kind::Send(send) => Some(send),
            _ => None,
        }
    }

    pub(crate) fn receive(&mut self) -> Option<&mut Receiving> {
        match &mut self.kind {
            Kind::Receive(receive) => Some(receive),
            _ => None,
        }
    }
}

impl Sending {
    pub(crate) fn new(call: SendCall) -> Self {
        Self { call, copy: None, region: None, given: 0, done: 0, send_length: 0, parts: 0, receive: 0 }
    }
}

impl Receiving {
    pub(crate) fn new(pattern: Pattern, call: ReceiveCall) -> Self {
        Self { pattern, call, matched: None, send: 0, done: 0, requested: 0 }
    }
}

/// A message that has arrived, or its beginning.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) source: u32,
    pub(crate) tag: i32,
    pub(crate) context: u16,
    pub(crate) sequence: u16,
    pub(crate) length: u64,
    /// Request of the sender.
    pub(crate) send: u64,
    pub(crate) body: Body,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// All data.
    Whole(Vec<u8>),
    /// All data; the sender waits for an ACK.
    Synchronous(Vec<u8>),
    /// The first bytes.
    Part(Vec<u8>),
    /// None: the sender waits for a PUT.
    Put,
    /// None: it is in the sender's memory.
    Get(Memory),
}

impl Envelop for Message {
    fn source_and_tag(&self) -> (u32, i32) {
        (self.source, self.tag)
    }
}

impl Message {
    pub(crate) fn arrival(&self) -> Arrival {
        let Self { source, tag, length, .. } = *self;
        Arrival { source, tag, length, truncated: false, cancelled: false }
    }
}
