//! Properties of the tables of every run, whatever its end: nothing is used for more than the time that there was, and tables
//! that count the same agree.

use std::collections::{BTreeMap, BTreeSet};

use fabricsim_model::{Data, Table};
use fabricsim_simulation::Outcome;

/// Rounding of real numbers.
const CLOSE: f64 = 1e-9;

fn table<'a>(outcome: &'a Outcome, name: &str) -> Option<&'a Table> {
    outcome.tables.iter().find(|table| table.name == name)
}

/// A column of a table; none if there is no such table. A table without the column is a mistake of the test.
fn column<'a>(outcome: &'a Outcome, of: &str, name: &str) -> Option<&'a Data> {
    let found = table(outcome, of)?.columns.iter().find(|column| column.name == name);
    Some(&found.unwrap_or_else(|| panic!("table {of} has no column {name}")).data)
}

/// A column of numbers; empty if there is no such table.
pub fn numbers(outcome: &Outcome, of: &str, name: &str) -> Vec<f64> {
    match column(outcome, of, name) {
        Some(Data::Real(values)) => values.clone(),
        Some(Data::Whole(values)) => values.iter().map(|&value| value as f64).collect(),
        _ => Vec::new(),
    }
}

/// A column of texts; empty if there is no such table.
pub fn texts(outcome: &Outcome, of: &str, name: &str) -> Vec<String> {
    match column(outcome, of, name) {
        Some(Data::Text(values)) => values.clone(),
        _ => Vec::new(),
    }
}

fn sum(outcome: &Outcome, of: &str, name: &str) -> f64 {
    numbers(outcome, of, name).iter().sum()
}

/// Checks the tables of a run whose packets are of at most `packet` bytes.
///
/// # Errors
///
/// Returns the violated properties.
pub fn check(outcome: &Outcome, packet: f64) -> Result<(), String> {
    links(outcome)?;
    link_series(outcome)?;
    sums(outcome)?;
    rates(outcome, packet)?;
    congestion(outcome)
}

fn ensure(holds: bool, message: impl Fn() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= CLOSE * b.abs().max(1.0)
}

/// A sending port sends one packet at a time, and is idle while it is stalled.
fn links(outcome: &Outcome) -> Result<(), String> {
    let names = texts(outcome, "links", "link");
    let lanes = numbers(outcome, "links", "lane");
    let rows: BTreeSet<_> = names.iter().zip(&lanes).map(|(name, lane)| (name, *lane as u8)).collect();
    ensure(rows.len() == names.len(), || format!("rows of `links` have one name: {names:?}"))?;
    if outcome.summary.measured_ns == 0.0 {
        return Ok(());
    }
    let parts = |column| numbers(outcome, "links", column);
    let (busy, stalled) = (parts("utilisation"), parts("stalled"));
    let mut ports: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, (busy, stalled)) in names.iter().zip(busy.iter().zip(&stalled)) {
        ensure(*busy >= 0.0 && *stalled >= 0.0, || format!("{name}: {busy} busy, {stalled} stalled"))?;
        *ports.entry(name).or_default() += busy + stalled;
    }
    let over = ports.iter().find(|(_, part)| **part > 1.0 + CLOSE);
    ensure(over.is_none(), || format!("{over:?}: busy and stalled for longer than the measurement"))
}

/// Bins of a series: begin and length.
fn bins(outcome: &Outcome, of: &str) -> Vec<f64> {
    let times = numbers(outcome, of, "time_ns");
    let mut starts = times.clone();
    starts.sort_by(f64::total_cmp);
    starts.dedup();
    let end = outcome.end.as_ns_f64();
    let width = if starts.len() > 1 { starts[1] - starts[0] } else { end };
    times.iter().map(|start| if *start < end { width.min(end - start) } else { width }).collect()
}

/// Over the bins a port is busy for as long as the table `links` says, where the measurement is the whole run.
fn link_series(outcome: &Outcome) -> Result<(), String> {
    let names = texts(outcome, "link_series", "link");
    if names.is_empty() || outcome.end.0 == 0 {
        return Ok(());
    }
    let parts = |column| numbers(outcome, "link_series", column);
    let (busy, stalled, bins) = (parts("utilisation"), parts("stalled"), bins(outcome, "link_series"));
    let mut total: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for (i, name) in names.iter().enumerate() {
        let part = busy[i] + stalled[i];
        ensure((0.0..=1.0 + CLOSE).contains(&part), || format!("{name}: {part} of a bin"))?;
        let of_port = total.entry(name).or_default();
        of_port[0] += busy[i] * bins[i];
        of_port[1] += stalled[i] * bins[i];
    }
    let measured = outcome.summary.measured_ns;
    if outcome.summary.measured_from_ns != 0.0 || measured != outcome.end.as_ns_f64() {
        return Ok(());
    }
    for (place, name) in texts(outcome, "links", "link").iter().enumerate() {
        for (kind, column) in ["utilisation", "stalled"].into_iter().enumerate() {
            let of_port = total.get_mut(name.as_str()).ok_or_else(|| format!("no series of {name}"))?;
            of_port[kind] -= numbers(outcome, "links", column)[place] * measured;
        }
    }
    let off = total.iter().find(|(_, left)| left.iter().any(|left| left.abs() > CLOSE * measured.max(1.0)));
    ensure(off.is_none(), || format!("{off:?} ns: `link_series` and `links` differ"))
}

