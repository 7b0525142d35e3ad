//! Turns that packets may take: those of dimension order, and at some routers others that close no circle.
//!
//! A turn model (Glass, Ni 1994) forbids turns so that packets cannot wait for each other in a circle. Here the
//! turns of dimension order are allowed everywhere. Others are allowed one at a time, at the router where a detour
//! needs one, each only if the dependencies among all channels that the allowed turns make have no circle with it.
//! A channel is a link's direction or, in a dimension that wraps, its lower or its upper lanes: packets begin a
//! dimension on the lower ones and move to the upper as they cross the dateline. No packet goes further along a whole
//! ring than the longest route of dimension order there, so that the upper lanes are not used all around it.

use std::collections::BTreeMap;

use fabricsim_units::SwitchId;

use super::grid::Grid;
use super::layout::Layout;

/// Known state of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It may be taken.
    Allowed,
    /// Nobody has asked yet.
    Unknown,
    /// It would close a circle, or lead back.
    Forbidden,
}

/// The turns that are allowed so far.
pub(super) struct Turns<'a> {
    grid: &'a Grid<'a>,
    /// Of each dimension its place in the order.
    rank: Vec<usize>,
    /// Of each dimension the most links that packets go along a ring that is whole; none where it does not wrap.
    longest: Vec<Option<u32>>,
    /// Decisions about other turns than those of dimension order: at a router, from and to a direction.
    decided: BTreeMap<(SwitchId, u8, u8), bool>,
    /// Round in which each channel was last visited.
    seen: Vec<u32>,
    round: u32,
}

/// Channel of the upper (`true`) or lower lanes of a direction from a switch.
type Channel = (SwitchId, u8, bool);

impl<'a> Turns<'a> {
    pub(super) fn new(grid: &'a Grid<'a>, layout: &Layout, order: &[usize]) -> Self {
        let mut rank = vec![0; order.len()];
        for (place, &dimension) in order.iter().enumerate() {
            rank[dimension] = place;
        }
        let seen = vec![0; 2 * grid.directions * grid.len()];
        let longest = |d| {
            let (radix, block) = (grid.radix(d), layout.longest_block(d));
            // To the nearer end of a block, and through it.
            let divided = (radix + 1 - block) / 2 + block - 1;
            grid.shape.wrap[d].then_some(if layout.divides(d) { divided } else { radix / 2 })
        };
        let longest = (0..order.len()).map(longest).collect();
        Self { grid, rank, longest, decided: BTreeMap::new(), seen, round: 0 }
    }

    /// The most links that packets may go straight on along a switch's line.
    pub(super) fn longest(&self, at: SwitchId, direction: u8) -> u32 {
        let dimension = usize::from(direction / 2);
        let longest = self.longest[dimension].filter(|_| !self.grid.is_hurt_line(at, dimension));
        longest.unwrap_or(u32::MAX)
    }

    /// True if packets on the upper lanes may go straight on. (They came over the dateline, which they do once.)
    fn goes_on(&self, at: SwitchId, direction: u8) -> bool {
        let dimension = usize::from(direction / 2);
        let here = self.grid.coordinate(at, dimension);
        let since = if direction % 2 == 1 { here } else { self.grid.radix(dimension) - 1 - here };
        !self.grid.crosses(at, direction) && since.saturating_add(2) <= self.longest(at, direction)
    }

    /// State of the turn of packets that come in by `input` (`None`: from a host) and leave by `output`.
    pub(super) fn of(&self, at: SwitchId, input: Option<u8>, output: u8) -> Turn {
        let Some(input) = input.filter(|&input| input != output) else { return Turn::Allowed };
        if input == output ^ 1 {
            return Turn::Forbidden;
        }
        if self.rank(input) < self.rank(output) {
            return Turn::Allowed;
        }
        match self.decided.get(&(at, input, output)) {
            Some(true) => Turn::Allowed,
            Some(false) => Turn::Forbidden,
            None => Turn::Unknown,
        }
    }

    fn rank(&self, direction: u8) -> usize {
        self.rank[usize::from(direction / 2)]
    }

    /// Allows an unknown turn, unless it closes a circle. True if it is allowed now.
    pub(super) fn allow(&mut self, at: SwitchId, input: u8, output: u8) -> bool {
        let Some(before) = self.grid.next(at, input ^ 1) else { return false };
        let closes = self.reaches((at, output, self.grid.crosses(at, output)), (before, input));
        self.decided.insert((at, input, output), !closes);
        !closes
    }

    /// True if there is a chain of dependencies from a channel to one of a direction's.
    fn reaches(&mut self, from: Channel, to: (SwitchId, u8)) -> bool {
        self.round += 1;
        let mut stack = Vec::new();
        self.visit(from, &mut stack);
        while let Some((from, input, upper)) = stack.pop() {
            if (from, input) == to {
                return true;
            }
            let Some(at) = self.grid.next(from, input) else { continue };
            for output in 0..self.grid.directions as u8 {
                if self.grid.next(at, output).is_none() || self.of(at, Some(input), output) != Turn::Allowed {
                    continue;
                }
                let crosses = self.grid.crosses(at, output);
                if input != output {
                    self.visit((at, output, crosses), &mut stack);
                } else if !upper || self.goes_on(at, output) {
                    self.visit((at, output, upper || crosses), &mut stack);
                }
            }
        }
        false
    }

    fn visit(&mut self, channel: Channel, stack: &mut Vec<Channel>) {
        let (at, direction, upper) = channel;
        let place = (at.index() * self.grid.directions + usize::from(direction)) * 2 + usize::from(upper);
        if self.seen[place] != self.round {
            self.seen[place] = self.round;
            stack.push(channel);
        }
    }
}
