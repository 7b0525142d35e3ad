//! Arguments of the creation of a queue pair, and of its changes of state.

use fabricsim_protocols::infiniband::{Attributes, MigrationState, QueuePairKind, QueuePairState};
use fabricsim_wire::Psn;
use fabricsim_wire::headers::RnrTimer;
use fabricsim_wire::ids::{QKey, Qpn};

use crate::access::AccessFlags;
use crate::handles::{Cq, Srq, Xrcd};
use crate::path::{AddressVector, AlternatePath};

/// Lengths of the queues of a queue pair (`ibv_qp_cap`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacities {
    /// Work requests in the send queue: posted, and not ended or not yet known to have ended.
    pub send: u32,
    /// Receive requests.
    pub receive: u32,
    /// Pieces of memory of a work request.
    pub send_pieces: u32,
    /// Pieces of memory of a receive request.
    pub receive_pieces: u32,
    /// Bytes that a work request may hold itself.
    pub inline: u32,
}

impl Default for Capacities {
    fn default() -> Self {
        Self { send: 128, receive: 128, send_pieces: 4, receive_pieces: 4, inline: 0 }
    }
}

/// Arguments of the creation of a queue pair (`ibv_qp_init_attr`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePairInit {
    /// Transport service.
    pub kind: QueuePairKind,
    /// Completions of the send queue.
    pub send_cq: Cq,
    /// Completions of the receive queue.
    pub receive_cq: Cq,
    /// Lengths of the queues.
    pub capacities: Capacities,
    /// Every work request is signaled.
    pub signal_all: bool,
    /// Shared receive queue, instead of a receive queue of its own.
    pub srq: Option<Srq>,
    /// Domain of an extended reliable connection's end that receives.
    pub xrcd: Option<Xrcd>,
}

impl QueuePairInit {
    /// A queue pair with one completion queue for all, the default lengths and a receive queue of its own.
    pub fn new(kind: QueuePairKind, cq: Cq) -> Self {
        let capacities = Capacities::default();
        Self { kind, send_cq: cq, receive_cq: cq, capacities, signal_all: false, srq: None, xrcd: None }
    }
}

/// Attributes that a change of state sets; `None`: not given (`ibv_qp_attr` and its mask).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePairAttributes {
    /// Next state; without it the state stays.
    pub state: Option<QueuePairState>,
    /// Partition of the port, by its place in the port's table.
    pub p_key_index: Option<u16>,
    /// Port, from 1.
    pub port: Option<u8>,
    /// What the other end may do.
    pub access: Option<AccessFlags>,
    /// Queue key, of datagrams.
    pub q_key: Option<QKey>,
    /// Path to the other end (the address vector).
    pub address: Option<AddressVector>,
    /// Path MTU in bytes.
    pub path_mtu: Option<u32>,
    /// Queue pair at the other end.
    pub dest_qp: Option<Qpn>,
    /// Number of the first packet that is expected.
    pub rq_psn: Option<Psn>,
    /// READs and atomic operations of the other end at a time.
    pub max_dest_rd_atomic: Option<u8>,
    /// Time of RNR NAKs.
    pub min_rnr_timer: Option<RnrTimer>,
    /// Number of the first packet that is sent.
    pub sq_psn: Option<Psn>,
    /// Local ACK timeout, 0 (never) to 31: 4.096 us x 2^n.
    pub timeout: Option<u8>,
    /// Retries, 0 to 7.
    pub retry_count: Option<u8>,
    /// RNR retries, 0 to 7; 7: without limit.
    pub rnr_retry: Option<u8>,
    /// READs and atomic operations of its own at a time.
    pub max_rd_atomic: Option<u8>,
    /// Second path to the other end.
    pub alternate: Option<AlternatePath>,
    /// State of path migration.
    pub path_mig_state: Option<MigrationState>,
    /// True if an event tells that the send queue is drained, after the step to SQD.
    pub drained_event: Option<bool>,
}

impl QueuePairAttributes {
    /// The mask of what is given.
    pub(crate) fn mask(&self) -> Attributes {
        let given = [
            (self.state.is_some(), Attributes::STATE),
            (self.p_key_index.is_some(), Attributes::PKEY_INDEX),
            (self.port.is_some(), Attributes::PORT),
            (self.access.is_some(), Attributes::ACCESS_FLAGS),
            (self.q_key.is_some(), Attributes::QKEY),
            (self.address.is_some(), Attributes::AV),
            (self.path_mtu.is_some(), Attributes::PATH_MTU),
            (self.dest_qp.is_some(), Attributes::DEST_QPN),
            (self.rq_psn.is_some(), Attributes::RQ_PSN),
            (self.max_dest_rd_atomic.is_some(), Attributes::MAX_DEST_RD_ATOMIC),
            (self.min_rnr_timer.is_some(), Attributes::MIN_RNR_TIMER),
            (self.sq_psn.is_some(), Attributes::SQ_PSN),
            (self.timeout.is_some(), Attributes::TIMEOUT),
            (self.retry_count.is_some(), Attributes::RETRY_CNT),
            (self.rnr_retry.is_some(), Attributes::RNR_RETRY),
            (self.max_rd_atomic.is_some(), Attributes::MAX_QP_RD_ATOMIC),
            (self.alternate.is_some(), Attributes::ALT_PATH),
            (self.path_mig_state.is_some(), Attributes::PATH_MIG_STATE),
            (self.drained_event.is_some(), Attributes::EN_SQD_ASYNC_NOTIFY),
        ];
        let given = given.into_iter().filter(|(is_given, _)| *is_given);
        given.fold(Attributes::NONE, |mask, (_, attribute)| mask.with(attribute))
    }

    /// These, and those of `before` that are not given.
    pub(crate) fn or(self, before: Self) -> Self {
        Self {
            state: self.state.or(before.state),
            p_key_index: self.p_key_index.or(before.p_key_index),
            port: self.port.or(before.port),
            access: self.access.or(before.access),
            q_key: self.q_key.or(before.q_key),
            address: self.address.or(before.address),
            path_mtu: self.path_mtu.or(before.path_mtu),
            dest_qp: self.dest_qp.or(before.dest_qp),
            rq_psn: self.rq_psn.or(before.rq_psn),
            max_dest_rd_atomic: self.max_dest_rd_atomic.or(before.max_dest_rd_atomic),
            min_rnr_timer: self.min_rnr_timer.or(before.min_rnr_timer),
            sq_psn: self.sq_psn.or(before.sq_psn),
            timeout: self.timeout.or(before.timeout),
            retry_count: self.retry_count.or(before.retry_count),
            rnr_retry: self.rnr_retry.or(before.rnr_retry),
            max_rd_atomic: self.max_rd_atomic.or(before.max_rd_atomic),
            alternate: self.alternate.or(before.alternate),
            path_mig_state: None,
            drained_event: None,
        }
    }
}
