//! Configuration: LIDs, tables, states of ports.

use fabricsim_subnet::{Engine, LidOptions, NO_PORT, Routing, Subnet, assign_lids};
use fabricsim_wire::field::Table;
use fabricsim_wire::ids::Lid;
use fabricsim_wire::mad::smp::{LinearForwardingTable, Mtu, PortInfo, PortState, SmpAttribute, SwitchInfo};

use super::requests::{Purpose, Request};
use super::{Manager, Stage};

/// Entries of a block of a forwarding table.
const BLOCK: usize = 64;

impl Manager {
    /// Assigns LIDs and tells every port its own, and that of this manager.
    pub(super) fn address(&mut self) {
        self.subnet = self.found.subnet((0, self.port));
        let options = LidOptions { lmc: self.settings.lmc, reassign: false };
        if let Err(error) = assign_lids(&mut self.subnet, options) {
            // What has no LID stays as it is; the record of the sweep says why.
            let text = error.to_string();
            if let Some(sweep) = self.sweep() {
                sweep.fallback = Some(text);
            }
        }
        let own = self.subnet.manager.map_or(0, |port| self.subnet.port(port).lid);
        for node in 0..self.found.nodes.len() {
            for port in self.addressed_ports(node) {
                let given = self.subnet.nodes[node].ports[usize::from(port)];
                let Some(info) = self.found.nodes[node].ports.get(&port).copied() else { continue };
                let wanted = PortInfo {
                    lid: Lid(given.lid),
                    lmc: given.lmc,
                    master_sm_lid: Lid(own),
                    port_state: PortState::NO_CHANGE,
                    neighbor_mtu: self.neighbor_mtu(node, port),
                    operational_vls: info.vl_cap,
                    ..info
                };
                if (info.lid, info.lmc, info.master_sm_lid) != (wanted.lid, wanted.lmc, wanted.master_sm_lid)
                {
                    self.set_port(node, port, wanted);
                }
            }
        }
    }

    /// Largest packet that both ends of a port's cable can take (OpenSM's `osm_physp_calc_link_mtu`).
    fn neighbor_mtu(&self, node: usize, port: u8) -> Mtu {
        let can = |(node, port): (usize, u8)| {
            self.found.nodes[node].ports.get(&port).map_or(Mtu(5), |info| info.mtu_cap)
        };
        let peer = self.found.nodes[node].peers.get(&port);
        can((node, port)).min(peer.map_or(Mtu(5), |&peer| can(peer)))
    }

    /// The ports of a node that have LIDs.
    fn addressed_ports(&self, node: usize) -> Vec<u8> {
        let found = &self.found.nodes[node];
        if found.is_switch() { vec![0] } else { found.ports.keys().copied().collect() }
    }

    pub(super) fn set_port(&mut self, node: usize, port: u8, wanted: PortInfo) {
        let path = self.path_to(node, port);
        let attribute = SmpAttribute::PortInfo(wanted);
        self.requests.push(Request::set(Purpose::Set, attribute, port.into(), &path));
    }

    /// Ports by which a request gets to a port of a node: to an adapter over the port itself, which has its own agent.
    pub(super) fn path_to(&self, node: usize, port: u8) -> Box<[u8]> {
        let found = &self.found.nodes[node];
        match found.peers.get(&port) {
            Some(&(from, through)) if !found.is_switch() && node != 0 => {
                self.found.nodes[from].path.iter().copied().chain([through]).collect()
            }
            _ => found.path.clone(),
        }
    }

    /// Computes the routes and sets the tables that differ from what the switches have.
    pub(super) fn program(&mut self) {
        self.stage = Stage::Programming;
        let (routing, fallback) = self.route();
        if let (Some(sweep), Some(_)) = (self.sweep(), &fallback) {
            sweep.fallback = fallback;
        }
        let Some(routing) = routing else {
            self.routing = None;
            return;
        };
        let switches = routing.tables.switches().to_vec();
        let mut blocks = 0;
        for (row, id) in switches.into_iter().enumerate() {
            blocks += self.program_switch(id.index(), routing.tables.row(row));
        }
        self.program_quality(&routing);
        self.program_multicast();
        self.routing = Some(routing);
        if let Some(sweep) = self.sweep() {
            sweep.blocks = blocks;
        }
    }

