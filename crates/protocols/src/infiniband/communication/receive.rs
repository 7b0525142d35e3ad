//! Messages that arrive.

use fabricsim_wire::ids::{CommId, Lid, Qpn, TransactionId};
use fabricsim_wire::mad::cm::{CmMad, CmMessage, Drep, Dreq, Mra, Rej, RejReason, Rep, Req};

use super::mutation::Mutation;
use super::{CmEvent, CmOutbox, CmState, Connection, Manager, Patience};

impl Manager {
    /// A datagram has arrived from a port. What fits no connection is ignored, or answered where the specification requires it.
    pub fn receive(&mut self, from: Lid, mad: &CmMad, out: &mut impl CmOutbox) {
        let transaction = mad.header.transaction;
        match mad.message() {
            Some(CmMessage::REQ(req)) => self.requested(from, transaction, req, out),
            Some(CmMessage::MRA(mra)) => self.delayed(from, &mra, out),
            Some(CmMessage::REJ(rej)) => self.rejected(from, &rej, out),
            Some(CmMessage::REP(rep)) => self.replied(from, rep, out),
            Some(CmMessage::RTU(rtu)) => {
                let Some(id) = self.find(from, rtu.remote_comm_id) else { return };
                self.established(id, out);
            }
            Some(CmMessage::DREQ(dreq)) => self.release_requested(from, transaction, &dreq, out),
            Some(CmMessage::DREP(drep)) => {
                if let Some(id) = self.find(from, drep.remote_comm_id)
                    && self.state(id) == Some(CmState::DreqSent)
                {
                    self.release(id, out);
                }
            }
            Some(CmMessage::LAP(lap)) => self.path_requested(from, transaction, lap, out),
            Some(CmMessage::APR(apr)) => self.path_answered(from, transaction, apr, out),
            Some(CmMessage::SIDR_REQ(req)) => self.resolving(from, transaction, req, out),
            Some(CmMessage::SIDR_REP(rep)) => self.resolved(from, rep, out),
            _ => {}
        }
    }

    /// The connection with a number of this end, and that peer.
    pub(super) fn find(&self, from: Lid, id: CommId) -> Option<CommId> {
        self.connections.get(&id).filter(|connection| connection.peer == from).map(|_| id)
    }

    fn requested(&mut self, from: Lid, transaction: TransactionId, req: Req, out: &mut impl CmOutbox) {
        let is_copy = |of: &Connection| of.peer == from && of.peer_id == Some(req.local_comm_id);
        let copy = self.connections.iter().find(|(_, of)| is_copy(of)).map(|(&id, of)| (id, of.state));
        if let Some((id, state)) = copy.filter(|_| !self.mutated(Mutation::RequestAgain)) {
            match state {
                CmState::TimeWait => refuse(from, transaction, &req, RejReason::STALE_CONNECTION, out),
                // An MRA, if there was one.
                CmState::ReqReceived => self.repeat(id, out),
                _ => {}
            }
            return;
        }
        let of_queue_pair = |of: &Connection| of.peer == from && of.peer_qpn == Some(req.local_qpn);
        let stale = self.connections.iter().find(|(_, of)| of_queue_pair(of)).map(|(&id, _)| id);
        if let Some(id) = stale.filter(|_| !self.mutated(Mutation::AcceptStale)) {
            refuse(from, transaction, &req, RejReason::STALE_CONNECTION, out);
            if !self.mutated(Mutation::KeepStale) {
                // Its queue pair has begun anew: the connection is released, if it was established.
                let _ = self.disconnect(id, out);
            }
            return;
        }
        if !self.services.contains(&req.service_id) {
            if !self.mutated(Mutation::IgnoreUnknownService) {
                refuse(from, transaction, &req, RejReason::INVALID_SERVICE_ID, out);
            }
            return;
        }
        let id = self.new_id();
        // As Linux' ib_cm: the requester says how long its answers take, and how often a message is retransmitted.
        let patience =
            Patience { response_timeout: req.local_cm_response_timeout, retries: req.max_cm_retries };
        self.connections.insert(
            id,
            Connection {
                peer: from,
                peer_id: Some(req.local_comm_id),
                qpn: Qpn(0),
                peer_qpn: Some(req.local_qpn),
                state: CmState::ReqReceived,
                is_active: false,
                transaction,
                last: None,
                retries: patience.retries,
                patience,
                path: None,
            },
        );
        out.event(CmEvent::Requested(id, from, req));
    }

    /// Retransmits the last message of a connection, if there is one.
    fn repeat(&self, id: CommId, out: &mut impl CmOutbox) {
        let Some(connection) = self.connections.get(&id) else { return };
        if let Some(mad) = connection.last {
            out.send(connection.peer, mad);
        }
    }

