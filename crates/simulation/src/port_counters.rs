//! Counters of ports by their names in InfiniBand: the table `port_counters`.
//!
//! Sections 16.1.3.5 (`PortCounters`) and 16.1.4.11 (`PortCountersExtended`) of the specification.

use std::collections::BTreeMap;

use fabricsim_engine::{FabricChange, Prepared};
use fabricsim_model::{Data, Table};
use fabricsim_session::SubnetReport;
use fabricsim_topology::{End, Failing, Graph, Identity, Node};
use fabricsim_units::{LinkId, Time};

/// Bytes of a unit of `PortXmitData` and `PortRcvData`.
const WORD: u64 = 4;

/// Thing that has a row.
pub(crate) const ROW: &str =
    "port with a cable: its counters by their names in InfiniBand; with `measure.port_counters`";

/// What is counted of a direction of a link.
#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    bytes: u64,
    packets: u64,
    /// Fraction of the measurement.
    stalled: f64,
    discarded: u64,
    damaged: u64,
    p_key: u64,
    multicast: u64,
}

/// Counters of a port.
#[derive(Clone, Debug, Default)]
struct Port {
    node: String,
    is_switch: bool,
    number: u8,
    lid: u16,
    guid: String,
    sent: Direction,
    received: Direction,
    /// Ticks in which packets waited for credits.
    waited: u64,
    /// Failures of the link.
    downs: u64,
    /// Datagrams of subnet management lost in the full buffer.
    vl15_dropped: u64,
    /// Times that the link was trained anew.
    recoveries: u64,
}

/// A row per port of a run until `end`, from the table `links` of a measurement of some length.
pub(crate) fn table(
    prepared: &Prepared,
    links: &[Table],
    (subnet, recoveries): (Option<&SubnetReport>, &BTreeMap<LinkId, u64>),
    (end, measured): (Time, Time),
) -> Table {
    let graph = &prepared.graph;
    let identity = fabricsim_routing::identity_of(&prepared.experiment, graph).ok();
    let directions = directions(links);
    let downs = downs(prepared, end);
    let vl15_dropped = |end: End| match (&prepared.subnet, subnet) {
        (Some(plan), Some(report)) => {
            let port = plan.identity.port_at(end);
            report.vl15_dropped[port.node.index()][usize::from(port.port)]
        }
        _ => 0,
    };
    let mut ports = Vec::new();
    for (id, link) in (0..).map(LinkId).zip(&graph.links) {
        let both = [2 * id.0, 2 * id.0 + 1]
            .map(|channel| directions.get(&graph.port_name(channel)).copied().unwrap_or_default());
        // A tick is the time of a word, so that `PortXmitWait` compares with `PortXmitData`.
        let tick = link.parameters.rate.byte_time().duration(WORD as u32).0.max(1);
        for (end, [sent, received]) in [(link.a, both), (link.b, [both[1], both[0]])] {
            let waited = (sent.stalled * measured.0 as f64 / tick as f64).round() as u64;
            let (downs, vl15_dropped) = (downs[id.index()], vl15_dropped(end));
            let recoveries = recoveries.get(&id).copied().unwrap_or(0);
            let counters =
                Port { sent, received, waited, downs, vl15_dropped, recoveries, ..Port::default() };
            ports.push((place(end), Port { ..named(graph, identity.as_deref(), end, counters) }));
        }
    }
    ports.sort_by_key(|(place, _)| *place);
    table_of(&ports.into_iter().map(|(_, port)| port).collect::<Vec<_>>())
}

/// The table without rows.
pub(crate) fn empty() -> Table {
    table_of(&[])
}

/// Switches first, then hosts, by number and port.
fn place(end: End) -> (bool, u32, u16) {
    match end.node {
        Node::Switch(switch) => (false, switch.0, end.port.0),
        Node::Host(host) => (true, host.0, end.port.0),
    }
}

/// The counters with the name, the physical number, the LID and the GUID of their port.
fn named(graph: &Graph, identity: Option<&Identity>, end: End, counters: Port) -> Port {
    let (node, number) = match end.node {
        Node::Switch(switch) => (&graph.switches[switch.index()].name, end.port.0 as u8 + 1),
        Node::Host(host) => (&graph.hosts[host.index()].name, 1),
    };
    let is_switch = matches!(end.node, Node::Switch(_));
    let named = Port { node: node.clone(), is_switch, number, ..counters };
    let Some(identity) = identity else { return named };
    let (port, lid_of) = match end.node {
        Node::Switch(switch) => (identity.number(switch, end.port), identity.switches[switch.index()]),
        Node::Host(host) => (identity.hosts[host.index()].port, identity.hosts[host.index()].node),
    };
    let node = identity.subnet.node(lid_of);
    let addressed = &node.ports[usize::from(node.addressed_port(port))];
    Port { number: port, lid: addressed.lid, guid: node.guid.to_string(), ..named }
}