    /// Routes by the engine; if that cannot, by `minhop`, as OpenSM does, with the reason.
    fn route(&self) -> (Option<Routing>, Option<String>) {
        let (engine, options) = (self.settings.engine, &self.settings.options);
        let error = match engine.route(&self.subnet, options) {
            Ok(routing) => return (Some(routing), None),
            Err(error) => error,
        };
        let instead =
            if engine == Engine::MinHop { None } else { Engine::MinHop.route(&self.subnet, options).ok() };
        (instead, Some(format!("{engine}: {error}")))
    }

    /// Sets the table of a switch; returns the number of blocks that are set.
    fn program_switch(&mut self, node: usize, row: &[u8]) -> u32 {
        let found = &self.found.nodes[node];
        let (guid, path) = (found.info.node_guid.0, found.path.clone());
        let top = Lid((row.len() - 1) as u16);
        let info = found.switch.unwrap_or_default();
        if info.linear_fdb_top != top {
            let wanted = SwitchInfo { linear_fdb_top: top, port_state_change: false, ..info };
            let attribute = SmpAttribute::SwitchInfo(wanted);
            self.requests.push(Request::set(Purpose::Set, attribute, 0, &path));
        }
        let mut wanted = row.to_vec();
        wanted.resize(row.len().next_multiple_of(BLOCK), NO_PORT);
        let known = self.known_tables.remove(&guid).unwrap_or_default();
        let mut blocks = 0;
        for (number, block) in wanted.chunks_exact(BLOCK).enumerate() {
            if known.get(number * BLOCK..(number + 1) * BLOCK) == Some(block) {
                continue;
            }
            blocks += 1;
            let ports = Table(std::array::from_fn(|index| block[index]));
            let attribute = SmpAttribute::LinearForwardingTable(LinearForwardingTable { ports });
            self.requests.push(Request::set(Purpose::Block { node }, attribute, number as u32, &path));
        }
        self.known_tables.insert(guid, wanted);
        blocks
    }

    /// Arms the ports that wait to be configured.
    pub(super) fn arm(&mut self) {
        self.stage = Stage::Arming;
        self.set_states(PortState::ARMED, &[PortState::INIT]);
    }

    /// Activates the ports that were armed.
    pub(super) fn activate(&mut self) {
        self.stage = Stage::Activating;
        let activated = self.set_states(PortState::ACTIVE, &[PortState::INIT, PortState::ARMED]);
        if let Some(sweep) = self.sweep() {
            sweep.activated = activated;
        }
    }

    /// Sets the state of all ports with a cable that were found in one of the states `from`; returns their number.
    fn set_states(&mut self, state: PortState, from: &[PortState]) -> u32 {
        let mut count = 0;
        for node in 0..self.found.nodes.len() {
            let ports: Vec<(u8, PortInfo)> = self.found.nodes[node]
                .ports
                .iter()
                .filter(|(number, info)| **number > 0 && from.contains(&info.port_state))
                .map(|(&number, &info)| (number, info))
                .collect();
            for (port, info) in ports {
                if self.found.nodes[node].peers.contains_key(&port) {
                    let given = self.subnet_port(node, port).unwrap_or(info);
                    let vl_high_limit = self.high_limit(node).unwrap_or(given.vl_high_limit);
                    let neighbor_mtu = self.neighbor_mtu(node, port);
                    let wanted = PortInfo { port_state: state, vl_high_limit, neighbor_mtu, ..given };
                    self.set_port(node, port, wanted);
                    count += 1;
                }
            }
        }
        count
    }

    /// `PortInfo` of an adapter's port with the LID that it was assigned.
    fn subnet_port(&self, node: usize, port: u8) -> Option<PortInfo> {
        let found = &self.found.nodes[node];
        if found.is_switch() {
            return None;
        }
        let given = self.subnet.nodes[node].ports[usize::from(port)];
        let own = self.subnet.manager.map_or(0, |manager| self.subnet.port(manager).lid);
        let info = found.ports.get(&port)?;
        Some(PortInfo { lid: Lid(given.lid), lmc: given.lmc, master_sm_lid: Lid(own), ..*info })
    }

    /// The subnet that was discovered, before LIDs were assigned.
    pub fn discovered(&self) -> Subnet {
        self.found.subnet((0, self.port))
    }
}
