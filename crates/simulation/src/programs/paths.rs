//! LIDs of ports, and the paths between them, as programs name them.

use fabricsim_routing::{Destination, RoutingFunction, links_of_path};
use fabricsim_spec::{PathChoice, largest_path_mtu};
use fabricsim_units::HostId;
use fabricsim_verbs::{AddressVector, PACKET_LIFE_TIME, PathRecord, group_of_lid};
use fabricsim_wire::ids::Lid;

use super::ProgramRun;

impl ProgramRun {
    /// The host that has a LID, or the multicast group.
    pub fn host_of_lid(&self, lid: u16) -> Option<HostId> {
        if let Some(group) = group_of_lid(Lid(lid)) {
            let exists = usize::from(group) < self.prepared.workload.groups.len();
            return exists.then_some(HostId::of_group(group));
        }
        let hosts = (0..self.prepared.graph.hosts.len() as u32).map(HostId);
        let base = lid & !self.path_bits();
        hosts.into_iter().find(|&host| lid != 0 && self.identity.lid(host) == base)
    }

    /// LID mask control of ports: each has two to the power of this LIDs.
    pub fn lmc(&self) -> u8 {
        self.prepared.experiment.lmc()
    }

    /// The bits of a LID that name one of those of a port.
    fn path_bits(&self) -> u16 {
        (1 << self.lmc()) - 1
    }

    /// The address vector of a program's host for packets to a LID on a service level, from the LID of its port with `source_path`. Packets to the first LID of a
    /// host are on the path that the adapter chooses, if `routing.paths` has it choose.
    pub fn address_vector(
        &mut self,
        number: usize,
        dlid: u16,
        (sl, source_path): (u8, u8),
    ) -> Result<AddressVector, String> {
        let host = self.host_of_lid(dlid).ok_or_else(|| format!("dlid = {dlid}: no host has this LID"))?;
        if host.group().is_some() {
            return Ok(AddressVector { sl, source_path, ..host.into() });
        }
        let path = (dlid & self.path_bits()) as u8;
        let chooses =
            !matches!(self.prepared.experiment.routing.paths, PathChoice::First | PathChoice::Addressed);
        let named = (path > 0 || !chooses).then_some(path);
        let level = self.level_of_path(self.host(number), Destination { host, path });
        let sl = match level {
            // Packets have the level of their path in any case.
            Some(level) if sl == level => 0,
            Some(level) if sl > 0 => {
                return Err(format!(
                    "sl = {sl}: must be {level}, that of the path to LID {dlid}, or 0 for the same"
                ));
            }
            _ => sl,
        };
        Ok(AddressVector { host, path: named, sl, source_path })
    }

    /// The service level of a path, if paths have levels of their own.
    fn level_of_path(&mut self, from: HostId, to: Destination) -> Option<u8> {
        self.run.session().engine_mut().level_of_path(from, to)
    }

    /// The path record of subnet administration for packets of a program's host to a LID of another host, or to its own: as the routes are at the start of
    /// the run. The service level is that of now.
    pub fn path_record(&mut self, number: usize, dlid: u16) -> Result<PathRecord, String> {
        let address = self.address_vector(number, dlid, (0, 0))?;
        if address.host.group().is_some() {
            return Err(format!("dlid = {dlid}: must be a LID of a host"));
        }
        let from = self.host(number);
        let to = Destination { host: address.host, path: (dlid & self.path_bits()) as u8 };
        if to.path >= self.prepared.router.paths() {
            return Err(format!("dlid = {dlid}: packets go to the first LID of a host (`routing.paths`)"));
        }
        let sl = self.level_of_path(from, to).unwrap_or_default();
        let prepared = &self.prepared;
        let path = links_of_path(&prepared.graph, &*prepared.router, from, to);
        let links = || path.iter().map(|link| &prepared.graph.links[link.index()].parameters);
        let least = links().filter_map(|link| link.mtu).fold(prepared.experiment.host.mtu, Ord::min);
        let mtu = largest_path_mtu(least).map_or(256, |mtu| mtu.0 as u32);
        let rate = links().map(|link| link.rate).min();
        let rate = rate.ok_or_else(|| format!("dlid = {dlid}: there is no path"))?;
        let address = AddressVector { sl, ..address };
        Ok(PathRecord { address, mtu, rate, packet_life_time: PACKET_LIFE_TIME })
    }
}
