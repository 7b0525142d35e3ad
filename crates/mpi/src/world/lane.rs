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
    /// It returns credits of its queue, and takes a buffer of the reserve, not a credit.
    pub(super) is_of_reserve: bool,
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

#[cfg(test)]
impl super::World {
    /// Checks that there are not more credits than buffers: those of a sender, those to be returned and the used buffers. Fewer are there while
    /// messages have not been looked at.
    pub(crate) fn check_credits(&mut self) {
        let (ranks, queues) = (self.ranks.len(), self.queues.len());
        let ring = self.options.eager_rdma_buffers;
        for (from, to) in (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))) {
            let near = self.peer(from, to as u32);
            let out = near.ring_out.map(|ring| ring.credits);
            let sent: Vec<_> = near.lanes.iter().map(|lane| lane.as_ref()?.credits).collect();
            let far = self.peer(to, from as u32);
            if let (Some(out), Some(into)) = (out, far.ring_in) {
                assert!(out + into.returns <= ring, "credits of the ring from {from} to {to}");
            }
            let left = |lane: &Lane| Some(lane.returns + lane.buffers.as_ref()?.used.len() as u32);
            let kept: Vec<_> = far.lanes.iter().map(|lane| left(lane.as_ref()?)).collect();
            for queue in 0..queues.min(sent.len()).min(kept.len()) {
                if let (Some(sent), Some(kept)) = (sent[queue], kept[queue]) {
                    let all = self.queues[queue].buffers;
                    assert!(sent + kept <= all, "credits of queue {queue} from {from} to {to}");
                }
            }
        }
    }
}
