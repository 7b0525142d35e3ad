//! The subnet as routing engines see it: switches in OpenSM's order, dense arrays by switch index and port.

use crate::subnet::{Subnet, port_name};
use crate::{NodeId, PortId, RouteError};

/// Index of no switch or end port.
pub(crate) const NONE: u32 = u32::MAX;

/// What is at the other end of a switch's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// No cable.
    None,
    /// A switch, and the number of its port.
    Switch(u32, u8),
    /// An end port (index in [`Fabric::ends`]).
    End(u32),
}

/// A port with LIDs: port 0 of a switch, or a port of an adapter or router.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndPort {
    /// Port.
    pub(crate) id: PortId,
    /// Base LID.
    pub(crate) lid: u16,
    /// LID mask control.
    pub(crate) lmc: u8,
    /// Switch to which it belongs or is connected; `NONE` if its peer is no switch.
    pub(crate) switch: u32,
    /// Port of that switch; 0 for the switch itself.
    pub(crate) port: u8,
    /// True for a switch's port 0.
    pub(crate) is_switch: bool,
}

impl EndPort {
    /// LIDs of the port.
    pub(crate) fn lids(&self) -> std::ops::Range<usize> {
        usize::from(self.lid)..usize::from(self.lid) + (1 << self.lmc)
    }
}

/// Dense form of a subnet.
#[derive(Debug)]
pub(crate) struct Fabric<'a> {
    /// Subnet.
    pub(crate) subnet: &'a Subnet,
    /// Nodes of the switches, in OpenSM's order (`sw_guid_tbl`).
    pub(crate) switches: Vec<NodeId>,
    /// Index of a node's switch; `NONE` for other nodes.
    pub(crate) switch_of: Vec<u32>,
    /// First element of a switch in [`Self::peers`], and their number at the end.
    first: Vec<u32>,
    /// Peers of all ports of all switches, port 0 included.
    peers: Vec<Peer>,
    /// Ports with LIDs in OpenSM's order (`port_guid_tbl`), switches among them.
    pub(crate) ends: Vec<EndPort>,
    /// End port of each switch.
    pub(crate) switch_ends: Vec<u32>,
    /// End port of each LID; `NONE` for LIDs that no port has. The length is the largest LID plus 1.
    pub(crate) lid_ends: Vec<u32>,
}

impl<'a> Fabric<'a> {
    /// The dense form of a subnet with LIDs.
    ///
    /// # Errors
    ///
    /// No switches, a port without LID, a subnet of several parts.
    pub(crate) fn new(subnet: &'a Subnet) -> Result<Self, RouteError> {
        let mut switches: Vec<NodeId> =
            subnet.ids().filter(|(_, node)| node.is_switch()).map(|(id, _)| id).collect();
        if switches.is_empty() {
            return Err(RouteError::NoSwitches);
        }
        switches.sort_by_key(|&id| subnet.node(id).guid.map_key());
        let mut switch_of = vec![NONE; subnet.nodes.len()];
        for (index, &id) in switches.iter().enumerate() {
            switch_of[id.index()] = index as u32;
        }
        let ends = end_ports(subnet, &switch_of)?;
        let mut fabric = Self {
            subnet,
            first: Vec::with_capacity(switches.len() + 1),
            peers: Vec::new(),
            switch_ends: vec![NONE; switches.len()],
            lid_ends: lid_ends(&ends),
            switches,
            switch_of,
            ends,
        };
        fabric.fill();
        fabric.check_connected()?;
        Ok(fabric)
    }

    fn fill(&mut self) {
        let mut end_of: Vec<Vec<u32>> = self
            .subnet
            .nodes
            .iter()
            .map(|node| vec![NONE; if node.is_switch() { 1 } else { node.ports.len() }])
            .collect();
        for (index, end) in self.ends.iter().enumerate() {
            end_of[end.id.node.index()][usize::from(end.id.port)] = index as u32;
            if end.is_switch {
                self.switch_ends[end.switch as usize] = index as u32;
            }
        }
        for &id in &self.switches {
            self.first.push(self.peers.len() as u32);
            self.peers.extend(self.subnet.node(id).ports.iter().map(|port| match port.peer {
                None => Peer::None,
                Some(peer) if self.switch_of[peer.node.index()] != NONE => {
                    Peer::Switch(self.switch_of[peer.node.index()], peer.port)
                }
                Some(peer) => Peer::End(end_of[peer.node.index()][usize::from(peer.port)]),
            }));
        }
        self.first.push(self.peers.len() as u32);
    }

