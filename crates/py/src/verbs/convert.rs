//! Arguments of calls as the adapter takes them, and completions as tuples.

use fabricsim_protocols::infiniband::Extra;
use fabricsim_simulation::ProgramRun;
use fabricsim_units::HostId;
use fabricsim_verbs::{
    AccessFlags, Ah, Binding, LocalOperation, LocalRequest, Mr, QueuePairAttributes, Sge, To, WorkCompletion,
};
use fabricsim_wire::Psn;
use fabricsim_wire::headers::RnrTimer;
use fabricsim_wire::ids::{QKey, Qpn, Srqn};

use super::numbers::{STATES, opcode_number, status_number};

/// Pieces of memory: address, length, key.
pub(super) type Pieces = Vec<(u64, u32, u32)>;

/// A completion: `wr_id`, status, opcode, `byte_len`, `qp_num`, immediate data, invalidated key; LID and queue pair of a datagram's sender, and true
/// if it has a global route header.
pub(super) type Completion = (u64, u32, u32, u32, u32, Option<u32>, Option<u32>, Option<(u16, u32, bool)>);

/// Receiver of a work request: an address handle, a queue pair and a queue key; or the number of a shared receive queue.
pub(super) type Receiver = (Option<(u32, u32, u32)>, Option<u32>);

/// Memory of a window: region, address, length, permissions.
pub(super) type WindowMemory = (u32, u64, u64, u32);

/// `IBV_SEND_FENCE`, `IBV_SEND_SIGNALED`, `IBV_SEND_SOLICITED`.
pub(super) const FENCE: u32 = 1;
pub(super) const SIGNALED: u32 = 2;
pub(super) const SOLICITED: u32 = 4;

pub(super) fn receiver((datagram, srq): Receiver) -> To {
    match (datagram, srq) {
        (Some((ah, qp, q_key)), _) => To::Datagram { ah: Ah(ah), qp: Qpn(qp), q_key: QKey(q_key) },
        (None, Some(number)) => To::SharedQueue(Srqn(number)),
        (None, None) => To::Connection,
    }
}

pub(super) fn pieces(list: Pieces) -> Vec<Sge> {
    list.into_iter().map(|(addr, length, lkey)| Sge { addr, length, lkey }).collect()
}

pub(super) fn set(
    given: &mut QueuePairAttributes,
    name: &str,
    value: u64,
    run: &ProgramRun,
) -> Result<(), String> {
    let small = || u8::try_from(value).map_err(|_| format!("{name} = {value}: at most 255"));
    let number = || u32::try_from(value).map_err(|_| format!("{name} = {value}: at most 2^32 - 1"));
    match name {
        "qp_state" => {
            let state = STATES.get(value as usize).copied();
            given.state = Some(state.ok_or_else(|| format!("there is no qp_state {value}"))?);
        }
        "pkey_index" => {
            given.p_key_index =
                Some(value.try_into().map_err(|_| format!("{name} = {value}: at most 65535"))?);
        }
        "port_num" => given.port = Some(small()?),
        "qp_access_flags" => given.access = Some(AccessFlags(number()?)),
        "qkey" => given.q_key = Some(QKey(number()?)),
        "dlid" => given.destination = Some(host_of(value, run)?),
        // A number of `ibv_mtu`, which becomes 0 bytes if there is none.
        "path_mtu" => given.path_mtu = Some(if (1..=5).contains(&value) { 128 << value } else { 0 }),
        "dest_qp_num" => given.dest_qp = Some(Qpn(number()?)),
        "rq_psn" => given.rq_psn = Some(Psn::new(number()?)),
        "sq_psn" => given.sq_psn = Some(Psn::new(number()?)),
        "max_dest_rd_atomic" => given.max_dest_rd_atomic = Some(small()?),
        "max_rd_atomic" => given.max_rd_atomic = Some(small()?),
        "min_rnr_timer" => given.min_rnr_timer = Some(RnrTimer::new(small()?)),
        "timeout" => given.timeout = Some(small()?),
        "retry_cnt" => given.retry_count = Some(small()?),
        "rnr_retry" => given.rnr_retry = Some(small()?),
        _ => return Err(format!("there is no attribute {name} here")),
    }
    Ok(())
}

pub(super) fn host_of(lid: u64, run: &ProgramRun) -> Result<HostId, String> {
    let found = u16::try_from(lid).ok().and_then(|lid| run.host_of_lid(lid));
    found.ok_or_else(|| format!("ah_attr.dlid = {lid}: no host has this LID"))
}

pub(super) fn row(completion: &WorkCompletion, source: Option<(u16, u32, bool)>) -> Completion {
    let WorkCompletion { wr_id, status, opcode, byte_len, qp_num, extra, .. } = *completion;
    let (immediate, invalidated) = match extra {
        Extra::None => (None, None),
        Extra::Immediate(data) => (Some(data), None),
        Extra::Invalidate(key) => (None, Some(key.0)),
    };
    (wr_id, status_number(status), opcode_number(opcode), byte_len, qp_num.0, immediate, invalidated, source)
}

pub(super) fn bound((mr, va, length, access): WindowMemory) -> Binding {
    Binding { mr: Mr(mr), va, length, access: AccessFlags(access) }
}

pub(super) fn local(wr_id: u64, flags: u32, operation: LocalOperation) -> LocalRequest {
    LocalRequest { wr_id, operation, signaled: flags & SIGNALED != 0, fence: flags & FENCE != 0 }
}