/// Flows, hosts, series and the summary count the same packets and bytes.
fn sums(outcome: &Outcome) -> Result<(), String> {
    let summary = &outcome.summary;
    let counted = [
        ("packets of flows", sum(outcome, "flows", "packets"), summary.hosts.packets),
        ("bytes of flows", sum(outcome, "flows", "bytes"), summary.hosts.bytes),
        ("packets of hosts", sum(outcome, "hosts", "delivered_packets"), summary.hosts.packets),
        ("packets by hops", sum(outcome, "hops", "packets"), summary.latency.latency_packets),
        ("packets by latency", sum(outcome, "latency", "count"), 2 * summary.latency.latency_packets),
    ];
    // Notifications and acknowledgements count for the run, and are no packets of flows.
    let data = sum(outcome, "run_series", "packets");
    let has_control = table(outcome, "run_series")
        .is_some_and(|series| series.columns.iter().any(|column| column.name == "control_packets"));
    let control = if has_control { sum(outcome, "run_series", "control_packets") } else { 0.0 };
    let all = outcome.totals.delivered as f64;
    let holds = summary.transport.is_some() || data + control == all;
    ensure(holds, || format!("{data} packets and {control} notifications in `run_series`, {all} delivered"))?;
    let off = counted.into_iter().find(|(_, found, expected)| *found != *expected as f64);
    ensure(off.is_none(), || format!("{off:?}"))?;
    let bytes = |of: &str, column: &str| {
        let rates = numbers(outcome, of, column);
        rates.iter().zip(bins(outcome, of)).map(|(gbps, ns)| gbps * ns / 8.0).sum::<f64>()
    };
    let all = bytes("run_series", "gbps");
    let of_hosts = bytes("hosts_series", "delivered_gbps");
    ensure(near(of_hosts, all), || format!("{of_hosts} bytes of hosts, {all} of the run"))?;
    let of_flows = bytes("series", "gbps");
    let kept = !numbers(outcome, "series", "gbps").is_empty();
    ensure(!kept || near(of_flows, all), || format!("{of_flows} bytes of flows, {all} of the run"))
}

/// A host's link brings at most its rate, and at the begin of the measurement the rest of one packet, which counts whole.
fn rates(outcome: &Outcome, packet: f64) -> Result<(), String> {
    let measured = outcome.summary.measured_ns;
    let column = |name| numbers(outcome, "hosts", name);
    for (host, (delivered, link)) in
        texts(outcome, "hosts", "host").iter().zip(column("delivered_gbps").iter().zip(column("link_gbps")))
    {
        let (bits, most) = (delivered * measured, link * measured + 8.0 * packet);
        ensure(bits.is_nan() || bits <= most * (1.0 + CLOSE), || {
            format!("{host}: {bits} bits, at most {most}")
        })?;
    }
    Ok(())
}

/// No flow, port or lane is in congestion for longer than there was a measurement.
fn congestion(outcome: &Outcome) -> Result<(), String> {
    let measured = outcome.summary.measured_ns;
    let known = outcome.looks.looks >= 20;
    for name in ["victim_ns", "contributor_ns"] {
        let times = numbers(outcome, "congestion_flows", name);
        let holds =
            |ns: &f64| if known { (0.0..=measured * (1.0 + CLOSE)).contains(ns) } else { ns.is_nan() };
        ensure(times.iter().all(holds), || format!("{name}: {times:?} of {measured}"))?;
    }
    let (root, branch) = (numbers(outcome, "links", "root"), numbers(outcome, "links", "branch"));
    for (root, branch) in root.iter().zip(&branch) {
        let part = root + branch;
        let holds = if known { (0.0..=1.0 + CLOSE).contains(&part) } else { part.is_nan() };
        ensure(holds, || format!("{root} of the measurement root, {branch} branch"))?;
    }
    Ok(())
}
