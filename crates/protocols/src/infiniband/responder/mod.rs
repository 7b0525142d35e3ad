//! Responder of a reliable connection: request packets to memory, receive completions and responses (IBA volume 1, sections 9.7.4 and 9.7.5).

mod answers;
mod execute;
mod held;
mod receive;

use std::collections::VecDeque;

use fabricsim_wire::Psn;
use fabricsim_wire::headers::{Aeth, RnrTimer, Service};
use fabricsim_wire::ids::{PKey, Qpn, RKey, Srqn};

use self::held::Held;
use super::mutation::{Mutation, mutations};
use super::{Extra, Received, Remote};

pub use self::held::OutOfOrder;

/// Settings of a responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub struct ResponderOptions {
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Queue pair of the requester.
    pub destination: Qpn,
    /// Partition.
    pub p_key: PKey,
    /// RDMA READs and atomic operations whose results it keeps, for requests that come again; at least 1.
    pub reads: u8,
    /// Time of its RNR NAKs.
    pub rnr_timer: RnrTimer,
    /// Acknowledgements tell how many receive requests there are.
    pub reports_credits: bool,
    /// Treatment of packets that have overtaken others.
    pub out_of_order: OutOfOrder,
}

/// Use of remote memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// RDMA WRITE.
    Write,
    /// RDMA READ.
    Read,
    /// Atomic operation.
    Atomic,
}

/// A receive request that a message has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub struct Receive {
    /// Its identifier.
    pub id: u64,
    /// Bytes of its memory.
    pub length: u32,
}

/// Memory for the payload of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Memory of a receive request, from `offset` on.
    Receive {
        /// Identifier of the receive request.
        id: u64,
        /// First byte.
        offset: u32,
    },
    /// Memory of a region.
    Region(Remote),
}

/// An atomic operation on 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// Sets `swap` if the value is `compare`.
    CompareSwap {
        /// The value compared with.
        compare: u64,
        /// The new value.
        swap: u64,
    },
    /// Adds to the value.
    FetchAdd(u64),
}

/// What a responder needs of its adapter.
pub trait ResponderOutbox {
    /// True if the key allows the use of `length` bytes.
    fn allows(&mut self, remote: Remote, length: u32, access: Access) -> bool;
    /// True if `length` bytes from `offset` of the memory of the receive request that was taken last may be written.
    fn allows_receive(&mut self, _offset: u32, _length: u32) -> bool {
        true
    }
    /// Takes the next receive request.
    fn take_receive(&mut self) -> Option<Receive>;
    /// True if messages of an extended reliable connection may use this shared receive queue: it exists, in the connection's domain.
    fn has_shared_queue(&mut self, _srq: Srqn) -> bool {
        true
    }
    /// Takes the next receive request of a shared receive queue, for an extended reliable connection.
    fn take_shared_receive(&mut self, _srq: Srqn) -> Option<Receive> {
        self.take_receive()
    }
    /// Receive requests that are left.
    fn receives_left(&mut self) -> u32;
    /// The payload of the packet that is being received goes to memory.
    fn place(&mut self, placement: Placement, length: u32);
    /// Executes an atomic operation; returns the value before.
    fn atomic(&mut self, remote: Remote, operation: Atomic) -> u64;
    /// Makes a key invalid; false if that is not allowed.
    fn invalidate(&mut self, r_key: RKey) -> bool;
    /// True if the data of a READ is what is in memory when its packet is sent; false if it is what was there when the READ was executed.
    fn reads_when_sent(&self) -> bool {
        false
    }
    /// The packet that is being received has overtaken others, and is held; its payload, too, unless it is placed.
    fn hold(&mut self, _psn: Psn, _is_placed: bool) {}
    /// A packet that was held is the one that is being received from now on.
    fn resume(&mut self, _psn: Psn) {}
    /// A packet that was held will not be executed.
    fn discard(&mut self, _psn: Psn) {}
    /// A receive request has ended.
    fn complete(&mut self, received: Received);
}

/// An adapter that ignores what a responder reports, and has nothing for it: for [`Responder::flush`], where the receive request is flushed with the others.
#[derive(Clone, Copy, Debug)]
pub struct Ignored;

impl ResponderOutbox for Ignored {
    fn allows(&mut self, _: Remote, _: u32, _: Access) -> bool {
        false
    }

    fn take_receive(&mut self) -> Option<Receive> {
        None
    }

    fn receives_left(&mut self) -> u32 {
        0
    }

