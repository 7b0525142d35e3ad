//! Admission control of an adapter: accepts requests only while it has room for their responses, and packets of programs only when it
//! has the translations of the one before.

use std::collections::VecDeque;

use fabricsim_model::Packet;
use fabricsim_units::{HostId, Vl};

/// Packets that have arrived and are not accepted. They keep their space in the input buffer, and those behind them on
/// their virtual lane wait.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct AdmissionGate {
    /// Maximum number of pending responses of the host, if there is one.
    limit: Option<u32>,
    /// By lane: numbers of packets, in order of arrival.
    waiting: Vec<VecDeque<u32>>,
}

/// A request that a host does not accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Refused {
    /// The host.
    pub host: HostId,
    /// The request.
    pub packet: Packet,
    /// The lane on which it waits.
    pub lane: Vl,
    /// Pending responses of the host.
    pub pending_responses: usize,
}

impl AdmissionGate {
    pub(crate) fn new(limit: Option<u32>, lanes: u8) -> Self {
        Self { limit, waiting: vec![VecDeque::new(); usize::from(lanes)] }
    }

    /// True if another request can be accepted with `pending_responses` pending responses.
    pub(crate) fn is_open(&self, pending_responses: usize) -> bool {
        self.limit.is_none_or(|limit| pending_responses < limit as usize)
    }

    /// True if packets may wait for responses.
    pub(crate) fn limits_responses(&self) -> bool {
        self.limit.is_some()
    }

    /// The packet at the head of a lane.
    pub(crate) fn first(&self, lane: Vl) -> Option<u32> {
        self.waiting[lane.index()].front().copied()
    }

    pub(crate) fn push(&mut self, lane: Vl, packet: u32) {
        self.waiting[lane.index()].push_back(packet);
    }

    pub(crate) fn pop(&mut self, lane: Vl) {
        self.waiting[lane.index()].pop_front();
    }

    /// The lanes on which packets wait.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = Vl> + use<> {
        let held = self.waiting.iter().enumerate().filter(|(_, packets)| !packets.is_empty());
        held.map(|(lane, _)| Vl(lane as u8)).collect::<Vec<_>>().into_iter()
    }
}
