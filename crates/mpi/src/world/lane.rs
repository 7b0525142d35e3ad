//! Connection of two ranks for one receive queue: a queue pair, its credits, and what waits for them.

use std::collections::VecDeque;

use fabricsim_units::Time;
use fabricsim_wire::ids::Qpn;

use super::Buffers;
use super::transfer::Transfer;
use crate::header::Header;

/// READs and WRITEs of a queue pair at a time; the send queue has that many places more. Open MPI counts them so as well, by `sd_wqe`.
pub(super) const TRANSFERS: u32 = 128;

/// An encoded message.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    pub(super) header: Header,
    /// FRAG of a send request, of which the adapter has it when it is sent.
    pub(super) part: Option<(u32, u64)>,
}

#[derive(Debug)]
pub(super) struct Lane {
    pub(super) qp: Qpn,
    /// SENDs that may be posted.
    pub(super) sends: u32,
    /// Buffers at the other end, of a queue of each peer.
    pub(super) credits: Option<u32>,
    /// Buffers here, of a queue of each peer.
    pub(super) buffers: Option<Buffers>,
    /// Credits to return.
    pub(super) returns: u32,
    /// Credit messages that have been sent, and not reported as seen; those that have arrived and are to be reported.
    pub(super) control_sent: u32,
    pub(super) control_seen: u8,
    /// Messages that wait, oldest first, and since when.
    pub(super) waiting: VecDeque<Frame>,
    pub(super) since: Option<Time>,
    /// READs and WRITEs that may be posted, and those that wait.
    pub(super) transfers: u32,
    pub(super) waiting_transfers: VecDeque<Transfer>,
}

impl Lane {
    pub(super) fn new(qp: Qpn, sends: u32, credits: Option<u32>, buffers: Option<Buffers>) -> Self {
        Self {
            qp,
            sends,
            credits,
            buffers,
            returns: 0,
            control_sent: 0,
            control_seen: 0,
            waiting: VecDeque::new(),
            since: None,
            transfers: TRANSFERS,
            waiting_transfers: VecDeque::new(),
        }
    }

    /// True if something waits to be posted.
    pub(super) fn is_pending(&self) -> bool {
        !self.waiting.is_empty() || !self.waiting_transfers.is_empty()
    }
}
