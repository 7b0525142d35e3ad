//! MinHop: any shortest path, ports balanced by the number of LIDs (`osm_ucast_mgr.c`). It may deadlock.

use super::balance::{self, Rules};
use super::hops::HopMatrix;
use super::{Options, Routing};
use crate::RouteError;
use crate::fabric::Fabric;

#[expect(clippy::unnecessary_wraps, reason = "all engines have this signature")]
pub(super) fn route(fabric: &Fabric<'_>, options: &Options) -> Result<Routing, RouteError> {
    let matrix = HopMatrix::shortest(fabric);
    Ok(Routing::new(balance::assign(fabric, &matrix, Rules::new(options, false)), matrix))
}
