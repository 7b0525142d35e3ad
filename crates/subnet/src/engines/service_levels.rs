//! Service levels of paths.

use crate::fabric::{Fabric, NONE};

/// Number of service levels.
pub(crate) const LEVELS: usize = 16;

/// No level yet, while a file is read.
const NO_LEVEL: u8 = u8::MAX;

/// Service level of every path. Sources that share their levels form a group: those of a switch, where an engine assigns the levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathSls {
    /// Number of LIDs, 0 included.
    width: usize,
    /// Group of each source LID.
    groups: Vec<u32>,
    /// Base level by group, then LID of the destination.
    base: Vec<u8>,
    /// Number of consecutive levels over which the paths of a base level spread.
    shares: [u8; LEVELS],
}

impl PathSls {
    /// Levels by a function of source switch and LID.
    pub(crate) fn new(fabric: &Fabric<'_>, level: impl Fn(usize, usize) -> u8, shares: [u8; LEVELS]) -> Self {
        let width = usize::from(fabric.max_lid()) + 1;
        let base = (0..fabric.len()).flat_map(|at| (0..width).map(move |lid| (at, lid)));
        let base = base.map(|(at, lid)| level(at, lid)).collect();
        let group = |&end: &u32| if end == NONE { NONE } else { fabric.ends[end as usize].switch };
        Self { width, groups: fabric.lid_ends.iter().map(group).collect(), base, shares }
    }

    /// Levels of the paths from the given sources, all 0: LIDs of each source, largest LID.
    pub(crate) fn of_sources(sources: &[std::ops::Range<u32>], max_lid: u16) -> Self {
        let width = usize::from(max_lid) + 1;
        let mut groups = vec![NONE; width];
        for (group, lids) in sources.iter().enumerate() {
            for lid in lids.clone() {
                if let Some(slot) = groups.get_mut(lid as usize) {
                    *slot = group as u32;
                }
            }
        }
        Self { width, groups, base: vec![0; sources.len() * width], shares: [1; LEVELS] }
    }

    /// No path has a level, until [`PathSls::set`] or [`PathSls::settle`].
    pub(crate) fn name_none(&mut self) {
        self.base.fill(NO_LEVEL);
    }

    /// Gives the paths of a group to a LID level 0 if they have none. True if they had none.
    pub(crate) fn settle(&mut self, group: usize, lid: u16) -> bool {
        let level = &mut self.base[group * self.width + usize::from(lid)];
        let had_none = *level == NO_LEVEL;
        if had_none {
            *level = 0;
        }
        had_none
    }

    /// Sets the level of the paths of a group to a LID. Returns another level that they have already.
    pub(crate) fn set(&mut self, group: usize, lid: u16, level: u8) -> Option<u8> {
        if usize::from(lid) >= self.width {
            return None;
        }
        let before = std::mem::replace(&mut self.base[group * self.width + usize::from(lid)], level);
        (before != NO_LEVEL && before != level).then_some(before)
    }

    /// Group of a source LID.
    pub(crate) fn group(&self, source: usize) -> usize {
        self.groups.get(source).map_or(usize::MAX, |&group| group as usize)
    }

    /// Base level of the paths from a source LID to a LID.
    pub fn base(&self, source: u16, destination: u16) -> u8 {
        let (group, lid) = (self.group(usize::from(source)), usize::from(destination));
        if lid >= self.width {
            return 0;
        }
        group.checked_mul(self.width).and_then(|row| self.base.get(row + lid)).copied().unwrap_or(0)
    }

    /// Level of the path between two LIDs. Where OpenSM draws one of several equal levels at random, this is
    /// `base + (source + destination) mod share`.
    pub fn level(&self, source: u16, destination: u16) -> u8 {
        let base = self.base(source, destination);
        base + ((u32::from(source) + u32::from(destination)) % u32::from(self.share(base))) as u8
    }

    /// Levels that some path has, in ascending order.
    pub(crate) fn levels(&self) -> impl Iterator<Item = u8> + use<> {
        let mut used = [false; LEVELS];
        for &base in &self.base {
            let levels = usize::from(base)..usize::from(base + self.share(base)).min(LEVELS);
            used[levels].fill(true);
        }
        (0..LEVELS as u8).filter(move |&level| used[usize::from(level)])
    }

    /// Number of levels over which the paths of a base level spread: `base..base + share`.
    pub fn share(&self, base: u8) -> u8 {
        self.shares[usize::from(base) % LEVELS].max(1)
    }
}
