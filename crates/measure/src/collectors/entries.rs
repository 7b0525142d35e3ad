//! Counters by stream of messages (requests and their responses, jobs).

use fabricsim_model::{Packet, Table};
use fabricsim_units::Time;
use schemars::JsonSchema;
use serde::Serialize;

use super::collector::{Collector, ResultTable};
use crate::input::TableInput;
use crate::moments::Moments;
use crate::timeline::{Delivery, Timeline};
use crate::{Histogram, Latency, RecorderConfig, StreamName};

/// Counters of each stream, if messages follow from others.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    counts: Vec<StreamCounters>,
}

#[derive(Clone, Debug, Default)]
struct StreamCounters {
    /// Packets and bytes delivered within the window.
    packets: u64,
    bytes: u64,
    /// Latency of the packets that were created within the window.
    made: u64,
    total: Moments,
    histogram: Histogram<7>,
    network: Moments,
    /// Requests whose response was complete within the window.
    answered: u64,
    /// Round trips of the requests that were created within the window.
    trips: u64,
    trip: Moments,
    trip_histogram: Histogram<7>,
}

/// Figures of a stream, of the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamSummary {
    /// Name of the entry, of the responses to it, or of the job.
    pub stream: String,
    /// `traffic`, `request`, `response` or `job`.
    pub kind: &'static str,
    /// Delivered load.
    #[schemars(extend("x-unit" = "Gb/s"))]
    pub accepted_gbps: f64,
    /// From creation to delivery, of packets.
    pub latency_ns: Latency,
    /// Of requests: complete responses per second.
    #[schemars(title = "answers", extend("x-unit" = "1/s"))]
    pub answered_per_s: Option<f64>,
    /// Of requests: from creation to the arrival of the last byte of the response.
    pub round_trip_ns: Option<Latency>,
}

impl Streams {
    /// Of `count` streams.
    pub(crate) fn of(count: usize) -> Self {
        Self { counts: vec![StreamCounters::default(); count] }
    }
}

impl Collector for Streams {
    type Summary = Vec<StreamSummary>;

    /// No streams.
    fn new(_config: &RecorderConfig, _timeline: &Timeline) -> Self {
        Self::of(0)
    }

    #[inline(never)]
    fn delivered(&mut self, _timeline: &mut Timeline, _now: Time, packet: &Packet, delivery: &Delivery) {
        let stream = &mut self.counts[usize::from(packet.stream)];
        if delivery.accepted {
            stream.packets += 1;
            stream.bytes += u64::from(packet.bytes);
        }
        if delivery.created_within {
            stream.made += 1;
            stream.total.record(delivery.total);
            stream.histogram.record(delivery.total);
            stream.network.record(delivery.network);
        }
    }

    fn answered(&mut self, timeline: &mut Timeline, now: Time, stream: u16, created: Time) {
        let stream = &mut self.counts[usize::from(stream)];
        stream.answered += u64::from(timeline.window.contains(now));
        if timeline.window.contains(created) {
            stream.trips += 1;
            stream.trip.record((now - created).0);
            stream.trip_histogram.record((now - created).0);
        }
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            mine.packets += theirs.packets;
            mine.bytes += theirs.bytes;
            mine.made += theirs.made;
            mine.total += theirs.total;
            mine.histogram.merge(&theirs.histogram);
            mine.network += theirs.network;
            mine.answered += theirs.answered;
            mine.trips += theirs.trips;
            mine.trip += theirs.trip;
            mine.trip_histogram.merge(&theirs.trip_histogram);
        }
    }

    fn tables(&self, input: &TableInput<'_>) -> Vec<ResultTable> {
        let text = "entry of the traffic list, the responses to its messages, or job; if messages follow from others";
        vec![ResultTable::new(text, self.table(input))]
    }

    fn summarize(&self, input: &TableInput<'_>) -> Vec<StreamSummary> {
        let seconds = input.measured.as_secs_f64();
        let summary = |(name, stream): (&StreamName, &StreamCounters)| {
            let is_request = name.kind == "request";
            StreamSummary {
                stream: name.name.clone(),
                kind: name.kind,
                accepted_gbps: input.gbps(stream.bytes as f64),
                latency_ns: stream.latency(),
                answered_per_s: is_request.then(|| stream.answered as f64 / seconds),
                round_trip_ns: is_request.then(|| stream.trip()),
            }
        };
        self.rows(input).map(summary).collect()
    }
}

