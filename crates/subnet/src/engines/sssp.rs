//! SSSP: shortest paths, balanced over the whole fabric by weights (`osm_ucast_dfsssp.c`). It may deadlock.
//!
//! Destinations are routed one after the other. Each adds the number of its paths to the weights of their links, so later ones
//! avoid loaded links. Adapters come first, by the number of end ports of their switch, then switches.

use super::dijkstra::{Graph, NO_LINK};
use super::hops::HopMatrix;
use super::{Options, Routing};
use crate::fabric::{EndPort, Fabric, NONE, Peer};
use crate::subnet::NodeKind;
use crate::{RouteError, Tables};

#[expect(clippy::unnecessary_wraps, reason = "all engines have this signature")]
pub(super) fn route(fabric: &Fabric<'_>, _options: &Options) -> Result<Routing, RouteError> {
    Ok(Routing::new(tables(fabric), HopMatrix::shortest(fabric)))
}

/// End ports in the order in which they are routed. Routers are left out.
pub(super) fn order(fabric: &Fabric<'_>) -> Vec<u32> {
    let load = destinations(fabric);
    let mut switches: Vec<usize> = (0..fabric.len()).collect();
    switches.sort_by_key(|&at| std::cmp::Reverse(load[at]));
    let is_routed = |&end: &usize| kind(fabric, &fabric.ends[end]) != NodeKind::Router;
    let adapters = switches.iter().flat_map(|&at| fabric.end_links(at)).map(|(_, end)| end).filter(is_routed);
    let mut order: Vec<u32> = adapters.map(|end| end as u32).collect();
    order.extend(switches.iter().map(|&at| fabric.switch_ends[at]));
    order
}

/// Number of LIDs at each switch, its own included.
pub(super) fn destinations(fabric: &Fabric<'_>) -> Vec<u64> {
    let lids = |end: u32| 1 << fabric.ends[end as usize].lmc;
    let load = |at: usize| {
        let adapters = fabric.peers(at).iter().map(|peer| match *peer {
            Peer::End(end) if end != NONE => lids(end),
            Peer::End(_) => 1,
            _ => 0,
        });
        lids(fabric.switch_ends[at]) + adapters.sum::<u64>()
    };
    (0..fabric.len()).map(load).collect()
}

pub(super) fn kind(fabric: &Fabric<'_>, end: &EndPort) -> NodeKind {
    fabric.subnet.node(end.id.node).kind
}

/// Tables of the balanced shortest paths.
pub(super) fn tables(fabric: &Fabric<'_>) -> Tables {
    let mut tables = Tables::new(fabric);
    for (at, &end) in fabric.switch_ends.iter().enumerate() {
        let lids = fabric.ends[end as usize].lids();
        tables.row_mut(at)[lids].fill(0);
    }
    let routed = fabric.ends.iter().filter(|end| kind(fabric, end) != NodeKind::Router);
    let total: u64 = routed.map(|end| 1 << end.lmc).sum();
    let load = destinations(fabric);
    let mut graph = Graph::new(fabric, total * total);
    for end in order(fabric) {
        let end = &fabric.ends[end as usize];
        for lid in end.lids() {
            graph.search(end.switch as usize, !end.is_switch);
            for at in 0..fabric.len() {
                match graph.used[at] {
                    NO_LINK if at == end.switch as usize && !end.is_switch => {
                        tables.row_mut(at)[lid] = end.port;
                    }
                    NO_LINK => {}
                    link => tables.row_mut(at)[lid] = graph.links[link as usize].port,
                }
            }
            graph.add_weights(&load);
        }
    }
    tables
}
