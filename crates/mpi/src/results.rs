//! Results of a rank.

use fabricsim_units::Time;

/// Protocol of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// One SEND.
    Eager,
    /// One WRITE to a ring.
    EagerRdma,
    /// RDMA READ by the receiver.
    Get,
    /// RDMA WRITE by the sender.
    Put,
    /// SENDs of parts, and WRITEs of parts in the pipeline.
    Send,
    /// Shared memory, to a rank on the same host and to itself.
    Shared,
}

/// All protocols, with their names.
pub const PROTOCOLS: [(Protocol, &str); 6] = [
    (Protocol::Eager, "eager"),
    (Protocol::EagerRdma, "eager-rdma"),
    (Protocol::Get, "get"),
    (Protocol::Put, "put"),
    (Protocol::Send, "send"),
    (Protocol::Shared, "shared"),
];

/// Counters of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages sent, and their bytes, by protocol in the order of [`PROTOCOLS`].
    pub sent: [(u64, u64); 6],
    /// Time for which messages waited for credits or for places in a send queue, summed over queues.
    pub stalled: Time,
    /// Messages that arrived before their receive.
    pub unexpected: u64,
    /// Registrations of memory.
    pub registrations: u64,
}

impl Counts {
    /// Counts a message.
    pub(crate) fn add(&mut self, protocol: Protocol, bytes: u64) {
        let (messages, sum) = &mut self.sent[protocol as usize];
        *messages += 1;
        *sum += bytes;
    }
}

/// An operation that a rank posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Time of the post.
    pub time: Time,
    /// Rank that posted it.
    pub from: u32,
    /// Rank at the other end.
    pub to: u32,
    /// `SEND`, `RDMA_WRITE` or `RDMA_READ`.
    pub operation: &'static str,
    /// Bytes.
    pub bytes: u32,
    /// Headers as text; empty for data.
    pub header: String,
    /// Number of the work request, of which packets have the low 32 bits. Numbers are used again.
    pub wr_id: u64,
}