    fn place(&mut self, _: Placement, _: u32) {}

    fn atomic(&mut self, _: Remote, _: Atomic) -> u64 {
        0
    }

    fn invalidate(&mut self, _: RKey) -> bool {
        false
    }

    fn complete(&mut self, _: Received) {}
}

/// A message of several packets that is being received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
#[cfg_attr(test, derive(Hash))]
enum Message {
    Send { receive: Receive, offset: u32 },
    Write { remote: Remote, length: u32, offset: u32 },
}

/// An executed RDMA READ or atomic operation.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
#[cfg_attr(test, derive(PartialEq, Hash))]
struct Executed {
    first: Psn,
    packets: u32,
    /// Result of an atomic operation; `None` for a READ.
    original: Option<u64>,
}

/// A response that is to be sent.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
#[cfg_attr(test, derive(PartialEq))]
struct Answer {
    psn: Psn,
    aeth: Aeth,
    content: Content,
    /// The request has come again.
    is_repeated: bool,
}

#[cfg(test)]
impl std::hash::Hash for Answer {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let aeth = (u8::from(self.aeth.syndrome), self.aeth.msn);
        (self.psn, aeth, self.content, self.is_repeated).hash(state);
    }
}

/// What a response tells besides.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
#[cfg_attr(test, derive(PartialEq, Hash))]
enum Content {
    Nothing,
    /// Data of an RDMA READ, whose first `sent` packets are sent.
    Read {
        remote: Remote,
        length: u32,
        sent: u32,
    },
    /// The value before an atomic operation.
    Atomic(u64),
}

/// Responder of a reliable connection.
#[derive(Clone, Debug, fabricsim_state::Value)]
#[cfg_attr(test, derive(PartialEq, Hash))]
pub struct Responder {
    options: ResponderOptions,
    service: Service,
    expected: Psn,
    /// Messages completed, modulo 2^24.
    completed: u32,
    message: Option<Message>,
    /// A NAK was sent for the expected packet: packets behind it are dropped silently.
    has_refused: bool,
    executed: VecDeque<Executed>,
    answers: VecDeque<Answer>,
    is_broken: bool,
    /// The payload of the packet that is being executed is in memory.
    is_placed: bool,
    /// Packets that have overtaken others; there is none before the first does.
    held: Option<Box<Held>>,
    #[cfg(test)]
    mutation: Option<Mutation>,
}

mutations!(Responder);

impl Responder {
    /// A responder that expects the packet number `first`.
    pub fn new(options: ResponderOptions, first: Psn) -> Self {
        Self {
            options,
            service: Service::Rc,
            expected: first,
            completed: 0,
            message: None,
            has_refused: false,
            executed: VecDeque::new(),
            answers: VecDeque::new(),
            is_broken: false,
            is_placed: false,
            held: None,
            #[cfg(test)]
            mutation: None,
        }
    }

    /// A responder of an extended reliable connection (annex A14): each message names its shared receive queue.
    pub fn new_xrc(options: ResponderOptions, first: Psn) -> Self {
        Self { service: Service::Xrc, ..Self::new(options, first) }
    }

    /// Sets the partition: of packets that are built from now on, and of those that it takes.
    pub fn set_p_key(&mut self, p_key: PKey) {
        self.options.p_key = p_key;
    }

    /// Number of the next packet that it executes: `rq_psn` of `ibv_query_qp`.
    pub fn expected(&self) -> Psn {
        self.expected
    }

    /// True if it has refused a request for good: the queue pair is in the error state.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Responses that are to be sent; those with data count once, until their last packet is sent.
    pub fn answers(&self) -> usize {
        self.answers.len()
    }

    /// True if data of RDMA READs is to be sent.
    pub fn has_data(&self) -> bool {
        self.answers.iter().any(|answer| matches!(answer.content, Content::Read { .. }))
    }

    /// Brings the queue pair into the error state. A receive request that a message has taken ends as flushed; the driver ends the others.
    pub fn flush(&mut self, out: &mut impl ResponderOutbox) {
        self.is_broken = true;
        self.answers.clear();
        self.held = None;
        if let Some(Message::Send { receive, .. }) = self.message.take() {
            out.complete(flushed(receive));
        }
    }
}

/// The end of a receive request in the error state.
fn flushed(receive: Receive) -> Received {
    let status = super::Status::Flushed;
    Received { id: receive.id, status, length: 0, extra: Extra::None, is_write: false, solicited: false }
}
