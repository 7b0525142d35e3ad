//! Calls of verbs by a program: numbers in, numbers out. Enumerations are those of rdma-core.

mod connections;
mod convert;
mod errors;
mod numbers;

use fabricsim_protocols::infiniband::Remote;
use fabricsim_simulation::ProgramRun;
use fabricsim_units::Time;
use fabricsim_verbs::{
    AccessFlags, Ah, Capacities, Cq, Device, LocalOperation, Mr, Mw, Pd, QueuePairInit, ReceiveRequest,
    SendRequest, SharedQueueInit, Srq, VerbsError, Xrcd,
};
use fabricsim_wire::ids::{Lid, Qpn, RKey};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::programs::{Shared, with};
pub(crate) use connections::ConnectionAdapter;
use convert::{
    Address, Alternate, Completion, FENCE, Pieces, Receiver, SIGNALED, SOLICITED, WindowMemory, address,
    bound, change, group, local, path_of, pieces, receiver, row, window_kind,
};
pub(crate) use errors::VerbsCallError;
use errors::{failed, invalid};
use numbers::{async_event, operation, qp_kind, state_number};

/// The adapter of a program's host.
#[pyclass(frozen, module = "fabricsim._native")]
pub(crate) struct VerbsAdapter {
    run: Shared,
    program: usize,
}

impl VerbsAdapter {
    pub(crate) fn new(run: Shared, program: usize) -> Self {
        Self { run, program }
    }

    /// Calls `work` with the device, which has nothing more to do afterwards.
    fn device<T>(&self, work: impl FnOnce(&mut Device) -> Result<T, VerbsError>) -> PyResult<T> {
        with(&self.run, |run| work(run.device(self.program)).map_err(|error| failed(&error)))
    }

    /// As `device`, with the time.
    fn at<T>(&self, work: impl FnOnce(&mut Device, Time) -> Result<T, VerbsError>) -> PyResult<T> {
        with(&self.run, |run| {
            let now = run.now();
            work(run.device(self.program), now).map_err(|error| failed(&error))
        })
    }

    /// Calls `work` with the run. The adapter is woken afterwards.
    fn call<T>(&self, work: impl FnOnce(&mut ProgramRun) -> Result<T, VerbsError>) -> PyResult<T> {
        with(&self.run, |run| {
            let done = work(run).map_err(|error| failed(&error))?;
            run.wake_device(self.program);
            Ok(done)
        })
    }
}

#[pymethods]
impl VerbsAdapter {
    /// Picoseconds that calls take: `post_send`, `post_recv`, a poll; and the largest inline message in bytes.
    fn costs(&self) -> PyResult<(u64, u64, u64, u32)> {
        self.device(|device| {
            let costs = device.costs();
            Ok((costs.post.0, costs.post_receive.0, costs.poll.0, costs.max_inline))
        })
    }

    /// LID of the program's host.
    fn lid(&self) -> PyResult<u16> {
        with(&self.run, |run| Ok(run.lid(run.host(self.program))))
    }

    /// LID of a host, by its name.
    fn lid_of(&self, host: &str) -> PyResult<u16> {
        with(&self.run, |run| run.lid_by_name(host).map_err(|text| invalid(format!("resolve_addr: {text}"))))
    }

    /// Communication management of the host.
    fn connections(&self) -> ConnectionAdapter {
        ConnectionAdapter::new(std::sync::Arc::clone(&self.run), self.program)
    }

    fn alloc_pd(&self) -> PyResult<u32> {
        self.device(|device| Ok(device.alloc_pd().0))
    }

    fn dealloc_pd(&self, pd: u32) -> PyResult<()> {
        self.device(|device| device.dealloc_pd(Pd(pd)))
    }

    /// Registers memory. Returns its handle, key and address. Remote WRITEs to it are kept for `take_write`.
    fn reg_mr(&self, pd: u32, length: u64, access: u32) -> PyResult<(u32, u32, u64)> {
        self.device(|device| {
            let mr = device.reg_mr(Pd(pd), length, AccessFlags(access))?;
            device.watch(mr)?;
            Ok((mr.0, device.key(mr)?, device.address(mr)?))
        })
    }

