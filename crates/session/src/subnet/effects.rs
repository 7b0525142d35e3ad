//! What a manager's settings change in the fabric.

use fabricsim_engine::Engine;
use fabricsim_management::{Agent, Effect};
use fabricsim_model::Observer;
use fabricsim_routing::Destination;
use fabricsim_units::{HostId, LinkId};

use super::SubnetState;

impl SubnetState {
    pub(super) fn apply<B: Observer>(&mut self, node: usize, effect: Effect, engine: &mut Engine<B>) {
        self.changed_at = engine.now();
        match effect {
            Effect::PortState(port) => {
                if let Some(cable) = self.nodes[node].cables.get(usize::from(port)).copied().flatten() {
                    self.update_link(cable.link, engine);
                }
            }
            Effect::Lid(port) => {
                let Some(host) = self.host_at(node, port) else { return };
                self.note_lid(host);
                for node in 0..self.nodes.len() {
                    self.apply_route(node, host, engine);
                }
            }
            Effect::Lanes(input, output) => self.apply_lanes(node, (input, output), engine),
            Effect::Arbitration(port) => self.apply_weights(node, port, engine),
            Effect::Multicast(first) => self.apply_multicast_block(node, first, engine),
            Effect::Keys(port) => self.apply_keys(node, port, engine),
            Effect::Routes(first) => {
                // The block may begin within the LIDs of a host.
                let block = Agent::block(first);
                let block = block.start.saturating_sub(u16::from(self.plan.paths) - 1)..block.end;
                let hosts: Vec<HostId> = self.host_of.range(block).map(|(_, &host)| host).collect();
                for host in hosts {
                    self.apply_route(node, host, engine);
                }
            }
        }
    }

    /// Sets all tables and links as the agents have them.
    pub(super) fn apply_all<B: Observer>(&mut self, engine: &mut Engine<B>) {
        self.hosts().for_each(|host| self.note_lid(host));
        for node in 0..self.nodes.len() {
            self.apply_routes(node, engine);
            self.apply_quality(node, engine);
            self.apply_multicast(node, engine);
            self.apply_all_keys(node, engine);
        }
        for link in 0..self.ends.len() {
            self.update_link(LinkId(link as u32), engine);
        }
    }

    /// Sets the table of a switch as its agent has it.
    pub(super) fn apply_routes<B: Observer>(&self, node: usize, engine: &mut Engine<B>) {
        for host in self.hosts() {
            self.apply_route(node, host, engine);
        }
    }

    fn apply_route<B: Observer>(&self, node: usize, host: HostId, engine: &mut Engine<B>) {
        let state = &self.nodes[node];
        let Some(switch) = state.switch else { return };
        for path in 0..self.plan.paths {
            let lid = Some(self.lid(host)).filter(|&lid| lid > 0).map(|lid| lid + u16::from(path));
            let port = lid.and_then(|lid| state.agent.route(lid));
            let port = port.and_then(|port| self.plan.identity.port(switch, port));
            engine.set_route(switch, Destination { host, path }, port);
        }
    }

    pub(super) fn hosts(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..self.plan.identity.hosts.len() as u32).map(HostId)
    }

    /// Base LID of a host's port; 0 if it has none.
    fn lid(&self, host: HostId) -> u16 {
        self.lids[host.index()]
    }

    /// Notes the LID that a host's port has.
    fn note_lid(&mut self, host: HostId) {
        let port = self.plan.identity.hosts[host.index()];
        let lid = self.nodes[port.node.index()].agent.lid(port.port).0;
        let before = std::mem::replace(&mut self.lids[host.index()], lid);
        if self.host_of.get(&before) == Some(&host) {
            self.host_of.remove(&before);
        }
        if lid > 0 {
            self.host_of.insert(lid, host);
        }
    }

    pub(super) fn host_at(&self, node: usize, port: u8) -> Option<HostId> {
        let is_it = |of: &fabricsim_subnet::PortId| of.node.index() == node && of.port == port;
        self.plan.identity.hosts.iter().position(is_it).map(|host| HostId(host as u32))
    }

    /// Once a sweep has ended, hosts ask for their paths: these get the lanes of its layers.
    pub(super) fn update_paths<B: Observer>(&mut self, engine: &mut Engine<B>) {
        let ended: usize = self
            .managers
            .iter()
            .map(|of| of.manager.sweeps().iter().filter(|sweep| sweep.end.is_some()).count())
            .sum();
        if ended == self.layers_of {
            return;
        }
        self.layers_of = ended;
        let Some(master) = self.managers.iter().position(|of| of.manager.is_up()) else { return };
        self.take_layers_of(master, engine);
        engine.update_path_mtus();
        if !std::mem::replace(&mut self.was_up, true) {
            (0..self.ends.len()).for_each(|link| self.update_link(LinkId(link as u32), engine));
        }
    }

    fn take_layers_of<B: Observer>(&self, number: usize, engine: &mut Engine<B>) {
        let routing = self.managers[number].manager.routing();
        let Some(levels) = routing.and_then(|routing| routing.sls.as_ref()) else { return };
        let lids: Vec<u16> = self.hosts().map(|host| self.lid(host)).collect();
        let level = |from: HostId, to: Destination| {
            levels.level(lids[from.index()], lids[to.host.index()] + u16::from(to.path))
        };
        engine.set_levels(lids.len(), self.plan.lanes, level);
    }
}
