//! Communication management (IBA volume 1, chapter 12): establishment and release of connections by datagrams.
//!
//! [`Manager`] is the state machine of one port. It knows no clock, no memory and no network: datagrams, timers and events go to an outbox. States and
//! answers to duplicates are those of Linux' `ib_cm`, where the specification leaves them open.

mod alternate;
#[cfg(test)]
mod checks;
mod event;
mod mutation;
mod receive;
mod resolution;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use fabricsim_wire::field::Octets;
use fabricsim_wire::ids::{CommId, Lid, Qpn, ServiceId, TransactionId};
use fabricsim_wire::mad::cm::{CmMad, CmMessage, Dreq, Mra, Rej, RejReason, Rep, Req, Rtu};

use super::mutation::mutations;
use alternate::PathLoad;
pub use event::{CmError, CmEvent, CmOutbox, CmState};
use mutation::Mutation;
use resolution::Resolution;
pub use resolution::{SIDR_REJECTED, SIDR_UNSUPPORTED, SIDR_VALID};

/// Settings of a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ManagerOptions {
    /// Time for the answer to a message: 4.096 us x 2^n, n from 0 to 31. The REQ carries it, so it holds at both ends of the connections that this port
    /// requests.
    pub response_timeout: u8,
    /// Retransmissions of a message without answer, 0 to 15; the REQ carries them, too.
    pub retries: u8,
    /// Time for which an ended connection is remembered (TimeWait): 4.096 us x 2^n.
    pub time_wait: u8,
}

impl Default for ManagerOptions {
    /// As Linux' `rdma_cm`: about 4.3 s for an answer, 15 retransmissions. An ended connection is remembered for 0.27 s.
    fn default() -> Self {
        Self { response_timeout: 20, retries: 15, time_wait: 16 }
    }
}

/// How long one end of a connection waits for answers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Patience {
    response_timeout: u8,
    retries: u8,
}

/// One end of a connection.
#[derive(Clone, Debug, PartialEq)]
struct Connection {
    peer: Lid,
    /// Its number at the peer, if it is known.
    peer_id: Option<CommId>,
    /// Queue pairs of both ends; that of the peer if it is known.
    qpn: Qpn,
    peer_qpn: Option<Qpn>,
    state: CmState,
    /// This end has requested it.
    is_active: bool,
    transaction: TransactionId,
    /// The last message, which is retransmitted if it is not answered, or if the message that it answers comes again.
    last: Option<CmMad>,
    retries: u8,
    /// What its REQ says, for both ends: the time of an answer as a power of two, and retransmissions of a message without one.
    patience: Patience,
    /// The latest alternate path, if there was one.
    path: Option<Box<PathLoad>>,
}

/// Connections of a port.
#[derive(Clone, Debug, PartialEq)]
pub struct Manager {
    options: ManagerOptions,
    next: u32,
    connections: BTreeMap<CommId, Connection>,
    resolutions: BTreeMap<CommId, Resolution>,
    services: BTreeSet<ServiceId>,
    #[cfg(test)]
    mutation: Option<Mutation>,
}

mutations!(Manager);

impl Manager {
    /// A manager whose first connection has the number `first`.
    pub fn new(options: ManagerOptions, first: u32) -> Self {
        Self {
            options,
            next: first,
            connections: BTreeMap::new(),
            resolutions: BTreeMap::new(),
            services: BTreeSet::new(),
            #[cfg(test)]
            mutation: None,
        }
    }

    /// State of a connection.
    pub fn state(&self, id: CommId) -> Option<CmState> {
        self.connections.get(&id).map(|connection| connection.state)
    }

    /// True if a number is that of a connection, or of the resolution of a service.
    pub fn knows(&self, id: CommId) -> bool {
        self.connections.contains_key(&id) || self.resolutions.contains_key(&id)
    }

    /// Number of connections, those in TimeWait included, and of resolutions of services.
    pub fn len(&self) -> usize {
        self.connections.len() + self.resolutions.len()
    }

    /// True if there are no connections and no resolutions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Accepts requests for a service from now on.
    pub fn listen(&mut self, service: ServiceId) -> Result<(), CmError> {
        if self.services.insert(service) { Ok(()) } else { Err(CmError::Busy(service)) }
    }

