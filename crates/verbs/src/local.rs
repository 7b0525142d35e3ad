//! Work requests that an adapter executes itself: binds of memory windows, invalidations of their keys (IBA volume 1, sections 10.6.6 and 10.6.7).
//!
//! They have their place in the send queue: each begins when all packets before it were sent once, and no request behind it begins before it has ended.

use std::collections::VecDeque;

use fabricsim_protocols::infiniband::Work;
use fabricsim_wire::ids::RKey;

use crate::completion::WcOpcode;
use crate::handles::Mw;
use crate::service::Receiver;
use crate::windows::Binding;

/// Operation that needs no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalOperation {
    /// `IBV_WR_BIND_MW`: the window stands for a part of a region, under a key.
    Bind {
        /// Window.
        mw: Mw,
        /// Its key from then on: the index of its last key, and other eight bits (`ibv_inc_rkey`).
        r_key: RKey,
        /// Memory and permissions; `None` unbinds a window of type 1.
        binding: Option<Binding>,
    },
    /// `IBV_WR_LOCAL_INV`: the key of a window of type 2 is not valid any more.
    Invalidate(RKey),
}

/// A work request with such an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalRequest {
    /// Identifier for its completion.
    pub wr_id: u64,
    /// Operation.
    pub operation: LocalOperation,
    /// `IBV_SEND_SIGNALED`: it has a completion also if it succeeds.
    pub signaled: bool,
    /// `IBV_SEND_FENCE`: begins when all requests before it have ended.
    pub fence: bool,
}

impl LocalRequest {
    /// A signaled request without fence.
    pub const fn new(wr_id: u64, operation: LocalOperation) -> Self {
        Self { wr_id, operation, signaled: true, fence: false }
    }

    /// Its operation in a completion.
    pub(crate) const fn opcode(&self) -> WcOpcode {
        match self.operation {
            LocalOperation::Bind { .. } => WcOpcode::BindMw,
            LocalOperation::Invalidate(_) => WcOpcode::LocalInv,
        }
    }
}

/// A request that waits.
#[derive(Clone, Debug)]
pub(crate) enum Waiting {
    Local {
        number: u64,
        operation: LocalOperation,
        fence: bool,
    },
    /// A request with packets, behind a local operation.
    Work(Work, Receiver),
}

impl Waiting {
    /// Number in the send queue.
    pub(crate) fn number(&self) -> u64 {
        match self {
            Self::Local { number, .. } => *number,
            Self::Work(work, _) => work.id,
        }
    }
}

/// Local operations of a send queue that have not ended, and the requests behind them.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalQueue {
    /// From the first operation that was not executed on.
    pub(crate) waiting: VecDeque<Waiting>,
    /// Numbers of executed operations: each ends behind the requests before it.
    pub(crate) executed: VecDeque<u64>,
    /// The first one has begun.
    pub(crate) has_begun: bool,
}
