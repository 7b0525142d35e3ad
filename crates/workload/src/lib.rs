//! Traffic patterns, injection processes and message sizes, responses and the programs of parallel jobs: creation
//! of messages, independent of the network.
//!
//! [`build`] turns the traffic list of an experiment into one [`Source`] per host. A source is lazy: for each of its
//! streams it stores only the time of the next message, so that a saturated network costs no memory.
//! The times, destinations and sizes of a stream come from three random streams of their own, keyed by the seed, the
//! entry of the traffic list and the host: none depends on when messages are taken, on other hosts or other entries.
//!
//! Logarithms come from the `libm` crate, not from the machine's library: the same bits everywhere.

mod build;
mod clock;
mod closed;
mod demand;
mod describe;
mod error;
mod ideal;
mod injected;
mod injection;
mod job;
mod mistakes;
mod multicast;
mod partitions;
mod pattern;
mod programs;
#[cfg(test)]
mod properties;
mod purpose;
mod select;
mod size;
mod source;
mod stream;
mod stream_info;
#[cfg(test)]
mod testing;

use fabricsim_units::{HostId, Rate, Time};

pub use build::{Workload, build};
pub use closed::{Arrival, Event};
pub use demand::Demand;
pub use error::{Problem, WorkloadError};
pub use ideal::{IdealJob, IdealNetwork, ideal_jobs};
pub use job::JobInfo;
pub use mistakes::mistakes;
pub use multicast::MulticastGroup;
pub use partitions::Partitions;
pub use programs::{After, Program, Step};
pub use select::{matches, select};
pub use source::Source;
pub use stream_info::{SilentSource, StreamEnd, StreamInfo, StreamKind};

/// Facts about the hosts that a workload uses.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// Names, by [`HostId`].
    pub names: Vec<String>,
    /// Link rate of each host.
    pub rates: Vec<Rate>,
    /// Coordinates of the switch of each host in a grid, and the grid's radices; `None` elsewhere.
    pub grid: Option<HostGrid>,
    /// Number of hosts in a group, if the topology has groups: the first group has the first hosts, and so on.
    pub group: Option<u32>,
}

/// Positions of hosts in a grid.
#[derive(Clone, Debug)]
pub struct HostGrid {
    /// Radix of each dimension.
    pub dimensions: Vec<u32>,
    /// For each host, coordinates of its switch.
    pub coordinates: Vec<Vec<u32>>,
    /// For each host, its number on its switch.
    pub slot: Vec<u32>,
}

/// A message of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Message {
    /// Time at which it was created.
    pub created: Time,
    /// Receiver. With `draw_per = "packet"`: the receiver of its first packet.
    pub destination: HostId,
    /// Its size in bytes, 1 or more.
    pub bytes: u64,
    /// Number of its stream: see [`Workload::streams`].
    pub stream: u16,
    /// Its number: among the messages of its stream that its source makes, from 0, modulo 2^32; of a response that of
    /// the request; of a job's message that of the step.
    pub tag: u32,
}
