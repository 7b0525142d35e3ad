//! Switches of which all have their routes to a destination.
//!
//! In a tree, many switches of a level have the same switches below them, and the first of these that is visited routes them all. A
//! visit to any other finds nothing to do, so that it is left out: without its loop over all groups, which was most of the time.

use std::collections::BTreeMap;

use super::tree::Tree;
use crate::engines::NO_PATH;
use crate::fabric::NONE;

/// The switches below a switch, which may be those below others, too.
#[derive(Debug, Clone, Copy)]
struct Set {
    /// Destination for which `hops` is valid.
    destination: u32,
    /// All switches of the set have routes of at most one hop more.
    hops: u8,
}

/// What is below a switch.
#[derive(Debug, Clone, Copy)]
struct Below {
    set: u32,
    has_adapter: bool,
    /// True if the switch has cables to others of its level, which are not part of the set.
    has_level: bool,
}

/// Sets of switches below a switch, and which of them have their routes.
#[derive(Debug)]
pub(super) struct Subtrees {
    below: Vec<Below>,
    sets: Vec<Set>,
    /// Number of the destination being routed, from 1.
    destination: u32,
    /// True if visits of the destination may be left out.
    enabled: bool,
    /// True if visits of any destination may.
    leaves_out: bool,
}

impl Subtrees {
    pub(super) fn new(tree: &Tree) -> Self {
        let mut numbers: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let mut below = Vec::with_capacity(tree.down.len());
        for (groups, level) in tree.down.iter().zip(&tree.level) {
            let mut switches: Vec<u32> =
                groups.iter().map(|group| group.switch).filter(|&switch| switch != NONE).collect();
            switches.sort_unstable();
            let has_adapter = switches.len() < groups.len();
            let next = numbers.len() as u32;
            let set = *numbers.entry(switches).or_insert(next);
            below.push(Below { set, has_adapter, has_level: !level.is_empty() });
        }
        let sets = vec![Set { destination: 0, hops: NO_PATH }; numbers.len()];
        Self { below, sets, destination: 0, enabled: true, leaves_out: true }
    }

    /// Sets that are never found routed.
    #[cfg(test)]
    pub(super) fn leaving_out_none(tree: &Tree) -> Self {
        let mut subtrees = Self::new(tree);
        subtrees.leaves_out = false;
        subtrees
    }

    /// Begins a destination, to which no switch has a route yet.
    pub(super) fn clear(&mut self) {
        self.destination += 1;
        self.enabled = self.leaves_out;
    }

    /// Forgets all routes, and those to come of this destination: a route has become longer.
    pub(super) fn disable(&mut self) {
        self.enabled = false;
    }

    /// True if a visit to a switch at `hops` would find a route, not a longer one, at every switch below and beside it.
    pub(super) fn are_routed(&self, at: usize, hops: u8) -> bool {
        let below = self.below[at];
        let set = self.sets[below.set as usize];
        self.enabled
            && !below.has_level
            && set.destination == self.destination
            && set.hops <= hops
            && hops != NO_PATH
    }

    /// A visit to a switch at `hops` has ended.
    pub(super) fn mark(&mut self, at: usize, hops: u8) {
        self.sets[self.below[at].set as usize] = Set { destination: self.destination, hops };
    }

    pub(super) fn has_adapter(&self, at: usize) -> bool {
        self.below[at].has_adapter
    }
}
