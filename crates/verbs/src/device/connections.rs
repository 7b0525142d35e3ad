//! Calls of communication management, and its datagrams on the link.

use std::collections::VecDeque;

use fabricsim_protocols::infiniband::Packet;
use fabricsim_protocols::infiniband::communication::{CmError, CmEvent, ManagerOptions};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::Record;
use fabricsim_wire::field::Octets;
use fabricsim_wire::headers::Headers;
use fabricsim_wire::ids::{CommId, Lid, PKey, ServiceId, Sl};
use fabricsim_wire::mad::cm::{Apr, Lap, RejReason, Rep, Req, ReqPath, SidrRep, SidrReq};

use super::{Device, Outgoing, Timer};
use crate::agent::{Agent, MAD, Reports, datagram};
use crate::error::{Errno, VerbsError, invalid};
use crate::path::{AddressVector, AlternatePath};

/// Index of the agent's timers.
pub(super) const AGENT: u32 = u32::MAX;

impl Device {
    /// Sets time-outs and retransmissions of communication management, before its first call.
    pub fn set_cm_options(&mut self, options: ManagerOptions) -> Result<(), VerbsError> {
        if self.agent.is_some() {
            return Err(invalid("cm_options: connections or listeners have been created before"));
        }
        for (name, value, most) in [
            ("response_timeout", options.response_timeout, 31),
            ("retries", options.retries, 15),
            ("time_wait", options.time_wait, 31),
        ] {
            if value > most {
                return Err(invalid(format!("cm_options: {name} = {value}: at most {most}")));
            }
        }
        self.agent = Some(Box::new(Agent::new(options)));
        Ok(())
    }

    fn agent(&mut self) -> &mut Agent {
        self.agent.get_or_insert_with(|| Box::new(Agent::new(ManagerOptions::default())))
    }

    /// Accepts requests for a service; their events go to a channel of the program's choice (`rdma_listen`).
    pub fn cm_listen(&mut self, service: ServiceId, channel: u32) -> Result<(), VerbsError> {
        let agent = self.agent();
        agent.manager.listen(service).map_err(|error| failed("listen", &error))?;
        agent.services.insert(service, channel);
        Ok(())
    }

    /// Refuses requests for a service from now on.
    pub fn cm_unlisten(&mut self, service: ServiceId) {
        let agent = self.agent();
        agent.manager.unlisten(service);
        agent.services.remove(&service);
    }

    /// Requests a connection with a host over a path, and over a second one if it is given (`rdma_connect`). `req` has the attributes of the queue
    /// pair, and of its first path the rate and the time-out.
    pub fn cm_request(
        &mut self,
        channel: u32,
        address: impl Into<AddressVector>,
        alternate: Option<AlternatePath>,
        req: Req,
        now: Time,
    ) -> Result<CommId, VerbsError> {
        let address = address.into();
        let wrong = |text: String| invalid(format!("connect: {text}"));
        self.check_address(address, "ah_attr").map_err(wrong)?;
        let primary = self.path_of_request(address, req.primary)?;
        let alternate = match alternate {
            Some(path) => {
                self.check_alternate(path, Some(address)).map_err(wrong)?;
                let of = ReqPath { local_ack_timeout: path.timeout, ..ReqPath::default() };
                self.path_of_request(path.address, of)?
            }
            None => ReqPath::default(),
        };
        let remote = self.lid_of(address.host)?;
        let local_ca_guid = self.subnet.gid(self.host).guid();
        let req = Req { primary, alternate, p_key: PKey::DEFAULT, local_ca_guid, ..req };
        let mut reports = Reports::default();
        let agent = self.agent();
        let id = agent.manager.request(remote, req, &mut reports);
        agent.channels.insert(id, channel);
        self.carry_out_agent(reports, now);
        Ok(id)
    }

    /// The fields of a REQ for a path; the others are those of `path`.
    fn path_of_request(&self, address: AddressVector, path: ReqPath) -> Result<ReqPath, VerbsError> {
        let (local_lid, remote_lid) = self.lids_of(address)?;
        Ok(ReqPath {
            local_lid,
            remote_lid,
            local_gid: self.subnet.gid(self.host),
            remote_gid: self.subnet.gid(address.host),
            sl: Sl(address.sl),
            subnet_local: true,
            ..path
        })
    }

    /// Accepts a request (`rdma_accept`).
    pub fn cm_accept(&mut self, id: CommId, rep: Rep, now: Time) -> Result<(), VerbsError> {
        let rep = Rep { local_ca_guid: self.subnet.gid(self.host).guid(), ..rep };
        self.of_manager("accept", now, |agent, out| agent.manager.accept(id, rep, out))
    }

