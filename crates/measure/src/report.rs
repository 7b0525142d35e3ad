use fabricsim_model::Table;
use fabricsim_units::{HostId, Rate, Time};

use crate::collectors::{Flow, FlowRow, Key, flow_rows};
use crate::{JobName, Recorder, RouterPort, StreamName, Summary, TransportCounts, Window};

/// Names of things in tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// Hosts, by [`HostId`].
    pub hosts: Vec<String>,
    /// Sending ports, by number.
    pub ports: Vec<PortName>,
    /// Streams of messages, by number; empty if they are not kept apart.
    pub streams: Vec<StreamName>,
    /// Jobs.
    pub jobs: Vec<JobName>,
    /// Ports of switches, if their performance counters are recorded.
    pub routers: Vec<RouterPort>,
    /// Directions of those ports, in the order of tables: `"+x"`, `"-x"`, ..., `"host"`.
    pub directions: Vec<String>,
}

/// A sending port.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortName {
    /// The direction of a link: `"SW11->SW12"`.
    pub link: String,
    /// Kind of the link: `"host"`, `"dimension 0"`.
    pub class: String,
}

/// End of the run, and the load that its sources requested.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Simulated time at its end.
    pub end: Time,
    /// Link rate of each host.
    pub rates: Vec<Rate>,
    /// Load offered within the window. Empty if that is not known.
    pub offers: Vec<OfferedLoad>,
    /// With steady-state detection: [`Steady::steady`](crate::Steady::steady).
    pub steady: Option<bool>,
    /// Number of times that a notification found or brought a flow to the level at which the congestion control reports
    /// it.
    pub congestion_events: u64,
    /// Counters of transports, if there are any.
    pub transport: Option<TransportCounts>,
}

/// Bytes that a source offered within the window. Offers of the same source and destination add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedLoad {
    /// The source.
    pub source: HostId,
    /// Its destination; `None` if destinations are drawn.
    pub destination: Option<HostId>,
    /// Bytes of the messages created within the window (of a saturating source: what its link would have carried).
    pub bytes: u64,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Scalars.
    pub summary: Summary,
    /// Tables, in the order of the collectors; see [`catalogue`](crate::catalogue).
    pub tables: Vec<Table>,
}

/// Input of the tables.
pub(crate) struct TableInput<'a> {
    pub(crate) recorder: &'a Recorder,
    pub(crate) names: &'a Names,
    pub(crate) outcome: &'a Outcome,
    pub(crate) measured: Time,
    pub(crate) flows: Vec<FlowRow<'a>>,
}

impl<'a> TableInput<'a> {
    pub(crate) fn new(recorder: &'a Recorder, names: &'a Names, outcome: &'a Outcome) -> Self {
        Self {
            recorder,
            names,
            outcome,
            measured: recorder.timeline.window.length(outcome.end),
            flows: flow_rows(recorder, &outcome.offers),
        }
    }
}

impl Recorder {
    /// Returns the recorded figures and tables. Called after all partitions have been merged.
    pub fn report(&self, names: &Names, outcome: &Outcome) -> Report {
        let input = TableInput::new(self, names, outcome);
        let tables = self.collectors.tables(&input).into_iter();
        let shown = tables.filter(|result| result.if_empty || result.table.rows() > 0);
        Report {
            summary: self.collectors.summarize(&input),
            tables: shown.map(|result| result.table).collect(),
        }
    }
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

    /// Bytes that the source offered, over all destinations.
    pub(crate) fn offered_by_host(&self) -> Vec<u64> {
        let mut bytes = vec![0; self.recorder.config.hosts as usize];
        self.outcome.offers.iter().for_each(|offer| bytes[offer.source.index()] += offer.bytes);
        bytes
    }

    /// All flows as one.
    pub(crate) fn all_flows(&self) -> Flow {
        let mut all = Flow::default();
        self.flows.iter().for_each(|row| all.add(&row.flow));
        all
    }

    /// Start of the measurement in nanoseconds, NaN if it never began.
    pub(crate) fn measured_from_ns(&self) -> f64 {
        let from = self.recorder.timeline.window.from;
        if from == Window::CLOSED.from { f64::NAN } else { from.as_ns_f64() }
    }
}

/// Gb/s of `bytes` in `time`; NaN if both are zero.
pub(crate) fn gbps(bytes: f64, time: Time) -> f64 {
    bytes * 8e3 / time.0 as f64
}
