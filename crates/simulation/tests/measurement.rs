//! The reports of a run add up, and are what was requested.

use crate::common::run;
use fabricsim_model::{Data, Table};
use fabricsim_simulation::Outcome;

/// Every message is a packet of 1000 B, at well below saturation.
const LIGHT: &str = r#"
[topology.torus]
dimensions = [4, 4]
hosts_per_switch = 2
[links.all]
rate = "80 Gb/s"
[switch]
virtual_lanes = 2
[[traffic]]
pattern = "uniform"
injection = "poisson"
load = 0.3
message = "1000 B"
[run]
warmup = "10 us"
duration = "100 us"
drain = "measured"
"#;

fn table<'a>(outcome: &'a Outcome, name: &str) -> &'a Table {
    outcome.tables.iter().find(|table| table.name == name).unwrap_or_else(|| panic!("no table {name}"))
}

fn column<'a>(table: &'a Table, name: &str) -> &'a Data {
    let found = table.columns.iter().find(|column| column.name == name);
    &found.unwrap_or_else(|| panic!("no column {name}")).data
}

fn sum(table: &Table, name: &str) -> f64 {
    match column(table, name) {
        Data::Real(values) => values.iter().sum(),
        Data::Whole(values) => values.iter().sum::<i64>() as f64,
        Data::Text(_) => panic!("{name} is text"),
    }
}

#[test]
fn the_latency_is_that_of_all_packets_made_in_the_measurement() {
    let outcome = run(LIGHT, &[]);
    let summary = &outcome.summary;
    let made = summary.hosts.offered_gbps * 100_000.0 / 8.0 / 1000.0;
    assert!(
        (made - summary.latency.latency_packets as f64).abs() < 1e-6,
        "{made} {}",
        summary.latency.latency_packets
    );
    assert_eq!(
        sum(table(&outcome, "latency"), "count"),
        2.0 * summary.latency.latency_packets as f64,
        "total and network"
    );
    assert_eq!(sum(table(&outcome, "hops"), "packets"), summary.latency.latency_packets as f64);
    assert!(
        !summary.hosts.saturated && (summary.hosts.offered_load - 0.3).abs() < 0.01,
        "{}",
        summary.hosts.offered_load
    );
}

#[test]
fn flows_hosts_and_links_add_up_to_the_whole() {
    for overrides in
        [&[][..], &[("run.drain", "none")], &[("traffic.0.injection", "saturating"), ("run.drain", "none")]]
    {
        let mut overrides = overrides.to_vec();
        let text = if overrides.len() > 1 { LIGHT.replace("load = 0.3\n", "") } else { LIGHT.to_owned() };
        overrides.push(("measure.flows", "pairs"));
        let outcome = run(&text, &overrides);
        let summary = &outcome.summary;
        assert_eq!(outcome.defect, "");
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
        let hosts = table(&outcome, "hosts");
        assert!(near(sum(hosts, "delivered_gbps"), summary.hosts.accepted_gbps), "{overrides:?}");
        assert!(
            near(sum(table(&outcome, "flows"), "accepted_gbps"), summary.hosts.accepted_gbps),
            "{overrides:?}"
        );
        assert_eq!(sum(hosts, "delivered_packets"), summary.hosts.packets as f64);
        assert_eq!(summary.hosts.bytes, 1000 * summary.hosts.packets);
        // Fairness of all pairs of hosts: close to 1 under uniform traffic.
        assert!(
            summary.flows.flow_count == 32 * 31 && summary.flows.jain > 0.5 && summary.flows.jain <= 1.0,
            "{}",
            summary.flows.jain
        );
        let links = table(&outcome, "links");
        let utilisation = links.columns.iter().find(|c| c.name == "utilisation").unwrap();
        let Data::Real(values) = &utilisation.data else { panic!("utilisation is a number") };
        assert!(values.iter().all(|u| (0.0..=1.0).contains(u)));
    }
}

#[test]
fn what_is_delivered_is_what_the_last_links_carry() {
    let outcome = run(LIGHT, &[("run.warmup", "0 ns"), ("run.drain", "none")]);
    let links = table(&outcome, "links");
    let Data::Text(names) = &links.columns.iter().find(|c| c.name == "link").unwrap().data else {
        panic!("names")
    };
    let Data::Whole(packets) = &links.columns.iter().find(|c| c.name == "packets").unwrap().data else {
        panic!("numbers")
    };
    let to_hosts = names.iter().zip(packets).filter(|(name, _)| name.contains("->H(")).map(|(_, n)| n);
    let from_hosts = names.iter().zip(packets).filter(|(name, _)| name.starts_with("H(")).map(|(_, n)| n);
    let found = &outcome.invariants;
    assert_eq!(from_hosts.sum::<i64>() as u64, found.injected);
    let sent = to_hosts.sum::<i64>() as u64;
    assert!(sent >= found.delivered && sent <= found.delivered + 32, "a packet may be on each of 32 links");
}

/// A packet of 1000 B with 250 B of overhead occupies its links for 1250 B: at half the load for five eighths of the time. The
/// measurement lasts for 500 periods of the packets.
#[test]
fn the_overhead_of_packets_is_part_of_the_utilisation() {
    const PAIR: &str = r#"
[topology.single-switch]
hosts = 2
[links.all]
rate = "80 Gb/s"
packet_overhead = "250 B"
[[traffic]]
sources = ["H0"]
pattern = { to = "H1" }
injection = "constant"
load = 0.5
message = "1000 B"
[run]
warmup = "10 us"
duration = "100 us"
[measure]
link_series = true
"#;
    let outcome = run(PAIR, &[]);
    let Data::Whole(packets) = column(table(&outcome, "links"), "packets") else { panic!("numbers") };
    let Data::Real(busy) = column(table(&outcome, "links"), "utilisation") else { panic!("numbers") };
    let used: Vec<_> = packets.iter().zip(busy).filter(|(packets, _)| **packets > 0).collect();
    assert_eq!(used.len(), 2, "to the switch and from it");
    for (&packets, &busy) in used {
        assert_eq!(packets, 500);
        assert!((busy - 0.625).abs() < 1e-9, "{busy}");
    }
    let Data::Real(bins) = column(table(&outcome, "link_series"), "utilisation") else { panic!("numbers") };
    let most = bins.iter().copied().fold(0.0, f64::max);
    assert!((0.625..0.8).contains(&most), "at most a packet more than 5/8 of a bin: {most}");
}
