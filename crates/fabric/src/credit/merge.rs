use fabricsim_units::{ByteTime, Time};

use super::{Node, Ramp};
use crate::NONE;

/// Ramps that are merged block by block; more than these overlap only where buffers are read by many outputs at once.
pub(super) const FEW: usize = 4;

/// A few ramps of a lane that overlap in time, and how many blocks of each are counted.
pub(super) struct Merge {
    unit: u32,
    pub(super) len: usize,
    nodes: [Node; FEW],
    /// At least the number that is taken.
    counted: [u32; FEW],
}

impl Merge {
    pub(super) fn new(unit: u32) -> Self {
        let ramp = Ramp { base: Time::ZERO, byte_time: ByteTime::default(), bytes: 0, blocks: 0 };
        let nothing = Node { ramp, end: Time::ZERO, taken: 0, next: NONE };
        Self { unit, len: 0, nodes: [nothing; FEW], counted: [0; FEW] }
    }

    /// Adds a ramp; false if there is no room for more.
    pub(super) fn add(&mut self, node: &Node) -> bool {
        self.nodes[self.len] = *node;
        self.counted[self.len] = node.taken;
        self.len += 1;
        self.len < FEW
    }

    fn nodes(&self) -> &[Node] {
        &self.nodes[..self.len]
    }

    pub(super) fn left(&self) -> u32 {
        self.nodes().iter().map(|node| node.ramp.blocks - node.taken).sum()
    }

    /// A time by which about `missing` blocks are free: as if they came evenly while the first ramp that has them all
    /// lasts.
    pub(super) fn guess(&self, missing: u32) -> Time {
        let has_all = |node: &&Node| node.ramp.blocks - node.taken >= missing;
        let times = self.nodes().iter().filter(has_all);
        let whole = times.map(|node| node.ramp.time_of(node.taken + missing, self.unit)).min();
        let whole = whole.or_else(|| self.nodes().iter().map(|node| node.end).max()).unwrap_or_default();
        let from = self.nodes().iter().map(|node| node.ramp.time_of(node.taken, self.unit)).min();
        let from = from.unwrap_or_default().min(whole);
        let by_then = self.nodes().iter().map(|n| n.free_at(whole, self.unit).saturating_sub(n.taken)).sum();
        let by_then: u32 = u32::max(by_then, missing);
        from + Time((whole - from).0 / u64::from(by_then) * u64::from(missing))
    }

    /// Counts the blocks that are free by `time`.
    pub(super) fn count_by(&mut self, time: Time) {
        for (node, counted) in self.nodes.iter().zip(&mut self.counted).take(self.len) {
            *counted = node.free_at(time, self.unit).max(node.taken);
        }
    }

    /// Counts on, or back, until exactly `missing` are counted that have not been taken, the earliest ones; the time of
    /// the last of them.
    pub(super) fn step_to(&mut self, missing: u32) -> Time {
        let mut count: u32 =
            self.nodes().iter().zip(&self.counted).map(|(node, counted)| counted - node.taken).sum();
        while count < missing {
            let (_, next) = self.next();
            self.counted[next] += 1;
            count += 1;
        }
        loop {
            let (time, last) = self.last();
            if count == missing {
                return time;
            }
            self.counted[last] -= 1;
            count -= 1;
        }
    }

    /// The earliest block that is not counted: its time and ramp.
    fn next(&self) -> (Time, usize) {
        let times = (0..self.len).filter(|&i| self.counted[i] < self.nodes[i].ramp.blocks);
        let times = times.map(|i| (self.nodes[i].ramp.time_of(self.counted[i] + 1, self.unit), i));
        times.min().unwrap_or_default()
    }

    /// The latest block that is counted and was not taken.
    fn last(&self) -> (Time, usize) {
        let times = (0..self.len).filter(|&i| self.counted[i] > self.nodes[i].taken);
        times.map(|i| (self.nodes[i].ramp.time_of(self.counted[i], self.unit), i)).max().unwrap_or_default()
    }
}