    /// Refuses requests for a service from now on.
    pub fn unlisten(&mut self, service: ServiceId) {
        self.services.remove(&service);
    }

    /// Requests a connection with a port: sends `req`, whose numbers the manager sets. Returns the connection's number.
    pub fn request(&mut self, peer: Lid, req: Req, out: &mut impl CmOutbox) -> CommId {
        let id = self.new_id();
        let transaction = TransactionId(u64::from(id.0) << 16);
        let req = Req {
            local_comm_id: id,
            local_cm_response_timeout: self.options.response_timeout,
            remote_cm_response_timeout: self.options.response_timeout,
            max_cm_retries: self.options.retries,
            ..req
        };
        self.connections.insert(
            id,
            Connection {
                peer,
                peer_id: None,
                qpn: req.local_qpn,
                peer_qpn: None,
                state: CmState::ReqSent,
                is_active: true,
                transaction,
                last: None,
                retries: self.options.retries,
                patience: Patience {
                    response_timeout: self.options.response_timeout,
                    retries: self.options.retries,
                },
                path: None,
            },
        );
        self.say(id, &CmMessage::REQ(req), true, out);
        id
    }

    /// Accepts a request: sends `rep`, whose numbers the manager sets.
    pub fn accept(&mut self, id: CommId, rep: Rep, out: &mut impl CmOutbox) -> Result<(), CmError> {
        let connection = self.expect(id, &[CmState::ReqReceived], "REQ Rcvd")?;
        let rep = Rep { local_comm_id: id, remote_comm_id: connection.peer_id.unwrap_or_default(), ..rep };
        connection.qpn = rep.local_qpn;
        connection.state = CmState::RepSent;
        self.say(id, &CmMessage::REP(rep), true, out);
        Ok(())
    }

    /// Confirms a reply: the connection is established at this end.
    pub fn confirm(
        &mut self,
        id: CommId,
        private_data: Octets<224>,
        out: &mut impl CmOutbox,
    ) -> Result<(), CmError> {
        let connection = self.expect(id, &[CmState::RepReceived], "REP Rcvd")?;
        connection.state = CmState::Established;
        let remote_comm_id = connection.peer_id.unwrap_or_default();
        let rtu = Rtu { local_comm_id: id, remote_comm_id, private_data };
        self.say(id, &CmMessage::RTU(rtu), false, out);
        out.event(CmEvent::Established(id));
        Ok(())
    }

    /// Data have arrived over a connection whose RTU has not: it is established (`IBV_EVENT_COMM_EST`, section 12.9.7.2).
    pub fn notify(&mut self, id: CommId, out: &mut impl CmOutbox) -> Result<(), CmError> {
        let states = [CmState::RepSent, CmState::Established];
        self.expect(id, &states, "REP Sent or Established")?;
        self.established(id, out);
        Ok(())
    }

    /// Rejects a request or a reply. The connection is forgotten.
    pub fn reject(
        &mut self,
        id: CommId,
        (reason, private_data): (RejReason, Octets<148>),
        out: &mut impl CmOutbox,
    ) -> Result<(), CmError> {
        let states = [CmState::ReqReceived, CmState::RepReceived];
        let connection = self.expect(id, &states, "REQ Rcvd or REP Rcvd")?;
        let message = u8::from(connection.state == CmState::RepReceived);
        let remote_comm_id = connection.peer_id.unwrap_or_default();
        let rej = Rej { local_comm_id: id, remote_comm_id, message, reason, private_data, ..Rej::default() };
        self.say(id, &CmMessage::REJ(rej), false, out);
        if !self.mutated(Mutation::KeepRejected) {
            self.forget(id, out);
        }
        Ok(())
    }

