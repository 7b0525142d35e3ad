//! Arguments of calls as the adapter takes them, and completions as tuples.

use fabricsim_protocols::infiniband::Extra;
use fabricsim_simulation::ProgramRun;
use fabricsim_verbs::{
    AccessFlags, AddressVector, Ah, AlternatePath, Binding, LocalOperation, LocalRequest, Mr,
    QueuePairAttributes, Sge, To, VerbsError, WindowKind, WorkCompletion,
};
use fabricsim_wire::Psn;
use fabricsim_wire::headers::RnrTimer;
use fabricsim_wire::ids::{QKey, Qpn, Srqn};

use super::numbers::{MIGRATION_STATES, STATES, migration_number, opcode_number, status_number};

/// Pieces of memory: address, length, key.
pub(super) type Pieces = Vec<(u64, u32, u32)>;

/// A completion: `wr_id`, status, opcode, `byte_len`, `qp_num`, immediate data, invalidated key; a datagram's sender.
pub(super) type Completion = (u64, u32, u32, u32, u32, Option<u32>, Option<u32>, Option<Source>);

/// Sender of a datagram: LID, queue pair, true if it has a global route header, service level, bits of the LID of this end.
pub(super) type Source = (u16, u32, bool, u8, u8);

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

/// Address vector: LID, service level, source path bits.
pub(super) type Address = (i64, i64, i64);

/// Path to a LID from a program's host. The message begins with the name of the field.
pub(super) fn address(
    run: &mut ProgramRun,
    program: usize,
    (dlid, sl, source_path): Address,
) -> Result<AddressVector, String> {
    let lid = number("dlid", dlid)?;
    run.address_vector(program, lid, (number("sl", sl)?, number("src_path_bits", source_path)?))
}

/// A number of a field, of as many bits as its type has.
fn number<T: TryFrom<i64>>(name: &str, value: i64) -> Result<T, String> {
    let most = (1_u64 << (8 * size_of::<T>())) - 1;
    T::try_from(value).map_err(|_| format!("{name} = {value}: must be 0 to {most}"))
}

/// Second path: its address vector, `alt_pkey_index`, `alt_port_num`, `alt_timeout`.
pub(super) type Alternate = (Address, i64, i64, i64);

/// Change of a queue pair: attributes by name, and paths.
pub(super) fn change(
    (run, program): (&mut ProgramRun, usize),
    attributes: &[(String, u64)],
    (primary, alternate): (Option<Address>, Option<Alternate>),
) -> Result<QueuePairAttributes, String> {
    let mut given = QueuePairAttributes::default();
    for (name, value) in attributes {
        set(&mut given, name, *value)?;
    }
    if let Some(primary) = primary {
        let found = address(run, program, primary).map_err(|text| format!("ah_attr.{text}"))?;
        given.address = Some(found);
    }
    if let Some(second) = alternate {
        given.alternate = Some(alternate_path((run, program), second)?);
    }
    Ok(given)
}

/// Second path from a program's host.
pub(super) fn alternate_path(
    (run, program): (&mut ProgramRun, usize),
    (path, p_key_index, port, timeout): Alternate,
) -> Result<AlternatePath, String> {
    let found = address(run, program, path).map_err(|text| format!("alt_ah_attr.{text}"))?;
    // It is named also if it is the first LID.
    let address = AddressVector { path: found.path.or(Some(0)), ..found };
    let p_key_index = number("alt_pkey_index", p_key_index)?;
    let (port, timeout) = (number("alt_port_num", port)?, number("alt_timeout", timeout)?);
    Ok(AlternatePath { address, p_key_index, port, timeout })
}

/// State of path migration of a queue pair, as `ibv_mig_state`, and LID and service level of its path.
pub(super) fn path_of(
    run: &mut ProgramRun,
    program: usize,
    qp: Qpn,
) -> Result<(u32, Option<(u16, u8)>), VerbsError> {
    let device = run.device(program);
    let (state, path) = (device.migration_state(qp)?, device.address_vector(qp)?);
    let lid = |of: AddressVector| run.lid(of.host) + u16::from(of.path.unwrap_or_default());
    Ok((migration_number(state), path.map(|of| (lid(of), of.sl))))
}

fn set(given: &mut QueuePairAttributes, name: &str, value: u64) -> Result<(), String> {
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
        "path_mtu" if (1..=5).contains(&value) => given.path_mtu = Some(128 << value),
        "path_mtu" => {
            return Err(format!("{name} = {value}: must be 1 (IBV_MTU_256) to 5 (IBV_MTU_4096)"));
        }
        "dest_qp_num" => given.dest_qp = Some(Qpn(number()?)),
        "rq_psn" => given.rq_psn = Some(Psn::new(number()?)),
        "sq_psn" => given.sq_psn = Some(Psn::new(number()?)),
        "max_dest_rd_atomic" => given.max_dest_rd_atomic = Some(small()?),
        "max_rd_atomic" => given.max_rd_atomic = Some(small()?),
        "min_rnr_timer" if value > 31 => return Err(format!("{name} = {value}: at most 31")),
        "min_rnr_timer" => given.min_rnr_timer = Some(RnrTimer::new(small()?)),
        "timeout" => given.timeout = Some(small()?),
        "retry_cnt" => given.retry_count = Some(small()?),
        "rnr_retry" => given.rnr_retry = Some(small()?),
        "en_sqd_async_notify" => given.drained_event = Some(value != 0),
        "path_mig_state" => {
            let state = MIGRATION_STATES.get(value as usize).copied();
            given.path_mig_state = Some(state.ok_or_else(|| format!("there is no path_mig_state {value}"))?);
        }
        _ => return Err(format!("there is no attribute {name} here")),
    }
    Ok(())
}

pub(super) fn row(completion: &WorkCompletion, source: Option<Source>) -> Completion {
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

/// LID and GID of a multicast group of the experiment.
pub(super) fn group(run: &ProgramRun, name: &str) -> Result<(u16, u128), String> {
    let found = run.group(name).map(|(lid, gid)| (lid.0, u128::from(gid)));
    found.ok_or_else(|| {
        let names = run.groups().join(", ");
        format!("no multicast group \"{name}\"; those of the experiment are: [{names}]")
    })
}

/// `ibv_mw_type`.
pub(super) fn window_kind(mw_type: u32) -> Result<WindowKind, String> {
    match mw_type {
        1 => Ok(WindowKind::Type1),
        2 => Ok(WindowKind::Type2),
        _ => Err(format!("alloc_mw: mw_type = {mw_type}: must be 1 or 2")),
    }
}
