//! An adapter that takes requests only while it has room for their responses.

use std::collections::VecDeque;

use fabricsim_model::Packet;
use fabricsim_units::{HostId, Vl};

/// Packets that have arrived and were not taken. They keep their space in the input buffer, and those behind them on
/// their virtual lane wait.
#[derive(Clone, Debug)]
pub(crate) struct AdmissionGate {
    /// Responses that the host may owe.
    limit: u32,
    /// By lane: numbers of packets, in order of arrival.
    waiting: Vec<VecDeque<u32>>,
}

/// A request that a host does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The host.
    pub host: HostId,
    /// The request.
    pub packet: Packet,
    /// The lane on which it waits.
    pub lane: Vl,
    /// Responses that the host owes.
    pub pending_responses: usize,
}

impl AdmissionGate {
    pub(crate) fn new(limit: u32, lanes: u8) -> Self {
        Self { limit, waiting: vec![VecDeque::new(); usize::from(lanes)] }
    }

    /// True if there is room for the response to another request when `pending_responses` responses are owed.
    pub(crate) fn is_open(&self, pending_responses: usize) -> bool {
        pending_responses < self.limit as usize
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
