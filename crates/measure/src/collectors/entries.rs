//! Counters by entry: of the traffic list, of responses, of jobs.

use fabricsim_model::{Packet, Table};
use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::Serialize;

use super::collector::{Collector, ResultTable};
use crate::flow::{Flow, FlowRow, MOST_FLOWS};
use crate::input::TableInput;
use crate::moments::Moments;
use crate::timeline::{Delivery, Timeline};
use crate::{EntryName, Histogram, Latency, RecorderConfig, jain};

/// Counters of each entry. An entry is a stream of messages: packets carry its number.
///
/// Of an only entry most is that of all flows together, and is not counted once more.
///
/// The histogram of latencies is in [`Latencies`](super::latency::Latencies), whose sum it is a part of; fairness comes
/// from the records of flows.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(crate) struct Entries {
    counts: Vec<EntryCounters>,
    /// Round trips of requests.
    trips: Vec<TripCounters>,
}

#[derive(Clone, Debug, Default, fabricsim_state::Value)]
struct EntryCounters {
    /// Packets and bytes delivered within the window.
    packets: u64,
    bytes: u64,
    /// Those of them that were the last of their message.
    messages: u64,
    /// Packets created within the window and delivered.
    created: u64,
    /// Their latency, in picoseconds.
    total: Moments,
    /// Sum of their network latencies, in picoseconds.
    network: u128,
}

#[derive(Clone, Debug, Default, fabricsim_state::Value)]
struct TripCounters {
    /// Requests whose response was complete within the window.
    answered: u64,
    /// Round trips of the requests that were created within the window.
    trips: u64,
    trip: Moments,
    histogram: Histogram<7>,
}

/// Figures of an entry, of the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EntrySummary {
    /// Name of the entry, of the responses to it, or of the job; without a name its pattern.
    pub entry: String,
    /// Begin of the names of its metrics: `traffic.incast`, without a name `traffic.0`; of responses
    /// `traffic.incast.response`, of a job `jobs.solver`.
    pub key: String,
    /// `traffic`, `request`, `response` or `job`.
    pub kind: &'static str,
    /// What it sends, in a few words.
    pub text: String,
    /// Hosts that send.
    pub sources: usize,
    /// Hosts that may receive.
    pub destinations: usize,
    /// Load that its sources offered within the window.
    #[schemars(extend("x-unit" = "Gb/s"))]
    pub offered_gbps: f64,
    /// Load that was delivered within the window.
    #[schemars(extend("x-unit" = "Gb/s"))]
    pub accepted_gbps: f64,
    /// Offered load as a fraction of the link rates of its sources.
    #[schemars(extend("x-unit" = "fraction"))]
    pub offered_load: f64,
    /// Accepted load as a fraction of the link rates of its sources.
    #[schemars(extend("x-unit" = "fraction"))]
    pub accepted_load: f64,
    /// Accepted load as a fraction of the link rates of its destinations.
    #[schemars(extend("x-unit" = "fraction"))]
    pub destination_share: f64,
    /// From creation to delivery, of packets.
    pub latency_ns: Latency,
    /// Jain's fairness index over the accepted throughput of its flows; none if it shares flows with another entry.
    #[schemars(title = "fairness (Jain)")]
    pub jain: f64,
    /// Flows of this entry alone that take part.
    #[schemars(title = "flows")]
    pub flow_count: usize,
    /// Messages whose last packet was delivered within the window.
    pub messages: u64,
    /// Of requests: complete responses per second.
    #[schemars(title = "answers", extend("x-unit" = "1/s"))]
    pub answered_per_s: Option<f64>,
    /// Of requests: from creation to the arrival of the last byte of the response.
    pub round_trip_ns: Option<Latency>,
}

impl EntryCounters {
    /// Those of an entry whose flows are all there are.
    fn of_all(&self, flows: &Flow) -> Self {
        Self {
            packets: flows.packets,
            bytes: flows.bytes,
            messages: self.messages,
            created: flows.created,
            total: flows.total,
            network: flows.network.sum,
        }
    }
}

