//! Multicast forwarding tables of all switches (OpenSM's `osm_mcast_mgr.c`). Only blocks that a switch does not have already are set.

use fabricsim_subnet::multicast::{FIRST_MULTICAST_LID, ports};
use fabricsim_subnet::{NodeId, PortId};
use fabricsim_wire::field::Table;
use fabricsim_wire::mad::smp::{MulticastForwardingTable, SmpAttribute};

use super::{Manager, MulticastGroup};

/// Multicast LIDs of a block, and ports of a position.
const LIDS: usize = 32;
const PORTS: u8 = 16;

impl Manager {
    /// Sets the tables of all groups. Their members are ports that were discovered.
    pub(super) fn program_multicast(&mut self) {
        let groups = std::mem::take(&mut self.settings.groups);
        let tables: Vec<_> = groups.iter().map(|group| self.tree(group)).collect();
        let switches: Vec<usize> =
            (0..self.found.nodes.len()).filter(|&node| self.found.nodes[node].is_switch()).collect();
        for node in switches.into_iter().filter(|_| !groups.is_empty()) {
            for (block, tables) in (0_u32..).zip(tables.chunks(LIDS)) {
                for position in 0..=self.found.nodes[node].info.num_ports / PORTS {
                    let mask = |index: usize| {
                        let ports = tables.get(index).and_then(|table| table.get(&NodeId(node as u32)));
                        let here = ports.into_iter().flatten().filter(|&&port| port / PORTS == position);
                        here.fold(0_u16, |mask, &port| mask | 1 << (port % PORTS))
                    };
                    let port_masks = Table(std::array::from_fn(mask));
                    let table =
                        SmpAttribute::MulticastForwardingTable(MulticastForwardingTable { port_masks });
                    self.set_quality(node, 0, u32::from(position) << 28 | block, table);
                }
            }
        }
        self.settings.groups = groups;
    }

    fn tree(
        &self,
        group: &MulticastGroup,
    ) -> std::collections::BTreeMap<NodeId, std::collections::BTreeSet<u8>> {
        let of = |guids: &[u64]| -> Vec<PortId> {
            let nodes = self.subnet.ids().filter(|(_, node)| !node.is_switch());
            let all =
                nodes.flat_map(|(id, node)| node.end_ports().map(move |port| PortId { node: id, port }));
            all.filter(|&port| guids.binary_search(&self.subnet.port(port).guid.0).is_ok()).collect()
        };
        ports(&self.subnet, &of(&group.members), &of(&group.senders))
    }
}

impl MulticastGroup {
    /// Multicast LID of the group with this number.
    pub const fn lid(number: u16) -> u16 {
        FIRST_MULTICAST_LID + number
    }
}
