//! Description of the streams of messages of a workload.

use fabricsim_spec::OrderingMode;
use fabricsim_units::HostId;

/// Description of a stream for tables.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamInfo {
    /// Its name: that of the entry, or of its pattern where it has none; of the responses to it "<name> response"; that of
    /// the job.
    pub name: String,
    /// Kind of the stream.
    pub kind: StreamKind,
    /// Hosts that send; of responses those that may have to.
    pub sources: usize,
    /// Exact mean size of a message, in bytes; NaN for jobs, whose messages are of many sizes.
    pub mean_bytes: f64,
    /// Service class of its packets.
    pub service_class: u8,
    /// Ordering of its packets.
    pub ordering: OrderingMode,
    /// Number of the partition of its packets; none for the default partition.
    pub partition: Option<u16>,
    /// True if its packets are for a multicast group.
    pub is_multicast: bool,
}

/// Kind of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// An entry of the traffic list whose messages are not answered.
    Traffic,
    /// An entry whose messages are answered.
    Request,
    /// The answers to the messages of an entry.
    Response,
    /// The messages of a job.
    Job,
}

impl StreamKind {
    /// Returns the kind in one word, for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Traffic => "traffic",
            Self::Request => "request",
            Self::Response => "response",
            Self::Job => "job",
        }
    }
}

/// A host that an entry names as a source and that sends nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SilentSource {
    /// Entry of the traffic list.
    pub stream: u16,
    /// The host.
    pub host: HostId,
}