    /// Confirms a reply (`rdma_establish`).
    pub fn cm_confirm(&mut self, id: CommId, now: Time) -> Result<(), VerbsError> {
        let none = Octets::default();
        self.of_manager("establish", now, |agent, out| agent.manager.confirm(id, none, out))
    }

    /// Data have arrived over a connection whose RTU has not (`rdma_notify` with `IBV_EVENT_COMM_EST`).
    pub fn cm_notify(&mut self, id: CommId, now: Time) -> Result<(), VerbsError> {
        self.of_manager("notify", now, |agent, out| agent.manager.notify(id, out))
    }

    /// Asks a host for the queue pair of a service (`rdma_connect` of the port space UDP).
    pub fn cm_resolve(
        &mut self,
        channel: u32,
        host: HostId,
        request: SidrReq,
        now: Time,
    ) -> Result<CommId, VerbsError> {
        self.check_host(host).map_err(|text| invalid(format!("connect: {text}")))?;
        let remote = self.lid_of(host)?;
        let request = SidrReq { p_key: PKey::DEFAULT, ..request };
        let mut reports = Reports::default();
        let agent = self.agent();
        let id = agent.manager.resolve(remote, request, &mut reports);
        agent.channels.insert(id, channel);
        self.carry_out_agent(reports, now);
        Ok(id)
    }

    /// Answers a request for a service (`rdma_accept`, `rdma_reject` of the port space UDP).
    pub fn cm_answer(&mut self, id: CommId, reply: SidrRep, now: Time) -> Result<(), VerbsError> {
        self.of_manager("accept", now, |agent, out| {
            agent.manager.answer(id, reply, out)?;
            agent.channels.remove(&id);
            Ok(())
        })
    }

    /// Rejects a request or a reply (`rdma_reject`).
    pub fn cm_reject(&mut self, id: CommId, data: Octets<148>, now: Time) -> Result<(), VerbsError> {
        self.of_manager("reject", now, |agent, out| {
            agent.manager.reject(id, (RejReason::CONSUMER, data), out)
        })
    }

    /// Asks the peer to wait 4.096 us x 2^n for an answer (MRA).
    pub fn cm_delay(&mut self, id: CommId, code: u8, now: Time) -> Result<(), VerbsError> {
        if code > 31 {
            return Err(invalid(format!("delay: service_timeout = {code}: at most 31")));
        }
        self.of_manager("delay", now, |agent, out| agent.manager.delay(id, code, out))
    }

    /// Asks the other end of a connection to load a path as its alternate path (LAP); `timeout`: local ACK timeout.
    pub fn cm_load_path(
        &mut self,
        id: CommId,
        address: AddressVector,
        timeout: u8,
        now: Time,
    ) -> Result<(), VerbsError> {
        self.check_address(address, "ah_attr").map_err(|text| invalid(format!("send_lap: {text}")))?;
        if timeout > 31 {
            return Err(invalid(format!("send_lap: timeout = {timeout}: at most 31")));
        }
        let (local_lid, remote_lid) = self.lids_of(address)?;
        let lap = Lap {
            local_lid,
            remote_lid,
            local_gid: self.subnet.gid(self.host),
            remote_gid: self.subnet.gid(address.host),
            sl: Sl(address.sl),
            subnet_local: true,
            local_ack_timeout: timeout,
            ..Lap::default()
        };
        self.of_manager("send_lap", now, |agent, out| agent.manager.load_path(id, lap, out))
    }

    /// Answers a request for an alternate path (APR): 0, or the reason why it is not loaded.
    pub fn cm_answer_path(&mut self, id: CommId, status: u8, now: Time) -> Result<(), VerbsError> {
        let apr = Apr { status, ..Apr::default() };
        self.of_manager("send_apr", now, |agent, out| agent.manager.answer_path(id, apr, out))
    }

    /// Releases a connection (`rdma_disconnect`).
    pub fn cm_disconnect(&mut self, id: CommId, now: Time) -> Result<(), VerbsError> {
        self.of_manager("disconnect", now, |agent, out| agent.manager.disconnect(id, out))
    }

    /// Takes the oldest event of a channel that is visible by `now`.
    pub fn cm_event(&mut self, channel: u32, now: Time) -> Option<CmEvent> {
        let events = self.agent.as_mut()?.events.get_mut(&channel)?;
        take_due(events, |(at, _)| *at <= now).map(|(_, event)| event)
    }

    /// Time from which the oldest event of a channel is visible.
    pub fn next_cm_event(&self, channel: u32) -> Option<Time> {
        self.agent.as_ref()?.events.get(&channel)?.front().map(|(at, _)| *at)
    }

