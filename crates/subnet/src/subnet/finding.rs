//! Oddities of a subnet that do not keep it from being used.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{NodeId, PortId, Speed, Subnet, Width};

/// Kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A link that only one of its ends states.
    OneSided,
    /// The two ends of a link state different widths or speeds.
    UnequalEnds,
    /// A link slower or narrower than most links of the subnet of its kind.
    Degraded,
    /// A link whose width or speed the file does not know.
    UnknownRate,
    /// A node that links mention and no record declares.
    NoRecord,
    /// A LID that the peer, or the tables, state for another port than the node does.
    LidMismatch,
    /// A port with a cable and no LID.
    NoLid,
    /// A port with no cable, listed as down.
    Down,
    /// A cable from a switch to itself.
    Loopback,
    /// A node that no cable connects.
    Isolated,
    /// A subnet of two or more parts.
    Divided,
    /// A switch with fewer uplinks than its like: a cable may be missing.
    FewerCables,
    /// A line that was skipped.
    Skipped,
    /// A value that the file does not have and that was derived.
    Derived,
    /// A LID without an entry in a forwarding table.
    NoEntry,
    /// An entry of a table that leads to a port without a cable.
    Hole,
    /// An entry of a table that leads to another port than that of the LID.
    WrongPort,
    /// A loop of a table.
    Loop,
    /// An entry of a table for a LID that no port has.
    UnknownLid,
    /// A switch without a table.
    NoTable,
    /// Paths whose service level a file of path records does not have.
    NoLevel,
    /// Nodes, or rows of nodes, that a file of SL2VL tables does not have.
    NoLanes,
}

/// An oddity, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Kind.
    pub kind: FindingKind,
    /// Text for a person.
    pub text: String,
    /// File; empty if the finding is about more than one.
    pub file: String,
    /// Line, from 1; 0 if the finding is about more than one.
    pub line: usize,
}

impl Finding {
    /// A finding.
    pub fn new(kind: FindingKind, file: &str, line: usize, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), file: file.to_owned(), line }
    }
}

/// Name of a port for messages: description, GUID, port number.
pub(crate) fn port_name(subnet: &Subnet, id: PortId) -> String {
    let node = subnet.node(id.node);
    format!("\"{}\" ({}) port {}", node.description, node.guid, id.port)
}

/// Findings about a whole subnet: degraded links, nodes without cable, parts, missing cables.
pub(super) fn whole(subnet: &Subnet, file: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    degraded(subnet, file, &mut findings);
    fewer_cables(subnet, file, &mut findings);
    for (_, node) in subnet.ids().filter(|(_, node)| node.ports.iter().all(|port| port.peer.is_none())) {
        let text = format!("\"{}\" ({}) has no cable", node.description, node.guid);
        findings.push(Finding::new(FindingKind::Isolated, file, node.line, text));
    }
    divided(subnet, file, &mut findings);
    findings
}

/// Links below the most frequent rate of their kind (between switches, or to an adapter).
fn degraded(subnet: &Subnet, file: &str, findings: &mut Vec<Finding>) {
    let class = |a: PortId, b: PortId| subnet.node(a.node).is_switch() && subnet.node(b.node).is_switch();
    let rate = |id: PortId| {
        let port = subnet.port(id);
        Some((port.width?, port.speed?))
    };
    let gbps = |(width, speed): (Width, Speed)| (u64::from(width.lanes()) * lane(speed), width, speed);
    let mut frequency: [BTreeMap<(u64, Width, Speed), usize>; 2] = [BTreeMap::new(), BTreeMap::new()];
    for (a, b) in subnet.cables() {
        if let Some(rate) = rate(a).or_else(|| rate(b)) {
            *frequency[usize::from(class(a, b))].entry(gbps(rate)).or_default() += 1;
        }
    }
    let usual =
        frequency.map(|map| map.into_iter().max_by_key(|&(rate, count)| (count, rate)).map(|(rate, _)| rate));
    for (a, b) in subnet.cables() {
        let line = subnet.node(a.node).line;
        let ends = format!("{} - {}", port_name(subnet, a), port_name(subnet, b));
        if a.node == b.node {
            findings.push(Finding::new(FindingKind::Loopback, file, line, ends.clone()));
        }
        let Some(rate) = rate(a).or_else(|| rate(b)) else {
            let text = format!("{ends}: width and speed are unknown");
            findings.push(Finding::new(FindingKind::UnknownRate, file, line, text));
            continue;
        };
        let Some(usual) = usual[usize::from(class(a, b))] else { continue };
        if gbps(rate).0 < usual.0 {
            let text = format!("{ends}: {}{}, most links are {}{}", rate.0, rate.1, usual.1, usual.2);
            findings.push(Finding::new(FindingKind::Degraded, file, line, text));
        }
    }
}

