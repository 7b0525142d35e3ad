//! Communication management for programs.

use fabricsim_protocols::infiniband::communication::{CmEvent, ManagerOptions, SIDR_VALID};
use fabricsim_simulation::ProgramRun;
use fabricsim_verbs::{Device, VerbsError};
use fabricsim_wire::Psn;
use fabricsim_wire::field::Octets;
use fabricsim_wire::ids::{CommId, QKey, Qpn, ServiceId};
use fabricsim_wire::mad::cm::{Rep, Req, SidrRep, SidrReq};
use fabricsim_wire::mad::smp::Mtu;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::convert::host_of;
use super::{failed, invalid};
use crate::programs::{Shared, with};

/// Attributes of a queue pair that an end offers: number, first PSN, `responder_resources`, `initiator_depth`, `retry_count`, `rnr_retry_count`.
type Offer = (u32, u32, u8, u8, u8, u8);

/// An event: its number in `rdma_cm_event_type`, its connection, values by name, private data.
type Event<'py> = (u32, u32, Vec<(&'static str, u64)>, Bound<'py, PyBytes>);

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

    /// Requests a connection with the host that has a LID. Returns its number.
    fn connect(&self, channel: u32, dlid: u16, service: u64, offer: Offer, data: &[u8]) -> PyResult<u32> {
        let host = with(&self.run, |run| {
            host_of(dlid.into(), run).map_err(|text| invalid(format!("connect: {text}")))
        })?;
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
                path_mtu: Mtu::from_bytes(device.port().mtu as usize).unwrap_or_default(),
                private_data,
                ..Req::default()
            };
            Ok(device.cm_request(channel, host, req, now)?.0)
        })
    }

    fn accept(&self, id: u32, offer: Offer, data: &[u8]) -> PyResult<()> {
        let (qpn, psn, responder_resources, initiator_depth, _, rnr_retry_count) = offer;
        let rep = Rep {
            local_qpn: Qpn(qpn),
            starting_psn: Psn::new(psn),
            responder_resources,
            initiator_depth,
            rnr_retry_count,
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

    /// Data have arrived over a connection that is not established here.
    fn notify(&self, id: u32) -> PyResult<()> {
        self.call(|device, now| device.cm_notify(CommId(id), now))
    }

    /// Asks the host that has a LID for the queue pair of a service. Returns the number of the request.
    fn resolve(&self, channel: u32, dlid: u16, service: u64, data: &[u8]) -> PyResult<u32> {
        let host = with(&self.run, |run| {
            host_of(dlid.into(), run).map_err(|text| invalid(format!("connect: {text}")))
        })?;
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
        CmEvent::Requested(_, from, req) => (
            4,
            vec![
                ("dlid", from.0.into()),
                ("qp_num", req.local_qpn.0.into()),
                ("psn", req.starting_psn.get().into()),
                ("responder_resources", req.responder_resources.into()),
                ("initiator_depth", req.initiator_depth.into()),
                ("retry_count", req.retry_count.into()),
                ("rnr_retry_count", req.rnr_retry_count.into()),
                ("path_mtu", req.path_mtu.0.into()),
                ("service", req.service_id.0),
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
            ],
            &rep.private_data.0,
        ),
        CmEvent::Unreachable(_) => (7, Vec::new(), &[]),
        CmEvent::Rejected(_, reason, data) => (8, vec![("status", reason.0.into())], &data.0),
        CmEvent::Established(_) => (9, Vec::new(), &[]),
        CmEvent::Disconnected(_) => (10, Vec::new(), &[]),
        CmEvent::TimeWaitExit(_) => (15, Vec::new(), &[]),
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
