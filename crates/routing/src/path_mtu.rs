//! The largest packet that every link of a path can carry (InfiniBand: the MTU of a path record).

use std::collections::BTreeSet;

use fabricsim_model::RouteState;
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{Bytes, HostId, LinkId, SwitchId};

use crate::wiring::beyond;
use crate::{At, Destination, RoutingFunction};

/// Largest packet of each path, by source and destination.
pub type PathMtus = Vec<Vec<u32>>;

/// True if a link carries less than a packet of `host_mtu`.
pub fn has_small_links(graph: &Graph, host_mtu: Bytes) -> bool {
    graph.links.iter().any(|link| link.parameters.mtu.is_some_and(|mtu| mtu < host_mtu))
}

/// Path MTUs: the least of `host_mtu` and of all links that a packet may take, whatever the loads and the draws. `router` has the routes at a
/// switch.
pub fn path_mtus<'a, R: RoutingFunction + 'a>(
    graph: &Graph,
    host_mtu: Bytes,
    router: impl Fn(SwitchId) -> &'a R,
) -> PathMtus {
    let walk = Walk { graph, host_mtu, router };
    let hosts = || (0..graph.hosts.len() as u32).map(HostId);
    hosts().map(|from| hosts().map(|to| walk.path(from, to).0 as u32).collect()).collect()
}

/// Links that packets from a host to a LID of another one may take, in order of their numbers.
pub fn links_of_path<R: RoutingFunction>(
    graph: &Graph,
    router: &R,
    from: HostId,
    to: Destination,
) -> BTreeSet<LinkId> {
    let walk = Walk { graph, host_mtu: Bytes(0), router: |_| router };
    let mut links = BTreeSet::new();
    walk.each_link(from, to.host, Some(to.path), &mut |link| {
        links.insert(link);
    });
    links
}

struct Walk<'a, F> {
    graph: &'a Graph,
    host_mtu: Bytes,
    router: F,
}

impl<'a, R: RoutingFunction + 'a, F: Fn(SwitchId) -> &'a R> Walk<'_, F> {
    fn path(&self, from: HostId, to: HostId) -> Bytes {
        let mut least = self.host_mtu;
        self.each_link(from, to, None, &mut |link| least = self.least(least, link.index()));
        least
    }

    /// Calls `each` for every link of the paths from a host to another one, or to one of its LIDs.
    fn each_link(&self, from: HostId, to: HostId, lid: Option<u8>, each: &mut impl FnMut(LinkId)) {
        let host = &self.graph.hosts[from.index()];
        let router = (self.router)(host.switch);
        each(host.link);
        let mut met: BTreeSet<(SwitchId, u16, u8, RouteState)> = BTreeSet::new();
        let mut stack = Vec::new();
        let starts = router.starts(from, to).into_iter();
        for (class, state) in starts.filter(|(_, state)| lid.is_none_or(|lid| state.path() == lid)) {
            let destination = Destination { host: to, path: state.path() };
            for lane in router.injection_lanes(from, destination, class).iter() {
                stack.push((At { switch: host.switch, in_port: host.port, lane }, state));
            }
        }
        let mut options = Vec::new();
        while let Some((at, state)) = stack.pop() {
            if !met.insert((at.switch, at.in_port.0, at.lane.0, state)) {
                continue;
            }
            options.clear();
            (self.router)(at.switch).options(at, to, state, &mut options);
            for &(hop, state) in &options {
                // A table without an entry names the port by which the packet came.
                let ports = &self.graph.switches[at.switch.index()].ports;
                let Some(&link) = ports.get(hop.port.index()) else { continue };
                each(link);
                let Some(end) = beyond(self.graph, at.switch, hop.port) else { continue };
                if let Node::Switch(switch) = end.node {
                    let next = |lane| (At { switch, in_port: end.port, lane }, state);
                    stack.extend(hop.lanes.iter().map(next));
                }
            }
        }
    }

    fn least(&self, least: Bytes, link: usize) -> Bytes {
        self.graph.links[link].parameters.mtu.map_or(least, |mtu| mtu.min(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::network;

    /// A ring of five switches, whose link 2-3 is small: paths over it have its MTU, others that of the hosts.
    #[test]
    fn the_least_along_the_path() {
        let (mut graph, router) = network("ring = { switches = 5 }", "", 2);
        let host_mtu = Bytes(4096);
        assert!(!has_small_links(&graph, host_mtu));
        let small = graph
            .links
            .iter()
            .position(|link| {
                let ends = [link.a.node, link.b.node];
                ends == [Node::Switch(SwitchId(2)), Node::Switch(SwitchId(3))]
                    || ends == [Node::Switch(SwitchId(3)), Node::Switch(SwitchId(2))]
            })
            .unwrap();
        graph.links[small].parameters.mtu = Some(Bytes(1024));
        let own = graph.hosts[4].link.index();
        graph.links[own].parameters.mtu = Some(Bytes(2048));
        assert!(has_small_links(&graph, host_mtu));
        let mtus = path_mtus(&graph, host_mtu, |_| &router);
        // By the shorter way around.
        let over = |from: usize, to: usize| {
            let (low, high) = (from.min(to), from.max(to));
            let inside = low <= 2 && high >= 3;
            inside == (high - low <= 2) && from != to
        };
        for (from, row) in mtus.iter().enumerate() {
            for (to, &mtu) in row.iter().enumerate() {
                let expected = if over(from, to) {
                    1024
                } else if from == 4 || to == 4 {
                    2048
                } else {
                    4096
                };
                assert_eq!(mtu, expected, "{from} to {to}");
            }
        }
    }
}
