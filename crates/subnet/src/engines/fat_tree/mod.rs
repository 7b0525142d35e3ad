//! FatTree: balanced paths up and down a fat tree (`osm_ucast_ftree.c`).
//!
//! Destinations are routed leaf by leaf. From its leaf a destination's path climbs, at each switch by the least loaded group of parallel
//! cables, and all switches below the path get the way back. Leaves with fewer adapters route as many dummies as they lack, so
//! that full ones stay balanced. Without roots, the fabric must be a regular tree, and all adapters must be on its lowest level.

mod router;
mod subtrees;
mod tree;

#[cfg(test)]
mod tests;

use super::hops::{HopMatrix, Hops};
use super::{Options, Routing};
use crate::fabric::Fabric;
use crate::{Guid, RouteError};
use router::Router;
use tree::Tree;

pub(super) fn route(fabric: &Fabric<'_>, options: &Options) -> Result<Routing, RouteError> {
    let tree = Tree::new(fabric, options)?;
    let tables = Router::new(fabric, tree).route();
    Ok(Routing::with_hops(tables, Hops::LeastAndPaths(HopMatrix::shortest(fabric))))
}

/// Ports of adapters that are compute nodes: all, unless a list is given.
fn is_compute_node(options: &Options, guid: Guid) -> bool {
    options.compute_nodes.as_ref().is_none_or(|list| list.contains(&guid))
}
