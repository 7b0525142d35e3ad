//! Links that a packet for a multicast group crosses, each once.

use std::collections::BTreeMap;

use fabricsim_engine::Prepared;
use fabricsim_topology::{End, Node};
use fabricsim_units::{HostId, PortNo, SwitchId};

/// The tree of a source's packets for a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    /// Members that receive them, in ascending order.
    pub(super) members: Vec<HostId>,
    /// By direction of a link, the places of the members that receive them over it.
    pub(super) links: BTreeMap<i64, Vec<usize>>,
}

impl Tree {
    /// The tree from a host, by the forwarding tables of the switches.
    pub(super) fn new(prepared: &Prepared, source: HostId, group: u16) -> Self {
        let host = &prepared.graph.hosts[source.index()];
        let mut hosts = BTreeMap::new();
        let mut members = follow(prepared, group, (host.switch, host.port), &mut hosts);
        members.sort_unstable();
        hosts.insert(2 * i64::from(host.link.0), members.clone());
        let place = |host: HostId| members.binary_search(&host).unwrap_or_default();
        let links =
            hosts.into_iter().map(|(link, hosts)| (link, hosts.into_iter().map(place).collect())).collect();
        Self { members, links }
    }
}

/// The members that a packet reaches from a switch at which it has arrived by a port. Adds those behind each link that it crosses.
fn follow(
    prepared: &Prepared,
    group: u16,
    (at, in_port): (SwitchId, PortNo),
    behind: &mut BTreeMap<i64, Vec<HostId>>,
) -> Vec<HostId> {
    let graph = &prepared.graph;
    let mut all = Vec::new();
    for &port in prepared.multicast.ports(at, group).iter().filter(|&&port| port != in_port) {
        let number = graph.switches[at.index()].ports[port.index()];
        let link = &graph.links[number.index()];
        let from_a = link.a == End { node: Node::Switch(at), port };
        let end = if from_a { link.b } else { link.a };
        let hosts = match end.node {
            Node::Host(host) => vec![host],
            Node::Switch(next) => follow(prepared, group, (next, end.port), behind),
        };
        all.extend(&hosts);
        behind.insert(2 * i64::from(number.0) + i64::from(!from_a), hosts);
    }
    all
}
