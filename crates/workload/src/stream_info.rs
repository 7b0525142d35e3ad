//! Description of the streams of messages of a workload.

use fabricsim_spec::OrderingMode;
use fabricsim_units::{HostId, Rate};

/// Description of a stream for tables.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamInfo {
    /// Its name: that of the entry, or of its pattern where it has none, with a number if several have the same; of the
    /// responses to it "<name> response"; that of the job.
    pub name: String,
    /// Begin of the names of its metrics, and of its keys: `traffic.incast`, or `traffic.0` without a name; of responses
    /// `traffic.incast.response`; of a job `jobs.solver`.
    pub key: String,
    /// What it sends, in a few words: `"H1, H2 to H3, load 0.5, 4 KiB"`.
    pub text: String,
    /// Kind of the stream.
    pub kind: StreamKind,
    /// Hosts that send; of responses those that may have to.
    pub sources: StreamEnd,
    /// Hosts that may receive.
    pub destinations: StreamEnd,
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

/// The hosts at one end of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamEnd {
    /// Their number.
    pub hosts: usize,
    /// Sum of the rates of their links, Gb/s.
    pub gbps: f64,
}

impl StreamEnd {
    /// Returns the end that consists of `hosts`, whose links have the rates `rates` (of all hosts).
    pub fn of(hosts: impl Iterator<Item = HostId>, rates: &[Rate]) -> Self {
        hosts.fold(Self::default(), |end, host| Self {
            hosts: end.hosts + 1,
            gbps: end.gbps + rates[host.index()].as_gbps(),
        })
    }
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
