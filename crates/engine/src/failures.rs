//! Links and switches that fail while the fabric is in operation, and come back.
//!
//! A change takes effect between the events before the engine's time and those at it, in all partitions alike. A packet whose head
//! has arrived at the far end of a link is received whole; one whose head has not is lost. From then on the link carries nothing.
//! Packets that a switch has routed to it are discarded, or wait. Buffer space of packets that are lost is returned like that of
//! others: what a sender knows of the buffer at the other end is right when the link comes back.

use std::sync::Arc;

use fabricsim_fabric::VlTables;
use fabricsim_model::Observer;
use fabricsim_routing::{Destination, RoutingFunction};
use fabricsim_units::{HostId, LinkId, PortNo, SwitchId};
use fabricsim_wire::ids::PKey;

use crate::engine::Engine;
use crate::fault_plan::Routes;
use crate::p_keys::{PKeys, SwitchPort};
use crate::partition::Owner;

impl<B: Observer> Engine<B> {
    /// The link fails now, in both directions. If it `discards`, switches lose the packets that they have routed to it, now and
    /// until it is restored or their routing is changed; else these wait. Hosts wait in any case.
    pub fn fail_link(&mut self, link: LinkId, discards: bool) {
        let was_up = !self.is_down(link);
        self.failed.links.insert(link, discards);
        if was_up {
            self.take_down(link, discards);
            self.exchange(self.now());
        }
    }

    /// The link works from now on, unless a switch at its ends has failed.
    pub fn restore_link(&mut self, link: LinkId) {
        if self.failed.links.remove(&link).is_some() && !self.is_down(link) {
            self.bring_up(link);
        }
    }

    /// The switch fails now, with all its links: the packets in its buffers are lost. `discards`: see [`Engine::fail_link`], for its
    /// neighbours.
    pub fn fail_switch(&mut self, switch: SwitchId, discards: bool) {
        if self.failed.switches.contains_key(&switch) {
            return;
        }
        for link in self.links_of(switch) {
            if !self.is_down(link) {
                self.take_down(link, discards);
            }
        }
        self.failed.switches.insert(switch, discards);
        let now = self.now();
        let (number, s) = self.place_of(switch);
        self.partitions[number].fail_switch(s, now);
        self.exchange(now);
    }

    /// The switch works from now on, with those of its links that have not failed for another reason.
    pub fn restore_switch(&mut self, switch: SwitchId) {
        if self.failed.switches.remove(&switch).is_none() {
            return;
        }
        let (number, s) = self.place_of(switch);
        self.partitions[number].switches[s].restore();
        for (link, port) in self.links_of(switch).into_iter().zip(self.partitions[number].ports_of(s)) {
            match self.discards(link) {
                Some(discards) => self.partitions[number].switches[s].fail_output(port as u32, discards),
                None => self.bring_up(link),
            }
        }
    }

    /// True if anything has failed and has not been restored.
    pub fn has_failures(&self) -> bool {
        !self.failed.links.is_empty() || !self.failed.switches.is_empty()
    }

    /// Replaces the routes of all packets. Those that have a hop keep it. Hosts learn the MTUs of their new paths.
    pub fn set_routes(&mut self, routes: &Routes) {
        for context in self.partitions.iter_mut().map(|partition| &mut partition.context) {
            context.set_routing(&routes.router);
            context.multicast = Arc::clone(&routes.multicast);
        }
        self.update_path_mtus();
    }

    /// Sets an entry of a switch's forwarding table: packets for a LID of a host that arrive there from now on leave by `port`, or are discarded
    /// if there is none. False if the switch has no table that can be set.
    pub fn set_route(&mut self, switch: SwitchId, to: Destination, port: Option<PortNo>) -> bool {
        let (number, s) = self.place_of(switch);
        let partition = &mut self.partitions[number];
        if port.is_none() {
            partition.switches[s].lack_routes();
            partition.has_optional_features = true;
        }
        Arc::make_mut(&mut partition.context.routing).set_entry(switch, to, port)
    }

    /// Sets the ports to which a switch sends packets for a multicast group.
    pub fn set_multicast_ports(&mut self, switch: SwitchId, group: u16, ports: &[PortNo]) {
        let (number, _) = self.place_of(switch);
        let tables = &mut self.partitions[number].context.multicast;
        if tables.ports(switch, group) != ports {
            Arc::make_mut(tables).set_ports(switch, group, ports);
        }
    }

    /// Number of multicast groups.
    pub fn multicast_groups(&self) -> u16 {
        self.partitions.first().map_or(0, |partition| partition.context.multicast.group_count())
    }

    /// Gives every path between hosts a service level, if the routing has forwarding tables: packets that hosts send from now on have it.
    /// Without SL2VL tables their lane is the level modulo `lanes`.
    pub fn set_levels(&mut self, hosts: usize, lanes: u8, level: impl Fn(HostId, Destination) -> u8) {
        for partition in &mut self.partitions {
            // Each partition keeps the entries of its own switches.
            Arc::make_mut(&mut partition.context.routing).set_levels(hosts, lanes, &level);
            partition.context.rules.has_levels_of_paths = true;
        }
    }

