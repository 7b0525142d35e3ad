//! Communication management for programs.

use fabricsim_protocols::infiniband::communication::{CmEvent, ManagerOptions, SIDR_VALID};
use fabricsim_simulation::ProgramRun;
use fabricsim_verbs::{AddressVector, Device, VerbsError};
use fabricsim_wire::Psn;
use fabricsim_wire::field::Octets;
use fabricsim_wire::ids::{CommId, QKey, Qpn, ServiceId};
use fabricsim_wire::mad::cm::{Rep, Req, ReqPath, SidrRep, SidrReq};
use fabricsim_wire::mad::smp::Mtu;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::convert::{Address, Alternate, address, alternate_path};
use super::{failed, invalid};
use crate::programs::{Shared, with};

/// Attributes of a queue pair that an end offers: number, first PSN, `responder_resources`, `initiator_depth`, `retry_count`, `rnr_retry_count`.
type Offer = (u32, u32, u8, u8, u8, u8);

/// An event: its number in `rdma_cm_event_type`, its connection, values by name, private data.
type Event<'py> = (u32, u32, Vec<(&'static str, u64)>, Bound<'py, PyBytes>);

/// Events of `ib_cm` that `rdma_cm` does not have: 256 and their numbers in `ib_cm_event_type`.
const LAP_ERROR: u32 = 256 + 12;
const LAP_RECEIVED: u32 = 256 + 13;
const APR_RECEIVED: u32 = 256 + 14;

/// Communication management of a program's host.
#[pyclass(frozen, module = "fabricsim._native")]
pub(crate) struct ConnectionAdapter {
    run: Shared,
    program: usize,
}

impl ConnectionAdapter {
    pub(super) fn new(run: Shared, program: usize) -> Self {
        Self { run, program }
    }

    fn address(&self, call: &str, path: Address) -> PyResult<AddressVector> {
        with(&self.run, |run| {
            address(run, self.program, path).map_err(|text| invalid(format!("{call}: ah_attr.{text}")))
        })
    }

    /// Calls `work` with the device, which is woken afterwards.
    fn call<T>(
        &self,
        work: impl FnOnce(&mut Device, fabricsim_units::Time) -> Result<T, VerbsError>,
    ) -> PyResult<T> {
        with(&self.run, |run: &mut ProgramRun| {
            let now = run.now();
            let done = work(run.device(self.program), now).map_err(|error| failed(&error))?;
            run.wake_device(self.program);
            Ok(done)
        })
    }
}

#[pymethods]
impl ConnectionAdapter {
    /// Time-outs and retransmissions: codes of 4.096 us x 2^n, and a number.
    fn set_options(&self, response_timeout: u8, retries: u8, time_wait: u8) -> PyResult<()> {
        let options = ManagerOptions { response_timeout, retries, time_wait };
        self.call(|device, _| device.set_cm_options(options))
    }

    fn listen(&self, service: u64, channel: u32) -> PyResult<()> {
        self.call(|device, _| device.cm_listen(ServiceId(service), channel))
    }

    fn unlisten(&self, service: u64) -> PyResult<()> {
        self.call(|device, _| {
            device.cm_unlisten(ServiceId(service));
            Ok(())
        })
    }

    /// Requests a connection over a path, with its MTU in bytes and its time-out, and perhaps over a second path. Returns its number.
    #[allow(clippy::too_many_arguments, reason = "the fields of a REQ")]
    fn connect(
        &self,
        channel: u32,
        path: Address,
        second: Option<Alternate>,
        service: u64,
        of_path: (u32, u8),
        offer: Offer,
        data: &[u8],
    ) -> PyResult<u32> {
        let path = self.address("connect", path)?;
        let alternate = with(&self.run, |run| {
            let found = second.map(|path| alternate_path((run, self.program), path));
            found.transpose().map_err(|text| invalid(format!("connect: {text}")))
        })?;
        let (mtu, timeout) = of_path;
        let (qpn, psn, responder_resources, initiator_depth, retry_count, rnr_retry_count) = offer;
        let private_data = octets(data)?;
        self.call(|device, now| {
            let req = Req {
                service_id: ServiceId(service),
                local_qpn: Qpn(qpn),
                starting_psn: Psn::new(psn),
                responder_resources,
                initiator_depth,
                retry_count,
                rnr_retry_count,
                path_mtu: Mtu::from_bytes(mtu as usize).unwrap_or_default(),
                primary: ReqPath { local_ack_timeout: timeout.min(31), ..ReqPath::default() },
                private_data,
                ..Req::default()
            };
            Ok(device.cm_request(channel, path, alternate, req, now)?.0)
        })
    }