    fn dereg_mr(&self, mr: u32) -> PyResult<()> {
        self.device(|device| device.dereg_mr(Mr(mr)))
    }

    fn read_memory<'py>(
        &self,
        py: Python<'py>,
        mr: u32,
        offset: u64,
        length: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.device(|device| device.read_memory(Mr(mr), offset, length))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn write_memory(&self, mr: u32, offset: u64, data: &[u8]) -> PyResult<()> {
        self.device(|device| device.write_memory(Mr(mr), offset, data))
    }

    /// Takes a remote WRITE that is visible.
    fn take_write(&self, mr: u32) -> PyResult<bool> {
        self.at(|device, now| device.take_write(Mr(mr), now))
    }

    /// Allocates a memory window of type 1 or 2. Returns its handle and its key.
    fn alloc_mw(&self, pd: u32, mw_type: u32) -> PyResult<(u32, u32)> {
        let kind = window_kind(mw_type).map_err(invalid)?;
        self.device(|device| {
            let mw = device.alloc_mw(Pd(pd), kind)?;
            Ok((mw.0, device.window_key(mw)?.0))
        })
    }

    fn dealloc_mw(&self, mw: u32) -> PyResult<()> {
        self.device(|device| device.dealloc_mw(Mw(mw)))
    }

    /// Posts a bind of a memory window of type 1. Returns its new key.
    #[pyo3(signature = (qp, wr_id, flags, mw, binding))]
    fn bind_mw(
        &self,
        qp: u32,
        wr_id: u64,
        flags: u32,
        mw: u32,
        binding: Option<WindowMemory>,
    ) -> PyResult<u32> {
        let request = local(wr_id, flags, LocalOperation::Invalidate(RKey(0)));
        let binding = binding.map(bound);
        self.call(|run| {
            let now = run.now();
            Ok(run.device(self.program).bind_mw(Qpn(qp), (Mw(mw), binding), request, now)?.0)
        })
    }

    /// Posts `IBV_WR_BIND_MW`, with the window, its new key and its memory, or `IBV_WR_LOCAL_INV`, with the key.
    #[pyo3(signature = (qp, wr_id, flags, key, window))]
    fn post_local(
        &self,
        qp: u32,
        wr_id: u64,
        flags: u32,
        key: u32,
        window: Option<(u32, WindowMemory)>,
    ) -> PyResult<()> {
        let r_key = RKey(key);
        let operation = match window {
            Some((mw, binding)) => LocalOperation::Bind { mw: Mw(mw), r_key, binding: Some(bound(binding)) },
            None => LocalOperation::Invalidate(r_key),
        };
        self.call(|run| {
            let now = run.now();
            run.device(self.program).post_local(Qpn(qp), local(wr_id, flags, operation), now)
        })
    }

    /// Creates an address handle: LID, service level, source path bits.
    fn create_ah(&self, pd: u32, path: Address) -> PyResult<u32> {
        with(&self.run, |run| {
            let path = address(run, self.program, path)
                .map_err(|text| invalid(format!("create_ah: ah_attr.{text}")))?;
            run.device(self.program).create_ah(Pd(pd), path).map(|ah| ah.0).map_err(|error| failed(&error))
        })
    }

    fn destroy_ah(&self, ah: u32) -> PyResult<()> {
        self.device(|device| device.destroy_ah(Ah(ah)))
    }

    /// LID and GID of a multicast group of the experiment.
    fn group(&self, name: &str) -> PyResult<(u16, u128)> {
        with(&self.run, |run| group(run, name).map_err(invalid))
    }

    /// Attaches a queue pair to a multicast group, or detaches it.
    fn attach_mcast(&self, qp: u32, gid: u128, lid: u16) -> PyResult<()> {
        self.device(|device| device.attach_mcast(Qpn(qp), gid.into(), Lid(lid)))
    }

    fn detach_mcast(&self, qp: u32, gid: u128, lid: u16) -> PyResult<()> {
        self.device(|device| device.detach_mcast(Qpn(qp), gid.into(), Lid(lid)))
    }

