//! GUIDs, LIDs and physical ports of a fabric from an InfiniBand subnet, in every table that names its nodes or links.

use std::collections::BTreeMap;

use fabricsim_engine::Prepared;
use fabricsim_model::{Data, Table};
use fabricsim_spec::Experiment;
use fabricsim_subnet::{PortId, Subnet};
use fabricsim_topology::{Graph, Identity};

use crate::outcome::Outcome;

/// Names of the columns of a port: GUID of its node, base LID, and its number where it is given.
struct Ends {
    guid: (&'static str, &'static str),
    lid: (&'static str, &'static str),
    port: Option<(&'static str, &'static str)>,
}

const GUID: (&str, &str) = ("guid", "Of a fabric from an InfiniBand subnet: node GUID");
const LID: (&str, &str) = ("lid", "Its base LID");

const NODE: Ends = Ends { guid: GUID, lid: LID, port: None };
const NODE_PORT: Ends = Ends { port: Some(("port", "Physical port of an adapter; 0 for a switch")), ..NODE };
const SOURCE: Ends = Ends {
    guid: ("source_guid", "Of a fabric from an InfiniBand subnet: node GUID of the source"),
    lid: ("source_lid", "Its base LID"),
    port: None,
};
const DESTINATION: Ends = Ends {
    guid: ("destination_guid", "Of a fabric from an InfiniBand subnet: node GUID of the destination"),
    lid: ("destination_lid", "Its base LID"),
    port: None,
};
const PEER: Ends = Ends {
    guid: ("peer_guid", "Of a fabric from an InfiniBand subnet: node GUID of the peer"),
    lid: ("peer_lid", "Its base LID"),
    port: None,
};
const FROM: Ends = Ends {
    guid: ("from_guid", "Of a fabric from an InfiniBand subnet: node GUID of the sender"),
    lid: ("from_lid", "Its base LID"),
    port: Some(("from_port", "Its physical port")),
};
const TO: Ends = Ends {
    guid: ("to_guid", "Of a fabric from an InfiniBand subnet: node GUID of the receiver"),
    lid: ("to_lid", "Its base LID"),
    port: Some(("to_port", "Its physical port")),
};

/// Tables, and their columns that name nodes. (`port_counters` has GUIDs of its own.)
const NODES: [(&str, &str, &Ends); 15] = [
    ("nodes", "name", &NODE_PORT),
    ("hosts", "host", &NODE_PORT),
    ("hosts_series", "host", &NODE),
    ("flows", "source", &SOURCE),
    ("flows", "destination", &DESTINATION),
    ("transport", "host", &NODE),
    ("transport_series", "host", &NODE),
    ("exchanges", "host", &NODE),
    ("exchanges", "peer", &PEER),
    ("router_ports", "router", &NODE),
    ("queue_pairs", "host", &NODE),
    ("queue_pairs", "peer", &PEER),
    ("verbs_queue_pairs", "host", &NODE),
    ("verbs_queue_pairs", "peer", &PEER),
    ("mpi_ranks", "host", &NODE),
];

/// Tables that name flows, in the column `flow`: from->to.
const FLOWS: [&str; 3] = ["series", "congestion_series", "congestion_flows"];

/// Tables, and their columns that name directions of links.
const LINKS: [(&str, &str); 3] = [("links", "link"), ("link_series", "link"), ("congestion_trees", "root")];

