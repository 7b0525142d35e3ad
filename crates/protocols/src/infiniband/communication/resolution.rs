//! Resolution of a service to a queue pair of Unreliable Datagram (SIDR, IBA volume 1, section 12.11).

use fabricsim_wire::ids::{CommId, Lid, TransactionId};
use fabricsim_wire::mad::cm::{CmMad, CmMessage, SidrRep, SidrReq};

use super::mutation::Mutation;
use super::{CmError, CmEvent, CmOutbox, Manager};

/// Status of a SIDR_REP with a queue pair (table 120).
pub const SIDR_VALID: u8 = 0;
/// Status of a SIDR_REP: the port has no such service.
pub const SIDR_UNSUPPORTED: u8 = 1;
/// Status of a SIDR_REP: the service rejects the request.
pub const SIDR_REJECTED: u8 = 2;

/// A request for a service, at either end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Resolution {
    pub(super) peer: Lid,
    pub(super) transaction: TransactionId,
    pub(super) request: SidrReq,
    /// At the end that has sent the request: the retransmissions that are left. At the other one none, since it awaits nothing.
    pub(super) retries: Option<u8>,
}

impl Manager {
    /// Asks a port for the queue pair of a service: sends `request`, whose number the manager sets. Returns this number.
    pub fn resolve(&mut self, peer: Lid, request: SidrReq, out: &mut impl CmOutbox) -> CommId {
        let id = self.new_id();
        let transaction = TransactionId(u64::from(id.0) << 16);
        let request = SidrReq { request_id: id, ..request };
        let retries = Some(self.options.retries);
        self.resolutions.insert(id, Resolution { peer, transaction, request, retries });
        self.ask(id, out);
        id
    }

    /// Answers a request for a service: sends `reply`, whose request and service the manager sets. The request is forgotten, as by Linux' `ib_cm`: a copy
    /// that comes later is a new one, and has an answer as well.
    pub fn answer(&mut self, id: CommId, reply: SidrRep, out: &mut impl CmOutbox) -> Result<(), CmError> {
        let of = self.resolutions.get(&id).filter(|of| of.retries.is_none());
        let of = of.ok_or(CmError::Unknown(id.0))?;
        let reply = SidrRep { request_id: of.request.request_id, service_id: of.request.service_id, ..reply };
        reply_to(of.peer, of.transaction, reply, out);
        if !self.mutated(Mutation::KeepResolution) {
            self.resolutions.remove(&id);
        }
        Ok(())
    }

    /// Sends a request, and awaits its answer.
    fn ask(&self, id: CommId, out: &mut impl CmOutbox) {
        let Some(of) = self.resolutions.get(&id) else { return };
        if let Ok(mad) = CmMad::new(of.transaction, &CmMessage::SIDR_REQ(of.request)) {
            out.send(of.peer, mad);
        }
        out.timer(id, Some(self.options.response_timeout));
    }

    /// The timer of a request has ended.
    pub(super) fn expire_resolution(&mut self, id: CommId, out: &mut impl CmOutbox) {
        let never_ends = self.mutated(Mutation::ResolveForEver);
        let is_silent = self.mutated(Mutation::NeverResolveAgain);
        let Some(of) = self.resolutions.get_mut(&id) else { return };
        match &mut of.retries {
            None => {}
            Some(0) if !never_ends => {
                self.resolutions.remove(&id);
                out.event(CmEvent::Unreachable(id));
            }
            Some(left) => {
                *left = left.saturating_sub(1);
                if is_silent {
                    out.timer(id, Some(self.options.response_timeout));
                } else {
                    self.ask(id, out);
                }
            }
        }
    }

    pub(super) fn resolving(
        &mut self,
        from: Lid,
        transaction: TransactionId,
        request: SidrReq,
        out: &mut impl CmOutbox,
    ) {
        if !self.services.contains(&request.service_id) {
            if !self.mutated(Mutation::IgnoreUnknownResolution) {
                let reply = SidrRep {
                    request_id: request.request_id,
                    service_id: request.service_id,
                    status: SIDR_UNSUPPORTED,
                    ..SidrRep::default()
                };
                reply_to(from, transaction, reply, out);
            }
            return;
        }
        let is_copy = self
            .resolutions
            .values()
            .any(|of| of.retries.is_none() && of.peer == from && of.request.request_id == request.request_id);
        if is_copy && !self.mutated(Mutation::ResolveTwice) {
            return;
        }
        let id = self.new_id();
        self.resolutions.insert(id, Resolution { peer: from, transaction, request, retries: None });
        out.event(CmEvent::Resolving(id, from, request));
    }

    pub(super) fn resolved(&mut self, from: Lid, reply: SidrRep, out: &mut impl CmOutbox) {
        let id = reply.request_id;
        let is_from_anywhere = self.mutated(Mutation::ResolveFromAnywhere);
        let is_awaited = self
            .resolutions
            .get(&id)
            .is_some_and(|of| of.retries.is_some() && (of.peer == from || is_from_anywhere));
        if is_awaited {
            self.resolutions.remove(&id);
            out.timer(id, None);
            out.event(CmEvent::Resolved(id, reply));
        }
    }
}

fn reply_to(to: Lid, transaction: TransactionId, reply: SidrRep, out: &mut impl CmOutbox) {
    // Every message fits its datagram.
    if let Ok(mad) = CmMad::new(transaction, &CmMessage::SIDR_REP(reply)) {
        out.send(to, mad);
    }
}