    fn check_connected(&self) -> Result<(), RouteError> {
        let mut reached = vec![false; self.switches.len()];
        let mut stack = vec![0];
        reached[0] = true;
        while let Some(at) = stack.pop() {
            for (_, next, _) in self.switch_links(at) {
                if !std::mem::replace(&mut reached[next], true) {
                    stack.push(next);
                }
            }
        }
        reached.iter().position(|&reached| !reached).map_or(Ok(()), |far| {
            let line = self.subnet.node(self.switches[far]).line;
            Err(RouteError::Divided { first: self.switch_name(0), second: self.switch_name(far), line })
        })
    }

    /// Number of switches.
    pub(crate) fn len(&self) -> usize {
        self.switches.len()
    }

    /// Largest LID.
    pub(crate) fn max_lid(&self) -> u16 {
        (self.lid_ends.len() - 1) as u16
    }

    /// Peers of a switch's ports, by number.
    pub(crate) fn peers(&self, switch: usize) -> &[Peer] {
        &self.peers[self.first[switch] as usize..self.first[switch + 1] as usize]
    }

    /// Index of a switch's port 0 in dense arrays of all ports.
    pub(crate) fn first_port(&self, switch: usize) -> usize {
        self.first[switch] as usize
    }

    /// Number of ports of all switches, port 0 included.
    pub(crate) fn num_ports(&self) -> usize {
        self.peers.len()
    }

    /// Largest number of ports of a switch, port 0 included.
    pub(crate) fn most_ports(&self) -> usize {
        (0..self.len()).map(|switch| self.peers(switch).len()).max().unwrap_or(0)
    }

    /// Links of a switch to other switches: own port, peer, peer's port. Cables to itself are left out.
    pub(crate) fn switch_links(&self, switch: usize) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        self.peers(switch).iter().enumerate().filter_map(move |(port, peer)| match *peer {
            Peer::Switch(next, back) if next as usize != switch => {
                Some((port, next as usize, usize::from(back)))
            }
            _ => None,
        })
    }

    /// End ports that are connected to a switch: own port, end port.
    pub(crate) fn end_links(&self, switch: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.peers(switch).iter().enumerate().filter_map(|(port, peer)| match *peer {
            Peer::End(end) if end != NONE => Some((port, end as usize)),
            _ => None,
        })
    }

    /// GUID of a switch.
    pub(crate) fn guid(&self, switch: usize) -> crate::Guid {
        self.subnet.node(self.switches[switch]).guid
    }

    /// Description and GUID of a switch, for messages.
    pub(crate) fn switch_name(&self, switch: usize) -> String {
        let node = self.subnet.node(self.switches[switch]);
        format!("\"{}\" ({})", node.description, node.guid)
    }

    /// Base LID of a switch.
    pub(crate) fn switch_lid(&self, switch: usize) -> usize {
        usize::from(self.ends[self.switch_ends[switch] as usize].lid)
    }

    /// The switch with this GUID.
    pub(crate) fn find(&self, guid: crate::Guid) -> Option<usize> {
        self.switches.iter().position(|&id| self.subnet.node(id).guid == guid)
    }
}

fn end_ports(subnet: &Subnet, switch_of: &[u32]) -> Result<Vec<EndPort>, RouteError> {
    let mut ends = Vec::new();
    for (node, record) in subnet.ids() {
        for port in record.end_ports() {
            let id = PortId { node, port };
            let state = subnet.port(id);
            if state.lid == 0 {
                return Err(RouteError::NoLid(port_name(subnet, id)));
            }
            let peer = if port == 0 { Some(id) } else { state.peer };
            let switch = peer.map_or(NONE, |peer| switch_of[peer.node.index()]);
            let port = peer.map_or(0, |peer| peer.port);
            let (lid, lmc, is_switch) = (state.lid, state.lmc, record.is_switch());
            ends.push(EndPort { id, lid, lmc, switch, port, is_switch });
        }
    }
    ends.sort_by_key(|end| subnet.port(end.id).guid.map_key());
    Ok(ends)
}

fn lid_ends(ends: &[EndPort]) -> Vec<u32> {
    let most = ends.iter().map(|end| end.lids().end).max().unwrap_or(1);
    let mut by_lid = vec![NONE; most];
    for (index, end) in ends.iter().enumerate() {
        by_lid[end.lids()].fill(index as u32);
    }
    by_lid
}
