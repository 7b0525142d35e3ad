//! Input of tables and summaries, the same for all collectors.

use std::collections::BTreeSet;

use fabricsim_model::Table;
use fabricsim_units::{HostId, Time};

use crate::collectors::LaneCounters;
use crate::flow::{Flow, FlowRow, Key};
use crate::timeline::Timeline;
use crate::{Histogram, Names, Outcome, RecorderConfig, Window};

/// Input of the tables.
pub(crate) struct TableInput<'a> {
    pub(crate) config: &'a RecorderConfig,
    pub(crate) timeline: &'a Timeline,
    pub(crate) names: &'a Names,
    pub(crate) outcome: &'a Outcome,
    /// Length of the measurement.
    pub(crate) measured: Time,
    /// The rows of the table `flows`.
    pub(crate) flows: Vec<FlowRow<'a>>,
    /// Entries that share a flow with another.
    pub(crate) sharing: BTreeSet<u16>,
    /// Latencies of each entry.
    pub(crate) latencies: &'a [Histogram<7>],
    /// Use of each lane of each sending port: all lanes of the first port, then those of the second.
    pub(crate) links: &'a [LaneCounters],
    /// Columns that collectors add to each other's tables.
    pub(crate) added: &'a dyn AddedColumns,
}

/// Rows of a table to which collectors may add columns.
pub(crate) enum Rows<'a> {
    /// The table `flows`: the rows of [`TableInput::flows`].
    Flows,
    /// The table `links`: place of each row among the lanes of all sending ports.
    Links(&'a [usize]),
    /// The table `run_series`: the bins of [`Timeline::axis`].
    Run,
}

/// Columns of all collectors for a table of one of them.
pub(crate) trait AddedColumns {
    /// Adds the columns to `table`, which has the rows `rows`.
    fn columns(&self, input: &TableInput<'_>, rows: &Rows<'_>, table: &mut Table);
}

impl TableInput<'_> {
    pub(crate) fn host(&self, host: HostId) -> &str {
        &self.names.hosts[host.index()]
    }

    pub(crate) fn destination(&self, key: Key) -> &str {
        key.1.map_or("*", |host| self.host(host))
    }

    /// Gb/s of `bytes` within the window.
    pub(crate) fn gbps(&self, bytes: f64) -> f64 {
        gbps(bytes, self.measured)
    }

    /// Adds the columns of other collectors to a table.
    pub(crate) fn add_columns(&self, rows: &Rows<'_>, table: &mut Table) {
        self.added.columns(self, rows, table);
    }

    /// Bytes that the source offered, over all destinations.
    pub(crate) fn offered_by_host(&self) -> Vec<u64> {
        let mut bytes = vec![0; self.config.hosts as usize];
        self.outcome.offers.iter().for_each(|offer| bytes[offer.source.index()] += offer.bytes);
        bytes
    }

    /// All flows as one.
    pub(crate) fn all_flows(&self) -> Flow {
        let mut all = Flow::default();
        self.flows.iter().for_each(|row| {
            all.add(&row.flow);
        });
        all
    }

    /// Start of the measurement in nanoseconds, NaN if it never began.
    pub(crate) fn measured_from_ns(&self) -> f64 {
        let from = self.timeline.window.from;
        if from == Window::CLOSED.from { f64::NAN } else { from.as_ns_f64() }
    }
}

/// Gb/s of `bytes` in `time`; NaN if both are zero.
pub(crate) fn gbps(bytes: f64, time: Time) -> f64 {
    bytes * 8e3 / time.0 as f64
}
