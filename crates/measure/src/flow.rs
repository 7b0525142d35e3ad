//! A flow: its key, its record, its row in tables.

use fabricsim_units::HostId;

use crate::moments::Moments;
use crate::{Histogram, Latency};

/// Maximum number of flows with their own latency histogram and time series; with [`FlowDetail::Auto`] also the most
/// (source, destination) pairs that are kept apart.
pub const MOST_FLOWS: usize = 4096;

/// Latencies of a flow in picoseconds; quantiles to 2^-6 = 1.6 %.
pub(crate) type FlowHistogram = Histogram<5>;

/// A source and a destination, `None` for all of them.
pub(crate) type Key = (HostId, Option<HostId>);

/// Record of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flow {
    /// Packets delivered within the window.
    pub(crate) packets: u64,
    /// Bytes delivered within the window.
    pub(crate) bytes: u64,
    /// Packets created within the window and delivered.
    pub(crate) created: u64,
    /// Their latency, in picoseconds.
    pub(crate) total: Moments,
    /// Sum of the squares of their latencies.
    pub(crate) squares: u128,
    /// Their network latency, in picoseconds.
    pub(crate) network: Moments,
}

impl Flow {
    pub(crate) fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.created += other.created;
        self.total += other.total;
        self.squares += other.squares;
        self.network += other.network;
    }
}

/// A flow with packets, or only with an offered load.
pub(crate) struct FlowRow<'a> {
    /// Source and destination.
    pub(crate) key: Key,
    /// Bytes; NaN where not known.
    pub(crate) offered: f64,
    /// Record of its packets.
    pub(crate) flow: Flow,
    /// Latencies, if they are kept.
    pub(crate) histogram: Option<&'a FlowHistogram>,
    /// Row of its series; `None` without packets.
    pub(crate) place: Option<usize>,
}

impl FlowRow<'_> {
    pub(crate) fn latency(&self) -> Latency {
        Latency::of(self.flow.created, &self.flow.total, self.histogram)
    }

    /// True if it offered or delivered packets within the window.
    pub(crate) fn takes_part(&self) -> bool {
        self.offered > 0.0 || self.flow.packets > 0 || self.flow.created > 0
    }
}
