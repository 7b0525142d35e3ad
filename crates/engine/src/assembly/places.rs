//! The places of switches, hosts and their ports in partitions.

use fabricsim_spec::Experiment;
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{HostId, LinkId, PortNo, SwitchId};

use super::cut::Cut;
use crate::lookahead::Reach;

/// Partition and port at which each direction of a link starts and ends.
#[derive(Clone)]
pub(crate) struct Directory {
    pub(crate) sender: Vec<(u16, u32)>,
    pub(crate) receiver: Vec<(u16, u32)>,
    /// How soon partitions act on each other.
    pub(crate) reach: Reach,
}

/// A port to build: its entity, and the link behind it.
pub(super) struct PortPlan {
    pub(super) node: Node,
    pub(super) link: LinkId,
}

/// The ports of each partition in order: switch by switch, then host by host.
pub(super) fn places(graph: &Graph, cut: &Cut) -> Vec<Vec<PortPlan>> {
    let mut places: Vec<Vec<PortPlan>> = (0..cut.count()).map(|_| Vec::new()).collect();
    for (i, switch) in graph.switches.iter().enumerate() {
        let id = SwitchId(i as u32);
        let ports = switch.ports.iter().map(|&link| PortPlan { node: Node::Switch(id), link });
        places[cut.of(id)].extend(ports);
    }
    for (i, host) in graph.hosts.iter().enumerate() {
        places[cut.of(host.switch)].push(PortPlan { node: Node::Host(HostId(i as u32)), link: host.link });
    }
    places
}

/// The direction of `link` that leads away from its end at (`node`, n-th port).
pub(super) fn channel_from(graph: &Graph, link: LinkId, node: Node, port: PortNo) -> u32 {
    let ends = &graph.links[link.index()];
    let from_a = ends.a.node == node && ends.a.port == port;
    2 * link.0 + u32::from(!from_a)
}

pub(super) fn directory(
    experiment: &Experiment,
    graph: &Graph,
    cut: &Cut,
    places: &[Vec<PortPlan>],
) -> Directory {
    let channels = graph.links.len() * 2;
    let byte_times = graph.links.iter().map(|link| link.parameters.rate.byte_time());
    let reach = Reach::new(experiment, cut.least_latency(graph), byte_times);
    let mut directory = Directory { sender: vec![(0, 0); channels], receiver: vec![(0, 0); channels], reach };
    for (number, places) in places.iter().enumerate() {
        for (port, place, own_number) in numbered(places) {
            let out = channel_from(graph, place.link, place.node, own_number);
            directory.sender[out as usize] = (number as u16, port);
            directory.receiver[(out ^ 1) as usize] = (number as u16, port);
        }
    }
    directory
}

/// The places with their port numbers in the partition and at their entity.
pub(super) fn numbered(places: &[PortPlan]) -> impl Iterator<Item = (u32, &PortPlan, PortNo)> {
    let mut last = None;
    let mut own = 0;
    places.iter().enumerate().map(move |(port, place)| {
        own = if last == Some(place.node) { own + 1 } else { 0 };
        last = Some(place.node);
        (port as u32, place, PortNo(own))
    })
}
