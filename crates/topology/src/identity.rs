//! Identity of a fabric's nodes and ports in an InfiniBand subnet: GUIDs, LIDs, physical port numbers.

use std::collections::BTreeMap;

use fabricsim_subnet::{NodeId, PortId, Subnet};
use fabricsim_units::{HostId, PortNo, SwitchId};

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
    /// Physical number of a switch's port.
    pub fn number(&self, switch: SwitchId, port: PortNo) -> u8 {
        self.ports[switch.index()][port.index()]
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
