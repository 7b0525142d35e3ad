//! An InfiniBand subnet as its administrators know it: nodes, GUIDs, LIDs, physical ports, cables.

mod build;
mod data_rate;
mod failure;
pub(crate) mod finding;
mod link;
mod record;

pub(crate) use build::Builder;
pub(crate) use finding::port_name;
pub use finding::{Finding, FindingKind};
pub use link::{Speed, Width};
pub(crate) use record::{EndRecord, NodeRecord};

use serde::Serialize;

use crate::Guid;

/// Largest unicast LID (0xBFFF).
pub const MAX_LID: u16 = 0xbfff;

/// Largest number of a physical port: 255 means "drop" in forwarding tables.
pub const MAX_PORT: u8 = 254;

/// Largest LID mask control.
pub const MAX_LMC: u8 = 7;

/// Kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// A switch: one port (0) with a LID, all others forward.
    Switch,
    /// A channel adapter (HCA, TCA, or the aggregation node of a switch).
    Adapter,
    /// A router.
    Router,
}

/// Index of a node in [`Subnet::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A physical port of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct PortId {
    /// Node.
    pub node: NodeId,
    /// Number, from 1; 0 is a switch's management port.
    pub port: u8,
}

/// State of a port. Of a switch's ports, only port 0 has a LID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Port {
    /// GUID of the port; all ports of a switch have that of port 0.
    pub guid: Guid,
    /// Base LID; 0 if none is assigned.
    pub lid: u16,
    /// LID mask control: the port has 2^LMC consecutive LIDs.
    pub lmc: u8,
    /// Port at the other end of the cable.
    pub peer: Option<PortId>,
    /// Active width, if known.
    pub width: Option<Width>,
    /// Active speed, if known.
    pub speed: Option<Speed>,
}

impl Port {
    /// LIDs of the port: none if no LID is assigned.
    pub fn lids(&self) -> std::ops::Range<u32> {
        let base = u32::from(self.lid);
        if base == 0 { 0..0 } else { base..base + (1 << self.lmc) }
    }
}

/// A switch, channel adapter or router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Kind.
    pub kind: NodeKind,
    /// GUID of the node.
    pub guid: Guid,
    /// GUID of the system (chassis) of which the node is a part.
    pub system_guid: Guid,
    /// Identifier of the vendor (24 bits); 0 if unknown.
    pub vendor: u32,
    /// Identifier of the device; 0 if unknown.
    pub device: u16,
    /// Hardware revision; 0 if unknown.
    pub revision: u32,
    /// Description, any text.
    pub description: String,
    /// True if port 0 of the switch is an enhanced one.
    pub enhanced_port_0: bool,
    /// Ports by number. Index 0 is a switch's management port; other nodes do not use it.
    pub ports: Vec<Port>,
    /// Line of the file that declares the node, from 1.
    pub line: usize,
}

impl Node {
    /// Number of physical ports, without port 0.
    pub fn num_ports(&self) -> u8 {
        (self.ports.len() - 1) as u8
    }

    /// True for a switch.
    pub fn is_switch(&self) -> bool {
        self.kind == NodeKind::Switch
    }

    /// Number of the port whose LID and GUID address physical port `port`: 0 on switches.
    pub fn addressed_port(&self, port: u8) -> u8 {
        if self.is_switch() { 0 } else { port }
    }

    /// Numbers of the ports with LIDs of their own: 0 on switches, all connected ones elsewhere.
    pub fn end_ports(&self) -> impl Iterator<Item = u8> + '_ {
        let switch = self.is_switch();
        (0..self.ports.len()).map(|port| port as u8).filter(move |&port| {
            if switch { port == 0 } else { port > 0 && self.ports[usize::from(port)].peer.is_some() }
        })
    }

    /// True if the adapter is the aggregation node of a switch (SHARP): it is part of the switch's chip.
    pub fn is_aggregation_node(&self) -> bool {
        self.kind == NodeKind::Adapter && self.description.contains("Aggregation Node")
    }
}

/// Nodes and cables of a subnet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subnet {
    /// Nodes in the order of the file.
    pub nodes: Vec<Node>,
    /// Port on which the subnet manager runs, if known.
    pub manager: Option<PortId>,
}

impl Subnet {
    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Description of a node, with its GUID if another node has the same one.
    #[must_use]
    pub fn unique_name(&self, node: &Node) -> String {
        let alike = self.nodes.iter().filter(|other| other.description == node.description).count();
        if alike > 1 { format!("{} ({})", node.description, node.guid) } else { node.description.clone() }
    }

    /// A port.
    pub fn port(&self, id: PortId) -> &Port {
        &self.nodes[id.node.index()].ports[usize::from(id.port)]
    }

    /// A port, to change it.
    pub fn port_mut(&mut self, id: PortId) -> &mut Port {
        &mut self.nodes[id.node.index()].ports[usize::from(id.port)]
    }

    /// Base LID that addresses a physical port: that of port 0 on switches.
    pub fn lid_of(&self, id: PortId) -> u16 {
        let node = self.node(id.node);
        node.ports[usize::from(node.addressed_port(id.port))].lid
    }

    /// Nodes with their identifiers.
    pub fn ids(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId(index as u32), node))
    }

    /// Cables: each once, the smaller end first.
    pub fn cables(&self) -> impl Iterator<Item = (PortId, PortId)> + '_ {
        self.ids().flat_map(|(node, record)| {
            record.ports.iter().enumerate().filter_map(move |(port, state)| {
                let this = PortId { node, port: port as u8 };
                state.peer.filter(|&peer| this < peer).map(|peer| (this, peer))
            })
        })
    }

    /// The node with this GUID, or with a port of this GUID.
    pub fn find(&self, guid: Guid) -> Option<NodeId> {
        let by = |test: &dyn Fn(&Node) -> bool| self.ids().find(|(_, node)| test(node)).map(|(id, _)| id);
        by(&|node| node.guid == guid).or_else(|| by(&|node| node.ports.iter().any(|port| port.guid == guid)))
    }

    /// Number of nodes and cables of each kind.
    pub fn counts(&self) -> Counts {
        let of = |kind| self.nodes.iter().filter(|node| node.kind == kind).count();
        let mut counts = Counts {
            switches: of(NodeKind::Switch),
            adapters: of(NodeKind::Adapter),
            routers: of(NodeKind::Router),
            aggregation_nodes: self.nodes.iter().filter(|node| node.is_aggregation_node()).count(),
            ..Counts::default()
        };
        for (a, b) in self.cables() {
            counts.cables += 1;
            counts.switch_cables +=
                usize::from(self.node(a.node).is_switch() && self.node(b.node).is_switch());
        }
        counts.ports = self.nodes.iter().map(|node| usize::from(node.num_ports())).sum();
        let lids = |node: &Node| node.ports.iter().map(|port| port.lids().len()).sum::<usize>();
        counts.lids = self.nodes.iter().map(lids).sum();
        counts
    }

    /// Removes the cable of a port, if it has one.
    pub fn disconnect(&mut self, id: PortId) {
        if let Some(peer) = self.port_mut(id).peer.take() {
            self.port_mut(peer).peer = None;
        }
    }
}

/// Number of nodes and cables of a subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Switches.
    pub switches: usize,
    /// Channel adapters, aggregation nodes included.
    pub adapters: usize,
    /// Aggregation nodes.
    pub aggregation_nodes: usize,
    /// Routers.
    pub routers: usize,
    /// Physical ports, connected or not.
    pub ports: usize,
    /// Cables.
    pub cables: usize,
    /// Cables between switches.
    pub switch_cables: usize,
    /// Assigned LIDs.
    pub lids: usize,
}
