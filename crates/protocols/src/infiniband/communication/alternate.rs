//! Alternate paths of connections (LAP and APR, IBA volume 1, section 12.6.9 to 12.6.11): a connection that is established gets a second path, to which
//! it can migrate.

use fabricsim_wire::ids::{CommId, Lid, TransactionId};
use fabricsim_wire::mad::cm::{Apr, CmMad, CmMessage, Lap};

use super::mutation::Mutation;
use super::{CmError, CmEvent, CmOutbox, CmState, Manager};

/// State of an alternate path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PathState {
    /// A LAP was sent.
    Sent,
    /// A LAP has arrived.
    Received,
    /// It is answered.
    Ended,
}

/// The latest alternate path of a connection.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PathLoad {
    pub(super) state: PathState,
    /// Number of the LAP. Later ones have higher numbers.
    pub(super) transaction: TransactionId,
    /// The LAP at the end that has sent it, the APR at the other one.
    pub(super) last: Option<CmMad>,
    pub(super) retries: u8,
}

impl Manager {
    /// Asks the peer to load an alternate path: sends `lap`, whose numbers the manager sets.
    pub fn load_path(&mut self, id: CommId, lap: Lap, out: &mut impl CmOutbox) -> Result<(), CmError> {
        let options = self.options;
        let connection = self.expect(id, &[CmState::Established], "Established")?;
        if !connection.is_active {
            return Err(CmError::Passive(id.0));
        }
        let before = connection.path.as_deref();
        if before.is_some_and(|path| path.state == PathState::Sent) {
            return Err(CmError::Path(id.0, "a LAP waits for its answer"));
        }
        let transaction = before.map_or(connection.transaction, |path| path.transaction);
        let transaction = TransactionId(transaction.0 + 1);
        let lap = Lap {
            local_comm_id: id,
            remote_comm_id: connection.peer_id.unwrap_or_default(),
            remote_qpn: connection.peer_qpn.unwrap_or_default(),
            remote_cm_response_timeout: options.response_timeout,
            ..lap
        };
        let last = CmMad::new(transaction, &CmMessage::LAP(lap)).ok();
        let retries = options.retries;
        connection.path = Some(Box::new(PathLoad { state: PathState::Sent, transaction, last, retries }));
        if let Some(mad) = last {
            out.send(connection.peer, mad);
        }
        out.timer(id, Some(options.response_timeout));
        Ok(())
    }

    /// Answers a LAP: sends `apr`, whose numbers the manager sets.
    pub fn answer_path(&mut self, id: CommId, apr: Apr, out: &mut impl CmOutbox) -> Result<(), CmError> {
        let connection = self.expect(id, &[CmState::Established], "Established")?;
        let (peer, peer_id) = (connection.peer, connection.peer_id.unwrap_or_default());
        let path = connection.path.as_deref_mut().filter(|path| path.state == PathState::Received);
        let path = path.ok_or(CmError::Path(id.0, "there is no LAP to answer"))?;
        let apr = Apr { local_comm_id: id, remote_comm_id: peer_id, ..apr };
        path.state = PathState::Ended;
        path.last = CmMad::new(path.transaction, &CmMessage::APR(apr)).ok();
        if let Some(mad) = path.last {
            out.send(peer, mad);
        }
        Ok(())
    }

    /// A LAP. Its sender is established, so this end is, although no RTU may have come.
    pub(super) fn path_requested(
        &mut self,
        from: Lid,
        transaction: TransactionId,
        lap: Lap,
        out: &mut impl CmOutbox,
    ) {
        let Some(id) = self.find(from, lap.remote_comm_id) else { return };
        self.established(id, out);
        let again = self.mutated(Mutation::LoadAgain);
        let repeats = !self.mutated(Mutation::IgnoreRepeatedLap);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.state != CmState::Established || connection.is_active {
            return;
        }
        let known = connection.path.as_deref().filter(|path| path.transaction >= transaction && !again);
        if let Some(path) = known {
            let answer = path.last.filter(|_| path.transaction == transaction && repeats);
            if let Some(mad) = answer {
                out.send(connection.peer, mad);
            }
            return;
        }
        let state = PathState::Received;
        connection.path = Some(Box::new(PathLoad { state, transaction, last: None, retries: 0 }));
        out.event(CmEvent::PathRequested(id, lap));
    }

    /// An APR.
    pub(super) fn path_answered(
        &mut self,
        from: Lid,
        transaction: TransactionId,
        apr: Apr,
        out: &mut impl CmOutbox,
    ) {
        let Some(id) = self.find(from, apr.remote_comm_id) else { return };
        let takes_any = self.mutated(Mutation::AnyApr);
        let keeps_waiting = self.mutated(Mutation::IgnoreApr);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.state != CmState::Established {
            return;
        }
        let Some(path) = connection.path.as_deref_mut() else { return };
        let is_answer = path.state == PathState::Sent && path.transaction == transaction;
        if (is_answer || takes_any) && !keeps_waiting {
            path.state = PathState::Ended;
            out.timer(id, None);
            out.event(CmEvent::PathAnswered(id, apr));
        }
    }

    /// The timer of a connection that is established has ended: that of a LAP.
    pub(super) fn expire_path(&mut self, id: CommId, out: &mut impl CmOutbox) {
        let is_silent = self.mutated(Mutation::NeverLoadAgain);
        let code = self.options.response_timeout;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let Some(path) = connection.path.as_deref_mut().filter(|path| path.state == PathState::Sent) else {
            return;
        };
        if path.retries == 0 {
            path.state = PathState::Ended;
            out.event(CmEvent::PathUnanswered(id));
            return;
        }
        path.retries -= 1;
        if let Some(mad) = path.last.filter(|_| !is_silent) {
            out.send(connection.peer, mad);
        }
        out.timer(id, Some(code));
    }

    /// The peer needs more time to answer a LAP (MRA).
    pub(super) fn delay_path(&mut self, id: CommId, code: u8, out: &mut impl CmOutbox) {
        let retries = self.options.retries;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let is_established = connection.state == CmState::Established;
        let path = connection.path.as_deref_mut().filter(|path| path.state == PathState::Sent);
        if let Some(path) = path.filter(|_| is_established) {
            path.retries = retries;
            out.timer(id, Some(code));
        }
    }
}
