//! Sums over flows, hosts and streams.

use std::collections::BTreeMap;

use super::tables::close;
use super::{Failure, Seen, ensure};

/// Equal numbers by different ways of counting.
pub fn equal(check: &'static str, counts: &[(&str, u64)]) -> Result<(), Failure> {
    let same = counts.iter().all(|count| count.1 == counts[0].1);
    ensure(check, same, || format!("{counts:?}"))
}

/// Packets and bytes delivered in the measurement.
pub fn packets(seen: &Seen) -> Result<(), Failure> {
    let (tables, summary) = (&seen.tables, &seen.outcome.summary);
    for (what, whole, hosts) in
        [("packets", summary.hosts.packets, "delivered_packets"), ("bytes", summary.hosts.bytes, "")]
    {
        let mut counts = vec![("summary", whole), ("flows", tables.sum("flows", what))];
        if !hosts.is_empty() {
            counts.push(("hosts", tables.sum("hosts", hosts)));
        }
        counts.push(("entries", tables.sum("entries", what)));
        equal("delivered packets and bytes", &counts)?;
    }
    Ok(())
}

/// Packets that latency is of.
pub fn latency_packets(seen: &Seen) -> Result<(), Failure> {
    let tables = &seen.tables;
    let of_kind = |kind: &str| {
        let rows = tables.text("latency", "kind").iter().zip(tables.whole("latency", "count"));
        rows.filter(|row| row.0 == kind).map(|row| *row.1 as u64).sum()
    };
    let counts = [
        ("summary", seen.outcome.summary.latency.latency_packets),
        ("flows", tables.sum("flows", "latency_packets")),
        ("latency, total", of_kind("total")),
        ("latency, network", of_kind("network")),
        ("hops", tables.sum("hops", "packets")),
        ("entries", tables.sum("entries", "latency_packets")),
    ];
    equal("packets with a latency", &counts)?;
    let batches = tables.sum("batches", "packets");
    ensure("packets with a latency", batches <= counts[0].1, || format!("{batches} in batches, {counts:?}"))
}

/// Packets by receiver.
pub fn hosts(seen: &Seen) -> Result<(), Failure> {
    let tables = &seen.tables;
    let destinations = tables.text("flows", "destination");
    if destinations.iter().any(|name| name == "*") {
        return Ok(());
    }
    let mut by_host: BTreeMap<&str, i64> = BTreeMap::new();
    for (name, packets) in destinations.iter().zip(tables.whole("flows", "packets")) {
        *by_host.entry(name).or_default() += packets;
    }
    for (host, &packets) in
        tables.text("hosts", "host").iter().zip(tables.whole("hosts", "delivered_packets"))
    {
        let of_flows = by_host.get(host.as_str()).copied().unwrap_or(0);
        ensure("packets by receiver", of_flows == packets, || {
            format!("{host}: {packets} in `hosts`, {of_flows} in `flows`")
        })?;
    }
    Ok(())
}

/// Rates are bytes by time; the rates of the summary are sums.
pub fn throughput(seen: &Seen) -> Result<(), Failure> {
    let (tables, summary) = (&seen.tables, &seen.outcome.summary);
    if !seen.has_measured() {
        return Ok(());
    }
    let rates = tables.real("flows", "accepted_gbps");
    for (row, (&rate, &bytes)) in rates.iter().zip(tables.whole("flows", "bytes")).enumerate() {
        let expected = bytes as f64 * 8.0 / summary.measured_ns;
        ensure("rates of flows", close(rate, expected), || format!("row {row}: {rate}, not {expected}"))?;
    }
    let all: f64 = rates.iter().sum();
    ensure("rates of flows", close(all, summary.hosts.accepted_gbps), || {
        format!("{all} in sum, {} in the summary", summary.hosts.accepted_gbps)
    })
}

/// Offered throughput by flow, host and in all, where it is known.
pub fn offers(seen: &Seen) -> Result<(), Failure> {
    let (tables, summary) = (&seen.tables, &seen.outcome.summary);
    let (flows, hosts) = (tables.real("flows", "offered_gbps"), tables.real("hosts", "offered_gbps"));
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    if !seen.has_measured() || hosts.iter().any(|value| value.is_nan()) {
        return Ok(());
    }
    let by_hosts = sum(hosts);
    ensure("offered throughput", close(by_hosts, summary.hosts.offered_gbps), || {
        format!("{by_hosts} by hosts, {} in the summary", summary.hosts.offered_gbps)
    })?;
    // What is offered to destinations that are drawn is in no row until a packet has arrived.
    let names = tables.text("hosts", "host").iter().zip(hosts);
    let sources = tables.text("flows", "source");
    if names.into_iter().any(|(host, &offered)| offered > 0.0 && !sources.contains(host)) {
        return Ok(());
    }
    let by_flows = sum(flows);
    ensure("offered throughput", by_flows.is_nan() || close(by_flows, by_hosts), || {
        format!("{by_flows} by flows, {by_hosts} by hosts")
    })
}
