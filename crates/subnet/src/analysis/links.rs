//! Links one by one: their loads under each pattern, those that no path crosses, and those that are slower than their like.

use std::collections::BTreeMap;

use serde::Serialize;

use super::deadlock::channel_name;
use super::{Analysis, Traffic};
use crate::fabric::Fabric;
use crate::subnet::{Node, PortId, Speed, Subnet, Width};
use crate::{Guid, NodeKind, RouteError};

/// A path that does not arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostPath {
    /// Description of the sender.
    pub source: String,
    /// Description of the receiver.
    pub destination: String,
}

/// A link between switches of a lower rate than most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlowLink {
    /// Description of the switch, port number, description of the next switch: the direction with more paths.
    pub name: String,
    /// Width and speed.
    pub rate: String,
    /// Width and speed of most links between switches.
    pub usual: String,
    /// Data rate, as a fraction of that of most links between switches.
    pub fraction: f64,
    /// Number of paths.
    pub paths: u64,
}

/// Use of the links between switches.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LinkUse {
    /// Number of directions of links between switches.
    pub directions: usize,
    /// Of these, the directions that no path crosses.
    pub idle: usize,
    /// Descriptions of the switches without adapters that no path crosses (aggregation nodes do not count as adapters).
    pub idle_switches: Vec<String>,
    /// Links between switches of a lower rate than most.
    pub slow: Vec<SlowLink>,
}

/// The two ends of a link: descriptions may be equal, these are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LinkEnds {
    /// Node GUID of the sending switch.
    pub guid: Guid,
    /// Node GUID of the next switch; 0 without a cable.
    pub next_guid: Guid,
    /// Physical port of the next switch; 0 without a cable.
    pub next_port: u8,
}

impl LinkEnds {
    /// The ends of the cable at an output port.
    pub(super) fn of(subnet: &Subnet, output: PortId) -> Self {
        let next = subnet.port(output).peer;
        Self {
            guid: subnet.node(output.node).guid,
            next_guid: next.map_or(Guid(0), |next| subnet.node(next.node).guid),
            next_port: next.map_or(0, |next| next.port),
        }
    }
}

/// Loads of a direction of a link between switches.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkRow {
    /// Description of the switch.
    pub switch: String,
    /// Number of its output port.
    pub port: u8,
    /// Description of the next switch.
    pub next: String,
    /// GUIDs of both ends, and the port of the next switch.
    #[serde(flatten)]
    pub ends: LinkEnds,
    /// Data rate in Gb/s, if width and speed are known.
    pub gbps: Option<f64>,
    /// Paths of all ports of adapters to all others.
    pub all_to_all: u64,
    /// Flows of each further pattern, in that phase in which the link has most; by the pattern's name.
    #[serde(flatten)]
    pub patterns: BTreeMap<&'static str, f64>,
}

/// Loads of all directions of links between switches, by switch and port.
///
/// # Errors
///
/// The subnet has no switches, LIDs are missing, or it has several parts.
pub fn link_rows(
    subnet: &Subnet,
    analysis: &Analysis,
    traffic: &Traffic,
) -> Result<Vec<LinkRow>, RouteError> {
    let fabric = Fabric::new(subnet)?;
    let name = |at: usize| subnet.node(fabric.switches[at]).description.clone();
    let mut rows = Vec::new();
    for at in 0..fabric.len() {
        rows.extend(fabric.switch_links(at).map(|(port, next, _)| {
            let channel = fabric.first_port(at) + port;
            let loads = traffic.patterns.iter().zip(&traffic.largest);
            let id = PortId { node: fabric.switches[at], port: port as u8 };
            LinkRow {
                switch: name(at),
                port: id.port,
                next: name(next),
                ends: LinkEnds::of(subnet, id),
                gbps: rate(subnet, id).map(|(width, speed)| speed.data_rate(width).as_gbps()),
                all_to_all: analysis.loads[channel],
                patterns: loads.map(|(pattern, loads)| (pattern.pattern, loads[channel])).collect(),
            }
        }));
    }
    Ok(rows)
}

