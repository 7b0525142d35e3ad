//! Changes of forwarding tables, service levels and SL2VL tables of a router, if its algorithm has them.

use fabricsim_units::{HostId, PortNo, SwitchId};

use crate::lanes::{self, Destination};
use crate::{PortRouting, Router};

impl Router {
    /// Gives every path between hosts a service level, if the algorithm has forwarding tables. Without SL2VL tables its lane is the level
    /// modulo `lanes`.
    pub fn set_levels(&mut self, hosts: usize, lanes: u8, level: impl Fn(HostId, Destination) -> u8) {
        let Self::TableRouting(router) = self else { return };
        let paths = (hosts, PortRouting::paths(router));
        match router.service_levels_mut() {
            Some(levels) => levels.set_paths(lanes::Layers::new(paths, lanes::LEVELS as u8, level)),
            None => router.set_lanes(lanes::Layers::new(paths, lanes, level).into()),
        }
    }

    /// True if lanes follow the service levels of packets (SL2VL tables).
    pub fn has_service_levels(&self) -> bool {
        matches!(self, Self::TableRouting(router) if router.service_levels().is_some())
    }

    /// Sets the SL2VL table of a host. False if the algorithm has no such tables.
    pub fn set_lanes_of_host(&mut self, host: HostId, lanes: [u8; 16]) -> bool {
        let Self::TableRouting(router) = self else { return false };
        let Some(levels) = router.service_levels_mut() else { return false };
        levels.set_of_host(host, lanes);
        true
    }

    /// Sets the SL2VL table of a switch from an input to an output. False if the algorithm has no such tables.
    pub fn set_lanes_of_switch(&mut self, at: SwitchId, ports: (PortNo, PortNo), lanes: [u8; 16]) -> bool {
        let Self::TableRouting(router) = self else { return false };
        let Some(levels) = router.service_levels_mut() else { return false };
        levels.set_of_switch(at, ports, lanes);
        true
    }

    /// Sets an entry of a switch's forwarding table, or none. False if the algorithm has no such tables.
    pub fn set_entry(&mut self, at: SwitchId, to: Destination, port: Option<PortNo>) -> bool {
        let Self::TableRouting(router) = self else { return false };
        router.set(at, to, port);
        true
    }
}