    /// Accepts a request; `failover`: 0 if its alternate path is loaded, 1 if this end has none, 2 if it refuses this one.
    fn accept(&self, id: u32, offer: Offer, failover: u8, data: &[u8]) -> PyResult<()> {
        let (qpn, psn, responder_resources, initiator_depth, _, rnr_retry_count) = offer;
        let rep = Rep {
            local_qpn: Qpn(qpn),
            starting_psn: Psn::new(psn),
            responder_resources,
            initiator_depth,
            rnr_retry_count,
            failover_accepted: failover,
            private_data: octets(data)?,
            ..Rep::default()
        };
        self.call(|device, now| device.cm_accept(CommId(id), rep, now))
    }

    fn confirm(&self, id: u32) -> PyResult<()> {
        self.call(|device, now| device.cm_confirm(CommId(id), now))
    }

    fn reject(&self, id: u32, data: &[u8]) -> PyResult<()> {
        let data = octets(data)?;
        self.call(|device, now| device.cm_reject(CommId(id), data, now))
    }

    /// Asks the peer to wait 4.096 us x 2^n.
    fn delay(&self, id: u32, code: u8) -> PyResult<()> {
        self.call(|device, now| device.cm_delay(CommId(id), code, now))
    }

    /// LID mask control of the port.
    fn lmc(&self) -> PyResult<u8> {
        with(&self.run, |run| Ok(run.lmc()))
    }

    /// P_Key of the port with an index.
    fn p_key(&self, index: u16) -> PyResult<u16> {
        self.call(|device, _| Ok(device.query_pkey(index)?.0))
    }

    /// Path record for packets to a LID: service level, path MTU in bytes, rate in bits per second, packet lifetime as 4.096 us x 2^n, LID from which.
    fn path_record(&self, dlid: u16) -> PyResult<(u8, u32, u64, u8, u16)> {
        with(&self.run, |run| {
            let of = run
                .path_record(self.program, dlid)
                .map_err(|text| invalid(format!("resolve_route: {text}")))?;
            let slid = run.lid(run.host(self.program));
            Ok((of.address.sl, of.mtu, of.rate.bits_per_second(), of.packet_life_time, slid))
        })
    }

    /// Data have arrived over a connection that is not established here.
    fn notify(&self, id: u32) -> PyResult<()> {
        self.call(|device, now| device.cm_notify(CommId(id), now))
    }

    /// Asks the host that has a LID for the queue pair of a service. Returns the number of the request.
    fn resolve(&self, channel: u32, dlid: u16, service: u64, data: &[u8]) -> PyResult<u32> {
        let host = self.address("connect", (dlid.into(), 0, 0))?.host;
        let request =
            SidrReq { service_id: ServiceId(service), private_data: octets(data)?, ..SidrReq::default() };
        self.call(|device, now| Ok(device.cm_resolve(channel, host, request, now)?.0))
    }

    /// Answers a request for a service with a status, and the number and key of a queue pair.
    fn answer(&self, id: u32, reply: (u8, u32, u32), data: &[u8]) -> PyResult<()> {
        let (status, qpn, q_key) = reply;
        let reply = SidrRep {
            status,
            qpn: Qpn(qpn),
            q_key: QKey(q_key),
            private_data: octets(data)?,
            ..SidrRep::default()
        };
        self.call(|device, now| device.cm_answer(CommId(id), reply, now))
    }

    /// Asks the other end to load a path as its alternate path.
    fn load_path(&self, id: u32, path: Address, timeout: u8) -> PyResult<()> {
        let path = self.address("send_lap", path)?;
        self.call(|device, now| device.cm_load_path(CommId(id), path, timeout, now))
    }

    /// Answers a request for an alternate path.
    fn answer_path(&self, id: u32, status: u8) -> PyResult<()> {
        self.call(|device, now| device.cm_answer_path(CommId(id), status, now))
    }

