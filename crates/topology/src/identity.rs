//! Identity of a fabric's nodes and ports in an InfiniBand subnet: GUIDs, LIDs, physical port numbers.

use std::collections::BTreeMap;

use fabricsim_subnet::{Guid, MAX_PORT, Node, NodeId, NodeKind, Port, PortId, Speed, Subnet};
use fabricsim_units::{HostId, PortNo, SwitchId};

use crate::{End, Graph};

/// GUIDs of made-up nodes, as ibsim has them.
const FIRST_SWITCH: u64 = 0x20_0000;
const FIRST_ADAPTER: u64 = 0x10_0000;

/// The subnet that a graph was made from, and the place of each of its switches and adapter ports in the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// The subnet.
    pub subnet: Subnet,
    /// Nodes of the switches, by [`SwitchId`].
    pub switches: Vec<NodeId>,
    /// Ports of adapters (and routers), by [`HostId`]. An adapter with two ports is two hosts.
    pub hosts: Vec<PortId>,
    /// Physical numbers of a switch's ports, by [`SwitchId`] and [`PortNo`], ascending. Ports without a cable are left out.
    pub ports: Vec<Vec<u8>>,
}

impl Identity {
    /// Identity of a fabric that was not made from a subnet: GUIDs and descriptions are made up, physical ports are those of the graph,
    /// counted from 1. Links have the width and speed of their rate, if InfiniBand has it. No LIDs are assigned.
    ///
    /// # Errors
    ///
    /// A switch with more than 254 ports.
    pub fn of(graph: &Graph) -> Result<Self, String> {
        let switches = graph.switches.iter().enumerate().map(|(index, switch)| {
            let count = switch.ports.len();
            if count > usize::from(MAX_PORT) {
                return Err(format!(
                    "switch {} has {count} ports: InfiniBand's switches have at most {MAX_PORT}",
                    switch.name
                ));
            }
            Ok(node(NodeKind::Switch, FIRST_SWITCH + index as u64, &switch.name, count))
        });
        let adapters = graph.hosts.iter().enumerate().map(|(index, host)| {
            Ok(node(NodeKind::Adapter, FIRST_ADAPTER + 2 * index as u64, &host.name, 1))
        });
        let nodes = switches.chain(adapters).collect::<Result<Vec<_>, String>>()?;
        let mut subnet = Subnet { nodes, manager: None };
        let first_host = graph.switches.len() as u32;
        let place = |end: End| match end.node {
            crate::Node::Switch(switch) => PortId { node: NodeId(switch.0), port: end.port.0 as u8 + 1 },
            crate::Node::Host(host) => PortId { node: NodeId(first_host + host.0), port: 1 },
        };
        for link in &graph.links {
            let (a, b) = (place(link.a), place(link.b));
            let rate = Speed::of_rate(link.parameters.rate);
            for (own, peer) in [(a, b), (b, a)] {
                let port = subnet.port_mut(own);
                port.peer = Some(peer);
                (port.width, port.speed) = rate.unzip();
            }
        }
        let hosts =
            (0..graph.hosts.len() as u32).map(|host| PortId { node: NodeId(first_host + host), port: 1 });
        Ok(Self {
            hosts: hosts.collect(),
            switches: (0..first_host).map(NodeId).collect(),
            ports: graph.switches.iter().map(|switch| (1..=switch.ports.len() as u8).collect()).collect(),
            subnet,
        })
    }

    /// Physical number of a switch's port.
    pub fn number(&self, switch: SwitchId, port: PortNo) -> u8 {
        self.ports[switch.index()][port.index()]
    }

    /// The port at an end of a link of the graph.
    pub fn port_at(&self, end: End) -> PortId {
        match end.node {
            crate::Node::Switch(switch) => {
                PortId { node: self.switches[switch.index()], port: self.number(switch, end.port) }
            }
            crate::Node::Host(host) => self.hosts[host.index()],
        }
    }

    /// The port of a switch with a physical number, if it has a cable.
    pub fn port(&self, switch: SwitchId, number: u8) -> Option<PortNo> {
        let found = self.ports[switch.index()].binary_search(&number).ok()?;
        Some(PortNo(found as u16))
    }

    /// Base LID of a host's port; 0 if it has none.
    pub fn lid(&self, host: HostId) -> u16 {
        self.subnet.port(self.hosts[host.index()]).lid
    }

    /// The switches by their node.
    pub fn by_node(&self) -> BTreeMap<NodeId, SwitchId> {
        self.switches.iter().enumerate().map(|(index, &node)| (node, SwitchId(index as u32))).collect()
    }
}

/// A node without cables.
fn node(kind: NodeKind, guid: u64, name: &str, ports: usize) -> Node {
    let of_port = |number: usize| {
        // An adapter's ports have GUIDs of their own, a switch's that of port 0.
        let own = if kind == NodeKind::Adapter { number as u64 } else { 0 };
        Port { guid: Guid(guid + own), ..Port::default() }
    };
    Node {
        kind,
        guid: Guid(guid),
        system_guid: Guid(guid),
        vendor: 0,
        device: 0,
        revision: 0,
        description: name.to_owned(),
        enhanced_port_0: false,
        ports: (0..=ports).map(of_port).collect(),
        line: 0,
    }
}