/// Names of paths from a switch's first port that is not the destination.
pub(super) fn lost_paths(fabric: &Fabric<'_>, lost: &[(usize, u32)]) -> Vec<LostPath> {
    let name = |id: PortId| fabric.subnet.unique_name(fabric.subnet.node(id.node));
    let path = |&(at, end): &(usize, u32)| {
        let destination = fabric.ends.get(end as usize)?;
        let is_source = |end: &&crate::fabric::EndPort| {
            !end.is_switch && end.switch as usize == at && end.id != destination.id
        };
        let source = fabric.ends.iter().find(is_source)?;
        Some(LostPath { source: name(source.id), destination: name(destination.id) })
    };
    lost.iter().filter_map(path).collect()
}

/// Use of links and switches by `loads` of channels and the paths that cross each switch.
pub(super) fn link_use(fabric: &Fabric<'_>, loads: &[u64], transit: &[u64]) -> LinkUse {
    let mut found = LinkUse::default();
    for at in 0..fabric.len() {
        let ports: Vec<usize> = fabric.switch_links(at).map(|(port, ..)| port).collect();
        found.directions += ports.len();
        found.idle += ports.iter().filter(|&&port| loads[fabric.first_port(at) + port] == 0).count();
        let node = fabric.subnet.node(fabric.switches[at]);
        if ports.len() > 1 && transit[at] == 0 && !has_adapters(fabric.subnet, node) {
            found.idle_switches.push(fabric.subnet.unique_name(node));
        }
    }
    found.slow = slow_links(fabric, loads);
    found
}

fn has_adapters(subnet: &Subnet, switch: &Node) -> bool {
    let mut peers = switch.ports.iter().filter_map(|port| Some(subnet.node(port.peer?.node)));
    peers.any(|peer| peer.kind != NodeKind::Switch && !peer.is_aggregation_node())
}

/// Width and speed of a cable, by this end or the other one.
fn rate(subnet: &Subnet, id: PortId) -> Option<(Width, Speed)> {
    let of = |id: PortId| {
        let port = subnet.port(id);
        Some((port.width?, port.speed?))
    };
    of(id).or_else(|| of(subnet.port(id).peer?))
}

/// Links between switches that are slower than most, the one with most paths for its rate first.
fn slow_links(fabric: &Fabric<'_>, loads: &[u64]) -> Vec<SlowLink> {
    let subnet = fabric.subnet;
    let bits = |(width, speed): (Width, Speed)| speed.data_rate(width).bits_per_second();
    let mut frequency: BTreeMap<u64, (usize, (Width, Speed))> = BTreeMap::new();
    let mut cables = Vec::new();
    for at in 0..fabric.len() {
        for (port, next, back) in fabric.switch_links(at) {
            let id = PortId { node: fabric.switches[at], port: port as u8 };
            let Some(rate) = rate(subnet, id).filter(|_| (at, port) < (next, back)) else { continue };
            frequency.entry(bits(rate)).or_insert((0, rate)).0 += 1;
            cables.push((rate, (at, port), (next, back)));
        }
    }
    let Some((&most, &(_, usual))) = frequency.iter().max_by_key(|(bits, entry)| (entry.0, **bits)) else {
        return Vec::new();
    };
    let load = |&(at, port): &(usize, usize)| loads[fabric.first_port(at) + port];
    let slow = cables.into_iter().filter(|cable| bits(cable.0) < most).map(|(rate, one, other)| {
        let (at, port) = if load(&other) > load(&one) { other } else { one };
        SlowLink {
            name: channel_name(fabric, at, port),
            rate: format!("{}{}", rate.0, rate.1),
            usual: format!("{}{}", usual.0, usual.1),
            fraction: bits(rate) as f64 / most as f64,
            paths: load(&(at, port)),
        }
    });
    let mut slow: Vec<SlowLink> = slow.collect();
    slow.sort_by(|a, b| {
        let share = |link: &SlowLink| link.paths as f64 / link.fraction;
        share(b).total_cmp(&share(a)).then_with(|| a.name.cmp(&b.name))
    });
    slow
}