    /// Counters of a queue pair of UD or UC: messages, messages without a receive request, packets of another queue key, packets that were dropped.
    fn unreliable_counters(&self, qp: u32) -> PyResult<(u64, u64, u64, u64)> {
        self.device(|device| {
            let dropped = device.queue_pair_counters(Qpn(qp))?.dropped;
            let of = device.unreliable_counters(Qpn(qp))?.unwrap_or_default();
            Ok((of.messages, of.no_receive, of.q_key, dropped))
        })
    }

    fn open_xrcd(&self) -> PyResult<u32> {
        self.device(|device| Ok(device.open_xrcd().0))
    }

    fn close_xrcd(&self, xrcd: u32) -> PyResult<()> {
        self.device(|device| device.close_xrcd(Xrcd(xrcd)))
    }

    /// Creates a shared receive queue for `max_wr` requests of `max_sge` pieces; `xrc`: its XRC domain and completion queue.
    #[pyo3(signature = (pd, max_wr, max_sge, xrc))]
    fn create_srq(&self, pd: u32, max_wr: u32, max_sge: u32, xrc: Option<(u32, u32)>) -> PyResult<u32> {
        let xrc = xrc.map(|(domain, cq)| (Xrcd(domain), Cq(cq)));
        let init = SharedQueueInit { receives: max_wr, pieces: max_sge, xrc };
        self.device(|device| Ok(device.create_srq(Pd(pd), init)?.0))
    }

    fn destroy_srq(&self, srq: u32) -> PyResult<()> {
        self.device(|device| device.destroy_srq(Srq(srq)))
    }

    fn srq_number(&self, srq: u32) -> PyResult<u32> {
        self.device(|device| Ok(device.srq_number(Srq(srq))?.0))
    }

    fn modify_srq(&self, srq: u32, limit: u32) -> PyResult<()> {
        self.device(|device| device.modify_srq(Srq(srq), limit))
    }

    /// Limit of a shared receive queue, and requests that are left.
    fn query_srq(&self, srq: u32) -> PyResult<(u32, u32)> {
        self.device(|device| device.query_srq(Srq(srq)))
    }

    fn post_srq_recv(&self, srq: u32, wr_id: u64, list: Pieces) -> PyResult<()> {
        let request = ReceiveRequest { wr_id, list: pieces(list) };
        self.device(|device| device.post_srq_recv(Srq(srq), request))
    }

    fn create_cq(&self, cqe: u32) -> PyResult<u32> {
        self.device(|device| Ok(device.create_cq(cqe)?.0))
    }

    fn destroy_cq(&self, cq: u32) -> PyResult<()> {
        self.device(|device| device.destroy_cq(Cq(cq)))
    }

    /// Takes up to `most` completions that are visible.
    fn poll_cq(&self, cq: u32, most: usize) -> PyResult<Vec<Completion>> {
        with(&self.run, |run| {
            let now = run.now();
            let mut found = Vec::new();
            while found.len() < most
                && let Some(completion) =
                    run.device(self.program).poll_cq(Cq(cq), now).map_err(|error| failed(&error))?
            {
                let source = completion.source.map(|(from, qp)| {
                    let lid = run.lid(from.host) + u16::from(from.path.unwrap_or_default());
                    (lid, qp.0, completion.has_grh, from.sl, from.source_path)
                });
                found.push(row(&completion, source));
            }
            Ok(found)
        })
    }

    fn req_notify_cq(&self, cq: u32, solicited_only: bool) -> PyResult<()> {
        self.at(|device, now| device.req_notify_cq(Cq(cq), solicited_only, now))
    }

    /// Takes an event of a completion queue that was raised.
    fn take_cq_event(&self, cq: u32) -> PyResult<bool> {
        self.at(|device, now| device.take_cq_event(Cq(cq), now))
    }

    /// Takes an asynchronous event: its type, and the number of its queue pair or of its completion queue.
    fn take_async_event(&self) -> PyResult<Option<(u32, u32)>> {
        with(&self.run, |run| Ok(run.take_async_event(self.program).map(async_event)))
    }

