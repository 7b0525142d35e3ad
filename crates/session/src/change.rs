use fabricsim_model::Observer;
use fabricsim_units::{HostId, LinkId, PortNo, SwitchId};

use crate::Session;

/// A change of the fabric in operation, at the session's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A host opens messages from now on, or not. Those that it has opened are sent in any case. What its sources create, and
    /// the caller injects, while it opens none waits until it does.
    Traffic {
        /// The host.
        host: HostId,
        /// True if it opens messages.
        sends: bool,
    },
    /// A link fails, in both directions, or works again. `faults.waiting` decides on packets that are routed to it.
    Link {
        /// The link.
        link: LinkId,
        /// True if it works from now on.
        works: bool,
    },
    /// A switch fails, with its links and the packets in its buffers, or works again.
    Switch {
        /// The switch.
        switch: SwitchId,
        /// True if it works from now on.
        works: bool,
    },
    /// An entry of a switch's forwarding table: packets that arrive there from now on follow it.
    Route {
        /// The switch.
        switch: SwitchId,
        /// Destination.
        to: HostId,
        /// Port by which packets for it leave.
        port: PortNo,
    },
}

/// Reason why a change is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// There is no such host.
    #[error("host {host}: must be less than {hosts}")]
    NoHost {
        /// Its number.
        host: u32,
        /// Number of hosts.
        hosts: usize,
    },
    /// There is no such link.
    #[error("link {link}: must be less than {links}")]
    NoLink {
        /// Its number.
        link: u32,
        /// Number of links.
        links: usize,
    },
    /// There is no such switch.
    #[error("switch {switch}: must be less than {switches}")]
    NoSwitch {
        /// Its number.
        switch: u32,
        /// Number of switches.
        switches: usize,
    },
    /// The switch has no such port.
    #[error("port {port}: must be less than {ports}")]
    NoPort {
        /// Its number.
        port: u16,
        /// Number of ports.
        ports: u16,
    },
    /// The routing algorithm has no forwarding tables.
    #[error(
        "this routing has no forwarding tables that can be set: use routing.algorithm = \"shortest-path\" or \"table\""
    )]
    NoTables,
    /// Links cannot fail with separable allocation.
    #[error("links cannot fail with switch.allocation = \"separable\": use \"maximal\"")]
    Separable,
}

impl<B: Observer> Session<B> {
    /// Makes a change now.
    ///
    /// # Errors
    ///
    /// The change names something that the fabric does not have; nothing is changed.
    pub fn configure(&mut self, change: Change) -> Result<(), ChangeError> {
        match change {
            Change::Traffic { host, sends } => {
                self.check_host(host)?;
                self.engine.set_traffic(host, sends);
            }
            Change::Link { link, works } => {
                let links = self.links;
                if link.index() >= links {
                    return Err(ChangeError::NoLink { link: link.0, links });
                }
                self.check_allocation()?;
                if works { self.restore_link(link) } else { self.fail_link(link) }
            }
            Change::Switch { switch, works } => {
                self.ports_of(switch)?;
                self.check_allocation()?;
                if works { self.restore_switch(switch) } else { self.fail_switch(switch) }
            }
            Change::Route { switch, to, port } => {
                let ports = self.ports_of(switch)?;
                self.check_host(to)?;
                if port.0 >= ports {
                    return Err(ChangeError::NoPort { port: port.0, ports });
                }
                if !self.engine.set_route(switch, to.into(), Some(port)) {
                    return Err(ChangeError::NoTables);
                }
            }
        }
        Ok(())
    }

    fn check_host(&self, host: HostId) -> Result<(), ChangeError> {
        let hosts = self.hosts;
        if host.index() < hosts { Ok(()) } else { Err(ChangeError::NoHost { host: host.0, hosts }) }
    }

    fn ports_of(&self, switch: SwitchId) -> Result<u16, ChangeError> {
        let switches = self.switch_ports.len();
        let found = self.switch_ports.get(switch.index()).copied();
        found.ok_or(ChangeError::NoSwitch { switch: switch.0, switches })
    }

    fn check_allocation(&self) -> Result<(), ChangeError> {
        if self.is_separable { Err(ChangeError::Separable) } else { Ok(()) }
    }
}
