use fabricsim_model::Table;
use fabricsim_units::HostId;

use crate::congestion_tables;
use crate::hosts::{DELIVERED_BYTES, DELIVERED_PACKETS, INJECTED_BYTES, INJECTED_PACKETS};
use crate::moments::deviation;
use crate::ports::{BUSY, BYTES, PACKETS, STALLED};
use crate::report::{FlowRow, TableInput, gbps};
use crate::{Bucket, Histogram, Latency};

pub(crate) fn new(name: &'static str) -> Table {
    Table { name, columns: Vec::new() }
}

/// A row per flow.
pub(crate) fn flows(context: &TableInput) -> Table {
    let rows = &context.flows;
    let real = |value: &dyn Fn(&FlowRow) -> f64| rows.iter().map(value).collect::<Vec<_>>();
    let whole =
        |value: &dyn Fn(&FlowRow) -> u64| rows.iter().map(|row| value(row) as i64).collect::<Vec<_>>();
    let latencies: Vec<_> = rows.iter().map(FlowRow::latency).collect();
    let ns = |value: fn(&Latency) -> f64| latencies.iter().map(value).collect::<Vec<_>>();
    let rate = |host: HostId| context.outcome.rates[host.index()].as_gbps();
    let network_max =
        |row: &FlowRow| if row.flow.created > 0 { row.flow.network.max as f64 * 1e-3 } else { f64::NAN };

    let mut table = new("flows");
    table.text("source", "Sending host", rows.iter().map(|row| context.host(row.key.0).to_owned()).collect());
    let destinations = rows.iter().map(|row| context.destination(row.key).to_owned()).collect();
    table.text("destination", "Receiving host; * for all of them", destinations);
    let offered = real(&|row| context.gbps(row.offered));
    table.real("offered_gbps", "Gb/s", "Messages created in the measurement", offered);
    let accepted = real(&|row| context.gbps(row.flow.bytes as f64));
    table.real("accepted_gbps", "Gb/s", "Packets delivered in the measurement", accepted);
    let share = real(&|row| context.gbps(row.flow.bytes as f64) / rate(row.key.0));
    table.real("source_share", "", "Accepted throughput as a fraction of the source's link rate", share);
    let of_destination = |row: &FlowRow| row.key.1.map_or(f64::NAN, rate);
    let share = real(&|row| context.gbps(row.flow.bytes as f64) / of_destination(row));
    let text =
        "Accepted throughput as a fraction of the destination's link rate; nothing for a flow to all of them";
    table.real("destination_share", "", text, share);
    table.whole("packets", "", "Packets delivered in the measurement", whole(&|row| row.flow.packets));
    table.whole("bytes", "B", "Bytes delivered in the measurement", whole(&|row| row.flow.bytes));
    let created = whole(&|row| row.flow.created);
    table.whole("latency_packets", "", "Delivered packets that were created in the measurement", created);
    table.real("latency_mean_ns", "ns", "Mean latency, from creation to delivery", ns(|l| l.mean));
    let deviation = real(&|row| deviation(row.flow.created, row.flow.total.sum, row.flow.squares) * 1e-3);
    table.real("latency_deviation_ns", "ns", "Standard deviation of the latency", deviation);
    table.real("latency_min_ns", "ns", "Smallest latency", ns(|l| l.min));
    table.real("latency_p50_ns", "ns", "Median latency, to 1.6 %", ns(|l| l.p50));
    table.real("latency_p99_ns", "ns", "99 % of the latencies are not larger, to 1.6 %", ns(|l| l.p99));
    table.real("latency_p999_ns", "ns", "99.9 % of the latencies are not larger, to 1.6 %", ns(|l| l.p999));
    table.real("latency_max_ns", "ns", "Largest latency", ns(|l| l.max));
    let network = real(&|row| row.flow.network.sum as f64 / row.flow.created as f64 * 1e-3);
    table.real("network_mean_ns", "ns", "Mean latency from the first byte on the wire", network);
    table.real("network_max_ns", "ns", "Largest latency from the first byte on the wire", real(&network_max));
    congestion_tables::flows(context, &mut table);
    table
}

/// A row per host.
pub(crate) fn hosts(context: &TableInput) -> Table {
    let counters = &context.recorder.hosts.counters;
    let whole = |counter: usize| counters.iter().map(|counters| counters[counter] as i64).collect::<Vec<_>>();
    let rate = |counter: usize| counters.iter().map(|c| context.gbps(c[counter] as f64)).collect::<Vec<_>>();
    let known = !context.outcome.offers.is_empty();
    let offered = context.offered_by_host();
    let offered =
        offered.iter().map(|&bytes| if known { context.gbps(bytes as f64) } else { f64::NAN }).collect();

    let mut table = new("hosts");
    table.text("host", "Name", context.names.hosts.clone());
    let link_rates = context.outcome.rates.iter().map(|rate| rate.as_gbps()).collect();
    table.real("link_gbps", "Gb/s", "Rate of the host's link", link_rates);
    table.real("offered_gbps", "Gb/s", "Messages created in the measurement", offered);
    table.real(
        "injected_gbps",
        "Gb/s",
        "Packets whose first byte left in the measurement",
        rate(INJECTED_BYTES),
    );
    table.real("delivered_gbps", "Gb/s", "Packets received in the measurement", rate(DELIVERED_BYTES));
    table.whole(
        "injected_packets",
        "",
        "Packets whose first byte left in the measurement",
        whole(INJECTED_PACKETS),
    );
    table.whole("delivered_packets", "", "Packets received in the measurement", whole(DELIVERED_PACKETS));
    table
}