/// Adds the columns, if the graph was made from a subnet. Ports without a LID in its file have the one that routes use. Names that stand
/// for several nodes, such as `*`, have an empty GUID and LID 0.
pub(crate) fn add(tables: &mut [Table], experiment: &Experiment, graph: &Graph) {
    let Some(own) = graph.identity.as_deref() else { return };
    let with_lids = fabricsim_routing::identity_of(experiment, graph).ok();
    let identity = with_lids.as_deref().unwrap_or(own);
    let (nodes, links) = (nodes(graph, identity), links(graph, identity));
    let subnet = &identity.subnet;
    for table in tables {
        let name = table.name;
        for &(_, column, names) in NODES.iter().filter(|entry| entry.0 == name) {
            let Some(given) = names_of(table, column) else { continue };
            let ports: Vec<_> = given.iter().map(|name| nodes.get(name.as_str()).copied()).collect();
            add_columns(table, names, &ports, subnet);
        }
        if FLOWS.contains(&name)
            && let Some(given) = names_of(table, "flow")
        {
            let ends: Vec<_> = given.iter().map(|flow| flow.split_once("->").unwrap_or_default()).collect();
            let ports =
                |of: &dyn Fn((&str, &str)) -> Option<PortId>| ends.iter().map(|&ends| of(ends)).collect();
            let (sources, destinations): (Vec<_>, Vec<_>) =
                (ports(&|ends| nodes.get(ends.0).copied()), ports(&|ends| nodes.get(ends.1).copied()));
            add_columns(table, &SOURCE, &sources, subnet);
            add_columns(table, &DESTINATION, &destinations, subnet);
        }
        for &(_, column) in LINKS.iter().filter(|entry| entry.0 == name) {
            let Some(given) = names_of(table, column) else { continue };
            let ends: Vec<_> = given.iter().map(|name| links.get(name).copied()).collect();
            for (end, names) in [(0, &FROM), (1, &TO)] {
                let ports: Vec<_> = ends.iter().map(|ends| ends.map(|ends| ends[end])).collect();
                add_columns(table, names, &ports, subnet);
            }
        }
    }
}

impl Outcome {
    /// Adds a table, with these columns.
    pub(crate) fn add_table(&mut self, table: Table, prepared: &Prepared) {
        let mut tables = [table];
        add(&mut tables, &prepared.experiment, &prepared.graph);
        self.tables.extend(tables);
    }
}

/// The tables with these columns alone, without rows.
pub(crate) fn empty() -> Vec<Table> {
    let with = |name: &'static str, columns: &[&Ends]| {
        let mut table = Table::new(name);
        for names in columns {
            add_columns(&mut table, names, &[], &Subnet::default());
        }
        table
    };
    let nodes = NODES.iter().map(|&(table, _, names)| with(table, &[names]));
    let flows = FLOWS.iter().map(|&table| with(table, &[&SOURCE, &DESTINATION]));
    let links = LINKS.iter().map(|&(table, _)| with(table, &[&FROM, &TO]));
    nodes.chain(flows).chain(links).collect()
}

/// The names in a column; `None` if the run has not recorded it.
fn names_of<'a>(table: &'a Table, column: &str) -> Option<&'a [String]> {
    match &table.columns.iter().find(|found| found.name == column)?.data {
        Data::Text(names) => Some(names),
        _ => None,
    }
}

fn nodes<'a>(graph: &'a Graph, identity: &Identity) -> BTreeMap<&'a str, PortId> {
    let switches = identity.switches.iter().map(|&node| PortId { node, port: 0 });
    let switches = graph.switches.iter().map(|switch| switch.name.as_str()).zip(switches);
    let hosts = graph.hosts.iter().map(|host| host.name.as_str()).zip(identity.hosts.iter().copied());
    switches.chain(hosts).collect()
}

/// Both ends of each direction, by its name.
fn links(graph: &Graph, identity: &Identity) -> BTreeMap<String, [PortId; 2]> {
    let ends = |channel: u32| {
        let link = &graph.links[(channel / 2) as usize];
        let ends = if channel.is_multiple_of(2) { [link.a, link.b] } else { [link.b, link.a] };
        ends.map(|end| identity.port_at(end))
    };
    (0..2 * graph.links.len() as u32).map(|channel| (graph.port_name(channel), ends(channel))).collect()
}

/// Columns of the port of each row.
fn add_columns(table: &mut Table, names: &Ends, ports: &[Option<PortId>], subnet: &Subnet) {
    let guid = |port: PortId| subnet.node(port.node).guid.to_string();
    let guids = ports.iter().map(|port| port.map(guid).unwrap_or_default()).collect();
    let lids = ports.iter().map(|port| port.map_or(0, |port| i64::from(subnet.lid_of(port)))).collect();
    table.text(names.guid.0, names.guid.1, guids);
    table.whole(names.lid.0, "", names.lid.1, lids);
    if let Some((name, description)) = names.port {
        let numbers = ports.iter().map(|port| port.map_or(0, |port| i64::from(port.port))).collect();
        table.whole(name, "", description, numbers);
    }
}
