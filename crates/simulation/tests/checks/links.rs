//! Counters of links, against those of hosts and routers.

use std::collections::BTreeMap;

use fabricsim_spec::RateMismatch;
use fabricsim_topology::Node;

use super::flows::equal;
use super::{Failure, Seen, ensure};

/// A direction of a link.
#[derive(Clone, Debug, Default)]
struct Port {
    packets: u64,
    bytes: u64,
    utilisation: f64,
    most_stalled: f64,
}

/// The rows of `links` of every direction, summed over lanes. Parallel links that share a name are summed as well; the
/// second number counts them.
fn ports<'a>(seen: &Seen<'a>) -> BTreeMap<&'a str, Port> {
    let tables = seen.tables;
    let mut ports: BTreeMap<&str, Port> = BTreeMap::new();
    for (row, name) in tables.text("links", "link").iter().enumerate() {
        let port = ports.entry(name).or_default();
        port.packets += tables.whole("links", "packets")[row] as u64;
        port.bytes += tables.whole("links", "bytes")[row] as u64;
        port.utilisation += tables.real("links", "utilisation")[row];
        port.most_stalled = port.most_stalled.max(tables.real("links", "stalled")[row]);
    }
    ports
}

/// Names of both directions of each link: number of the link, sending node, receiving node.
fn directions(seen: &Seen) -> Vec<(String, usize, Node, Node)> {
    let graph = &seen.prepared.graph;
    let of_link = |(number, link): (usize, &fabricsim_topology::Link)| {
        let name = |channel: usize| graph.port_name((2 * number + channel) as u32);
        [(name(0), number, link.a.node, link.b.node), (name(1), number, link.b.node, link.a.node)]
    };
    graph.links.iter().enumerate().flat_map(of_link).collect()
}

/// Names of directions that only one link has.
fn single(directions: &[(String, usize, Node, Node)]) -> BTreeMap<&str, usize> {
    let mut links: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (name, link, ..) in directions {
        links.entry(name).or_default().push(*link);
    }
    links.into_iter().filter(|(_, links)| links.len() == 1).map(|(name, links)| (name, links[0])).collect()
}

/// Packets that leave a host begin on its link.
pub fn injected(seen: &Seen) -> Result<(), Failure> {
    let (tables, ports, graph) = (&seen.tables, ports(seen), &seen.prepared.graph);
    let injected = tables.whole("hosts", "injected_packets");
    for (name, _, from, _) in directions(seen) {
        let Node::Host(host) = from else { continue };
        let (sent, begun) =
            (ports.get(name.as_str()).map_or(0, |port| port.packets), injected[host.index()] as u64);
        let holds = if seen.only_data() { sent == begun } else { sent >= begun };
        ensure("packets on the links of hosts", holds, || {
            format!("{}: {begun} injected, {sent} on the link", graph.hosts[host.index()].name)
        })?;
    }
    Ok(())
}

/// Every delivered packet crossed the links of its route once.
pub fn all_hops(seen: &Seen) -> Result<(), Failure> {
    let totals = &seen.outcome.totals;
    let crossed = seen.tables.sum("links", "packets");
    if !seen.is_whole() {
        return Ok(());
    }
    let hops = totals.links_crossed();
    let holds = if totals.in_flight == 0 { crossed == hops } else { crossed >= hops };
    ensure("hops and links", holds, || format!("{crossed} on links, {hops} packet-hops"))
}

/// A port is busy for the time of its packets, and never for more than all of the time.
pub fn utilisation(seen: &Seen) -> Result<(), Failure> {
    let experiment = &seen.prepared.experiment;
    let directions = directions(seen);
    let single = single(&directions);
    for (name, port) in ports(seen) {
        let Some(&link) = single.get(name).filter(|_| seen.has_measured()) else { continue };
        let whole = port.utilisation + port.most_stalled;
        ensure("utilisation is at most 1", whole <= 1.0 + 1e-9, || format!("{name}: {port:?}"))?;
        let parameters = &seen.prepared.graph.links[link].parameters;
        let overhead = parameters.packet_overhead.0;
        let ps = |bytes: u64| bytes as f64 * 8e12 / parameters.rate.bits_per_second() as f64;
        let expected = ps(port.bytes + overhead * port.packets);
        // One packet lies across each end of the measurement; a packet's time is rounded to the picosecond.
        let margin = ps(experiment.host.mtu.0 + overhead) + 2.0 * port.packets as f64 + 2.0;
        let busy = port.utilisation * seen.measured_ps();
        // An output that is held for a packet is busy for as long as the packet takes to come.
        let is_held = experiment.switch.rate_mismatch == RateMismatch::HoldOutput;
        let takes_more = is_held || parameters.bit_error_rate > 0.0;
        let holds = busy >= expected - margin && (takes_more || busy <= expected + margin);
        ensure("utilisation is the time of packets", holds, || {
            format!("{name}: busy for {busy} ps, packets take {expected} ps, {port:?}")
        })?;
    }
    Ok(())
}

/// A host does not send or receive more than its link carries.
pub fn hosts(seen: &Seen) -> Result<(), Failure> {
    if !seen.has_measured() {
        return Ok(());
    }
    let tables = &seen.tables;
    let packet = seen.prepared.experiment.host.mtu.0 as f64 * 8.0 / seen.outcome.summary.measured_ns;
    let rates = tables.real("hosts", "link_gbps");
    // Reordered packets count when they are visible: a host may give out more than its link carries for a time.
    let columns: &[&str] =
        if seen.orders() { &["injected_gbps"] } else { &["injected_gbps", "delivered_gbps"] };
    for column in columns {
        for (row, (&rate, &most)) in tables.real("hosts", column).iter().zip(rates).enumerate() {
            ensure("hosts keep to the rates of their links", rate <= most + packet + 1e-9, || {
                format!("host {row}: {column} = {rate}, the link carries {most}")
            })?;
        }
    }
    Ok(())
}

/// Routers receive what is sent to them.
pub fn routers(seen: &Seen) -> Result<(), Failure> {
    let tables = &seen.tables;
    if !tables.has("router_ports") {
        return Ok(());
    }
    let to_switches: std::collections::BTreeSet<String> = directions(seen)
        .into_iter()
        .filter(|(_, _, _, to)| matches!(to, Node::Switch(_)))
        .map(|(name, ..)| name)
        .collect();
    let ports = ports(seen);
    let sent = ports.iter().filter(|(name, _)| to_switches.contains(**name)).map(|(_, port)| port.packets);
    let received = ["router_ports", "router_dimensions"].map(|table| (table, tables.sum(table, "packets")));
    equal("packets of routers", &[("links", sent.sum()), received[0], received[1]])?;
    let count: usize = seen.prepared.graph.switches.iter().map(|switch| switch.ports.len()).sum();
    equal("ports of routers", &[("graph", count as u64), ("table", tables.sum("router_dimensions", "ports"))])
}