impl Entries {
    /// Of `count` entries.
    pub(crate) fn of(count: usize) -> Self {
        Self { counts: vec![EntryCounters::default(); count], trips: vec![TripCounters::default(); count] }
    }
}

impl Collector for Entries {
    type Summary = Vec<EntrySummary>;

    /// No entries.
    fn new(_config: &RecorderConfig, _timeline: &Timeline) -> Self {
        Self::of(0)
    }

    #[inline]
    fn delivered(&mut self, _timeline: &mut Timeline, _now: Time, packet: &Packet, delivery: &Delivery) {
        if let [only] = &mut self.counts[..] {
            // All else is that of all flows together.
            only.messages += u64::from(delivery.accepted && packet.last);
            return;
        }
        let Some(entry) = self.counts.get_mut(usize::from(packet.stream)) else { return };
        if delivery.accepted {
            entry.packets += 1;
            entry.bytes += u64::from(packet.bytes);
            entry.messages += u64::from(packet.last);
        }
        if delivery.created_within {
            entry.created += 1;
            entry.total.record(delivery.total);
            entry.network += u128::from(delivery.network);
        }
    }

    fn answered(&mut self, timeline: &mut Timeline, now: Time, stream: u16, created: Time) {
        let Some(entry) = self.trips.get_mut(usize::from(stream)) else { return };
        entry.answered += u64::from(timeline.window.contains(now));
        if timeline.window.contains(created) {
            entry.trips += 1;
            entry.trip.record((now - created).0);
            entry.histogram.record((now - created).0);
        }
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            mine.packets += theirs.packets;
            mine.bytes += theirs.bytes;
            mine.messages += theirs.messages;
            mine.created += theirs.created;
            mine.total += theirs.total;
            mine.network += theirs.network;
        }
        for (mine, theirs) in self.trips.iter_mut().zip(&other.trips) {
            mine.answered += theirs.answered;
            mine.trips += theirs.trips;
            mine.trip += theirs.trip;
            mine.histogram.merge(&theirs.histogram);
        }
    }

    fn tables(&self, input: &TableInput<'_>) -> Vec<ResultTable> {
        let text = "entry of the traffic list, the responses to its messages, or job";
        vec![ResultTable::new(text, table(&self.rows(input), input))]
    }

    fn summarize(&self, input: &TableInput<'_>) -> Vec<EntrySummary> {
        let rows = if self.counts.len() <= MOST_FLOWS { self.rows(input) } else { Vec::new() };
        rows.iter().map(|row| row.summary(input)).collect()
    }
}

/// An entry in the results.
struct EntryRow<'a> {
    name: &'a EntryName,
    counts: EntryCounters,
    trips: &'a TripCounters,
    histogram: Option<&'a Histogram<7>>,
    /// Bytes; NaN where not known.
    offered: f64,
    /// Flows of this entry alone, and their fairness.
    flows: usize,
    jain: f64,
}

impl EntryRow<'_> {
    fn latency(&self) -> Latency {
        Latency::of(self.counts.created, &self.counts.total, self.histogram)
    }

    fn trip(&self) -> Latency {
        Latency::of(self.trips.trips, &self.trips.trip, Some(&self.trips.histogram))
    }

    fn accepted(&self) -> f64 {
        self.counts.bytes as f64
    }

    fn summary(&self, input: &TableInput<'_>) -> EntrySummary {
        let name = self.name;
        let is_request = name.kind == "request";
        EntrySummary {
            entry: name.name.clone(),
            key: name.key.clone(),
            kind: name.kind,
            text: name.text.clone(),
            sources: name.sources,
            destinations: name.destinations,
            offered_gbps: input.gbps(self.offered),
            accepted_gbps: input.gbps(self.accepted()),
            offered_load: input.gbps(self.offered) / name.source_gbps,
            accepted_load: input.gbps(self.accepted()) / name.source_gbps,
            destination_share: input.gbps(self.accepted()) / name.destination_gbps,
            latency_ns: self.latency(),
            jain: self.jain,
            flow_count: self.flows,
            messages: self.counts.messages,
            answered_per_s: is_request.then(|| self.trips.answered as f64 / input.measured.as_secs_f64()),
            round_trip_ns: is_request.then(|| self.trip()),
        }
    }
}