    /// Creates a queue pair of a type of `ibv_qp_type`. `cqs`: of sends and receives; `capacities`: `max_send_wr`, `max_recv_wr`, `max_send_sge`, `max_recv_sge`,
    /// `max_inline_data`; `shared`: a shared receive queue, or an XRC domain.
    #[pyo3(signature = (kind, pd, cqs, capacities, signal_all, shared))]
    fn create_qp(
        &self,
        kind: u32,
        pd: u32,
        cqs: (u32, u32),
        capacities: (u32, u32, u32, u32, u32),
        signal_all: bool,
        shared: (Option<u32>, Option<u32>),
    ) -> PyResult<u32> {
        let kind = qp_kind(kind).ok_or_else(|| invalid(format!("create_qp: there is no qp_type {kind}")))?;
        let (send, receive, send_pieces, receive_pieces, inline) = capacities;
        let init = QueuePairInit {
            kind,
            send_cq: Cq(cqs.0),
            receive_cq: Cq(cqs.1),
            capacities: Capacities { send, receive, send_pieces, receive_pieces, inline },
            signal_all,
            srq: shared.0.map(Srq),
            xrcd: shared.1.map(Xrcd),
        };
        self.device(|device| Ok(device.create_qp(Pd(pd), init)?.0))
    }

    fn destroy_qp(&self, qp: u32) -> PyResult<()> {
        self.call(|run| run.destroy_qp(self.program, Qpn(qp)))
    }

    /// Changes a queue pair: attributes by their names in `ibv_qp_attr`, and its paths.
    #[pyo3(signature = (qp, attributes, path, alternate))]
    fn modify_qp(
        &self,
        qp: u32,
        attributes: Vec<(String, u64)>,
        path: Option<Address>,
        alternate: Option<Alternate>,
    ) -> PyResult<()> {
        with(&self.run, |run| {
            let given = change((run, self.program), &attributes, (path, alternate));
            let given = given.map_err(|text| invalid(format!("modify_qp: {text}")))?;
            run.modify_qp(self.program, Qpn(qp), given).map_err(|error| failed(&error))
        })
    }

    /// State of a queue pair, as `ibv_qp_state`.
    fn qp_state(&self, qp: u32) -> PyResult<u32> {
        self.device(|device| Ok(state_number(device.state(Qpn(qp))?)))
    }

    /// State of path migration, as `ibv_mig_state`, and the LID and service level of the path.
    fn qp_path(&self, qp: u32) -> PyResult<(u32, Option<(u16, u8)>)> {
        with(&self.run, |run| path_of(run, self.program, Qpn(qp)).map_err(|error| failed(&error)))
    }

    /// Posts a work request. `inline`: its data, instead of `list`; `extra`: immediate data or the key to invalidate; `remote`: address and key;
    /// `atomic`: the compared or added value, and the new one.
    #[pyo3(signature = (qp, wr_id, opcode, flags, list, inline, extra, remote, atomic, to))]
    #[allow(clippy::too_many_arguments, reason = "the fields of ibv_send_wr")]
    fn post_send(
        &self,
        qp: u32,
        wr_id: u64,
        opcode: u32,
        flags: u32,
        list: Pieces,
        inline: Option<Vec<u8>>,
        extra: u32,
        remote: (u64, u32),
        atomic: (u64, u64),
        to: Receiver,
    ) -> PyResult<()> {
        let remote = Remote { va: remote.0, r_key: RKey(remote.1) };
        let operation = operation(opcode, extra, remote, atomic);
        let (verb, extra) =
            operation.ok_or_else(|| invalid(format!("post_send: there is no opcode {opcode} here")))?;
        let request = SendRequest {
            inline,
            extra,
            signaled: flags & SIGNALED != 0,
            solicited: flags & SOLICITED != 0,
            fence: flags & FENCE != 0,
            to: receiver(to),
            ..SendRequest::new(wr_id, verb, pieces(list))
        };
        self.call(|run| {
            let now = run.now();
            run.device(self.program).post_send(Qpn(qp), request, now)
        })
    }

    fn post_recv(&self, qp: u32, wr_id: u64, list: Pieces) -> PyResult<()> {
        let request = ReceiveRequest { wr_id, list: pieces(list) };
        self.call(|run| {
            let now = run.now();
            run.device(self.program).post_recv(Qpn(qp), request, now)
        })
    }
}
