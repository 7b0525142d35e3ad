//! Congestion control in tables and figures; empty without congestion control.

use fabricsim_model::Table;
use fabricsim_spec::CongestionAlgorithm;
use fabricsim_units::HostId;

use crate::CongestionSummary;
use crate::congestion::{Congestion, FlowCongestion};
use crate::flows::Key;
use crate::grid::Grid;
use crate::report::TableInput;
use crate::series::{Bins, head};
use crate::tables::new;

/// Name, unit and description of a column.
type Column = (&'static str, &'static str, &'static str);

/// The columns for the level by which a flow is rate-limited: an index or a rate, which have names of their own.
struct Wording {
    mean: Column,
    strongest: Column,
    in_bin: Column,
}

const INDEX: Wording = Wording {
    mean: ("ccti_mean", "", "Mean over the measurement of the index CCTI, 0 while not rate-limited"),
    strongest: ("ccti_max", "", "Largest index CCTI"),
    in_bin: ("ccti", "", "Mean over the bin of the index CCTI, 0 while not rate-limited"),
};

const RATE: Wording = Wording {
    mean: (
        "rate_mean_mbps",
        "Mb/s",
        "Mean over the measurement of the rate that is allowed, the link's while not rate-limited",
    ),
    strongest: ("rate_min_mbps", "Mb/s", "Lowest rate that was allowed"),
    in_bin: (
        "rate_mbps",
        "Mb/s",
        "Mean over the bin of the rate that is allowed, the link's while not rate-limited",
    ),
};

fn wording(algorithm: CongestionAlgorithm) -> &'static Wording {
    if is_rate(algorithm) { &RATE } else { &INDEX }
}

/// True if the level of a flow is a rate.
fn is_rate(algorithm: CongestionAlgorithm) -> bool {
    !matches!(algorithm, CongestionAlgorithm::None | CongestionAlgorithm::Infiniband)
}

/// The level of a flow that is not rate-limited.
fn free_level(context: &TableInput, algorithm: CongestionAlgorithm, source: HostId) -> u32 {
    if !is_rate(algorithm) {
        return 0;
    }
    (context.outcome.rates[source.index()].bits_per_second() / 1_000_000) as u32
}

fn of<'a>(context: &TableInput<'a>) -> Option<&'a Congestion> {
    context.recorder.congestion.as_deref()
}

/// Mean and strongest level of a flow within the window.
fn level(context: &TableInput, congestion: &Congestion, key: Key, flow: &FlowCongestion) -> (f64, f64) {
    flow.level(context.measured.0, free_level(context, congestion.algorithm, key.0))
}

/// Further columns of `flows`.
pub(crate) fn flows(context: &TableInput, table: &mut Table) {
    let Some(congestion) = of(context) else { return };
    let rows: Vec<_> = context.flows.iter().map(|row| (row.key, congestion.of(row.key))).collect();
    let whole = |value: fn(&FlowCongestion) -> u64| rows.iter().map(|row| value(&row.1) as i64).collect();
    table.whole("fecn", "", "Packets delivered in the measurement with a mark (FECN)", whole(|f| f.fecn));
    let text = "Notifications that the source received in the measurement (BECN)";
    table.whole("becn", "", text, whole(|flow| flow.becn));
    let levels: Vec<_> = rows.iter().map(|(key, flow)| level(context, congestion, *key, flow)).collect();
    let wording = wording(congestion.algorithm);
    let (name, unit, text) = wording.mean;
    table.real(name, unit, text, levels.iter().map(|level| level.0).collect());
    let (name, unit, text) = wording.strongest;
    table.real(name, unit, text, levels.iter().map(|level| level.1).collect());
    let measured = context.measured.0 as f64;
    let fraction = |value: fn(&FlowCongestion) -> u64| {
        rows.iter().map(|row| value(&row.1) as f64 / measured).collect::<Vec<_>>()
    };
    let text = "Fraction of the measurement in which it was rate-limited; of a source: summed over its flows";
    table.real("held_back", "", text, fraction(|flow| flow.rate_limited));
    let text = "Fraction of the measurement in which the source's link was idle only because of that";
    table.real("throttled", "", text, fraction(|flow| flow.blocked_by_cc));
}

/// Further columns of `links`, with the rows `shown`.
pub(crate) fn links(context: &TableInput, shown: &[usize], table: &mut Table) {
    let Some(congestion) = of(context) else { return };
    let marked = shown.iter().map(|&place| congestion.marked[place] as i64).collect();
    table.whole("marked", "", "Packets marked (FECN) as they left in the measurement", marked);
}

/// Further columns of `run_series`, which has the same bins.
pub(crate) fn fabric(context: &TableInput, table: &mut Table) {
    let Some(congestion) = of(context) else { return };
    let grid = Grid::of(&context.recorder.axis, &congestion.fabric);
    let bins = Bins::new(grid, 1, context.outcome.end);
    let rows: Vec<_> = bins.row(0).collect();
    let whole = |value: fn(&crate::congestion::FabricCongestion) -> u64| {
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
pub(crate) fn series(context: &TableInput) -> Option<Table> {
    let congestion = of(context)?;
    let axis = &context.recorder.axis;
    let empty = || Grid::new(axis.width(), axis.capacity(), 0);
    let grid = congestion.series().map_or_else(empty, |cells| Grid::of(axis, cells));
    let kept = congestion.series().is_some();
    let rows: Vec<_> = congestion.flows().filter(|_| kept).map(|(key, _, place)| (key, place)).collect();
    let bins = Bins::new(grid, rows.len(), context.outcome.end);
    let name = |key: Key| format!("{}->{}", context.host(key.0), context.destination(key));
    let names: Vec<_> = rows.iter().map(|row| name(row.0)).collect();
    let mut table = new("congestion_series");
    head(&mut table, &bins, ("flow", "Source and destination: from->to"), &names);
    let free = |key: Key| free_level(context, congestion.algorithm, key.0);
    let levels = rows.iter().flat_map(|&(key, place)| {
        bins.row(place).map(move |(bin, length)| bin.mean_level(length.0, free(key)))
    });
    let wording = wording(congestion.algorithm);
    let (name, unit, text) = wording.in_bin;
    table.real(name, unit, text, levels.collect());
    let fraction = |place| bins.row(place).map(|(bin, length)| bin.blocked_by_cc as f64 / length.0 as f64);
    let text =
        "Fraction of the bin in which the source's link was idle only because the flow was rate-limited";
    table.real("throttled", "", text, rows.iter().flat_map(|row| fraction(row.1)).collect());
    let becn = rows.iter().flat_map(|row| bins.row(row.1).map(|(bin, _)| bin.becn as i64)).collect();
    table.whole("becn", "", "Notifications that the source received (BECN)", becn);
    Some(table)
}

/// Congestion control in figures.
pub(crate) fn summary(context: &TableInput) -> Option<CongestionSummary> {
    let congestion = of(context)?;
    let part = context.flows.iter().filter(|row| row.takes_part());
    let levels: Vec<_> =
        part.map(|row| level(context, congestion, row.key, &congestion.of(row.key))).collect();
    let by_rate = is_rate(congestion.algorithm);
    let strongest = levels.iter().map(|level| level.1).reduce(if by_rate { f64::min } else { f64::max });
    let (mean, strongest) = (
        levels.iter().map(|level| level.0).sum::<f64>() / levels.len() as f64,
        strongest.unwrap_or(f64::NAN),
    );
    let total = congestion.total;
    Some(CongestionSummary {
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
        events: context.outcome.congestion_events,
    })
}
