//! Numbers of links of the routes of forwarding tables.

use fabricsim_topology::{Graph, Node};
use fabricsim_units::{HostId, SwitchId};

use crate::ForwardingTables;
use crate::wiring::beyond;

/// Links between switches of the longest route from a host.
pub(crate) fn longest(lengths: &[u16], graph: &Graph) -> u32 {
    let hosts = graph.hosts.len();
    let from = graph.hosts.iter().flat_map(|host| &lengths[host.switch.index() * hosts..][..hosts]);
    from.copied().max().unwrap_or(0).into()
}

/// Links between switches of every route of `tables`, by switch and destination; every host is reached from everywhere.
pub(crate) fn lengths(tables: &ForwardingTables, graph: &Graph) -> Vec<u16> {
    const UNKNOWN: u16 = u16::MAX;
    let hosts = graph.hosts.len();
    let mut lengths = vec![UNKNOWN; graph.switches.len() * hosts];
    let mut route = Vec::new();
    for to in (0..hosts as u32).map(HostId) {
        for start in 0..graph.switches.len() {
            let mut at = start;
            route.clear();
            while lengths[at * hosts + to.index()] == UNKNOWN {
                route.push(at);
                let end = tables
                    .port(SwitchId(at as u32), to)
                    .and_then(|port| beyond(graph, SwitchId(at as u32), port));
                match end.map(|end| end.node) {
                    Some(Node::Switch(next)) if route.len() <= graph.switches.len() => at = next.index(),
                    _ => {
                        lengths[at * hosts + to.index()] = 0;
                        route.pop();
                    }
                }
            }
            let mut length = lengths[at * hosts + to.index()];
            for &before in route.iter().rev() {
                length += 1;
                lengths[before * hosts + to.index()] = length;
            }
        }
    }
    lengths
}
