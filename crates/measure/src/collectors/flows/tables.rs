//! Tables and figures of flows.

use fabricsim_model::Table;
use fabricsim_units::HostId;
use schemars::JsonSchema;
use serde::Serialize;

use super::Flows;
use crate::bins::{Bins, head};
use crate::fairness::starves;
use crate::flow::{FlowRow, Key, MOST_FLOWS};
use crate::grid::Grid;
use crate::input::{Rows, TableInput};
use crate::moments::deviation;
use crate::{Latency, jain};

/// Shares of flows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FlowsSummary {
    /// Jain's fairness index over the accepted throughput of the flows that take part.
    #[schemars(title = "fairness (Jain)")]
    pub jain: f64,
    /// Flows that take part: they offered or delivered packets within the window.
    #[schemars(title = "flows")]
    pub flow_count: usize,
    /// Flows that get less than 1 % of their offered load and of the mean accepted load of flows.
    #[schemars(title = "starving flows")]
    pub starving: usize,
    /// The flows, while there are at most 4096; empty otherwise.
    pub flows: Vec<FlowSummary>,
}

/// Figures of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FlowSummary {
    /// Name of the source.
    pub source: String,
    /// Name of the destination; `*` for all destinations of the source.
    pub destination: String,
    /// Load that the source offered within the window; none if destinations are drawn.
    #[schemars(extend("x-unit" = "Gb/s"))]
    pub offered_gbps: f64,
    /// Load that was delivered within the window.
    #[schemars(extend("x-unit" = "Gb/s"))]
    pub accepted_gbps: f64,
    /// From creation to delivery.
    pub latency_ns: Latency,
}

/// A row per flow.
pub(super) fn flows(input: &TableInput<'_>) -> Table {
    let rows = &input.flows;
    let real = |value: &dyn Fn(&FlowRow) -> f64| rows.iter().map(value).collect::<Vec<_>>();
    let whole =
        |value: &dyn Fn(&FlowRow) -> u64| rows.iter().map(|row| value(row) as i64).collect::<Vec<_>>();
    let latencies: Vec<_> = rows.iter().map(FlowRow::latency).collect();
    let ns = |value: fn(&Latency) -> f64| latencies.iter().map(value).collect::<Vec<_>>();
    let rate = |host: HostId| input.outcome.rates[host.index()].as_gbps();
    let network_max =
        |row: &FlowRow| if row.flow.created > 0 { row.flow.network.max as f64 * 1e-3 } else { f64::NAN };

    let mut table = Table::new("flows");
    table.text("source", "Sending host", rows.iter().map(|row| input.host(row.key.0).to_owned()).collect());
    let destinations = rows.iter().map(|row| input.destination(row.key).to_owned()).collect();
    table.text("destination", "Receiving host; * for all of them", destinations);
    let text = "Entry of the traffic list, or job, that sends on it; several if more than one does";
    table.text("entry", text, rows.iter().map(|row| entry(input, row).to_owned()).collect());
    let offered = real(&|row| input.gbps(row.offered));
    table.real("offered_gbps", "Gb/s", "Messages created in the measurement", offered);
    let accepted = real(&|row| input.gbps(row.flow.bytes as f64));
    table.real("accepted_gbps", "Gb/s", "Packets delivered in the measurement", accepted);
    let share = real(&|row| input.gbps(row.flow.bytes as f64) / rate(row.key.0));
    table.real(
        "source_share",
        "fraction",
        "Accepted throughput as a fraction of the source's link rate",
        share,
    );
    let of_destination = |row: &FlowRow| row.key.1.map_or(f64::NAN, rate);
    let share = real(&|row| input.gbps(row.flow.bytes as f64) / of_destination(row));
    let text =
        "Accepted throughput as a fraction of the destination's link rate; nothing for a flow to all of them";
    table.real("destination_share", "fraction", text, share);
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
    let text = "Mean latency from the first byte on the wire";
    table.real("network_mean_ns", "ns", text, network).labelled("mean network latency");
    let text = "Largest latency from the first byte on the wire";
    table.real("network_max_ns", "ns", text, real(&network_max)).labelled("largest network latency");
    input.add_columns(&Rows::Flows, &mut table);
    table
}

/// Name of the entry of a flow; empty without any.
fn entry<'a>(input: &'a TableInput<'_>, row: &FlowRow<'_>) -> &'a str {
    let number = row.flow.entry.number().map(usize::from);
    match number.and_then(|number| input.names.entries.get(number)) {
        Some(name) => &name.name,
        None if row.flow.entry.is_several() => "several",
        None => "",
    }
}

/// Delivered throughput of every flow over time. Empty if there are too many flows.
pub(super) fn series(flows: &Flows, input: &TableInput<'_>) -> Table {
    let mut table = Table::new("series");
    let rows: Vec<_> = input.flows.iter().filter_map(|row| row.place.map(|place| (row.key, place))).collect();
    let kept = flows.series();
    let rows = if kept.is_some() { rows } else { Vec::new() };
    let axis = &input.timeline.axis;
    let grid =
        kept.map_or_else(|| Grid::new(axis.width(), axis.capacity(), 0), |cells| Grid::of(axis, cells));
    let bins = Bins::new(grid, rows.len(), input.outcome.end);
    let name = |key: Key| format!("{}->{}", input.host(key.0), input.destination(key));
    let names: Vec<_> = rows.iter().map(|row| name(row.0)).collect();
    head(&mut table, &bins, ("flow", "Source and destination: from->to"), &names);
    let rates = rows.iter().flat_map(|row| bins.rates(row.1)).collect();
    table.real("gbps", "Gb/s", "Delivered throughput", rates);
    table
}

pub(super) fn summary(input: &TableInput<'_>) -> FlowsSummary {
    let part: Vec<&FlowRow> = input.flows.iter().filter(|row| row.takes_part()).collect();
    let all = input.all_flows();
    let (mean, packet) = (all.bytes as f64 / part.len() as f64, all.bytes as f64 / all.packets.max(1) as f64);
    let starving = part.iter().filter(|row| starves(row.flow.bytes, row.offered, mean, packet)).count();
    FlowsSummary {
        jain: jain(part.iter().map(|row| row.flow.bytes)),
        flow_count: part.len(),
        starving,
        flows: if input.flows.len() <= MOST_FLOWS { flow_summaries(input) } else { Vec::new() },
    }
}

fn flow_summaries(input: &TableInput<'_>) -> Vec<FlowSummary> {
    let summary = |row: &FlowRow| FlowSummary {
        source: input.host(row.key.0).to_owned(),
        destination: input.destination(row.key).to_owned(),
        offered_gbps: input.gbps(row.offered),
        accepted_gbps: input.gbps(row.flow.bytes as f64),
        latency_ns: row.latency(),
    };
    input.flows.iter().map(summary).collect()
}
