//! A grid with failed links, as the construction of the tables sees it.

use fabricsim_topology::{Graph, GridShape, Node};
use fabricsim_units::{LinkId, PortNo, SwitchId};

use crate::wiring::beyond;

/// Stands for a switch that is not there.
const NONE: u32 = u32::MAX;

/// A grid. A direction is `2 d` towards lower coordinates of dimension `d`, `2 d + 1` towards higher ones; its
/// opposite differs in the lowest bit.
#[derive(Debug)]
pub(super) struct Grid<'a> {
    pub(super) graph: &'a Graph,
    pub(super) shape: &'a GridShape,
    /// Two for each dimension.
    pub(super) directions: usize,
    /// The switch behind each direction of each switch; [`NONE`] without a link, or where it has failed.
    next: Vec<u32>,
    /// True if any link has failed.
    pub(super) is_hurt: bool,
    /// True if any has failed on the line of a switch along a dimension.
    hurt: Vec<bool>,
}

impl<'a> Grid<'a> {
    pub(super) fn new(graph: &'a Graph, shape: &'a GridShape, failed: &[LinkId]) -> Self {
        let directions = 2 * shape.dimensions.len();
        let switches = (0..graph.switches.len() as u32).map(SwitchId);
        let behind = |at: SwitchId, direction: usize| {
            let port = shape.port(at, direction / 2, direction % 2 == 1)?;
            let link = graph.switches[at.index()].ports[port.index()];
            match beyond(graph, at, port)?.node {
                Node::Switch(next) if failed.binary_search(&link).is_err() => Some(next.0),
                _ => None,
            }
        };
        let next = switches.flat_map(|at| (0..directions).map(move |d| behind(at, d).unwrap_or(NONE)));
        let hurt = vec![false; graph.switches.len() * shape.dimensions.len()];
        let mut grid =
            Self { graph, shape, directions, next: next.collect(), is_hurt: !failed.is_empty(), hurt };
        let ends = if failed.is_empty() { 0 } else { graph.switches.len() as u32 };
        for at in (0..ends).map(SwitchId) {
            for direction in 0..directions as u8 {
                if grid.port(at, direction).is_some() && grid.next(at, direction).is_none() {
                    grid.hurt_from(at, direction);
                }
            }
        }
        grid
    }

    /// Marks the line whose link from `end` has failed, back to its other end.
    fn hurt_from(&mut self, end: SwitchId, direction: u8) {
        let mut at = Some(end);
        while let Some(here) = at {
            self.hurt[here.index() * self.directions / 2 + usize::from(direction / 2)] = true;
            at = self.next(here, direction ^ 1);
        }
    }

    /// True if a link has failed on the line of a switch along a dimension.
    pub(super) fn is_hurt_line(&self, at: SwitchId, dimension: usize) -> bool {
        self.hurt[at.index() * self.directions / 2 + dimension]
    }

    /// True if a link has failed on any line of a switch.
    pub(super) fn is_hurt_at(&self, at: SwitchId) -> bool {
        (0..self.directions / 2).any(|dimension| self.is_hurt_line(at, dimension))
    }

    /// Number of switches.
    pub(super) fn len(&self) -> usize {
        self.graph.switches.len()
    }

    /// The switch behind the link in a direction, unless there is none or it has failed.
    pub(super) fn next(&self, at: SwitchId, direction: u8) -> Option<SwitchId> {
        let next = self.next[at.index() * self.directions + usize::from(direction)];
        (next != NONE).then_some(SwitchId(next))
    }

    /// The port in a direction, also where its link has failed.
    pub(super) fn port(&self, at: SwitchId, direction: u8) -> Option<PortNo> {
        self.shape.port(at, usize::from(direction / 2), direction % 2 == 1)
    }

    pub(super) fn coordinate(&self, at: SwitchId, dimension: usize) -> u32 {
        self.graph.switches[at.index()].coordinates[dimension]
    }

    pub(super) fn radix(&self, dimension: usize) -> u32 {
        self.shape.dimensions[dimension]
    }

    /// True if the link in a direction leads over the dateline, between the highest coordinate and 0.
    pub(super) fn crosses(&self, at: SwitchId, direction: u8) -> bool {
        let dimension = usize::from(direction / 2);
        let edge = if direction % 2 == 1 { self.radix(dimension) - 1 } else { 0 };
        self.shape.wrap[dimension] && self.coordinate(at, dimension) == edge
    }

    /// Links between two coordinates of a dimension by the shorter direction.
    pub(super) fn distance(&self, dimension: usize, a: u32, b: u32) -> u32 {
        let straight = a.abs_diff(b);
        if self.shape.wrap[dimension] { straight.min(self.radix(dimension) - straight) } else { straight }
    }

    /// Directions and names, in the usual order: `-x`, `+x`, `-y` ...; beyond z the dimension's number.
    pub(super) fn direction_name(direction: u8) -> String {
        let sign = if direction % 2 == 1 { '+' } else { '-' };
        match direction / 2 {
            d @ 0..=2 => format!("{sign}{}", char::from(b"xyz"[usize::from(d)])),
            d => format!("{sign}{d}"),
        }
    }
}