    /// The peer needs more time.
    fn delayed(&mut self, from: Lid, mra: &Mra, out: &mut impl CmOutbox) {
        let Some(id) = self.find(from, mra.remote_comm_id) else { return };
        let is_ignored = self.mutated(Mutation::IgnoreMra);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let awaited = match mra.message {
            0 => CmState::ReqSent,
            1 => CmState::RepSent,
            2 => return self.delay_path(id, mra.service_timeout, out),
            _ => return,
        };
        if connection.state == awaited && !is_ignored {
            connection.retries = connection.patience.retries;
            out.timer(id, Some(mra.service_timeout));
        }
    }

    fn rejected(&mut self, from: Lid, rej: &Rej, out: &mut impl CmOutbox) {
        if self.mutated(Mutation::IgnoreRej) {
            return;
        }
        // A peer that has had no answer to its REQ does not know the number of this end.
        let of_peer = |of: &Connection| of.peer == from && of.peer_id == Some(rej.local_comm_id);
        let by_peer = || self.connections.iter().find(|(_, of)| of_peer(of)).map(|(&id, _)| id);
        let is_timeout = rej.reason == RejReason::TIMEOUT && rej.remote_comm_id == CommId(0);
        let id = if is_timeout { by_peer() } else { self.find(from, rej.remote_comm_id) };
        let Some(id) = id else { return };
        match self.state(id) {
            Some(CmState::ReqSent | CmState::ReqReceived | CmState::RepSent | CmState::RepReceived) => {
                self.forget(id, out);
                out.event(CmEvent::Rejected(id, rej.reason, rej.private_data));
            }
            Some(CmState::Established | CmState::DreqSent) => self.release(id, out),
            _ => {}
        }
    }

    fn replied(&mut self, from: Lid, rep: Rep, out: &mut impl CmOutbox) {
        let Some(id) = self.find(from, rep.remote_comm_id) else { return };
        let in_any_state = self.mutated(Mutation::ReplyInAnyState);
        let again = self.mutated(Mutation::ReplyAgain);
        let repeats = !self.mutated(Mutation::IgnoreRepeatedRep);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match connection.state {
            CmState::RepReceived if again => out.event(CmEvent::Replied(id, rep)),
            CmState::Established | CmState::RepReceived if repeats && !in_any_state => {
                // The RTU was lost, or there was an MRA.
                let is_answer = connection.last.is_some_and(|last| last.message().is_some_and(answers_rep));
                if is_answer {
                    self.repeat(id, out);
                }
            }
            state if state == CmState::ReqSent || in_any_state => {
                connection.peer_id = Some(rep.local_comm_id);
                connection.peer_qpn = Some(rep.local_qpn);
                connection.state = CmState::RepReceived;
                out.timer(id, None);
                out.event(CmEvent::Replied(id, rep));
            }
            _ => {}
        }
    }

    pub(super) fn established(&mut self, id: CommId, out: &mut impl CmOutbox) {
        let again = self.mutated(Mutation::EstablishAgain);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.state == CmState::RepSent || again && connection.state == CmState::Established {
            connection.state = CmState::Established;
            out.timer(id, None);
            out.event(CmEvent::Established(id));
        }
    }

    fn release_requested(
        &mut self,
        from: Lid,
        transaction: TransactionId,
        dreq: &Dreq,
        out: &mut impl CmOutbox,
    ) {
        let id = self.find(from, dreq.remote_comm_id);
        let state = id.and_then(|id| self.state(id));
        let is_late = matches!(state, None | Some(CmState::TimeWait));
        let drep = Drep {
            local_comm_id: dreq.remote_comm_id,
            remote_comm_id: dreq.local_comm_id,
            ..Drep::default()
        };
        let is_silent =
            self.mutated(Mutation::NeverDrep) || is_late && self.mutated(Mutation::IgnoreLateDreq);
        if !is_silent && let Ok(mad) = CmMad::new(transaction, &CmMessage::DREP(drep)) {
            out.send(from, mad);
        }
        let Some(id) = id else { return };
        match state {
            Some(CmState::RepSent) if self.mutated(Mutation::IgnoreEarlyDreq) => {}
            Some(CmState::Established | CmState::DreqSent | CmState::RepSent) => {
                if self.mutated(Mutation::SkipTimeWait) {
                    self.forget(id, out);
                    out.event(CmEvent::Disconnected(id));
                } else {
                    self.release(id, out);
                }
            }
            _ => {}
        }
    }
}

/// Rejects a REQ that makes no connection.
fn refuse(to: Lid, transaction: TransactionId, req: &Req, reason: RejReason, out: &mut impl CmOutbox) {
    let rej = Rej { remote_comm_id: req.local_comm_id, reason, ..Rej::default() };
    if let Ok(mad) = CmMad::new(transaction, &CmMessage::REJ(rej)) {
        out.send(to, mad);
    }
}

/// True for the answers to a REP.
fn answers_rep(message: CmMessage) -> bool {
    matches!(message, CmMessage::RTU(_) | CmMessage::MRA(_))
}