fn lane(speed: Speed) -> u64 {
    speed.lane_rate().map_or(0, fabricsim_units::Rate::bits_per_second)
}

/// Switches that have some, but fewer cables to other switches than most switches of their rank and number of ports.
fn fewer_cables(subnet: &Subnet, file: &str, findings: &mut Vec<Finding>) {
    let mut groups: BTreeMap<(u8, bool), Vec<(usize, NodeId)>> = BTreeMap::new();
    for (id, node) in subnet.ids().filter(|(_, node)| node.is_switch()) {
        let peers = || node.ports.iter().filter_map(|port| port.peer);
        let switches = peers().filter(|peer| subnet.node(peer.node).is_switch()).count();
        let hosts = peers().any(|peer| {
            let node = subnet.node(peer.node);
            !node.is_switch() && !node.is_aggregation_node()
        });
        groups.entry((node.num_ports(), hosts)).or_default().push((switches, id));
    }
    for members in groups.into_values().filter(|members| members.len() > 2) {
        let mut frequency: BTreeMap<usize, usize> = BTreeMap::new();
        for &(count, _) in &members {
            *frequency.entry(count).or_default() += 1;
        }
        // the most frequent number, the larger of several, if a quarter of the switches have it
        let usual = frequency.into_iter().max_by_key(|&(count, switches)| (switches, count));
        let Some((usual, _)) = usual.filter(|&(_, agreed)| agreed > 1 && agreed * 4 >= members.len()) else {
            continue;
        };
        for (count, id) in members.into_iter().filter(|&(count, _)| count < usual) {
            let node = subnet.node(id);
            let text = format!(
                "\"{}\" ({}) has {count} cables to switches, its like {usual}",
                node.description, node.guid
            );
            findings.push(Finding::new(FindingKind::FewerCables, file, node.line, text));
        }
    }
}

fn divided(subnet: &Subnet, file: &str, findings: &mut Vec<Finding>) {
    let parts = parts(subnet);
    let names: Vec<String> = parts
        .iter()
        .filter(|part| part.len() > 1)
        .map(|part| format!("{} nodes with \"{}\"", part.len(), subnet.node(part[0]).description))
        .collect();
    if names.len() > 1 {
        let text = format!("the subnet has {} parts: {}", names.len(), names.join("; "));
        let second = parts.iter().filter(|part| part.len() > 1).nth(1);
        let line = second.map_or(0, |part| subnet.node(part[0]).line);
        findings.push(Finding::new(FindingKind::Divided, file, line, text));
    }
}

/// Connected parts of the subnet, the largest first.
pub(crate) fn parts(subnet: &Subnet) -> Vec<Vec<NodeId>> {
    let mut sets = petgraph::unionfind::UnionFind::<u32>::new(subnet.nodes.len());
    for (a, b) in subnet.cables() {
        sets.union(a.node.0, b.node.0);
    }
    let mut parts: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
    for (id, _) in subnet.ids() {
        parts.entry(sets.find(id.0)).or_default().push(id);
    }
    let mut parts: Vec<Vec<NodeId>> = parts.into_values().collect();
    parts.sort_by_key(|part| (std::cmp::Reverse(part.len()), part[0]));
    parts
}
