//! Congestion control in tables and figures.

use fabricsim_model::Table;
use fabricsim_spec::CongestionAlgorithm;
use fabricsim_units::HostId;
use schemars::JsonSchema;
use serde::Serialize;

use super::Congestion;
use super::record::{FabricCongestion, FlowCongestion};
use crate::bins::{Bins, head};
use crate::flow::Key;
use crate::grid::Grid;
use crate::input::TableInput;

/// Figures of congestion control, of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CongestionSummary {
    /// Algorithm of the congestion control.
    pub algorithm: CongestionAlgorithm,
    /// Packets marked (FECN).
    #[schemars(title = "packets marked")]
    pub marked: u64,
    /// Notifications received by sources (BECN).
    #[schemars(title = "notifications received")]
    pub notified: u64,
    /// Packets without data received: notifications and acknowledgements.
    pub control_packets: u64,
    /// Bytes of the packets without data received.
    #[schemars(extend("x-unit" = "B"))]
    pub control_bytes: u64,
    /// Time in which links of hosts were idle only because of congestion control, summed over hosts.
    #[schemars(title = "time blocked by congestion control", extend("x-unit" = "s"))]
    pub throttled_s: f64,
    /// With InfiniBand the mean over flows and time of the index CCTI, 0 for a flow that is not rate-limited. Without flows
    /// there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "mean index CCTI")]
    pub ccti_mean: Option<f64>,
    /// With InfiniBand the largest CCTI of a flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "largest index CCTI")]
    pub ccti_max: Option<f64>,
    /// With DCQCN the mean over flows and time of the rate that is allowed, that of its link for a flow that is not
    /// rate-limited. Without flows there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "mean allowed rate", extend("x-unit" = "Mb/s"))]
    pub rate_mean_mbps: Option<f64>,
    /// With DCQCN the lowest rate that a flow was allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(title = "lowest allowed rate", extend("x-unit" = "Mb/s"))]
    pub rate_min_mbps: Option<f64>,
    /// Number of times in the whole run that a notification found or brought a flow to its trigger threshold.
    #[schemars(title = "flows brought to their threshold")]
    pub events: u64,
}

/// Name, unit, label and description of a column.
struct Column {
    name: &'static str,
    unit: &'static str,
    label: &'static str,
    text: &'static str,
}

impl Column {
    fn add(&self, table: &mut Table, values: Vec<f64>) {
        table.real(self.name, self.unit, self.text, values).labelled(self.label);
    }
}

/// The columns for the level by which a flow is rate-limited: an index or a rate, which have names of their own.
struct Wording {
    mean: Column,
    strongest: Column,
    in_bin: Column,
}

const INDEX: Wording = Wording {
    mean: Column {
        name: "ccti_mean",
        unit: "",
        label: "mean CCTI",
        text: "Mean over the measurement of the index CCTI, 0 while not rate-limited",
    },
    strongest: Column { name: "ccti_max", unit: "", label: "largest CCTI", text: "Largest index CCTI" },
    in_bin: Column {
        name: "ccti",
        unit: "",
        label: "CCTI",
        text: "Mean over the bin of the index CCTI, 0 while not rate-limited",
    },
};

const RATE: Wording = Wording {
    mean: Column {
        name: "rate_mean_mbps",
        unit: "Mb/s",
        label: "mean allowed rate",
        text: "Mean over the measurement of the rate that is allowed, the link's while not rate-limited",
    },
    strongest: Column {
        name: "rate_min_mbps",
        unit: "Mb/s",
        label: "lowest allowed rate",
        text: "Lowest rate that was allowed",
    },
    in_bin: Column {
        name: "rate_mbps",
        unit: "Mb/s",
        label: "allowed rate",
        text: "Mean over the bin of the rate that is allowed, the link's while not rate-limited",
    },
};

fn wording(algorithm: CongestionAlgorithm) -> &'static Wording {
    if is_rate(algorithm) { &RATE } else { &INDEX }
}

/// True if the level of a flow is a rate.
fn is_rate(algorithm: CongestionAlgorithm) -> bool {
    !matches!(algorithm, CongestionAlgorithm::None | CongestionAlgorithm::Infiniband)
}

/// The level of a flow that is not rate-limited.
fn free_level(input: &TableInput<'_>, algorithm: CongestionAlgorithm, source: HostId) -> u32 {
    if !is_rate(algorithm) {
        return 0;
    }
    (input.outcome.rates[source.index()].bits_per_second() / 1_000_000) as u32
}

/// Mean and strongest level of a flow within the window.
fn level(input: &TableInput<'_>, congestion: &Congestion, key: Key, flow: &FlowCongestion) -> (f64, f64) {
    flow.level(input.measured.0, free_level(input, congestion.algorithm, key.0))
}

