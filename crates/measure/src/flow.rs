//! A flow: its key, its record, its row in tables.

use std::collections::BTreeSet;

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

/// The entry whose packets a flow has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub(crate) struct FlowEntry(u32);

impl FlowEntry {
    const SEVERAL: Self = Self(u32::MAX);

    /// The entry with the number of this stream.
    #[inline]
    pub(crate) fn of(stream: u16) -> Self {
        Self(u32::from(stream) + 1)
    }

    /// Number of the entry; `None` without packets, or if several entries share the flow.
    pub(crate) fn number(self) -> Option<u16> {
        self.0.checked_sub(1).and_then(|number| u16::try_from(number).ok())
    }

    /// True if several entries share the flow.
    pub(crate) fn is_several(self) -> bool {
        self == Self::SEVERAL
    }

    /// Adds the entries of `other`. Returns those entries that share the flow because of it.
    pub(crate) fn add(&mut self, other: Self) -> [Option<u16>; 2] {
        let mine = *self;
        if mine == other || other == Self::default() {
            return [None; 2];
        }
        if mine == Self::default() {
            *self = other;
            return [None; 2];
        }
        *self = Self::SEVERAL;
        [mine.number(), other.number()]
    }
}

/// Record of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub(crate) struct Flow {
    /// Entry of its packets.
    pub(crate) entry: FlowEntry,
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
    /// Adds the packets of `other`. Returns the entries that share the flow because of it.
    pub(crate) fn add(&mut self, other: &Self) -> [Option<u16>; 2] {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.created += other.created;
        self.total += other.total;
        self.squares += other.squares;
        self.network += other.network;
        self.entry.add(other.entry)
    }
}

/// The rows of the table of flows.
pub(crate) struct FlowRows<'a> {
    pub(crate) rows: Vec<FlowRow<'a>>,
    /// Entries that share a flow with another.
    pub(crate) sharing: BTreeSet<u16>,
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
