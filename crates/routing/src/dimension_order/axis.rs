//! The dimensions of a grid in the order in which they are corrected.

use fabricsim_spec::SpecError;
use fabricsim_topology::GridShape;
use fabricsim_units::PortNo;

use super::Target;
use crate::lanes::{Exit, LinkRole};

/// The smallest ring in which a minimal path can go on after its first link.
pub(crate) const SMALLEST_SPLIT_RING: u32 = 4;

/// A dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// Its number in the order.
    pub(super) number: u8,
    pub(super) column: Column,
    /// Length of the ring. A mesh counts as half a ring: so its shorter direction never leads over the edge.
    pub(super) ring: u32,
    /// True if it is a ring of two.
    pub(super) pair: bool,
    /// True if dependencies among minimal routes can close the ring.
    pub(super) closes: bool,
}

/// Position of a coordinate in a place, and its routes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// Mask with as many ones as it has bits, and the position of its bits in a place.
    pub(super) mask: u32,
    pub(super) shift: u8,
    /// Start of its coordinates among the routes from a switch.
    pub(super) routes: u32,
}

impl Column {
    /// Coordinate of a place.
    #[inline]
    pub(super) fn coordinate(self, place: u64) -> u32 {
        (place >> (self.shift % 64)) as u32 & self.mask
    }
}

/// The order of the dimensions, by default ascending; an error if it does not name each of them once.
pub(crate) fn checked_order(
    order: Option<&[u32]>,
    dimensions: usize,
    file: &str,
) -> Result<Vec<usize>, SpecError> {
    let Some(order) = order else {
        return Ok((0..dimensions).collect());
    };
    let mut sorted: Vec<usize> = order.iter().map(|&d| d as usize).collect();
    sorted.sort_unstable();
    if sorted.iter().copied().ne(0..dimensions) {
        let all: Vec<usize> = (0..dimensions).collect();
        let message =
            format!("{order:?} is not an order of the {dimensions} dimensions: each of {all:?} once");
        return Err(SpecError::at_key(file, "routing.order", message));
    }
    Ok(order.iter().map(|&d| d as usize).collect())
}

/// The dimensions in their order.
pub(super) fn axes(shape: &GridShape, order: &[usize]) -> Vec<Axis> {
    let (mut shift, mut routes) = (0, 0);
    let axis = |(number, &d): (usize, &usize)| {
        let (radix, wrap) = (shape.dimensions[d], shape.wrap[d]);
        let bits = u32::BITS - (radix - 1).leading_zeros();
        let mask = ((1_u64 << bits) - 1) as u32;
        shift += bits;
        routes += mask + 1;
        Axis {
            number: number as u8,
            column: Column { mask, shift: (shift - bits) as u8, routes: routes - mask - 1 },
            ring: if wrap { radix } else { 2 * radix },
            pair: wrap && radix == 2,
            closes: wrap && radix >= SMALLEST_SPLIT_RING,
        }
    };
    order.iter().enumerate().map(axis).collect()
}

/// The last dimension that begins at or below `bit`; of those without bits (radix 1) the place never shows any.
pub(super) fn axis_of_bit(bit: usize, axes: &[Axis]) -> Axis {
    let mut found = axes[0];
    for axis in axes.iter().filter(|axis| usize::from(axis.column.shift) <= bit && axis.column.mask > 0) {
        found = *axis;
    }
    found
}

impl Axis {
    /// Coordinate of a place.
    #[inline]
    pub(super) fn coordinate(&self, place: u64) -> u32 {
        self.column.coordinate(place)
    }

    /// The exit along this dimension, from a switch with the ports down and up to a coordinate that is another.
    #[inline]
    pub(super) fn exit(&self, here: u64, target: &Target, ports: [PortNo; 2]) -> Exit {
        self.exit_by(here, target, ports, self.goes_up(here, target))
    }

    /// The exit in the given direction of this dimension.
    #[inline]
    pub(super) fn exit_by(&self, here: u64, target: &Target, ports: [PortNo; 2], up: bool) -> Exit {
        let higher = self.coordinate(target.place) > self.coordinate(here);
        let role = match (self.closes, up == higher) {
            (false, _) => LinkRole::Between,
            (true, false) => LinkRole::Dateline,
            (true, true) => LinkRole::Ring { continues_from: ports[usize::from(!up)] },
        };
        Exit { port: ports[usize::from(up)], role }
    }

    /// Links to the target's coordinate, going up.
    #[inline]
    pub(super) fn ahead(&self, here: u64, target: &Target) -> u32 {
        let (from, to) = (self.coordinate(here), self.coordinate(target.place));
        if to > from { to - from } else { to + self.ring - from }
    }

    #[inline]
    pub(super) fn goes_up(&self, here: u64, target: &Target) -> bool {
        let odd = if self.pair { u32::from(target.cable) } else { self.coordinate(here) % 2 };
        2 * self.ahead(here, target) < self.ring + odd
    }

    /// True if both directions round the ring are equally long.
    pub(super) fn is_tie(&self, here: u64, target: &Target) -> bool {
        2 * self.ahead(here, target) == self.ring
    }
}