impl Entries {
    /// The entries with their names.
    fn rows<'a>(&'a self, input: &'a TableInput<'_>) -> Vec<EntryRow<'a>> {
        let offered = self.offered(input);
        let flows = self.flows(input);
        let all = input.all_flows();
        let is_only = self.counts.len() == 1;
        let row = |(number, name): (usize, &'a EntryName)| {
            let (counts, trips) = (self.counts.get(number)?, self.trips.get(number)?);
            let (bytes, is_shared) = &flows[number];
            Some(EntryRow {
                name,
                counts: if is_only { counts.of_all(&all) } else { counts.clone() },
                trips,
                histogram: input.latencies.get(number),
                offered: offered[number],
                flows: bytes.len(),
                jain: if *is_shared { f64::NAN } else { jain(bytes.iter().copied()) },
            })
        };
        input.names.entries.iter().enumerate().filter_map(row).collect()
    }

    /// Bytes that each entry offered.
    fn offered(&self, input: &TableInput<'_>) -> Vec<f64> {
        let offers = &input.outcome.offers;
        let none = if offers.is_empty() { f64::NAN } else { 0.0 };
        let mut bytes = vec![none; self.counts.len()];
        for offer in offers {
            if let Some(sum) = offer.stream.and_then(|stream| bytes.get_mut(usize::from(stream))) {
                *sum += offer.bytes as f64;
            }
        }
        bytes
    }

    /// Bytes of the flows of each entry alone that take part, and true if it shares flows with others.
    fn flows(&self, input: &TableInput<'_>) -> Vec<(Vec<u64>, bool)> {
        let mut of_entry: Vec<(Vec<u64>, bool)> = vec![Default::default(); self.counts.len()];
        let alone = |row: &FlowRow| row.flow.entry.number().filter(|_| row.takes_part());
        for (entry, bytes) in input.flows.iter().filter_map(|row| Some((alone(row)?, row.flow.bytes))) {
            if let Some(found) = of_entry.get_mut(usize::from(entry)) {
                found.0.push(bytes);
            }
        }
        for &entry in &input.sharing {
            if let Some(found) = of_entry.get_mut(usize::from(entry)) {
                found.1 = true;
            }
        }
        of_entry
    }
}

