//! Counters of queue pairs.

use fabricsim_model::Observer;
use fabricsim_units::HostId;

use super::{QueuePairCounters, QueuePairEndpoint};
use crate::adapter::Adapter;
use crate::engine::Engine;

/// A queue pair at the end of a run.
#[derive(Clone, Copy, Debug)]
pub struct QueuePairReport {
    /// Its host.
    pub host: HostId,
    /// The host at the other end.
    pub peer: HostId,
    /// Its number at its host.
    pub number: u32,
    /// True if it is in the error state.
    pub has_failed: bool,
    /// What it did.
    pub counters: QueuePairCounters,
}

impl QueuePairEndpoint {
    /// The queue pairs, by peer and number.
    pub(crate) fn report(&self) -> impl Iterator<Item = QueuePairReport> {
        self.by_peer.iter().map(|&(_, number)| {
            let connection = &self.connections[number as usize];
            QueuePairReport {
                host: self.host,
                peer: connection.peer,
                number: self.rules.number(connection.peer, connection.slot).0,
                has_failed: connection.requester.is_broken() || connection.responder.is_broken(),
                counters: connection.counters,
            }
        })
    }
}

impl<B: Observer> Engine<B> {
    /// Counters of the queue pairs of all hosts.
    pub fn queue_pairs(&self) -> impl Iterator<Item = QueuePairReport> {
        self.adapters().filter_map(Adapter::queue_pairs).flat_map(QueuePairEndpoint::report)
    }
}