    fn of_manager(
        &mut self,
        call: &str,
        now: Time,
        work: impl FnOnce(&mut Agent, &mut Reports) -> Result<(), CmError>,
    ) -> Result<(), VerbsError> {
        let mut reports = Reports::default();
        work(self.agent(), &mut reports).map_err(|error| failed(call, &error))?;
        self.carry_out_agent(reports, now);
        Ok(())
    }

    /// The adapter has a datagram of the host after the doorbell and the fetch of its bytes; a program sees an event after the time of a completion.
    fn carry_out_agent(&mut self, reports: Reports, now: Time) {
        let sent = now + self.costs.request() + self.costs.payload_fetch;
        let visible = now + self.costs.completion;
        self.agent().carry_out(reports, (sent, visible, now));
        self.wake_agent();
    }

    fn wake_agent(&mut self) {
        if let Some(at) = self.agent.as_ref().and_then(|agent| agent.wake_at()) {
            self.timers.set(at, (AGENT, Timer::Agent));
        }
    }

    /// Does what is due in communication management.
    pub(super) fn run_agent(&mut self, now: Time) {
        let Some(agent) = &mut self.agent else { return };
        while let Some((_, to, mad)) = take_due(&mut agent.outbox, |(at, ..)| *at <= now) {
            agent.ready.push_back((to, mad));
        }
        let mut reports = Reports::default();
        while let Some((_, from, mad)) = take_due(&mut agent.inbox, |(at, ..)| *at <= now) {
            agent.manager.receive(from, &mad, &mut reports);
        }
        self.carry_out_agent(reports, now);
        let Some(agent) = &mut self.agent else { return };
        let ended: Vec<CommId> =
            agent.deadlines.iter().filter(|(_, at)| **at <= now).map(|(&id, _)| id).collect();
        if ended.is_empty() {
            return;
        }
        let mut reports = Reports::default();
        for id in ended {
            agent.deadlines.remove(&id);
            agent.manager.expire(id, &mut reports);
        }
        self.carry_out_agent(reports, now);
    }

    /// A packet for queue pair 1. The host handles a datagram when it has been written to memory and the host has woken up. False if it is none.
    pub(super) fn receive_management(
        &mut self,
        source: HostId,
        headers: &Headers,
        data: (u32, Option<&[u8]>),
        now: Time,
    ) -> bool {
        let (Some(mad), Ok(from)) = (datagram(headers, data), self.lid_of(source)) else { return false };
        let costs = &self.costs;
        let at = now + costs.receive + costs.payload_write + costs.completion + costs.wake_up;
        self.agent().inbox.push_back((at, from, mad));
        self.wake_agent();
        true
    }

    /// The next datagram of communication management that can be sent.
    pub(super) fn management_packet(&self) -> Option<(AddressVector, Packet)> {
        let agent = self.agent.as_ref()?;
        let (to, _) = agent.ready.front()?;
        Some((self.host_of(*to)?.into(), agent.packet()))
    }

    pub(super) fn send_management(&mut self) -> Option<Outgoing> {
        let (address, packet) = self.management_packet()?;
        let agent = self.agent.as_mut()?;
        let (_, mad) = agent.ready.pop_front()?;
        agent.count_packet();
        let content = mad.to_bytes::<{ MAD as usize }>().ok().map(|bytes| Box::from(bytes.as_slice()));
        Some(Outgoing { address, packet, is_retransmitted: false, content, wr_id: None })
    }

    fn lid_of(&self, host: HostId) -> Result<Lid, VerbsError> {
        let found = self.subnet.lids.get(host.index()).copied();
        found.ok_or_else(|| invalid(format!("host {} has no LID", host.0)))
    }

    /// LIDs of the two ends of a path.
    fn lids_of(&self, address: AddressVector) -> Result<(Lid, Lid), VerbsError> {
        let (local, remote) = (self.lid_of(self.host)?, self.lid_of(address.host)?);
        let path = address.path.unwrap_or_default();
        Ok((Lid(local.0 + u16::from(address.source_path)), Lid(remote.0 + u16::from(path))))
    }

    fn host_of(&self, lid: Lid) -> Option<HostId> {
        self.subnet.lids.iter().position(|&other| other == lid).map(|place| HostId(place as u32))
    }
}

/// Takes the first entry, if it is due.
fn take_due<T>(list: &mut VecDeque<T>, is_due: impl FnOnce(&T) -> bool) -> Option<T> {
    if list.front().is_some_and(is_due) { list.pop_front() } else { None }
}

fn failed(call: &str, error: &CmError) -> VerbsError {
    let errno = if matches!(error, CmError::Busy(_)) { Errno::AddrInUse } else { Errno::Inval };
    VerbsError { errno, message: format!("{call}: {error}") }
}
