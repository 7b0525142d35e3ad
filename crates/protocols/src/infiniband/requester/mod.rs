//! Requester of a reliable connection: work requests to request packets, responses to completions (IBA volume 1, sections 9.7.2 to 9.7.7).
//!
//! Packets have consecutive numbers from the first to the last posted request. Three of them matter: the oldest that is not acknowledged, the next
//! to be sent, and the first that was never sent. A retry sets the second back to the first: go-back-N.

mod recover;
mod respond;
mod send;

use std::collections::VecDeque;

use fabricsim_wire::Psn;
use fabricsim_wire::headers::{RnrTimer, Service};
use fabricsim_wire::ids::{PKey, Qpn, Srqn};

use super::mutation::{Mutation, mutations};
use super::{Completion, Status, Work, packets};

/// Settings of a requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub struct RequesterOptions {
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Queue pair of the responder.
    pub destination: Qpn,
    /// Partition.
    pub p_key: PKey,
    /// Retries without progress after the end of the timer or a NAK for a missing packet, 0 to 7.
    pub retries: u8,
    /// Retries without progress while the receiver is not ready, 0 to 7; 7: without limit.
    pub rnr_retries: u8,
    /// RDMA READs and atomic operations that may wait for their responses at a time, at least 1.
    pub reads: u8,
    /// A request for an acknowledgement with every n-th packet of a message, besides its last one; 0: with none.
    pub ack_every: u32,
    /// The responder reports credits: end-to-end flow control, on which both ends agree when they connect.
    pub has_credits: bool,
    /// Each packet of a WRITE is a WRITE of its own, with its address: so packets may be placed in any order. Not those of a WRITE with immediate data, whose
    /// completion reports the length of the message. Not with credits, which count messages.
    pub self_contained_writes: bool,
}

/// Longest message in bytes, so that the packets of two fit into half of the packet numbers at any MTU; adapters have the same limit.
pub const MAX_MESSAGE: u32 = 1 << 30;

/// A request that cannot be posted (`EINVAL`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// The message is too long.
    #[error("a message of {length} B is longer than {MAX_MESSAGE} B, the longest allowed")]
    TooLong {
        /// Its length in bytes.
        length: u32,
    },
}

/// Reports of a requester.
pub trait RequesterOutbox {
    /// The timer is to be set to its full time, or is not needed.
    fn timer(&mut self, runs: bool);
    /// Nothing may be sent for the time of an RNR NAK; then [`Requester::ready`] is to be called.
    fn wait(&mut self, time: RnrTimer);
    /// The retries are exceeded. True if the connection goes on over its second path: then there are as many retries as at first.
    fn migrate(&mut self) -> bool {
        false
    }
    /// Data of an RDMA READ has arrived: `length` bytes from `offset` of the work request `id`.
    fn read(&mut self, id: u64, offset: u32, length: u32);
    /// A work request has ended.
    fn complete(&mut self, completion: Completion);
}

/// A posted request.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
#[cfg_attr(test, derive(PartialEq, Hash))]
struct Entry {
    work: Work,
    /// Number of its first packet.
    first: Psn,
    /// Packet numbers that it takes: for an RDMA READ those of its responses.
    packets: u32,
    /// Sequence number of the message, from 1, modulo 2^24.
    number: u32,
    /// Shared receive queue of the receiver, of an extended reliable connection.
    srq: Srqn,
}

impl Entry {
    /// The packet number after its last one.
    fn end(&self) -> Psn {
        self.first + self.packets
    }
}

/// Requester of a reliable connection.
#[derive(Clone, Debug, fabricsim_state::Value)]
#[cfg_attr(test, derive(PartialEq, Hash))]
pub struct Requester {
    options: RequesterOptions,
    service: Service,
    queue: VecDeque<Entry>,
    /// Number after that of the last packet of the queue.
    end: Psn,
    /// The oldest packet that is not acknowledged.
    oldest: Psn,
    /// The next packet to be sent.
    next: Psn,
    /// Place of its request in the queue.
    at: usize,
    /// The first packet that was never sent.
    fresh: Psn,
    /// RDMA READs and atomic operations in the queue before `at`.
    reads: u8,
    /// Number of the last message posted.
    posted: u32,
    /// Highest number of a message that the responder has promised a receive request for; `None`: without limit.
    limit: Option<u32>,
    /// Retries left.
    retries: u8,
    /// Retries left while the receiver is not ready.
    rnr_retries: u8,
    /// Oldest packet when it was last sent anew because responses were missing: those after the gap tell nothing new.
    gap: Option<Psn>,
    is_waiting: bool,
    is_broken: bool,
    #[cfg(test)]
    mutation: Option<Mutation>,
}

impl Requester {
    /// A requester whose first packet has the number `first`.
    pub fn new(options: RequesterOptions, first: Psn) -> Self {
        Self {
            options,
            service: Service::Rc,
            queue: VecDeque::new(),
            end: first,
            oldest: first,
            next: first,
            at: 0,
            fresh: first,
            reads: 0,
            posted: 0,
            limit: options.has_credits.then_some(0),
            retries: options.retries,
            rnr_retries: options.rnr_retries,
            gap: None,
            is_waiting: false,
            is_broken: false,
            #[cfg(test)]
            mutation: None,
        }
    }

    /// A requester of an extended reliable connection (annex A14), whose first packet has the number `first`.
    pub fn new_xrc(options: RequesterOptions, first: Psn) -> Self {
        Self { service: Service::Xrc, ..Self::new(options, first) }
    }

    /// Adds a request of at most [`MAX_MESSAGE`] bytes to the send queue. In the error state it ends as flushed.
    pub fn post(&mut self, work: Work, out: &mut impl RequesterOutbox) -> Result<(), PostError> {
        self.post_to(work, Srqn(0), out)
    }

    /// The same, for the shared receive queue `srq` at the other end of an extended reliable connection.
    pub fn post_to(
        &mut self,
        work: Work,
        srq: Srqn,
        out: &mut impl RequesterOutbox,
    ) -> Result<(), PostError> {
        if work.length > MAX_MESSAGE {
            return Err(PostError::TooLong { length: work.length });
        }
        if self.is_broken {
            out.complete(Completion { id: work.id, status: Status::Flushed, original: 0 });
            return Ok(());
        }
        let count = if work.verb.is_atomic() { 1 } else { packets(work.length, self.options.mtu) };
        self.posted = (self.posted + 1) % Psn::MODULUS;
        self.queue.push_back(Entry { work, first: self.end, packets: count, number: self.posted, srq });
        self.end = self.end + count;
        Ok(())
    }

    /// Sets the partition: of packets that are built from now on, and of those that it takes.
    pub fn set_p_key(&mut self, p_key: PKey) {
        self.options.p_key = p_key;
    }

    /// Requests that have not ended.
    pub fn pending(&self) -> usize {
        self.queue.len()
    }

    /// True if a request has failed: the queue pair is in the error state.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// True if packets are sent and not acknowledged.
    pub fn awaits_responses(&self) -> bool {
        self.oldest != self.fresh
    }
}

mutations!(Requester);