/// A row per entry.
fn table(rows: &[EntryRow<'_>], input: &TableInput<'_>) -> Table {
    let real = |value: &dyn Fn(&EntryRow<'_>) -> f64| rows.iter().map(value).collect::<Vec<f64>>();
    let whole =
        |value: &dyn Fn(&EntryRow<'_>) -> u64| rows.iter().map(|row| value(row) as i64).collect::<Vec<i64>>();
    let name = |value: &dyn Fn(&EntryName) -> &str| {
        rows.iter().map(|row| value(row.name).to_owned()).collect::<Vec<String>>()
    };
    let mut table = Table::new("entries");
    let text = "Entry of the traffic list, the responses to its messages, or a job: its name, without one its pattern";
    table.text("entry", text, name(&|name| &name.name));
    let text = "Begin of the names of its metrics: traffic.NAME, or traffic.NUMBER without a name; jobs.NAME";
    table.text("key", text, name(&|name| &name.key));
    table.text("kind", "traffic, request, response or job", name(&|name| name.kind));
    table.text("text", "What it sends, in a few words", name(&|name| &name.text));
    table.whole("sources", "", "Hosts that send", whole(&|row| row.name.sources as u64));
    table.whole("destinations", "", "Hosts that may receive", whole(&|row| row.name.destinations as u64));
    let offered = real(&|row| input.gbps(row.offered));
    table.real("offered_gbps", "Gb/s", "Messages created in the measurement", offered);
    let accepted = real(&|row| input.gbps(row.accepted()));
    table.real("accepted_gbps", "Gb/s", "Packets delivered in the measurement", accepted);
    let share = real(&|row| input.gbps(row.accepted()) / row.name.source_gbps);
    let text = "Accepted throughput as a fraction of the link rates of its sources";
    table.real("source_share", "fraction", text, share);
    let share = real(&|row| input.gbps(row.accepted()) / row.name.destination_gbps);
    let text = "Accepted throughput as a fraction of the link rates of its destinations";
    table.real("destination_share", "fraction", text, share);
    table.whole("packets", "", "Packets delivered in the measurement", whole(&|row| row.counts.packets));
    table.whole("bytes", "B", "Bytes delivered in the measurement", whole(&|row| row.counts.bytes));
    let text = "Messages whose last packet was delivered in the measurement";
    table.whole("messages", "", text, whole(&|row| row.counts.messages));
    let text = "Flows of this entry alone that offered or delivered packets in the measurement";
    table.whole("flows", "", text, whole(&|row| row.flows as u64));
    let text = "Jain's fairness index over the accepted throughput of its flows; nothing if it shares flows with another entry";
    table.real("jain", "", text, real(&|row| row.jain)).labelled("fairness (Jain)");
    latency_columns(&mut table, rows);
    trip_columns(&mut table, rows);
    table
}

fn latency_columns(table: &mut Table, rows: &[EntryRow<'_>]) {
    let latencies: Vec<Latency> = rows.iter().map(EntryRow::latency).collect();
    let of = |value: fn(&Latency) -> f64| latencies.iter().map(value).collect::<Vec<f64>>();
    let created = rows.iter().map(|row| row.counts.created as i64).collect();
    table.whole("latency_packets", "", "Delivered packets that were created in the measurement", created);
    table.real("latency_mean_ns", "ns", "Mean latency, from creation to delivery", of(|l| l.mean));
    table.real("latency_min_ns", "ns", "Smallest latency", of(|l| l.min));
    table.real("latency_p50_ns", "ns", "Median latency, to 0.4 %", of(|l| l.p50));
    table.real("latency_p99_ns", "ns", "99 % of the latencies are not larger, to 0.4 %", of(|l| l.p99));
    table.real("latency_p999_ns", "ns", "99.9 % of the latencies are not larger, to 0.4 %", of(|l| l.p999));
    table.real("latency_max_ns", "ns", "Largest latency", of(|l| l.max));
    let network =
        rows.iter().map(|row| row.counts.network as f64 / row.counts.created as f64 * 1e-3).collect();
    let text = "Mean latency from the first byte on the wire";
    table.real("network_mean_ns", "ns", text, network).labelled("mean network latency");
}

fn trip_columns(table: &mut Table, rows: &[EntryRow<'_>]) {
    let trips: Vec<Latency> = rows.iter().map(EntryRow::trip).collect();
    let of = |value: fn(&Latency) -> f64| trips.iter().map(value).collect::<Vec<f64>>();
    let answered = rows.iter().map(|row| row.trips.answered as i64).collect();
    table.whole("answered", "", "Of requests: responses that were whole in the measurement", answered);
    let text = "Of requests created in the measurement: mean time until the response was whole";
    table.real("round_trip_mean_ns", "ns", text, of(|l| l.mean));
    table.real("round_trip_p50_ns", "ns", "Median of the same, to 0.4 %", of(|l| l.p50));
    table.real("round_trip_p99_ns", "ns", "99 % of them are not larger, to 0.4 %", of(|l| l.p99));
    table.real("round_trip_max_ns", "ns", "Largest of them", of(|l| l.max));
}