    /// Asks the peer to wait 4.096 us x 2^n for the answer to its request or reply (MRA).
    pub fn delay(&mut self, id: CommId, service_timeout: u8, out: &mut impl CmOutbox) -> Result<(), CmError> {
        let states = [CmState::ReqReceived, CmState::RepReceived];
        let connection = self.expect(id, &states, "REQ Rcvd or REP Rcvd")?;
        let message = u8::from(connection.state == CmState::RepReceived);
        let remote_comm_id = connection.peer_id.unwrap_or_default();
        let mra = Mra { local_comm_id: id, remote_comm_id, message, service_timeout, ..Mra::default() };
        self.say(id, &CmMessage::MRA(mra), false, out);
        Ok(())
    }

    /// Releases a connection.
    pub fn disconnect(&mut self, id: CommId, out: &mut impl CmOutbox) -> Result<(), CmError> {
        let connection = self.expect(id, &[CmState::Established], "Established")?;
        connection.state = CmState::DreqSent;
        let remote_comm_id = connection.peer_id.unwrap_or_default();
        let remote_qpn = connection.peer_qpn.unwrap_or_default();
        let dreq = Dreq { local_comm_id: id, remote_comm_id, remote_qpn, ..Dreq::default() };
        self.say(id, &CmMessage::DREQ(dreq), true, out);
        Ok(())
    }

    /// The timer of a connection has ended.
    pub fn expire(&mut self, id: CommId, out: &mut impl CmOutbox) {
        let never_ends = self.mutated(Mutation::RetryForEver);
        if self.resolutions.contains_key(&id) {
            self.expire_resolution(id, out);
            return;
        }
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.state == CmState::TimeWait {
            self.connections.remove(&id);
            out.event(CmEvent::TimeWaitExit(id));
            return;
        }
        if connection.state == CmState::Established {
            self.expire_path(id, out);
            return;
        }
        if connection.retries > 0 || never_ends {
            connection.retries = connection.retries.saturating_sub(1);
            let (peer, last, patience) = (connection.peer, connection.last, connection.patience);
            if let Some(mad) = last.filter(|_| !self.mutated(Mutation::NeverRetransmit)) {
                out.send(peer, mad);
            }
            out.timer(id, Some(patience.response_timeout));
            return;
        }
        match connection.state {
            CmState::ReqSent | CmState::RepSent => {
                let message = u8::from(connection.state == CmState::RepSent);
                let remote_comm_id = connection.peer_id.unwrap_or_default();
                let reason = RejReason::TIMEOUT;
                let rej = Rej { local_comm_id: id, remote_comm_id, message, reason, ..Rej::default() };
                if !self.mutated(Mutation::GiveUpSilently) {
                    self.say(id, &CmMessage::REJ(rej), false, out);
                }
                self.forget(id, out);
                out.event(CmEvent::Unreachable(id));
            }
            CmState::DreqSent => self.release(id, out),
            _ => {}
        }
    }

    fn new_id(&mut self) -> CommId {
        let id = CommId(self.next);
        self.next = self.next.wrapping_add(1);
        id
    }

    fn expect(
        &mut self,
        id: CommId,
        states: &[CmState],
        names: &'static str,
    ) -> Result<&mut Connection, CmError> {
        let connection = self.connections.get_mut(&id).ok_or(CmError::Unknown(id.0))?;
        if states.contains(&connection.state) {
            Ok(connection)
        } else {
            Err(CmError::State(id.0, connection.state, names))
        }
    }

    /// Sends a message of a connection. If an answer is awaited, it is retransmitted without one.
    fn say(&mut self, id: CommId, message: &CmMessage, awaits: bool, out: &mut impl CmOutbox) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        // Every message fits its datagram.
        let Ok(mad) = CmMad::new(connection.transaction, message) else { return };
        connection.last = Some(mad);
        connection.retries = connection.patience.retries;
        out.send(connection.peer, mad);
        out.timer(id, awaits.then_some(connection.patience.response_timeout));
    }

    /// Ends a connection that was established: it is remembered for a time.
    fn release(&mut self, id: CommId, out: &mut impl CmOutbox) {
        let time_wait = self.options.time_wait;
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.state = CmState::TimeWait;
            out.timer(id, Some(time_wait));
            out.event(CmEvent::Disconnected(id));
        }
    }

    /// Ends a connection that was not established.
    fn forget(&mut self, id: CommId, out: &mut impl CmOutbox) {
        self.connections.remove(&id);
        out.timer(id, None);
    }
}
