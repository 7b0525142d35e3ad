//! DOR: shortest paths by the first neighbour that has one (`osm_ucast_mgr.c`, `is_dor`).
//!
//! It is dimension-order routing if cables of the same dimension are on the same ports of all switches, and free of deadlock on
//! meshes and hypercubes then.

use super::balance::{self, Rules};
use super::hops::HopMatrix;
use super::{Options, Routing};
use crate::RouteError;
use crate::fabric::Fabric;

#[expect(clippy::unnecessary_wraps, reason = "all engines have this signature")]
pub(super) fn route(fabric: &Fabric<'_>, options: &Options) -> Result<Routing, RouteError> {
    let matrix = HopMatrix::shortest(fabric);
    Ok(Routing::new(balance::assign(fabric, &matrix, Rules::new(options, true)), matrix))
}
