//! Series over time, against each other and against counters.

use std::collections::BTreeSet;

use super::tables::close;
use super::{Failure, Seen, ensure};

/// Most rows of a table of series; with more, its bins are merged.
const MOST_ROWS: usize = 400_000;

/// Start and length of the bins of `run_series`.
fn bins(seen: &Seen) -> Vec<(f64, f64)> {
    let times = seen.tables.real("run_series", "time_ns");
    let end = seen.outcome.end.as_ns_f64();
    let next = times.iter().skip(1).copied().chain([end]);
    times.iter().copied().zip(next).map(|(from, to)| (from, to - from)).collect()
}

/// Deliveries over the whole run.
pub fn whole_run(seen: &Seen) -> Result<(), Failure> {
    let (tables, totals) = (&seen.tables, &seen.outcome.totals);
    let mut packets = tables.sum("run_series", "packets");
    if tables.has_column("run_series", "control_packets") && !seen.orders() {
        packets += tables.sum("run_series", "control_packets");
        ensure("series of the run", packets == totals.delivered, || {
            format!("{packets} with control packets, {totals:?}")
        })?;
    }
    let holds = if seen.only_data() { packets == totals.delivered } else { packets <= totals.delivered };
    ensure("series of the run", holds, || format!("{packets} in the series, {totals:?}"))?;
    let of_measurement = seen.outcome.summary.hosts.packets;
    let holds = if seen.is_whole() { packets >= of_measurement } else { true };
    ensure("series of the run", holds, || format!("{packets} in the series, {of_measurement} measured"))?;
    let bytes: f64 = tables
        .real("run_series", "gbps")
        .iter()
        .zip(bins(seen))
        .filter(|(_, bin)| bin.1 > 0.0)
        .map(|(rate, bin)| rate * bin.1 / 8.0)
        .sum();
    let expected = totals.delivered_bytes as f64;
    ensure(
        "series of the run",
        !seen.only_data() || (bytes - expected).abs() <= 1e-6 * expected + 0.5,
        || format!("{bytes} B in the series, {expected} B delivered"),
    )
}

/// In every bin the flows, the hosts and the run have delivered the same.
pub fn flows_and_hosts(seen: &Seen) -> Result<(), Failure> {
    let tables = &seen.tables;
    let run = tables.real("run_series", "gbps");
    let summed = |table: &str, column: &str| {
        let mut sums = vec![0.0; run.len()];
        let values = tables.real(table, column);
        values.iter().enumerate().for_each(|(row, value)| sums[row % run.len().max(1)] += value);
        (sums, values.len())
    };
    let kept = !tables.real("series", "gbps").is_empty();
    let hosts = summed("hosts_series", "delivered_gbps");
    let mut sums = vec![("hosts_series", hosts)];
    // A table of very many flows has fewer, wider bins.
    let flows: BTreeSet<&String> = tables.text("series", "flow").iter().collect();
    if kept && flows.len() * run.len() <= MOST_ROWS {
        sums.push(("series", summed("series", "gbps")));
    }
    for (table, (sums, rows)) in sums {
        let whole = run.is_empty() || rows % run.len() == 0;
        ensure("series of flows and hosts", whole, || {
            format!("{table} has {rows} rows, run_series {}", run.len())
        })?;
        for (bin, (&sum, &all)) in sums.iter().zip(run).enumerate() {
            let same = close(sum, all) || (sum - all).abs() <= 1e-6 * all.abs() || !all.is_finite();
            ensure("series of flows and hosts", same, || {
                format!("bin {bin}: {sum} in {table}, {all} in the run")
            })?;
        }
    }
    Ok(())
}

/// Busy time of links by bins and in all, where the measurement is the whole run.
pub fn links(seen: &Seen) -> Result<(), Failure> {
    let tables = &seen.tables;
    if !tables.has("link_series") {
        return Ok(());
    }
    let names = tables.text("link_series", "link");
    let times = tables.real("link_series", "time_ns");
    let end = seen.outcome.end.as_ns_f64();
    let mut busy = 0.0;
    for (row, value) in tables.real("link_series", "utilisation").iter().enumerate() {
        ensure("series of links", *value <= 1.0, || format!("row {row}: {value}"))?;
        let next = times.get(row + 1).filter(|&&next| next > times[row]).copied();
        let length = next.unwrap_or(end).min(end) - times[row];
        busy += value * length.max(0.0);
        debug_assert!(row < names.len());
    }
    if !seen.is_whole() {
        return Ok(());
    }
    let all: f64 = tables.real("links", "utilisation").iter().sum::<f64>() * seen.outcome.summary.measured_ns;
    // A packet that is being sent at the end lasts beyond it.
    ensure("series of links", (busy - all).abs() <= 1e-6 * all + 1e-3, || {
        format!("busy for {busy} ns in the series, {all} ns in `links`")
    })
}
