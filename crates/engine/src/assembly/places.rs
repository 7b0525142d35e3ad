//! The places of switches, hosts and their ports in partitions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fabricsim_spec::Experiment;
use fabricsim_topology::{Graph, Link, Node};
use fabricsim_units::{HostId, LinkId, PortNo, SwitchId, Time};

use crate::lookahead::Reach;

/// Partition and port at which each direction of a link starts and ends.
#[derive(Clone)]
pub(crate) struct Directory {
    pub(crate) sender: Vec<(u16, u32)>,
    pub(crate) receiver: Vec<(u16, u32)>,
    /// How soon partitions act on each other.
    pub(crate) reach: Reach,
}

/// Cuts the switches, in order of number, into parts of nearly equal size; hosts go with their switch.
///
/// A cut is moved by up to an eighth of a part to where the links that it cuts are longest: partitions advance in windows of the least latency
/// between them. Groups of a dragonfly stay whole so.
pub(super) struct Cut {
    /// Number of the first switch of each part but the first.
    firsts: Vec<usize>,
}

impl Cut {
    pub(super) fn new(graph: &Graph, wanted: u32) -> Self {
        let switches = graph.switches.len();
        let count = (wanted.max(1) as usize).min(switches.max(1));
        let reach = switches / (8 * count);
        let latencies = if reach == 0 || count == 1 { Vec::new() } else { cut_latencies(graph) };
        let first = |part: usize| {
            let even = (part * switches).div_ceil(count);
            let near = even - reach..=even + reach;
            let best = |&at: &usize| (latencies.get(at).copied(), Reverse(at.abs_diff(even)));
            near.max_by_key(best).unwrap_or(even)
        };
        Self { firsts: (1..count).map(first).collect() }
    }

    /// Number of parts.
    pub(super) fn count(&self) -> usize {
        self.firsts.len() + 1
    }

    fn of(&self, switch: SwitchId) -> usize {
        self.firsts.partition_point(|&first| first <= switch.index())
    }

    /// Least latency of a link between two parts; [`Time::MAX`] if there is none.
    pub(super) fn least_latency(&self, graph: &Graph) -> Time {
        let is_cut = |link: &&Link| self.of_node(graph, link.a.node) != self.of_node(graph, link.b.node);
        let latencies = graph.links.iter().filter(is_cut).map(|link| link.parameters.latency);
        latencies.min().unwrap_or(Time::MAX)
    }

    fn of_node(&self, graph: &Graph, node: Node) -> usize {
        match node {
            Node::Switch(switch) => self.of(switch),
            Node::Host(host) => self.of(graph.hosts[host.index()].switch),
        }
    }
}

/// For each switch the least latency of the links between it or later ones and those before.
fn cut_latencies(graph: &Graph) -> Vec<Time> {
    let between = graph.links.iter().filter_map(|link| match (link.a.node, link.b.node) {
        (Node::Switch(a), Node::Switch(b)) => {
            let (a, b) = (a.index(), b.index());
            Some((a.min(b), a.max(b), link.parameters.latency))
        }
        _ => None,
    });
    let mut links: Vec<_> = between.collect();
    links.sort_unstable_by_key(|&(first, ..)| Reverse(first));
    let mut open = BinaryHeap::new();
    (0..graph.switches.len())
        .map(|at| {
            while let Some((_, last, latency)) = links.pop_if(|&mut (first, ..)| first < at) {
                open.push(Reverse((latency, last)));
            }
            while open.peek().is_some_and(|&Reverse((_, last))| last < at) {
                open.pop();
            }
            open.peek().map_or(Time::MAX, |&Reverse((latency, _))| latency)
        })
        .collect()
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
