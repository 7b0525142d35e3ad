use std::collections::BTreeMap;

use fabricsim_model::Table;
use fabricsim_units::{HostId, Rate, Time};

use crate::batch::{Batch, interval};
use crate::congestion::FlowCongestion;
use crate::fairness::starves;
use crate::flows::{Flow, FlowHistogram, Key};
use crate::hosts::{DELIVERED_BYTES, DELIVERED_PACKETS, INJECTED_PACKETS};
use crate::summary::start_ns;
use crate::{
    Confidence, FlowSummary, Hops, JobName, Latency, MOST_FLOWS, Recorder, SATURATED, StreamName, Summary,
    TransportCounts, congestion_tables, jain, jobs, router_tables, series, streams, tables, transport,
    transport_tables,
};

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

/// A port of a switch: an input and an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouterPort {
    /// Name of the switch.
    pub router: String,
    /// Number of the port.
    pub port: u16,
    /// Direction in which it leads, as an index of [`Names::directions`].
    pub direction: usize,
    /// Sending port of the link into this port.
    pub input: u32,
    /// Sending port of this port.
    pub output: u32,
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
    /// Tables: `flows`, `hosts`, `links`, `series`, `hosts_series`, `run_series`, `latency`, `hops`, `batches`,
    /// `link_series`, `router_ports` and `router_dimensions` if requested, `congestion_series` with
    /// congestion control, `streams` if messages follow from others, `jobs` with jobs, `messages`,
    /// `transport_series` and `exchanges` (if requested) with a transport.
    pub tables: Vec<Table>,
}

/// A flow with packets, or only with an offered load.
pub(crate) struct FlowRow<'a> {
    pub(crate) key: Key,
    /// Bytes; NaN where not known.
    pub(crate) offered: f64,
    pub(crate) flow: Flow,
    pub(crate) histogram: Option<&'a FlowHistogram>,
    pub(crate) place: Option<usize>,
}

/// Input of the tables.
pub(crate) struct TableInput<'a> {
    pub(crate) recorder: &'a Recorder,
    pub(crate) names: &'a Names,
    pub(crate) outcome: &'a Outcome,
    pub(crate) measured: Time,
    pub(crate) flows: Vec<FlowRow<'a>>,
}

impl Recorder {
    /// Returns the recorded figures and tables. Called after all partitions have been merged.
    pub fn report(&self, names: &Names, outcome: &Outcome) -> Report {
        let context = TableInput {
            recorder: self,
            names,
            outcome,
            measured: self.window.length(outcome.end),
            flows: self.flow_rows(&outcome.offers),
        };
        let mut tables = vec![
            tables::flows(&context),
            tables::hosts(&context),
            tables::links(&context),
            series::flows(&context),
            series::hosts(&context),
            series::run(&context),
            tables::latency(&context),
            tables::hops(&context),
            tables::batches(&context),
        ];
        tables.extend(series::links(&context));
        tables.extend(congestion_tables::series(&context));
        tables.extend(streams::table(&context));
        tables.extend(jobs::table(&context));
        tables.extend(transport_tables::messages(&context));
        tables.extend(transport_tables::series(&context));
        tables.extend(transport_tables::exchanges(&context));
        tables.extend(router_tables::ports_table(&context));
        tables.extend(router_tables::directions_table(&context));
        Report { summary: context.summary(), tables }
    }