/// The sums over lanes by the name of a direction.
fn directions(tables: &[Table]) -> BTreeMap<String, Direction> {
    let mut all: BTreeMap<String, Direction> = BTreeMap::new();
    let Some(links) = tables.iter().find(|table| table.name == "links") else { return all };
    let column =
        |name: &str| links.columns.iter().find(|column| column.name == name).map(|column| &column.data);
    let whole = |name: &str, row: usize| match column(name) {
        Some(Data::Whole(values)) => values[row] as u64,
        _ => 0,
    };
    let Some(Data::Text(names)) = column("link") else { return all };
    for (row, name) in names.iter().enumerate() {
        let direction = all.entry(name.clone()).or_default();
        direction.bytes += whole("bytes", row);
        direction.packets += whole("packets", row);
        direction.discarded += whole("discarded", row);
        direction.damaged += whole("damaged", row);
        direction.p_key += whole("p_key", row);
        direction.multicast += whole("multicast", row);
        if let Some(Data::Real(stalled)) = column("stalled") {
            direction.stalled += stalled[row];
        }
    }
    all
}

/// Number of times that each link failed until `end`.
fn downs(prepared: &Prepared, end: Time) -> Vec<u64> {
    let mut downs = vec![0; prepared.graph.links.len()];
    for planned in prepared.faults.changes.iter().filter(|planned| planned.at <= end) {
        let FabricChange::Fail(failing) = &planned.change else { continue };
        let links = match failing {
            Failing::Links(links) => links,
            Failing::FlowControl(_) => continue,
            Failing::Switch(switch) => &prepared.graph.switches[switch.index()].ports,
        };
        for link in links {
            downs[link.index()] += 1;
        }
    }
    downs
}

fn table_of(ports: &[Port]) -> Table {
    let whole = |of: fn(&Port) -> u64| ports.iter().map(|port| of(port) as i64).collect::<Vec<_>>();
    let mut table = Table::new("port_counters");
    table.text("node", "Name of the switch or host", ports.iter().map(|port| port.node.clone()).collect());
    table.text("guid", "GUID of its node", ports.iter().map(|port| port.guid.clone()).collect());
    table.whole(
        "lid",
        "",
        "LID of the port, of a switch that of its port 0; 0 if there is none",
        whole(|port| port.lid.into()),
    );
    table.whole("port", "", "Physical number of the port", whole(|port| port.number.into()));
    let text = "Data of packets whose sending began in the measurement, in words of 4 bytes";
    table.whole("PortXmitData", "4 B", text, whole(|port| port.sent.bytes / WORD));
    let text = "Data of packets that the other end began to send in the measurement, in words of 4 bytes";
    table.whole("PortRcvData", "4 B", text, whole(|port| port.received.bytes / WORD));
    let text = "Packets whose sending began in the measurement";
    table.whole("PortXmitPkts", "", text, whole(|port| port.sent.packets));
    let text = "Packets that the other end began to send in the measurement";
    table.whole("PortRcvPkts", "", text, whole(|port| port.received.packets));
    unicast_and_multicast(&mut table, ports);
    let text = "Times of a word in which the idle port had packets but no credits; counted for each lane";
    table.whole("PortXmitWait", "ticks", text, whole(|port| port.waited));
    let text = "Packets that were discarded instead of being sent: too old, of a stalled lane, or larger than the MTU of the link";
    table.whole("PortXmitDiscards", "", text, whole(|port| port.sent.discarded));
    let text = "Packets that arrived with a bit error";
    table.whole("PortRcvErrors", "", text, whole(|port| port.received.damaged));
    // Only switches discard packets because of P_Keys: at the far end of a link to a host there is none.
    let at_switch = |port: &Port, of: Direction| if port.is_switch { of.p_key } else { 0 };
    let text = "Packets from a host that the switch discarded as they arrived, because of their P_Key";
    let column = ports.iter().map(|port| at_switch(port, port.received) as i64).collect();
    table.whole("PortRcvConstraintErrors", "", text, column);
    let text = "Packets for a host that the switch discarded instead of sending them, because of their P_Key";
    let column = ports.iter().map(|port| at_switch(port, port.sent) as i64).collect();
    table.whole("PortXmitConstraintErrors", "", text, column);
    let text = "Bit errors that were noticed: one for each packet that arrived with any";
    table.whole("SymbolErrorCounter", "", text, whole(|port| port.received.damaged));
    let text = "Times since the begin of the run that the link was trained anew because an end heard no flow-control packets";
    table.whole("LinkErrorRecoveryCounter", "", text, whole(|port| port.recoveries));
    let text = "Failures of the link or of a switch at its ends since the begin of the run";
    table.whole("LinkDownedCounter", "", text, whole(|port| port.downs));
    let text =
        "Datagrams of subnet management lost in the full buffer of the port since the begin of the run";
    table.whole("VL15Dropped", "", text, whole(|port| port.vl15_dropped));
    table
}

/// Adds the packets sent and received, divided by kind of destination.
fn unicast_and_multicast(table: &mut Table, ports: &[Port]) {
    let mut add = |name: &'static str, text: &'static str, of: fn(&Port) -> u64| {
        table.whole(name, "", text, ports.iter().map(|port| of(port) as i64).collect());
    };
    let text = "Those of `PortXmitPkts` that were for one host";
    add("PortUnicastXmitPkts", text, |port| port.sent.packets - port.sent.multicast);
    let text = "Those of `PortRcvPkts` that were for one host";
    add("PortUnicastRcvPkts", text, |port| port.received.packets - port.received.multicast);
    let text = "Those of `PortXmitPkts` that were for a multicast group";
    add("PortMulticastXmitPkts", text, |port| port.sent.multicast);
    let text = "Those of `PortRcvPkts` that were for a multicast group";
    add("PortMulticastRcvPkts", text, |port| port.received.multicast);
}
