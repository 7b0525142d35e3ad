//! Service levels of paths.

use crate::Subnet;
use crate::fabric::Fabric;

/// Number of service levels.
pub(crate) const LEVELS: usize = 16;

/// Service level of every path: by the switch of its source, and the LID of its destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathSls {
    /// Number of LIDs, 0 included.
    width: usize,
    /// Base level by source switch, then LID.
    base: Vec<u8>,
    /// Number of consecutive levels over which the paths of a base level spread.
    shares: [u8; LEVELS],
}

impl PathSls {
    /// Levels by a function of source switch and LID.
    pub(crate) fn new(fabric: &Fabric<'_>, level: impl Fn(usize, usize) -> u8, shares: [u8; LEVELS]) -> Self {
        let width = usize::from(fabric.max_lid()) + 1;
        let base = (0..fabric.len()).flat_map(|at| (0..width).map(move |lid| (at, lid)));
        Self { width, base: base.map(|(at, lid)| level(at, lid)).collect(), shares }
    }

    /// Base level of the paths from a switch (row of the tables) to a LID.
    pub fn base(&self, switch: usize, lid: u16) -> u8 {
        self.base.get(switch * self.width + usize::from(lid)).copied().unwrap_or(0)
    }

    /// Level of the path between two LIDs, the source at the given switch (row of the tables). Where OpenSM draws one of several equal
    /// levels at random, this is `base + (source + destination) mod share`.
    pub fn level(&self, switch: usize, source: u16, destination: u16) -> u8 {
        let base = self.base(switch, destination);
        let share = u32::from(self.shares[usize::from(base) % LEVELS]);
        base + ((u32::from(source) + u32::from(destination)) % share) as u8
    }

    /// Levels over which the paths of a base level spread: `base..base + share`.
    pub fn share(&self, base: u8) -> u8 {
        self.shares[usize::from(base) % LEVELS]
    }

    /// Largest level in use.
    pub fn most(&self) -> u8 {
        self.base.iter().map(|&base| base + self.share(base) - 1).max().unwrap_or(0)
    }

    /// Sources of paths: the row of the switch of each port with LIDs.
    pub fn source_row(subnet: &Subnet, port: crate::PortId, rows: &[crate::NodeId]) -> Option<usize> {
        let node = subnet.node(port.node);
        let switch = if node.is_switch() { port.node } else { subnet.port(port).peer?.node };
        rows.iter().position(|&row| row == switch)
    }
}
