//! Queue pairs: completion of messages, and sums of counters. The table of messages is that of [`super::Transport`].

use fabricsim_model::Packet;
use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::Serialize;

use super::collector::{Collector, ResultTable};
use super::transport::Messages;
use crate::input::TableInput;
use crate::timeline::Timeline;
use crate::{Latency, RecorderConfig};

/// Counters of all queue pairs over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QueuePairCounts {
    /// Queue pairs that carried messages or packets; a connection has one at each end.
    #[schemars(title = "queue pairs")]
    pub queue_pairs: u64,
    /// Queue pairs in the error state at the end.
    #[schemars(title = "queue pairs in error")]
    pub errors: u64,
    /// Messages that were acknowledged wholly.
    #[schemars(title = "messages acknowledged")]
    pub acknowledged: u64,
    /// Messages that failed because their queue pair was in the error state, or went there.
    #[schemars(title = "messages failed")]
    pub failed: u64,
    /// Packets with data sent, all copies.
    #[schemars(title = "packets sent")]
    pub packets: u64,
    /// Packets with data sent that had been sent before.
    #[schemars(title = "packets retransmitted")]
    pub retransmitted: u64,
    /// Times at which the timer of a queue pair ended.
    #[schemars(title = "time-outs")]
    pub timeouts: u64,
    /// Packets that their receivers executed.
    #[schemars(title = "packets executed")]
    pub executed: u64,
    /// Packets that their receivers dropped: they came again, or before a missing one.
    #[schemars(title = "packets dropped by receivers")]
    pub dropped: u64,
    /// Packets that were lost as they arrived at their receivers (`queue_pairs.loss`).
    #[schemars(title = "packets lost")]
    pub lost: u64,
    /// Acknowledgements sent.
    #[schemars(title = "acknowledgements")]
    pub acknowledgements: u64,
    /// NAKs sent because a packet was missing.
    #[schemars(title = "NAKs: sequence error")]
    pub sequence_naks: u64,
    /// NAKs sent because there was no receive request.
    #[schemars(title = "NAKs: receiver not ready")]
    pub rnr_naks: u64,
    /// Packets that had overtaken others, and were held by their receivers until those came (`queue_pairs.out_of_order`).
    #[schemars(title = "packets held")]
    pub held: u64,
}

/// Figures of queue pairs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QueuePairSummary {
    /// Messages that were created in the measurement and are complete.
    #[schemars(title = "messages complete")]
    pub messages: u64,
    /// From the creation of a message until its last byte is in its receiver's memory.
    pub completion_ns: Latency,
    /// Fraction of the packets sent that had been sent before.
    #[schemars(title = "packets retransmitted", extend("x-unit" = "fraction"))]
    pub retransmitted_share: f64,
    /// Counters over the whole run.
    #[serde(flatten)]
    pub counts: QueuePairCounts,
}

/// Record of queue pairs.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub(crate) struct QueuePairs {
    messages: Messages,
}

impl Collector for QueuePairs {
    type Summary = Option<QueuePairSummary>;

    fn new(_: &RecorderConfig, _: &Timeline) -> Self {
        Self::default()
    }

    fn completed(&mut self, timeline: &mut Timeline, now: Time, packet: &Packet) {
        if timeline.window.contains(packet.created) {
            self.messages.record(now - packet.created);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.messages.merge(&other.messages);
    }

    fn tables(&self, _: &TableInput<'_>) -> Vec<ResultTable> {
        Vec::new()
    }

    fn summarize(&self, input: &TableInput<'_>) -> Option<QueuePairSummary> {
        let counts = input.outcome.queue_pairs?;
        Some(QueuePairSummary {
            messages: self.messages.count,
            completion_ns: self.messages.latency(),
            retransmitted_share: counts.retransmitted as f64 / counts.packets as f64,
            counts,
        })
    }
}
