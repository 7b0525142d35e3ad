//! Multicast forwarding tables: for each group, the ports of each switch to which packets are sent, but for the one that they come in by.

use fabricsim_subnet::multicast::{Cable, spanning_tree};
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{HostId, LinkId, PortNo, SwitchId};

use crate::wiring::beyond;

/// Hosts of a multicast group.
#[derive(Clone, Copy, Debug)]
pub struct Participants<'a> {
    /// Hosts that receive its packets.
    pub members: &'a [HostId],
    /// Hosts that send to it, each with its service class or level.
    pub senders: &'a [(u8, HostId)],
}

/// Forwarding tables of all switches for all multicast groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MulticastTables {
    groups: Vec<Table>,
}

/// The ports of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Table {
    /// By switch.
    ports: Vec<Box<[PortNo]>>,
}

impl MulticastTables {
    /// Tables of groups without the links `failed`: a spanning tree of the switches of members and senders, as OpenSM builds it, and the ports
    /// to members; of these the ports that lead to members.
    pub fn new<'a>(
        graph: &Graph,
        failed: &[LinkId],
        groups: impl IntoIterator<Item = Participants<'a>>,
    ) -> Self {
        let fabric = Fabric::new(graph, failed);
        Self { groups: groups.into_iter().map(|group| fabric.table(graph, failed, group)).collect() }
    }

    /// True if there are no groups.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Ports of a switch to which packets for a group are sent, but for the one that they come in by, in ascending order.
    #[inline]
    pub fn ports(&self, at: SwitchId, group: u16) -> &[PortNo] {
        self.groups.get(usize::from(group)).map_or(&[], |table| &table.ports[at.index()])
    }

    /// Sets the ports of a switch for a group, which are in ascending order.
    pub fn set_ports(&mut self, at: SwitchId, group: u16, ports: &[PortNo]) {
        self.groups[usize::from(group)].ports[at.index()] = ports.into();
    }

    /// Number of groups.
    pub fn group_count(&self) -> u16 {
        self.groups.len() as u16
    }
}

/// The switches in the order in which trees are built, and their cables.
struct Fabric {
    /// Place of each switch in the order, and the switch at each place.
    place: Vec<usize>,
    switches: Vec<SwitchId>,
    cables: Vec<Vec<Cable>>,
}

impl Fabric {
    /// Switches are ordered by GUID, if they have one. Ports are in the order of physical numbers.
    fn new(graph: &Graph, failed: &[LinkId]) -> Self {
        let identity = graph.identity.as_deref();
        let mut switches: Vec<SwitchId> = (0..graph.switches.len() as u32).map(SwitchId).collect();
        if let Some(identity) = identity {
            switches.sort_by_key(|switch| identity.subnet.node(identity.switches[switch.index()]).guid);
        }
        let mut place = vec![0; switches.len()];
        for (number, switch) in switches.iter().enumerate() {
            place[switch.index()] = number;
        }
        let of_switch = |&at: &SwitchId| {
            let ports = graph.switches[at.index()].ports.iter().enumerate();
            let working = ports.filter(|(_, link)| failed.binary_search(link).is_err());
            let cable = |(port, _): (usize, &LinkId)| {
                let port = port as u16;
                let end = beyond(graph, at, PortNo(port))?;
                let Node::Switch(to) = end.node else { return None };
                Some(Cable { port, to: place[to.index()], to_port: end.port.0 })
            };
            working.filter_map(cable).collect()
        };
        let cables = switches.iter().map(of_switch).collect();
        Self { place, switches, cables }
    }

    fn table(&self, graph: &Graph, failed: &[LinkId], group: Participants<'_>) -> Table {
        let works = |host: &&HostId| failed.binary_search(&graph.hosts[host.index()].link).is_err();
        let switches = |hosts: &mut dyn Iterator<Item = &HostId>| -> Vec<usize> {
            hosts.filter(works).map(|host| self.place[graph.hosts[host.index()].switch.index()]).collect()
        };
        let members = switches(&mut group.members.iter());
        let senders = switches(&mut group.senders.iter().map(|(_, host)| host));
        let between = spanning_tree(&self.cables, &members, &senders);
        let mut of_switch = vec![Vec::new(); self.switches.len()];
        for (switch, ports) in self.switches.iter().zip(between) {
            of_switch[switch.index()].extend(ports.into_iter().map(PortNo));
        }
        for host in group.members.iter().filter(works).map(|host| &graph.hosts[host.index()]) {
            of_switch[host.switch.index()].push(host.port);
        }
        for ports in &mut of_switch {
            ports.sort_unstable();
        }
        Table { ports: of_switch.into_iter().map(Vec::into_boxed_slice).collect() }
    }
}
