//! Figures of ordering protocols.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Latency;

/// Counters of the transports of all hosts over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TransportCounts {
    /// Requests (REQ) sent, all copies.
    #[schemars(title = "requests sent")]
    pub requests: u64,
    /// Requests sent that had been sent before.
    #[schemars(title = "requests retransmitted")]
    pub resent: u64,
    /// Requests sent in slow mode.
    #[schemars(title = "requests in slow mode")]
    pub slow: u64,
    /// Time-outs of requests.
    #[schemars(title = "time-outs")]
    pub timeouts: u64,
    /// FINs sent.
    #[schemars(title = "FINs sent")]
    pub fins: u64,
    /// Requests received.
    #[schemars(title = "requests received")]
    pub received: u64,
    /// Operations forwarded to target memory.
    #[schemars(title = "operations delivered")]
    pub delivered: u64,
    /// Operations forwarded that had waited in a reorder buffer.
    #[schemars(title = "operations reordered")]
    pub reordered: u64,
    /// Operations forwarded without a connection.
    #[schemars(title = "operations without a connection")]
    pub without_connection: u64,
    /// Requests dropped because the reorder buffer was full.
    #[schemars(title = "dropped: reorder buffer full")]
    pub buffer_full: u64,
    /// Requests dropped because no connection was free.
    #[schemars(title = "dropped: no connection")]
    pub no_connection: u64,
    /// Requests dropped because no replay buffer was free.
    #[schemars(title = "dropped: no replay buffer")]
    pub no_replay: u64,
    /// Requests dropped because they were out of sequence (go-back-N).
    #[schemars(title = "dropped: out of sequence")]
    pub out_of_sequence: u64,
    /// Requests dropped because their operation had been forwarded before.
    #[schemars(title = "dropped: duplicates")]
    pub duplicates: u64,
    /// Operations carried out more than once.
    #[schemars(title = "operations carried out again")]
    pub repeated: u64,
    /// Packets lost in the network.
    #[schemars(title = "packets lost")]
    pub lost: u64,
    /// Packets that arrived after their lifetime and so count as lost.
    #[schemars(title = "packets too late")]
    pub late: u64,
    /// The largest number of packets in the reorder buffer of a host.
    #[schemars(title = "most in a reorder buffer")]
    pub most_reordering: u64,
    /// The largest number of connections that a host held as a target.
    #[schemars(title = "most connections of a target")]
    pub most_connections: u64,
    /// The largest number of replay buffers in use at a host.
    #[schemars(title = "most replay buffers")]
    pub most_replay_buffers: u64,
}

/// Figures of ordering protocols.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TransportSummary {
    /// Messages that were created in the measurement and are complete.
    #[schemars(title = "messages complete")]
    pub messages: u64,
    /// From the creation of a message until its last operation is visible at its receiver.
    pub completion_ns: Latency,
    /// Fraction of the operations delivered that had waited in a reorder buffer.
    #[schemars(title = "operations reordered", extend("x-unit" = "fraction"))]
    pub reordered_share: f64,
    /// Fraction of the requests received that were dropped because a reorder buffer was full or because they were out of sequence.
    #[schemars(title = "requests dropped", extend("x-unit" = "fraction"))]
    pub dropped_share: f64,
    /// Counters over the whole run.
    #[serde(flatten)]
    pub counts: TransportCounts,
}
