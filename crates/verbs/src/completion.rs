//! Completion queues (IBA volume 1, section 11.4.2): what has ended, and when a program sees it.

use std::collections::VecDeque;

use fabricsim_protocols::infiniband::{Extra, Status};
use fabricsim_units::Time;
use fabricsim_wire::ids::Qpn;

use crate::path::AddressVector;

/// Operation of a completion: names and meaning of `ibv_wc_opcode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WcOpcode {
    /// `IBV_WC_SEND`.
    Send,
    /// `IBV_WC_RDMA_WRITE`.
    RdmaWrite,
    /// `IBV_WC_RDMA_READ`.
    RdmaRead,
    /// `IBV_WC_COMP_SWAP`.
    CompSwap,
    /// `IBV_WC_FETCH_ADD`.
    FetchAdd,
    /// `IBV_WC_BIND_MW`.
    BindMw,
    /// `IBV_WC_LOCAL_INV`.
    LocalInv,
    /// `IBV_WC_RECV`.
    Recv,
    /// `IBV_WC_RECV_RDMA_WITH_IMM`.
    RecvRdmaWithImm,
}

/// A work completion (`ibv_wc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkCompletion {
    /// Identifier that the program gave to the work request.
    pub wr_id: u64,
    /// Outcome. If it is not success, only `wr_id` and `qp_num` are valid besides, as in `ibv_wc`.
    pub status: Status,
    /// Operation.
    pub opcode: WcOpcode,
    /// Bytes received, or read.
    pub byte_len: u32,
    /// Queue pair.
    pub qp_num: Qpn,
    /// Sender of a datagram: where an answer goes (`slid`, `sl`, `dlid_path_bits`), and its queue pair (`src_qp`).
    pub source: Option<(AddressVector, Qpn)>,
    /// `IBV_WC_GRH`: the first 40 bytes of a datagram's memory hold its global route header.
    pub has_grh: bool,
    /// Immediate data, or the key that was invalidated.
    pub extra: Extra,
    /// It raises an event also if only solicited completions do.
    pub solicited: bool,
    /// Time from which a program sees it.
    pub visible: Time,
}

/// Request for an event (`ibv_req_notify_cq`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Armed {
    #[default]
    No,
    Any,
    Solicited,
}

/// A completion queue.
#[derive(Clone, Debug)]
pub(crate) struct CompletionQueue {
    /// Most completions that it holds.
    capacity: u32,
    /// Completions, with the number of the work request in its send queue.
    entries: VecDeque<(WorkCompletion, Option<u64>)>,
    armed: Armed,
    /// Times of events that the program has not taken.
    events: VecDeque<Time>,
    /// A completion found it full: it takes no more.
    pub(crate) has_overflowed: bool,
}

impl CompletionQueue {
    pub(crate) fn new(capacity: u32) -> Self {
        Self {
            capacity,
            entries: VecDeque::new(),
            armed: Armed::No,
            events: VecDeque::new(),
            has_overflowed: false,
        }
    }

    /// Adds a completion. Those of a queue become visible in their order. False if the queue is full: it overflows.
    pub(crate) fn add(&mut self, mut entry: WorkCompletion, send: Option<u64>) -> bool {
        if self.has_overflowed || self.entries.len() >= self.capacity as usize {
            self.has_overflowed = true;
            return false;
        }
        if let Some((last, _)) = self.entries.back() {
            entry.visible = entry.visible.max(last.visible);
        }
        let is_error = entry.status != Status::Success;
        if self.armed == Armed::Any || self.armed == Armed::Solicited && (entry.solicited || is_error) {
            self.armed = Armed::No;
            self.events.push_back(entry.visible);
        }
        self.entries.push_back((entry, send));
        true
    }

    /// Takes the oldest completion that is visible by `now`.
    pub(crate) fn poll(&mut self, now: Time) -> Option<(WorkCompletion, Option<u64>)> {
        let is_visible = self.entries.front().is_some_and(|(entry, _)| entry.visible <= now);
        if is_visible { self.entries.pop_front() } else { None }
    }

    /// Requests an event for the next completion that becomes visible after `now`. Completions that are there raise none, as in hardware: that is
    /// the race of the tutorial's section III-D, and the reason to poll once more after the request.
    pub(crate) fn request_event(&mut self, solicited_only: bool, now: Time) {
        // A request for any completion is not weakened by a later one for solicited ones.
        if self.armed != Armed::Any {
            self.armed = if solicited_only { Armed::Solicited } else { Armed::Any };
        }
        let raises = |(entry, _): &&(WorkCompletion, Option<u64>)| {
            entry.visible > now
                && (self.armed == Armed::Any || entry.solicited || entry.status != Status::Success)
        };
        if let Some((entry, _)) = self.entries.iter().find(raises) {
            self.events.push_back(entry.visible);
            self.armed = Armed::No;
        }
    }

    /// Takes an event that was raised by `now`.
    pub(crate) fn take_event(&mut self, now: Time) -> bool {
        let is_there = self.events.front().is_some_and(|&at| at <= now);
        if is_there {
            self.events.pop_front();
        }
        is_there
    }

    /// Time from which the oldest completion is visible.
    pub(crate) fn next_visible(&self) -> Option<Time> {
        self.entries.front().map(|(entry, _)| entry.visible)
    }

    /// Time of the oldest event.
    pub(crate) fn next_event(&self) -> Option<Time> {
        self.events.front().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Removes the completions of a queue pair that is destroyed.
    pub(crate) fn forget(&mut self, qp: Qpn) {
        self.entries.retain(|(entry, _)| entry.qp_num != qp);
    }
}
