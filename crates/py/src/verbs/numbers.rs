//! Numbers of rdma-core's enumerations.

use fabricsim_protocols::infiniband::{
    Extra, MigrationState, QueuePairKind, QueuePairState, Remote, Status, Verb,
};
use fabricsim_verbs::{AsyncEvent, WcOpcode};
use fabricsim_wire::ids::RKey;

pub(super) const STATES: [QueuePairState; 7] = [
    QueuePairState::Reset,
    QueuePairState::Init,
    QueuePairState::ReadyToReceive,
    QueuePairState::ReadyToSend,
    QueuePairState::SendQueueDrain,
    QueuePairState::SendQueueError,
    QueuePairState::Error,
];

/// `ibv_mig_state`.
pub(super) const MIGRATION_STATES: [MigrationState; 3] =
    [MigrationState::Migrated, MigrationState::Rearm, MigrationState::Armed];

/// `ibv_wr_opcode`.
pub(super) fn operation(
    opcode: u32,
    extra: u32,
    remote: Remote,
    atomic: (u64, u64),
) -> Option<(Verb, Extra)> {
    let (compare, swap) = atomic;
    Some(match opcode {
        0 => (Verb::Write(remote), Extra::None),
        1 => (Verb::Write(remote), Extra::Immediate(extra)),
        2 => (Verb::Send, Extra::None),
        3 => (Verb::Send, Extra::Immediate(extra)),
        4 => (Verb::Read(remote), Extra::None),
        5 => (Verb::CompareSwap { remote, compare, swap }, Extra::None),
        6 => (Verb::FetchAdd { remote, add: compare }, Extra::None),
        9 => (Verb::Send, Extra::Invalidate(RKey(extra))),
        _ => return None,
    })
}

/// `ibv_qp_type`.
pub(super) fn qp_kind(number: u32) -> Option<QueuePairKind> {
    Some(match number {
        2 => QueuePairKind::Rc,
        3 => QueuePairKind::Uc,
        4 => QueuePairKind::Ud,
        9 => QueuePairKind::XrcSend,
        10 => QueuePairKind::XrcReceive,
        _ => return None,
    })
}

/// `ibv_wc_status`.
pub(super) fn status_number(status: Status) -> u32 {
    match status {
        Status::Success => 0,
        Status::LocalLength => 1,
        Status::LocalQueuePair => 2,
        Status::LocalProtection => 4,
        Status::Flushed => 5,
        Status::MemoryWindowBind => 6,
        Status::BadResponse => 7,
        Status::RemoteInvalidRequest => 9,
        Status::RemoteAccess => 10,
        Status::RemoteOperation => 11,
        Status::RetriesExceeded => 12,
        Status::ReceiverNotReady => 13,
    }
}

/// `ibv_wc_opcode`.
pub(super) fn opcode_number(opcode: WcOpcode) -> u32 {
    match opcode {
        WcOpcode::Send => 0,
        WcOpcode::RdmaWrite => 1,
        WcOpcode::RdmaRead => 2,
        WcOpcode::CompSwap => 3,
        WcOpcode::FetchAdd => 4,
        WcOpcode::BindMw => 5,
        WcOpcode::LocalInv => 6,
        WcOpcode::Recv => 128,
        WcOpcode::RecvRdmaWithImm => 129,
    }
}

/// `ibv_event_type`, and the number of what it is of.
pub(super) fn async_event(event: AsyncEvent) -> (u32, u32) {
    match event {
        AsyncEvent::CompletionQueueError(cq) => (0, cq.0),
        AsyncEvent::QueuePairFatal(qp) => (1, qp.0),
        AsyncEvent::QueuePairRequest(qp) => (2, qp.0),
        AsyncEvent::QueuePairAccess(qp) => (3, qp.0),
        AsyncEvent::CommunicationEstablished(qp) => (4, qp.0),
        AsyncEvent::SendQueueDrained(qp) => (5, qp.0),
        AsyncEvent::PathMigrated(qp) => (6, qp.0),
        AsyncEvent::PathMigrationFailed(qp) => (7, qp.0),
        AsyncEvent::PartitionKeysChanged => (12, 1),
        AsyncEvent::SharedQueueLimit(srq) => (15, srq.0),
        AsyncEvent::LastRequestReached(qp) => (16, qp.0),
    }
}

pub(super) fn state_number(state: QueuePairState) -> u32 {
    STATES.iter().position(|&other| other == state).unwrap_or_default() as u32
}

pub(super) fn migration_number(state: MigrationState) -> u32 {
    MIGRATION_STATES.iter().position(|&other| other == state).unwrap_or_default() as u32
}
