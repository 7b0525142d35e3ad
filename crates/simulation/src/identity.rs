//! GUIDs, LIDs and physical ports of a fabric from an InfiniBand subnet, in the tables `nodes`, `hosts` and `links`.

use std::collections::BTreeMap;

use fabricsim_model::{Data, Table};
use fabricsim_spec::Experiment;
use fabricsim_subnet::{PortId, Subnet};
use fabricsim_topology::{Graph, Identity};

/// Adds the columns, if the graph was made from a subnet. Ports without a LID in its file have the one that routes use.
pub(crate) fn add(tables: &mut [Table], experiment: &Experiment, graph: &Graph) {
    let Some(own) = graph.identity.as_deref() else { return };
    let with_lids = fabricsim_routing::identity_of(experiment, graph).ok();
    let identity = with_lids.as_deref().unwrap_or(own);
    for table in tables {
        let rows = match table.name {
            "nodes" => nodes(identity),
            "hosts" => identity.hosts.iter().map(|&port| vec![port]).collect(),
            "links" => links(table, graph, identity),
            _ => continue,
        };
        if rows.len() == table.rows() {
            add_columns(table, &rows, &identity.subnet);
        }
    }
}

/// The tables with these columns alone, without rows.
pub(crate) fn empty() -> [Table; 3] {
    let mut tables = ["nodes", "hosts", "links"].map(Table::new);
    for table in &mut tables {
        add_columns(table, &[], &Subnet::default());
    }
    tables
}

/// Switches, then hosts.
fn nodes(identity: &Identity) -> Vec<Vec<PortId>> {
    let switches = identity.switches.iter().map(|&node| PortId { node, port: 0 });
    switches.chain(identity.hosts.iter().copied()).map(|port| vec![port]).collect()
}

/// Both ends of each row's direction.
fn links(table: &Table, graph: &Graph, identity: &Identity) -> Vec<Vec<PortId>> {
    let channels = 0..2 * graph.links.len() as u32;
    let by_name: BTreeMap<String, u32> =
        channels.map(|channel| (graph.port_name(channel), channel)).collect();
    let ends = |name: &String| {
        let channel = *by_name.get(name)?;
        let link = &graph.links[(channel / 2) as usize];
        let ends = if channel.is_multiple_of(2) { [link.a, link.b] } else { [link.b, link.a] };
        Some(ends.map(|end| identity.port_at(end)).to_vec())
    };
    let names = table.columns.iter().find(|column| column.name == "link").map(|column| &column.data);
    match names {
        Some(Data::Text(names)) => names.iter().filter_map(ends).collect(),
        _ => Vec::new(),
    }
}

/// Columns of the ports in each row.
fn add_columns(table: &mut Table, rows: &[Vec<PortId>], subnet: &Subnet) {
    let guids = |end: usize| rows.iter().map(|row| subnet.node(row[end].node).guid.to_string()).collect();
    let lids = |end: usize| rows.iter().map(|row| i64::from(subnet.lid_of(row[end]))).collect();
    let numbers = |end: usize| rows.iter().map(|row| i64::from(row[end].port)).collect();
    if table.name == "links" {
        table.text("from_guid", "Of a fabric from an InfiniBand subnet: node GUID of the sender", guids(0));
        table.whole("from_lid", "", "Its base LID", lids(0));
        table.whole("from_port", "", "Its physical port", numbers(0));
        table.text("to_guid", "Of a fabric from an InfiniBand subnet: node GUID of the receiver", guids(1));
        table.whole("to_lid", "", "Its base LID", lids(1));
        table.whole("to_port", "", "Its physical port", numbers(1));
        return;
    }
    table.text("guid", "Of a fabric from an InfiniBand subnet: node GUID", guids(0));
    table.whole("lid", "", "Its base LID", lids(0));
    table.whole("port", "", "Physical port of an adapter; 0 for a switch", numbers(0));
}
