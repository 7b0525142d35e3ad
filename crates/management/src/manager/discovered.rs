//! The subnet as a manager has discovered it.

use std::collections::BTreeMap;

use fabricsim_subnet::{Node, NodeId, NodeKind, Port, PortId, Speed, Subnet, Width};
use fabricsim_wire::mad::smp::{NodeInfo, NodeType, PortInfo, PortState, SwitchInfo};

/// A node that answered.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) info: NodeInfo,
    /// Ports by which requests travel to it.
    pub(super) path: Box<[u8]>,
    pub(super) description: String,
    pub(super) switch: Option<SwitchInfo>,
    /// What its ports answered, by number.
    pub(super) ports: BTreeMap<u8, PortInfo>,
    /// GUIDs of its ports, as far as they are known.
    pub(super) port_guids: BTreeMap<u8, u64>,
    /// Node and port at the other end of each cable.
    pub(super) peers: BTreeMap<u8, (usize, u8)>,
}

impl Found {
    pub(super) fn is_switch(&self) -> bool {
        self.info.node_type == NodeType::SWITCH
    }

    /// The port whose `PortInfo` has the LID: 0 on switches.
    pub(super) fn addressed(&self, port: u8) -> u8 {
        if self.is_switch() { 0 } else { port }
    }
}

/// Nodes by the order in which they answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Discovered {
    pub(super) nodes: Vec<Found>,
    by_guid: BTreeMap<u64, usize>,
}

impl Discovered {
    /// The node with the GUID of `info`, and true if it is new.
    pub(super) fn node(&mut self, info: &NodeInfo, path: &[u8]) -> (usize, bool) {
        let next = self.nodes.len();
        let number = *self.by_guid.entry(info.node_guid.0).or_insert(next);
        let is_new = number == next;
        if is_new {
            self.nodes.push(Found {
                info: *info,
                path: path.into(),
                description: String::new(),
                switch: None,
                ports: BTreeMap::new(),
                port_guids: BTreeMap::new(),
                peers: BTreeMap::new(),
            });
        }
        let found = &mut self.nodes[number];
        let port = found.addressed(info.local_port_num);
        found.port_guids.insert(port, info.port_guid.0);
        (number, is_new)
    }

    /// A cable between two ports.
    pub(super) fn connect(&mut self, a: (usize, u8), b: (usize, u8)) {
        self.nodes[a.0].peers.insert(a.1, b);
        self.nodes[b.0].peers.insert(b.1, a);
    }

    /// The subnet with the LIDs that its ports have; `manager` is the port of the manager. Ports that are down have no cable.
    pub(super) fn subnet(&self, manager: (usize, u8)) -> Subnet {
        let nodes = self.nodes.iter().map(to_node).collect();
        let manager = PortId { node: NodeId(manager.0 as u32), port: manager.1 };
        Subnet { nodes, manager: Some(manager) }
    }
}

fn to_node(found: &Found) -> Node {
    let info = &found.info;
    let kind = match info.node_type {
        NodeType::SWITCH => NodeKind::Switch,
        NodeType::ROUTER => NodeKind::Router,
        _ => NodeKind::Adapter,
    };
    let guid = |number: u8| found.port_guids.get(&found.addressed(number)).copied().unwrap_or(0);
    let port = |number: u8| {
        let given = found.ports.get(&number).copied().unwrap_or_default();
        let is_up = given.port_state != PortState::DOWN && found.ports.contains_key(&number);
        let peer = found.peers.get(&number).filter(|_| is_up);
        Port {
            guid: fabricsim_subnet::Guid(guid(number)),
            lid: given.lid.0,
            lmc: given.lmc,
            peer: peer.map(|&(node, port)| PortId { node: NodeId(node as u32), port }),
            width: width(given.link_width_active),
            speed: speed(&given),
        }
    };
    Node {
        kind,
        guid: fabricsim_subnet::Guid(info.node_guid.0),
        system_guid: fabricsim_subnet::Guid(info.system_image_guid.0),
        vendor: info.vendor_id,
        device: info.device_id,
        revision: info.revision,
        description: found.description.clone(),
        enhanced_port_0: found.switch.is_some_and(|switch| switch.enhanced_port_0),
        ports: (0..=info.num_ports).map(port).collect(),
        line: 0,
    }
}

fn width(code: u8) -> Option<Width> {
    Width::new(match code {
        1 => 1,
        2 => 4,
        4 => 8,
        8 => 12,
        16 => 2,
        _ => return None,
    })
}

fn speed(port: &PortInfo) -> Option<Speed> {
    match (port.link_speed_ext_active, port.link_speed_active) {
        (1, _) => Some(Speed::Fdr),
        (2, _) => Some(Speed::Edr),
        (4, _) => Some(Speed::Hdr),
        (8, _) => Some(Speed::Ndr),
        (_, 1) => Some(Speed::Sdr),
        (_, 2) => Some(Speed::Ddr),
        (_, 4) => Some(Speed::Qdr),
        _ => None,
    }
}
