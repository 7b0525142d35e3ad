//! Discovery: each node reports its kind, its description and its ports; behind each port that is up there is another one.

use fabricsim_units::Time;
use fabricsim_wire::mad::smp::{
    NodeDescription, NodeInfo, PortInfo, PortState, SmInfo, SmState, SmpAttribute, SwitchInfo,
};

use super::requests::{Purpose, Request};
use super::{Manager, Stage, SweepCause};
use crate::agent::IS_SM;

impl Manager {
    /// Asks for the node behind `port` of a known node (of the manager's own node: no node, port 0).
    pub(super) fn discover(&mut self, from: usize, port: u8, path: &[u8]) {
        let attribute = SmpAttribute::NodeInfo(NodeInfo::default());
        self.requests.push(Request::get(Purpose::Discover { from, port }, attribute, 0, path));
    }

    pub(super) fn found_node(&mut self, from: usize, port: u8, info: &NodeInfo, path: &[u8]) {
        let (node, is_new) = self.found.node(info, path);
        let is_own = from == usize::MAX;
        let arrived_on = if is_own { self.port } else { info.local_port_num };
        if is_own {
            self.found.nodes[node].port_guids.insert(arrived_on, self.guid);
        } else {
            self.found.connect((from, port), (node, arrived_on));
        }
        let is_switch = self.found.nodes[node].is_switch();
        if is_new {
            let description = SmpAttribute::NodeDescription(NodeDescription::default());
            self.requests.push(Request::get(Purpose::Description(node), description, 0, path));
            if is_switch {
                let tables = SmpAttribute::SwitchInfo(SwitchInfo::default());
                self.requests.push(Request::get(Purpose::Switch(node), tables, 0, path));
                (0..=info.num_ports).for_each(|port| self.ask_port_by(node, port, path));
            }
        }
        // Of an adapter, only the ports that can be reached are known: others may be in other subnets.
        if !is_switch && !self.found.nodes[node].ports.contains_key(&arrived_on) {
            self.ask_port_by(node, arrived_on, path);
        }
    }

    fn ask_port_by(&mut self, node: usize, port: u8, path: &[u8]) {
        let attribute = SmpAttribute::PortInfo(PortInfo::default());
        self.requests.push(Request::get(Purpose::Port { node, port }, attribute, port.into(), path));
    }

    pub(super) fn found_switch(&mut self, node: usize, info: &SwitchInfo) {
        self.found.nodes[node].switch = Some(*info);
        let guid = self.found.nodes[node].info.node_guid.0;
        // A switch that was without power has forgotten its table.
        if info.linear_fdb_top.0 == 0 {
            self.known_tables.remove(&guid);
            self.known_quality.forget(guid);
        }
    }

    pub(super) fn found_port(&mut self, node: usize, port: u8, info: &PortInfo) {
        let found = &mut self.found.nodes[node];
        found.ports.insert(port, *info);
        let is_switch = found.is_switch();
        let is_own = port == self.port && node == 0;
        if info.capability_mask & IS_SM != 0 && !is_own {
            let path = found.path.clone();
            let attribute = SmpAttribute::SMInfo(SmInfo::default());
            self.requests.push(Request::get(Purpose::OtherManager { node }, attribute, 0, &path));
        }
        // Behind an adapter's port is what it was reached by; only the manager's own leads on.
        let leads_on = if is_switch { port > 0 } else { is_own };
        let is_up = info.port_state != PortState::DOWN;
        if leads_on && is_up && !self.found.nodes[node].peers.contains_key(&port) {
            let path: Vec<u8> = self.found.nodes[node].path.iter().copied().chain([port]).collect();
            self.discover(node, port, &path);
        }
    }

    /// All nodes are known: the manager becomes a standby, or goes on as the master.
    pub(super) fn end_discovery(&mut self, now: Time) {
        let switches = self.found.nodes.iter().filter(|node| node.is_switch()).count();
        let adapters = self.found.nodes.len() - switches;
        let ends: usize = self.found.nodes.iter().map(|node| node.peers.len()).sum();
        if let Some(sweep) = self.sweep() {
            sweep.discovered = Some(now);
            (sweep.switches, sweep.adapters) = (switches as u32, adapters as u32);
            sweep.cables = (ends / 2) as u32;
        }
        let was_master = self.state == SmState::MASTER;
        if self.elect(now) {
            self.state = SmState::MASTER;
            self.stage = Stage::Acknowledging;
            // Another master has to find the same changes. In the sweep by which a manager becomes the master, all switches have changed:
            // its first light sweep finds them.
            if was_master && self.others.iter().all(|other| !other.is_master()) {
                self.acknowledge();
            }
        }
    }

    /// Clears the `PortStateChange` of switches, as OpenSM does after the discovery (`osm_reset_switch_state_change_bit`), and reads their
    /// ports once more: what has changed since they were read, and before the bit was cleared, no light sweep would find.
    fn acknowledge(&mut self) {
        for (node, found) in self.found.nodes.iter().enumerate() {
            if let Some(info) = found.switch.filter(|info| info.port_state_change) {
                let attribute = SmpAttribute::SwitchInfo(info);
                self.requests.push(Request::set(Purpose::Acknowledge(node), attribute, 0, &found.path));
            }
        }
    }

    /// The change of a switch's ports is cleared.
    pub(super) fn acknowledged(&mut self, node: usize) {
        let found = &self.found.nodes[node];
        for port in 1..=found.info.num_ports {
            let attribute = SmpAttribute::PortInfo(PortInfo::default());
            let purpose = Purpose::PortAgain { node, port };
            self.requests.push(Request::get(purpose, attribute, port.into(), &found.path));
        }
    }

    /// A port has been read once more: if it has changed, another sweep follows.
    pub(super) fn found_port_again(&mut self, node: usize, port: u8, info: &PortInfo) {
        let before = self.found.nodes[node].ports.get(&port).map(|before| before.port_state);
        if before != Some(info.port_state) {
            self.due.get_or_insert(SweepCause::Change);
        }
    }

    /// Begins to configure the subnet.
    pub(super) fn configure(&mut self) {
        self.stage = Stage::Addressing;
        self.program_partitions();
        self.address();
    }
}