    /// The service level of packets from a host to a LID of another one; `None` if it does not depend on the path.
    pub fn level_of_path(&self, from: HostId, to: Destination) -> Option<u8> {
        let context = &self.partitions.first()?.context;
        context.rules.has_levels_of_paths.then(|| context.routing.service_level(from, to, 0))
    }

    /// Sets the P_Keys that a host accepts from now on, besides that of the default partition. Nothing without partitions.
    pub fn set_p_keys_of_host(&mut self, host: HostId, keys: &[PKey]) {
        self.each_p_keys(|known| known.set_host(host, keys));
        if let Some(device) = self.device(host) {
            device.set_p_keys(std::iter::once(PKey::DEFAULT).chain(keys.iter().copied()).collect());
        }
    }

    /// Sets what the port of the switch to a host checks from now on. Nothing without partitions.
    pub fn set_p_keys_of_switch_port(&mut self, host: HostId, port: &SwitchPort) {
        self.each_p_keys(|known| known.set_switch_port(host, port));
    }

    /// True if there are partitions of InfiniBand besides the default one.
    pub fn has_p_keys(&self) -> bool {
        self.partitions.iter().any(|partition| partition.p_keys.is_some())
    }

    fn each_p_keys(&mut self, change: impl Fn(&mut PKeys)) {
        for partition in &mut self.partitions {
            let Some(known) = &mut partition.p_keys else { continue };
            let known = Arc::make_mut(known);
            change(known);
            partition.enforces_partitions = known.enforces();
        }
    }

    /// Sets the SL2VL table of a host: packets that it sends from now on take these lanes. False if the routing has no such tables.
    pub fn set_lanes_of_host(&mut self, host: HostId, lanes: [u8; 16]) -> bool {
        let (partition, _) = self.host(host);
        Arc::make_mut(&mut partition.context.routing).set_lanes_of_host(host, lanes)
    }

    /// Sets the SL2VL table of a switch from an input to an output: packets that arrive from now on take these lanes. False if the
    /// routing has no such tables.
    pub fn set_lanes_of_switch(
        &mut self,
        switch: SwitchId,
        ports: (PortNo, PortNo),
        lanes: [u8; 16],
    ) -> bool {
        let (number, _) = self.place_of(switch);
        Arc::make_mut(&mut self.partitions[number].context.routing).set_lanes_of_switch(switch, ports, lanes)
    }

    /// Sets the tables of an output of a switch for arbitration among virtual lanes. False if the switch does not arbitrate so.
    pub fn set_vl_tables(&mut self, switch: SwitchId, output: PortNo, tables: &Arc<VlTables>) -> bool {
        let (number, s) = self.place_of(switch);
        self.partitions[number].switches[s].set_vl_tables(output.index(), tables)
    }

    /// Sets the tables of a host's adapter for arbitration among virtual lanes. False if the adapter does not arbitrate so.
    pub fn set_vl_tables_of_host(&mut self, host: HostId, tables: &Arc<VlTables>) -> bool {
        let (partition, adapter) = self.host(host);
        partition.adapters[adapter].set_vl_tables(tables)
    }

    fn is_down(&self, link: LinkId) -> bool {
        self.discards(link).is_some()
    }

    /// True if packets routed to a failed link are discarded; `None` if it works.
    fn discards(&self, link: LinkId) -> Option<bool> {
        let of_end = |direction: u32| {
            let (number, port) = self.directory.sender[(2 * link.0 + direction) as usize];
            let partition = &self.partitions[usize::from(number)];
            match partition.owners[port as usize] {
                Owner::Switch(s) => self.failed.switches.get(&partition.switches[s as usize].id()),
                Owner::Adapter(_) => None,
            }
        };
        self.failed.links.get(&link).or_else(|| of_end(0)).or_else(|| of_end(1)).copied()
    }

    /// A switch, as its partition and its number there.
    pub(crate) fn place_of(&self, switch: SwitchId) -> (usize, usize) {
        let found = self.partitions.iter().enumerate().find_map(|(number, partition)| {
            // The switches of a partition are in the order of their identifiers.
            let s = partition.switches.binary_search_by_key(&switch, fabricsim_fabric::Switch::id).ok()?;
            Some((number, s))
        });
        found.unwrap_or_else(|| panic!("there is no switch {switch:?}"))
    }

    fn links_of(&self, switch: SwitchId) -> Vec<LinkId> {
        let (number, s) = self.place_of(switch);
        let partition = &self.partitions[number];
        partition.ports_of(s).map(|port| LinkId(partition.context.ports.senders[port].channel / 2)).collect()
    }

    fn take_down(&mut self, link: LinkId, discards: bool) {
        let now = self.now();
        for channel in [2 * link.0, 2 * link.0 + 1] {
            let (number, port) = self.directory.sender[channel as usize];
            let flight = self.partitions[usize::from(number)].fail_sender(port, discards, now);
            let (number, port) = self.directory.receiver[channel as usize];
            self.partitions[usize::from(number)].lose_on_link(port, &flight, now);
        }
    }

    fn bring_up(&mut self, link: LinkId) {
        let now = self.now();
        for channel in [2 * link.0, 2 * link.0 + 1] {
            let (number, port) = self.directory.sender[channel as usize];
            self.partitions[usize::from(number)].restore_sender(port, now);
        }
    }
}

#[cfg(test)]
mod tests;