/// Further columns of `flows`.
pub(super) fn flows(congestion: &Congestion, input: &TableInput<'_>, table: &mut Table) {
    let rows: Vec<_> = input.flows.iter().map(|row| (row.key, congestion.record(row.key))).collect();
    let whole = |value: fn(&FlowCongestion) -> u64| rows.iter().map(|row| value(&row.1) as i64).collect();
    let text = "Packets delivered in the measurement with a mark (FECN)";
    table.whole("fecn", "", text, whole(|f| f.fecn)).labelled("marked");
    let text = "Notifications that the source received in the measurement (BECN)";
    table.whole("becn", "", text, whole(|flow| flow.becn)).labelled("notified");
    let levels: Vec<_> = rows.iter().map(|(key, flow)| level(input, congestion, *key, flow)).collect();
    let wording = wording(congestion.algorithm);
    wording.mean.add(table, levels.iter().map(|level| level.0).collect());
    wording.strongest.add(table, levels.iter().map(|level| level.1).collect());
    let measured = input.measured.0 as f64;
    let fraction = |value: fn(&FlowCongestion) -> u64| {
        rows.iter().map(|row| value(&row.1) as f64 / measured).collect::<Vec<_>>()
    };
    let text = "Fraction of the measurement in which it was rate-limited; of a source: summed over its flows";
    table.real("held_back", "fraction", text, fraction(|flow| flow.rate_limited)).labelled("rate-limited");
    let text = "Fraction of the measurement in which the source's link was idle only because of that";
    table.real("throttled", "fraction", text, fraction(|flow| flow.blocked_by_cc));
}

/// Further columns of `links`, with the rows `shown`.
pub(super) fn links(congestion: &Congestion, shown: &[usize], table: &mut Table) {
    let marked = shown.iter().map(|&place| congestion.marked[place] as i64).collect();
    table.whole("marked", "", "Packets marked (FECN) as they left in the measurement", marked);
}

/// Further columns of `run_series`, which has the same bins.
pub(super) fn fabric(congestion: &Congestion, input: &TableInput<'_>, table: &mut Table) {
    let grid = Grid::of(&input.timeline.axis, &congestion.fabric);
    let bins = Bins::new(grid, 1, input.outcome.end);
    let rows: Vec<_> = bins.row(0).collect();
    let whole = |value: fn(&FabricCongestion) -> u64| {
        rows.iter().map(|(sum, _)| value(sum) as i64).collect::<Vec<_>>()
    };
    table.whole("marked", "", "Packets marked (FECN)", whole(|sum| sum.marked));
    table.whole("notified", "", "Notifications that sources received (BECN)", whole(|sum| sum.notified));
    let blocked_by_cc = rows.iter().map(|(sum, length)| sum.blocked_by_cc as f64 / length.0 as f64).collect();
    let text = "Hosts, in the mean over the bin, whose link was idle only because a flow was rate-limited";
    table.real("throttled_hosts", "hosts", text, blocked_by_cc);
    let text = "Packets without data received: notifications, acknowledgements";
    table.whole("control_packets", "", text, whole(|sum| sum.control_packets));
    table.whole("control_bytes", "B", "Their bytes", whole(|sum| sum.control_bytes));
}

/// Rate limiting of flows over time: a row for each bin and each flow that was ever rate-limited.
pub(super) fn series(congestion: &Congestion, input: &TableInput<'_>) -> Table {
    let axis = &input.timeline.axis;
    let empty = || Grid::new(axis.width(), axis.capacity(), 0);
    let grid = congestion.series().map_or_else(empty, |cells| Grid::of(axis, cells));
    let kept = congestion.series().is_some();
    let rows: Vec<_> = congestion.flows().filter(|_| kept).map(|(key, _, place)| (key, place)).collect();
    let bins = Bins::new(grid, rows.len(), input.outcome.end);
    let name = |key: Key| format!("{}->{}", input.host(key.0), input.destination(key));
    let names: Vec<_> = rows.iter().map(|row| name(row.0)).collect();
    let mut table = Table::new("congestion_series");
    head(&mut table, &bins, ("flow", "Source and destination: from->to"), &names);
    let free = |key: Key| free_level(input, congestion.algorithm, key.0);
    let levels = rows.iter().flat_map(|&(key, place)| {
        bins.row(place).map(move |(bin, length)| bin.mean_level(length.0, free(key)))
    });
    let wording = wording(congestion.algorithm);
    wording.in_bin.add(&mut table, levels.collect());
    let fraction = |place| bins.row(place).map(|(bin, length)| bin.blocked_by_cc as f64 / length.0 as f64);
    let text =
        "Fraction of the bin in which the source's link was idle only because the flow was rate-limited";
    table.real("throttled", "fraction", text, rows.iter().flat_map(|row| fraction(row.1)).collect());
    let becn = rows.iter().flat_map(|row| bins.row(row.1).map(|(bin, _)| bin.becn as i64)).collect();
    table.whole("becn", "", "Notifications that the source received (BECN)", becn).labelled("notified");
    table
}

/// Congestion control in figures.
pub(super) fn summary(congestion: &Congestion, input: &TableInput<'_>) -> CongestionSummary {
    let part = input.flows.iter().filter(|row| row.takes_part());
    let levels: Vec<_> =
        part.map(|row| level(input, congestion, row.key, &congestion.record(row.key))).collect();
    let by_rate = is_rate(congestion.algorithm);
    let strongest = levels.iter().map(|level| level.1).reduce(if by_rate { f64::min } else { f64::max });
    let (mean, strongest) = (
        levels.iter().map(|level| level.0).sum::<f64>() / levels.len() as f64,
        strongest.unwrap_or(f64::NAN),
    );
    let total = congestion.total;
    CongestionSummary {
        algorithm: congestion.algorithm,
        marked: total.marked,
        notified: total.notified,
        control_packets: total.control_packets,
        control_bytes: total.control_bytes,
        throttled_s: total.blocked_by_cc as f64 * 1e-12,
        ccti_mean: (!by_rate).then_some(mean),
        ccti_max: (!by_rate).then_some(strongest),
        rate_mean_mbps: by_rate.then_some(mean),
        rate_min_mbps: by_rate.then_some(strongest),
        events: input.outcome.congestion_events,
    }
}
