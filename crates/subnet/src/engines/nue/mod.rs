//! Nue: paths that are free of deadlock on any fabric, with any number of lanes (`osm_ucast_nue.c`).
//!
//! Domke, Hoefler, Matsuoka: "Routing on the dependency graph: a new approach to deadlock-free high-performance routing", HPDC 2016.
//! Destinations are split over the lanes. On each lane a spanning tree gives escape paths; then every destination is routed by a
//! shortest-path search over channels that never closes a cycle of dependencies. Where that ends before all switches are reached, a
//! step back is tried, then the escape paths are used. Debian's build has no METIS: destinations go round robin to the lanes.

mod colors;
mod escape;
mod network;
mod search;

use super::hops::{Hops, NO_PATH};
use super::{Options, PathSls, Routing};
use crate::fabric::{Fabric, NONE};
use crate::subnet::NodeKind;
use crate::{RouteError, Sl2Vl, Tables, engines::sssp::kind};
use colors::Colors;
use network::Network;

#[expect(clippy::unnecessary_wraps, reason = "all engines have this signature")]
pub(super) fn route(fabric: &Fabric<'_>, options: &Options) -> Result<Routing, RouteError> {
    let lanes = if options.nue_vls == 0 { options.vls } else { options.nue_vls.min(options.vls) };
    let lanes = usize::from(lanes);
    let mut tables = Tables::new(fabric);
    let mut network = Network::new(fabric);
    let width = usize::from(fabric.max_lid()) + 1;
    let mut hops = vec![NO_PATH; fabric.len() * width];
    let mut lane_of = vec![0u8; usize::from(fabric.max_lid()) + 1];
    for (at, &end) in fabric.switch_ends.iter().enumerate() {
        let lids = fabric.ends[end as usize].lids();
        hops[at * width..][lids.clone()].fill(0);
        tables.row_mut(at)[lids].fill(0);
    }
    for (lane, ends) in distribute(fabric, lanes).into_iter().enumerate().filter(|(_, ends)| !ends.is_empty())
    {
        let lids: usize = ends.iter().map(|&end| fabric.ends[end].lids().len()).sum();
        let mut colors = Colors::new(&network, lids);
        let switches: Vec<usize> =
            ends.iter().map(|&end| network.node_of[fabric.ends[end].switch as usize]).collect();
        network.mark_escape_paths(&switches, &mut colors);
        for &end in &ends {
            let end = &fabric.ends[end];
            let source = network.node_of[end.switch as usize];
            for lid in end.lids() {
                network.search(source, &mut colors);
                network.write((&mut tables, &mut hops), lid, (source, Some(end.port)));
                network.add_weights(source);
                lane_of[lid] = lane as u8;
            }
        }
    }
    for node in 0..network.nodes.len() {
        let end = &fabric.ends[fabric.switch_ends[network.nodes[node].switch] as usize];
        for lid in end.lids() {
            network.grow_tree(node);
            network.use_escape_paths(node);
            network.write((&mut tables, &mut hops), lid, (node, None));
            network.add_weights(node);
        }
    }
    let mut routing = Routing::with_hops(tables, Hops::Told(hops));
    routing.layers = lanes as u8;
    routing.sl2vl = Sl2Vl::modulo(options.vls);
    routing.sls = Some(PathSls::new(fabric, |_, lid| lane_of[lid], [1; 16]));
    Ok(routing)
}

/// Adapters' ports by lane, round robin.
fn distribute(fabric: &Fabric<'_>, lanes: usize) -> Vec<Vec<usize>> {
    let is_adapter = |&end: &usize| {
        let port = &fabric.ends[end];
        kind(fabric, port) == NodeKind::Adapter && port.switch != NONE
    };
    let mut parts = vec![Vec::new(); lanes];
    for (index, end) in (0..fabric.ends.len()).filter(is_adapter).enumerate() {
        parts[index % lanes].push(end);
    }
    parts
}
