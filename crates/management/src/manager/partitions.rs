//! Partitions: P_Key tables of adapters and of the ports of switches that lead to them (OpenSM's `osm_pkey_mgr.c`). Only what a port does not
//! have already is set.

use fabricsim_wire::ids::PKey;
use fabricsim_wire::mad::smp::{PKeyTable, PortInfo, PortState, SmpAttribute};

use super::Manager;

impl Manager {
    /// Sets the tables of all adapters with cables, and what the ports of switches to them check.
    pub(super) fn program_partitions(&mut self) {
        if self.settings.partitions.keys.is_empty() {
            return;
        }
        for node in 0..self.found.nodes.len() {
            if self.found.nodes[node].is_switch() {
                continue;
            }
            let guid = self.found.nodes[node].info.node_guid.0;
            let peers: Vec<(u8, (usize, u8))> =
                self.found.nodes[node].peers.iter().map(|(&port, &peer)| (port, peer)).collect();
            for (port, peer) in peers {
                let keys = self.settings.partitions.keys.get(&(guid, port)).cloned().unwrap_or_default();
                // Of an adapter, the request arrives at the port that it is for.
                self.set_keys(node, port, 0, &keys);
                if self.found.nodes[peer.0].is_switch() {
                    self.program_enforcement(peer, &keys);
                }
            }
        }
    }

    /// The port of a switch to an adapter has the adapter's table, if it checks anything.
    fn program_enforcement(&mut self, (node, port): (usize, u8), keys: &[PKey]) {
        let (inbound, outbound) = (self.settings.partitions.inbound, self.settings.partitions.outbound);
        let Some(info) = self.found.nodes[node].ports.get_mut(&port) else { return };
        let is_set =
            (info.partition_enforcement_inbound, info.partition_enforcement_outbound) == (inbound, outbound);
        (info.partition_enforcement_inbound, info.partition_enforcement_outbound) = (inbound, outbound);
        let wanted = PortInfo { port_state: PortState::NO_CHANGE, ..*info };
        if !is_set {
            self.set_port(node, port, wanted);
        }
        if inbound || outbound {
            self.set_keys(node, port, u32::from(port) << 16, keys);
        }
    }

    /// Sets the first block of a port's table, unless it is that of a port after power-on: full membership of the default partition.
    fn set_keys(&mut self, node: usize, port: u8, modifier: u32, keys: &[PKey]) {
        let mut table = PKeyTable::default();
        let all = [PKey::DEFAULT].into_iter().chain(keys.iter().copied());
        table.p_keys.0.iter_mut().zip(all).for_each(|(entry, key)| *entry = key);
        if !keys.is_empty() {
            self.set_quality(node, port, modifier, SmpAttribute::P_KeyTable(table));
        }
    }
}