/// A row per sending port and lane that was used or stalled; for ports that were not, their first lane.
pub(crate) fn links(context: &TableInput) -> Table {
    let ports = &context.recorder.ports;
    let shown: Vec<usize> = (0..ports.counters.len())
        .filter(|place| {
            let of_port = &ports.counters[place - place % ports.lanes..][..ports.lanes];
            let unused = of_port.iter().all(|counters| *counters == [0; 4]);
            ports.counters[*place] != [0; 4] || (unused && place % ports.lanes == 0)
        })
        .collect();
    let names = &context.names.ports;
    let name = |place: &usize| names[place / ports.lanes].link.clone();
    let class = |place: &usize| names[place / ports.lanes].class.clone();
    let whole =
        |counter: usize| shown.iter().map(|&place| ports.counters[place][counter] as i64).collect::<Vec<_>>();
    let measured = context.measured.0 as f64;
    let fraction = |counter: usize| {
        let of = |place: &usize| ports.counters[*place][counter] as f64 / measured;
        shown.iter().map(of).collect::<Vec<_>>()
    };
    let rate = shown.iter().map(|&place| context.gbps(ports.counters[place][BYTES] as f64)).collect();

    let mut table = new("links");
    table.text("link", "Direction of a link: from->to", shown.iter().map(name).collect());
    table.text("class", "Kind of link", shown.iter().map(class).collect());
    table.whole("lane", "", "Virtual lane", shown.iter().map(|place| (place % ports.lanes) as i64).collect());
    table.real(
        "utilisation",
        "",
        "Fraction of the measurement in which packets of the lane were sent",
        fraction(BUSY),
    );
    table.real("gbps", "Gb/s", "Packets whose sending began in the measurement, without overhead", rate);
    table.whole("bytes", "B", "Bytes of the packets whose sending began in the measurement", whole(BYTES));
    table.whole("packets", "", "Packets whose sending began in the measurement", whole(PACKETS));
    let text =
        "Fraction of the measurement in which the idle port had a packet of the lane, but no credits for it";
    table.real("stalled", "", text, fraction(STALLED));
    let retries = shown.iter().map(|&place| ports.retries.get(place).copied().unwrap_or(0) as i64).collect();
    let text = "Micropackets of the packets whose sending began in the measurement that failed and were retransmitted";
    table.whole("retries", "", text, retries);
    congestion_tables::links(context, &shown, &mut table);
    table
}

/// A row per occupied bucket of the latency histograms.
pub(crate) fn latency(context: &TableInput) -> Table {
    let latencies = &context.recorder.latencies;
    let of = |kind: &'static str, histogram: &Histogram<7>| -> Vec<(&str, Bucket)> {
        histogram.buckets().map(|bucket| (kind, bucket)).collect()
    };
    let mut rows = of("total", &latencies.total);
    rows.extend(of("network", &latencies.network));

    let mut table = new("latency");
    let text = "total: from creation to delivery; network: from the first byte on the wire";
    table.text("kind", text, rows.iter().map(|row| row.0.to_owned()).collect());
    let lows = rows.iter().map(|row| row.1.low as f64 * 1e-3).collect();
    table.real("from_ns", "ns", "Lower edge of the bucket, included", lows);
    let highs = rows.iter().map(|row| (row.1.high as f64 + 1.0) * 1e-3).collect();
    table.real("to_ns", "ns", "Upper edge of the bucket, not included", highs);
    table.whole("count", "", "Packets", rows.iter().map(|row| row.1.count as i64).collect());
    table
}

/// A row per number of hops that occurs.
pub(crate) fn hops(context: &TableInput) -> Table {
    let counts = context.recorder.latencies.hops();
    let rows: Vec<_> = counts.iter().enumerate().filter(|(_, count)| **count > 0).collect();
    let mut table = new("hops");
    let text = "Links between switches that a packet crossed: one less than the switches that it passed";
    table.whole("hops", "", text, rows.iter().map(|row| row.0 as i64).collect());
    table.whole("packets", "", "Packets", rows.iter().map(|row| *row.1 as i64).collect());
    table
}

/// A row per batch.
pub(crate) fn batches(context: &TableInput) -> Table {
    let (batches, length) = context.batches();
    let start = context.recorder.window.from;
    let begin = |batch: usize| start.saturating_add(length * batch as u64).as_ns_f64();
    let mut table = new("batches");
    table.real("from_ns", "ns", "Start of the batch", (0..batches.len()).map(begin).collect());
    let text = "Delivered packets that were created in the batch";
    table.whole("packets", "", text, batches.iter().map(|batch| batch.packets as i64).collect());
    let means = batches.iter().map(|batch| batch.latency as f64 / batch.packets as f64 * 1e-3).collect();
    table.real("latency_mean_ns", "ns", "Their mean latency", means);
    let rates = batches.iter().map(|batch| gbps(batch.bytes as f64, length)).collect();
    table.real("gbps", "Gb/s", "Their bytes over the length of the batch", rates);
    table
}
