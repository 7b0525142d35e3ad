//! Sides of failed links on which detours pass.
//!
//! Packets of both directions of a link can go around it on the same side. If those of one direction pass it on one
//! side and those of the other on the other, they go in a circle, and the turns of one of them are not allowed. So all
//! are given a side to prefer, in several ways until one leaves no pair without a route.

use std::collections::VecDeque;

use fabricsim_model::Random;
use fabricsim_units::{LinkId, SwitchId};

use super::grid::Grid;

/// RouteTable to choose sides that are tried: first the same for all links, then any.
pub(super) const CHOICES: u64 = 32;

/// Links that a turn on the other side costs more, for each dimension.
const OTHER_SIDE: u32 = 2;

/// Additional cost of a new turn at each switch.
pub(super) struct Sides {
    price: Vec<u32>,
}

impl Sides {
    /// The prices of a choice below [`CHOICES`].
    pub(super) fn new(grid: &Grid<'_>, failed: &[LinkId], choice: u64) -> Self {
        let dimensions = grid.directions / 2;
        let same_for_all = 1 << dimensions.min(3);
        let mut random = Random::new(choice, 0, 0);
        let signs: Vec<u64> =
            failed.iter().map(|_| if choice < same_for_all { choice } else { random.bits() }).collect();
        let nearest = nearest(grid, failed);
        let price = |at: SwitchId| {
            let Some((link, from)) = nearest[at.index()] else { return 0 };
            let is_other = |d: &usize| {
                let side = signed(grid, *d, grid.coordinate(from, *d), grid.coordinate(at, *d));
                side != 0 && (side > 0) == (signs[link] >> d & 1 == 1)
            };
            OTHER_SIDE * (0..dimensions).filter(is_other).count() as u32
        };
        Self { price: (0..grid.len() as u32).map(SwitchId).map(price).collect() }
    }

    /// Additional cost of a new turn at a switch.
    pub(super) fn price(&self, at: SwitchId) -> u32 {
        self.price[at.index()]
    }
}

/// For each switch the failed link next to it, and the end of that with the lower number.
fn nearest(grid: &Grid<'_>, failed: &[LinkId]) -> Vec<Option<(usize, SwitchId)>> {
    let mut nearest = vec![None; grid.len()];
    let mut queue = VecDeque::new();
    for (link, id) in failed.iter().enumerate() {
        let ends = [grid.graph.links[id.index()].a.node, grid.graph.links[id.index()].b.node];
        let mut ends = ends.map(|end| match end {
            fabricsim_topology::Node::Switch(at) => at,
            fabricsim_topology::Node::Host(host) => grid.graph.hosts[host.index()].switch,
        });
        ends.sort_unstable();
        queue.extend(ends.map(|end| (end, link, ends[0])));
    }
    while let Some((at, link, end)) = queue.pop_front() {
        if nearest[at.index()].is_none() {
            nearest[at.index()] = Some((link, end));
            let around = (0..grid.directions as u8).filter_map(|direction| grid.next(at, direction));
            queue.extend(around.map(|next| (next, link, end)));
        }
    }
    nearest
}

/// Distance of `to` above `from`, by the shorter direction.
fn signed(grid: &Grid<'_>, dimension: usize, from: u32, to: u32) -> i64 {
    let (k, straight) = (i64::from(grid.radix(dimension)), i64::from(to) - i64::from(from));
    if !grid.shape.wrap[dimension] {
        return straight;
    }
    let up = straight.rem_euclid(k);
    if 2 * up > k { up - k } else { up }
}
