//! Work requests and their completions.

use fabricsim_wire::ids::RKey;

/// Remote memory of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub struct Remote {
    /// Virtual address of the first byte.
    pub va: u64,
    /// Key of the memory region or window.
    pub r_key: RKey,
}

/// Operation of a work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub enum Verb {
    /// SEND to a receive request.
    Send,
    /// RDMA WRITE.
    Write(Remote),
    /// RDMA READ.
    Read(Remote),
    /// Atomic Compare & Swap of 8 bytes.
    CompareSwap {
        /// The 8 bytes.
        remote: Remote,
        /// The value that they must have.
        compare: u64,
        /// Their new value.
        swap: u64,
    },
    /// Atomic Fetch & Add on 8 bytes.
    FetchAdd {
        /// The 8 bytes.
        remote: Remote,
        /// The summand.
        add: u64,
    },
}

impl Verb {
    /// True if a response has data: RDMA READ and atomic operations.
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Read(_) | Self::CompareSwap { .. } | Self::FetchAdd { .. })
    }

    /// True for atomic operations.
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::CompareSwap { .. } | Self::FetchAdd { .. })
    }
}

/// What the last packet of a message carries besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub enum Extra {
    /// Nothing.
    #[default]
    None,
    /// Immediate data, of SEND and WRITE.
    Immediate(u32),
    /// A key that the responder invalidates, of SEND.
    Invalidate(RKey),
}

/// A work request of a send queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub struct Work {
    /// Identifier, for its completion.
    pub id: u64,
    /// Operation.
    pub verb: Verb,
    /// Bytes: of the message; atomic operations have 8.
    pub length: u32,
    /// What the last packet carries besides.
    pub extra: Extra,
    /// A completion is reported also if it succeeds.
    pub signaled: bool,
    /// The receiver's completion raises an event.
    pub solicited: bool,
    /// Begins when all RDMA READs and atomic operations before it are complete.
    pub fence: bool,
}

impl Work {
    /// True if the responder needs a receive request for it.
    pub const fn takes_receive(&self) -> bool {
        match self.verb {
            Verb::Send => true,
            Verb::Write(_) => matches!(self.extra, Extra::Immediate(_)),
            _ => false,
        }
    }
}

/// Outcome of a request: names and meaning of `ibv_wc_status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub enum Status {
    /// `IBV_WC_SUCCESS`.
    #[default]
    Success,
    /// `IBV_WC_LOC_LEN_ERR`: the message is longer than its receive request.
    LocalLength,
    /// `IBV_WC_LOC_QP_OP_ERR`: the request does not agree with the queue pair.
    LocalQueuePair,
    /// `IBV_WC_LOC_PROT_ERR`: the request names local memory that it may not use.
    LocalProtection,
    /// `IBV_WC_WR_FLUSH_ERR`: the queue pair was in the error state.
    Flushed,
    /// `IBV_WC_MW_BIND_ERR`: a memory window may not be bound so.
    MemoryWindowBind,
    /// `IBV_WC_BAD_RESP_ERR`: the response does not fit the request.
    BadResponse,
    /// `IBV_WC_REM_INV_REQ_ERR`: the responder refuses the request.
    RemoteInvalidRequest,
    /// `IBV_WC_REM_ACCESS_ERR`: key, range or permission of the remote memory.
    RemoteAccess,
    /// `IBV_WC_REM_OP_ERR`: the responder cannot complete the request.
    RemoteOperation,
    /// `IBV_WC_RETRY_EXC_ERR`: as many retries as allowed had no answer.
    RetriesExceeded,
    /// `IBV_WC_RNR_RETRY_EXC_ERR`: the receiver was not ready as many times as allowed.
    ReceiverNotReady,
}

/// End of a work request of a send queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Completion {
    /// [`Work::id`].
    pub id: u64,
    /// Outcome.
    pub status: Status,
    /// The value before an atomic operation; else 0.
    pub original: u64,
}

/// End of a receive request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Identifier of the receive request.
    pub id: u64,
    /// Outcome.
    pub status: Status,
    /// Bytes of the message.
    pub length: u32,
    /// Immediate data, or the key that the sender wants to be invalid.
    pub extra: Extra,
    /// True for an RDMA WRITE with immediate data, which leaves the receive request's memory as it is.
    pub is_write: bool,
    /// The completion raises an event.
    pub solicited: bool,
}
