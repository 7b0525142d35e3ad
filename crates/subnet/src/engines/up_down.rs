//! UpDown: no path turns from down to up at the switches that it would begin at (`osm_ucast_updn.c`). It may deadlock.
//!
//! Roots come from options, or are found: a switch is a root if all but a few adapters are equally far. Ranks are distances to the
//! nearest root; between equal ranks the larger GUID is "up", between roots both directions are.

use super::balance::{self, Rules};
use super::hops::HopMatrix;
use super::ranked::{self, Turns};
use super::{Options, Routing};
use crate::RouteError;
use crate::fabric::Fabric;

/// Longest path whose adapters the root search counts (`IB_SUBNET_PATH_HOPS_MAX`).
const HISTOGRAM: usize = 64;

/// "Up" and "down" by rank and GUID.
struct UpDown {
    ranks: Vec<u32>,
    guids: Vec<u64>,
}

impl Turns for UpDown {
    const START: i8 = 1;

    fn direction(&self, from: usize, to: usize) -> i8 {
        let (a, b) = (self.ranks[from], self.ranks[to]);
        let up = (a == 0 && b == 0) || a > b || (a == b && self.guids[from] > self.guids[to]);
        if up { 1 } else { -1 }
    }

    fn is_allowed(&self, before: i8, next: i8) -> bool {
        !(before < 0 && next > 0)
    }
}

pub(super) fn route(fabric: &Fabric<'_>, options: &Options) -> Result<Routing, RouteError> {
    let roots = match &options.roots {
        Some(guids) => {
            let roots: Vec<usize> = guids.iter().filter_map(|&guid| fabric.find(guid)).collect();
            if roots.is_empty() {
                return Err(RouteError::RootsAbsent);
            }
            roots
        }
        None => find_roots(fabric, &HopMatrix::shortest(fabric)),
    };
    if roots.is_empty() {
        return Err(RouteError::NoRoots);
    }
    let guids = (0..fabric.len()).map(|at| fabric.guid(at).0).collect();
    let turns = UpDown { ranks: ranked::ranks(fabric, &roots), guids };
    let matrix = ranked::matrix(fabric, &turns);
    Ok(Routing::new(balance::assign(fabric, &matrix, Rules::new(options, false)), matrix))
}

/// Switches that have one distance to over 90 % of the adapters, and no other to over 5 %
/// (`updn_find_root_nodes_by_min_hop`).
pub(super) fn find_roots(fabric: &Fabric<'_>, matrix: &HopMatrix) -> Vec<usize> {
    let mut adapters = vec![0u32; fabric.len()];
    for end in fabric.ends.iter().filter(|end| !end.is_switch && end.switch != crate::fabric::NONE) {
        adapters[end.switch as usize] += 1;
    }
    let total: u32 = adapters.iter().sum();
    let (most, some) = (f64::from(total) * 0.9, f64::from(total) * 0.05);
    let is_root = |&at: &usize| {
        let mut histogram = [0u32; HISTOGRAM];
        for (target, &count) in adapters.iter().enumerate().filter(|(_, count)| **count > 0) {
            if let Some(bar) = histogram.get_mut(usize::from(matrix.least(at, target))) {
                *bar += count;
            }
        }
        let over = |limit: f64| histogram.iter().filter(|&&bar| f64::from(bar) > limit).count();
        over(most) == 1 && over(some) == 1
    };
    (0..fabric.len()).filter(is_root).collect()
}
