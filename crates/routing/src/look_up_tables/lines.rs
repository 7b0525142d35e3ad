//! Dimension order with failed links as far as it goes: the direction along each line of the grid.
//!
//! A packet takes the shorter direction to its coordinate or, for another partition, to the nearer end of it; at half a
//! ring it goes up from odd places and down from even ones. Where a link on that route has failed and the other direction
//! round the ring is whole, it takes that. A packet never turns back: what is broken ahead of it stays broken from
//! every place that it comes through the other direction.

use fabricsim_units::SwitchId;

use super::grid::Grid;
use super::layout::Layout;

/// Directions without regard to partitions' contents: towards coordinates, and towards blocks of them.
pub(super) struct Lines<'a> {
    pub(super) grid: &'a Grid<'a>,
    pub(super) layout: &'a Layout,
    pub(super) order: &'a [usize],
}

impl Lines<'_> {
    /// The direction from a switch towards another coordinate of its partition. `odd`: which of the two cables of a
    /// ring of two.
    pub(super) fn towards(&self, at: SwitchId, dimension: usize, to: u32, odd: bool) -> u8 {
        let (here, radix) = (self.grid.coordinate(at, dimension), self.grid.radix(dimension));
        if !self.grid.shape.wrap[dimension] || self.layout.divides(dimension) {
            // A block of a ring is at most half of it, or one link more: the shorter direction stays within it.
            return direction(dimension, to > here);
        }
        let (up, down) = ((to + radix - here) % radix, (here + radix - to) % radix);
        let odd = if radix == 2 { odd } else { here % 2 == 1 };
        self.shorter(at, dimension, (up, down), odd)
    }

    /// The direction from a switch towards another partition.
    pub(super) fn towards_partition(&self, at: SwitchId, partition: u16) -> u8 {
        let outside = |&&d: &&usize| {
            let (first, end) = self.layout.range(partition, d);
            !(first..end).contains(&self.grid.coordinate(at, d))
        };
        let dimension = *self.order.iter().find(outside).unwrap_or(&self.order[0]);
        let (first, end) = self.layout.range(partition, dimension);
        let (here, radix) = (self.grid.coordinate(at, dimension), self.grid.radix(dimension));
        if !self.grid.shape.wrap[dimension] {
            return direction(dimension, here < first);
        }
        let (up, down) = ((first + radix - here) % radix, (here + radix + 1 - end) % radix);
        let odd = if radix == 2 { partition % 2 == 1 } else { here % 2 == 1 };
        self.shorter(at, dimension, (up, down), odd)
    }

    /// The shorter of two routes along a ring, of `up` and of `down` links, unless only the other is whole.
    fn shorter(&self, at: SwitchId, dimension: usize, (up, down): (u32, u32), odd: bool) -> u8 {
        let goes_up = up < down || up == down && odd;
        let chosen = (direction(dimension, goes_up), if goes_up { up } else { down });
        let other = (direction(dimension, !goes_up), if goes_up { down } else { up });
        if self.grid.is_hurt && !self.is_whole(at, chosen) && self.is_whole(at, other) {
            return other.0;
        }
        chosen.0
    }

    /// True if the first `links` links in a direction are all there.
    fn is_whole(&self, at: SwitchId, (direction, links): (u8, u32)) -> bool {
        let mut at = Some(at);
        for _ in 0..links {
            at = at.and_then(|at| self.grid.next(at, direction));
        }
        at.is_some()
    }
}

const fn direction(dimension: usize, up: bool) -> u8 {
    2 * dimension as u8 + up as u8
}