    /// The flows with packets and those with an offered load, by source and destination.
    fn flow_rows(&self, offers: &[OfferedLoad]) -> Vec<FlowRow<'_>> {
        let mut rows = BTreeMap::new();
        for (key, place, flow, histogram) in self.flows.sorted() {
            rows.insert(key, FlowRow { key, offered: 0.0, flow: *flow, histogram, place: Some(place) });
        }
        let new = |key| FlowRow { key, offered: 0.0, flow: Flow::default(), histogram: None, place: None };
        // The packets of a flow may be lost, or not belong to the measurement, and its source be notified nevertheless.
        let noticed = self.congestion.iter().flat_map(|congestion| congestion.flows());
        for (source, destination) in
            noticed.filter(|row| *row.1 != FlowCongestion::default()).map(|row| row.0)
        {
            let destination = destination.filter(|_| !self.flows.by_source());
            if destination.is_some() || self.flows.by_source() {
                rows.entry((source, destination)).or_insert_with(|| new((source, destination)));
            }
        }
        let mut unknown = vec![offers.is_empty(); self.config.hosts as usize];
        for offer in offers {
            let destination = offer.destination.filter(|_| !self.flows.by_source());
            if destination.is_none() && !self.flows.by_source() {
                unknown[offer.source.index()] |= offer.bytes > 0;
            } else if offer.bytes > 0 {
                let key = (offer.source, destination);
                rows.entry(key).or_insert_with(|| new(key)).offered += offer.bytes as f64;
            }
        }
        let mut rows: Vec<_> = rows.into_values().collect();
        rows.iter_mut().filter(|row| unknown[row.key.0.index()]).for_each(|row| row.offered = f64::NAN);
        rows
    }
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

    /// The batches that lie within the measurement as a whole, and their length.
    pub(crate) fn batches(&self) -> (Vec<Batch>, Time) {
        let grid = &self.recorder.batches;
        let whole = ((self.measured.0 / grid.axis().width().0) as usize).min(grid.axis().capacity());
        let mut batches = grid.row(0).to_vec();
        batches.resize(whole, Batch::default());
        (batches, grid.axis().width())
    }

    /// Bytes that the source offered, over all destinations.
    pub(crate) fn offered_by_host(&self) -> Vec<u64> {
        let mut bytes = vec![0; self.recorder.config.hosts as usize];
        self.outcome.offers.iter().for_each(|offer| bytes[offer.source.index()] += offer.bytes);
        bytes
    }

    /// Sum of the link rates of the hosts that offered messages; if offers are not known, that injected packets.
    fn capacity_gbps(&self) -> f64 {
        let offered = self.offered_by_host();
        let known = !self.outcome.offers.is_empty();
        let counters = &self.recorder.hosts.counters;
        let sends =
            |host: &usize| if known { offered[*host] > 0 } else { counters[*host][INJECTED_PACKETS] > 0 };
        (0..offered.len()).filter(sends).map(|host| self.outcome.rates[host].as_gbps()).sum()
    }

    fn confidence(&self) -> Option<Confidence> {
        let (batches, length) = self.batches();
        let level = self.recorder.config.confidence;
        interval(&batches, level).map(|found| Confidence {
            half_width_ns: found.half_width * 1e-3,
            relative: found.half_width / found.mean,
            level,
            batches: found.groups,
            batch_ns: length.as_ns_f64() * found.batches_per_group as f64,
            correlation: found.correlation,
            correlated: found.correlated,
        })
    }

    fn summary(&self) -> Summary {
        let Recorder { hosts, latencies, .. } = self.recorder;
        let (packets, bytes) = (hosts.total(DELIVERED_PACKETS), hosts.total(DELIVERED_BYTES));
        let mut all = Flow::default();
        self.flows.iter().for_each(|row| all.add(&row.flow));
        let offered: u64 = self.outcome.offers.iter().map(|offer| offer.bytes).sum();
        let offered = if self.outcome.offers.is_empty() { f64::NAN } else { offered as f64 };
        let (offered_gbps, accepted_gbps) = (self.gbps(offered), self.gbps(bytes as f64));
        let capacity = self.capacity_gbps();
        let part: Vec<&FlowRow> = self.flows.iter().filter(|row| row.takes_part()).collect();
        let (mean, packet) = (bytes as f64 / part.len() as f64, bytes as f64 / packets.max(1) as f64);
        let starving = part.iter().filter(|row| starves(row.flow.bytes, row.offered, mean, packet)).count();
        let saturated = accepted_gbps < SATURATED * offered_gbps;
        let reason = || {
            let percent = 100.0 * SATURATED;
            format!(
                "accepts {accepted_gbps:.4} Gb/s of {offered_gbps:.4} Gb/s offered: less than {percent} %"
            )
        };
        let jobs = jobs::summaries(self);
        Summary {
            measured_from_ns: start_ns(self.recorder.window),
            measured_ns: self.measured.as_ns_f64(),
            offered_load: offered_gbps / capacity,
            accepted_load: accepted_gbps / capacity,
            offered_gbps,
            accepted_gbps,
            packets,
            bytes,
            latency_packets: all.created,
            latency_ns: Latency::of(all.created, &all.total, Some(&latencies.total)),
            network_latency_ns: Latency::of(all.created, &all.network, Some(&latencies.network)),
            latency_confidence: self.confidence(),
            hops: Hops::of(&latencies.hops()),
            jain: jain(part.iter().map(|row| row.flow.bytes)),
            flow_count: part.len(),
            starving,
            saturated,
            saturation: saturated.then(reason),
            steady: self.outcome.steady,
            congestion: congestion_tables::summary(self),
            transport: transport::summary(self),
            job_time_ns: jobs::time_ns(&jobs),
            jobs,
            streams: streams::summaries(self),
            routers: router_tables::summary(self),
            flows: if self.flows.len() <= MOST_FLOWS { self.flow_summaries() } else { Vec::new() },
        }
    }

    fn flow_summaries(&self) -> Vec<FlowSummary> {
        let summary = |row: &FlowRow| FlowSummary {
            source: self.host(row.key.0).to_owned(),
            destination: self.destination(row.key).to_owned(),
            offered_gbps: self.gbps(row.offered),
            accepted_gbps: self.gbps(row.flow.bytes as f64),
            latency_ns: row.latency(),
        };
        self.flows.iter().map(summary).collect()
    }
}

/// Gb/s of `bytes` in `time`; NaN if both are zero.
pub(crate) fn gbps(bytes: f64, time: Time) -> f64 {
    bytes * 8e3 / time.0 as f64
}