    fn disconnect(&self, id: u32) -> PyResult<()> {
        self.call(|device, now| device.cm_disconnect(CommId(id), now))
    }

    /// Takes the oldest event of a channel that is visible.
    fn event<'py>(&self, py: Python<'py>, channel: u32) -> PyResult<Option<Event<'py>>> {
        let found = with(&self.run, |run| {
            let now = run.now();
            Ok(run.device(self.program).cm_event(channel, now))
        })?;
        Ok(found.map(|event| row(py, &event)))
    }
}

fn row<'py>(py: Python<'py>, event: &CmEvent) -> Event<'py> {
    let (kind, values, data): (u32, Vec<(&'static str, u64)>, &[u8]) = match event {
        CmEvent::Requested(_, _, req) => (
            4,
            vec![
                ("dlid", req.primary.local_lid.0.into()),
                ("own_lid", req.primary.remote_lid.0.into()),
                ("sl", req.primary.sl.0.into()),
                ("timeout", req.primary.local_ack_timeout.into()),
                ("qp_num", req.local_qpn.0.into()),
                ("psn", req.starting_psn.get().into()),
                ("responder_resources", req.responder_resources.into()),
                ("initiator_depth", req.initiator_depth.into()),
                ("retry_count", req.retry_count.into()),
                ("rnr_retry_count", req.rnr_retry_count.into()),
                ("path_mtu", req.path_mtu.0.into()),
                ("service", req.service_id.0),
                ("alt_dlid", req.alternate.local_lid.0.into()),
                ("alt_own_lid", req.alternate.remote_lid.0.into()),
                ("alt_sl", req.alternate.sl.0.into()),
                ("alt_timeout", req.alternate.local_ack_timeout.into()),
            ],
            &req.private_data.0,
        ),
        CmEvent::Replied(_, rep) => (
            5,
            vec![
                ("qp_num", rep.local_qpn.0.into()),
                ("psn", rep.starting_psn.get().into()),
                ("responder_resources", rep.responder_resources.into()),
                ("initiator_depth", rep.initiator_depth.into()),
                ("rnr_retry_count", rep.rnr_retry_count.into()),
                ("failover", rep.failover_accepted.into()),
            ],
            &rep.private_data.0,
        ),
        CmEvent::Unreachable(_) => (7, Vec::new(), &[]),
        CmEvent::Rejected(_, reason, data) => (8, vec![("status", reason.0.into())], &data.0),
        CmEvent::Established(_) => (9, Vec::new(), &[]),
        CmEvent::Disconnected(_) => (10, Vec::new(), &[]),
        CmEvent::TimeWaitExit(_) => (15, Vec::new(), &[]),
        CmEvent::PathUnanswered(_) => (LAP_ERROR, Vec::new(), &[]),
        CmEvent::PathRequested(_, lap) => {
            let values = vec![
                ("dlid", lap.local_lid.0.into()),
                ("own_lid", lap.remote_lid.0.into()),
                ("sl", lap.sl.0.into()),
                ("timeout", lap.local_ack_timeout.into()),
            ];
            (LAP_RECEIVED, values, &lap.private_data.0)
        }
        CmEvent::PathAnswered(_, apr) => {
            (APR_RECEIVED, vec![("status", apr.status.into())], &apr.private_data.0)
        }
        CmEvent::Resolving(_, from, request) => {
            let values = vec![("dlid", from.0.into()), ("service", request.service_id.0)];
            (4, values, &request.private_data.0)
        }
        CmEvent::Resolved(_, reply) if reply.status == SIDR_VALID => {
            let values = vec![("qp_num", reply.qpn.0.into()), ("qkey", reply.q_key.0.into())];
            (9, values, &reply.private_data.0)
        }
        CmEvent::Resolved(_, reply) => (7, vec![("status", reply.status.into())], &reply.private_data.0),
    };
    (kind, event.id().0, values, PyBytes::new(py, data))
}

fn octets<const N: usize>(data: &[u8]) -> PyResult<Octets<N>> {
    let mut octets = Octets([0; N]);
    let Some(place) = octets.0.get_mut(..data.len()) else {
        return Err(invalid(format!("private_data has {} B: at most {N} B", data.len())));
    };
    place.copy_from_slice(data);
    Ok(octets)
}