impl StreamCounters {
    fn latency(&self) -> Latency {
        Latency::of(self.made, &self.total, Some(&self.histogram))
    }

    fn trip(&self) -> Latency {
        Latency::of(self.trips, &self.trip, Some(&self.trip_histogram))
    }
}

impl Streams {
    /// The streams with their names.
    fn rows<'a>(
        &'a self,
        input: &'a TableInput<'_>,
    ) -> impl Iterator<Item = (&'a StreamName, &'a StreamCounters)> {
        input.names.streams.iter().zip(&self.counts)
    }

    /// A row per stream.
    fn table(&self, input: &TableInput<'_>) -> Table {
        let rows: Vec<_> = self.rows(input).collect();
        let whole = |value: fn(&StreamCounters) -> u64| {
            rows.iter().map(|row| value(row.1) as i64).collect::<Vec<_>>()
        };
        let latencies: Vec<Latency> = rows.iter().map(|row| row.1.latency()).collect();
        let trips: Vec<Latency> = rows.iter().map(|row| row.1.trip()).collect();
        let of = |list: &[Latency], value: fn(&Latency) -> f64| list.iter().map(value).collect::<Vec<_>>();
        let accepted = rows.iter().map(|row| input.gbps(row.1.bytes as f64)).collect();
        let network = rows.iter().map(|row| row.1.network.sum as f64 / row.1.made as f64 * 1e-3).collect();

        let mut table = Table::new("streams");
        let text = "Entry of the traffic list, the responses to its messages, or a job";
        table.text("stream", text, rows.iter().map(|row| row.0.name.clone()).collect());
        let kinds = rows.iter().map(|row| row.0.kind.to_owned()).collect();
        table.text("kind", "traffic, request, response or job", kinds);
        table.real("accepted_gbps", "Gb/s", "Packets delivered in the measurement", accepted);
        table.whole("packets", "", "Packets delivered in the measurement", whole(|s| s.packets));
        table.whole("bytes", "B", "Bytes delivered in the measurement", whole(|s| s.bytes));
        let made = whole(|s| s.made);
        table.whole("latency_packets", "", "Delivered packets that were created in the measurement", made);
        table.real(
            "latency_mean_ns",
            "ns",
            "Mean latency, from creation to delivery",
            of(&latencies, |l| l.mean),
        );
        table.real("latency_min_ns", "ns", "Smallest latency", of(&latencies, |l| l.min));
        table.real("latency_p50_ns", "ns", "Median latency, to 0.4 %", of(&latencies, |l| l.p50));
        let text = "99 % of the latencies are not larger, to 0.4 %";
        table.real("latency_p99_ns", "ns", text, of(&latencies, |l| l.p99));
        let text = "99.9 % of the latencies are not larger, to 0.4 %";
        table.real("latency_p999_ns", "ns", text, of(&latencies, |l| l.p999));
        table.real("latency_max_ns", "ns", "Largest latency", of(&latencies, |l| l.max));
        let text = "Mean latency from the first byte on the wire";
        table.real("network_mean_ns", "ns", text, network).labelled("mean network latency");
        let text = "Of requests: responses that were whole in the measurement";
        table.whole("answered", "", text, whole(|s| s.answered));
        let text = "Of requests created in the measurement: mean time until the response was whole";
        table.real("round_trip_mean_ns", "ns", text, of(&trips, |l| l.mean));
        table.real("round_trip_p50_ns", "ns", "Median of the same, to 0.4 %", of(&trips, |l| l.p50));
        let text = "99 % of them are not larger, to 0.4 %";
        table.real("round_trip_p99_ns", "ns", text, of(&trips, |l| l.p99));
        table.real("round_trip_max_ns", "ns", "Largest of them", of(&trips, |l| l.max));
        table
    }
}
