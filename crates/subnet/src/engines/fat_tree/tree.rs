//! Ranks, groups of parallel cables, and indices of the switches of a fat tree.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::is_compute_node;
use crate::engines::Options;
use crate::engines::ranked::ranks;
use crate::fabric::{Fabric, NONE, Peer};
use crate::subnet::NodeKind;
use crate::{RouteError, engines::sssp::kind};

/// Largest number of levels.
const MOST_LEVELS: u32 = 8;

/// Index of a switch: its rank, then its place on each level. OpenSM orders switches by it.
type Index = [u8; 8];

/// Index of a switch that has none.
const NO_INDEX: Index = [0xff; 8];

/// Cables to the same switch or port.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// Switch; `NONE` for an adapter.
    pub(super) switch: u32,
    /// End port of the adapter.
    pub(super) end: u32,
    /// Own port and peer's port of each cable.
    pub(super) cables: Vec<(u8, u8)>,
}

/// A fat tree.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) ranks: Vec<u32>,
    /// Groups by switch: towards lower ranks, to the same rank, towards higher ranks.
    pub(super) up: Vec<Vec<Group>>,
    pub(super) level: Vec<Vec<Group>>,
    pub(super) down: Vec<Vec<Group>>,
    /// True for switches with compute nodes.
    pub(super) is_leaf: Vec<bool>,
    /// Rank of the leaves.
    leaf_rank: u32,
    /// Leaves in the order of their indices, with switches between them.
    pub(super) leaves: Vec<usize>,
    /// Place of each switch in the order of indices.
    pub(super) places: Vec<u32>,
    /// Compute nodes, by end port.
    pub(super) compute: Vec<bool>,
    /// Largest number of compute nodes of a leaf.
    pub(super) most_compute: usize,
}

fn fail<T>(reason: impl Into<String>) -> Result<T, RouteError> {
    Err(RouteError::NotFatTree(reason.into()))
}

impl Tree {
    /// The tree of a fabric (`construct_fabric`).
    pub(super) fn new(fabric: &Fabric<'_>, options: &Options) -> Result<Self, RouteError> {
        check_size(fabric)?;
        let roots = match &options.roots {
            None => roots_above_adapters(fabric)?,
            Some(guids) => {
                let roots: Vec<usize> = guids.iter().filter_map(|&guid| fabric.find(guid)).collect();
                if roots.is_empty() {
                    return Err(RouteError::RootsAbsent);
                }
                roots
            }
        };
        let ranks = ranks(fabric, &roots);
        let most = ranks.iter().copied().max().unwrap_or(0);
        if most == 0 && fabric.len() > 1 {
            return fail("all switches have the same rank");
        }
        let guid = |end: &crate::fabric::EndPort| fabric.subnet.port(end.id).guid;
        let compute: Vec<bool> = fabric
            .ends
            .iter()
            .map(|end| kind(fabric, end) == NodeKind::Adapter && is_compute_node(options, guid(end)))
            .collect();
        let count = fabric.len();
        let mut tree = Self {
            ranks,
            up: vec![Vec::new(); count],
            level: vec![Vec::new(); count],
            down: vec![Vec::new(); count],
            is_leaf: vec![false; count],
            leaf_rank: most,
            leaves: Vec::new(),
            places: Vec::new(),
            compute,
            most_compute: 0,
        };
        (0..count).for_each(|at| tree.add_groups(fabric, at));
        tree.mark_leaves(fabric, options.roots.is_some())?;
        tree.index(fabric)?;
        if options.roots.is_none() {
            tree.validate(fabric)?;
        }
        Ok(tree)
    }

    fn add_groups(&mut self, fabric: &Fabric<'_>, at: usize) {
        for (port, peer) in fabric.peers(at).iter().enumerate() {
            let (switch, end, back) = match *peer {
                Peer::Switch(next, back) if next as usize != at => (next, NONE, back),
                Peer::End(end)
                    if end != NONE && kind(fabric, &fabric.ends[end as usize]) == NodeKind::Adapter =>
                {
                    (NONE, end, fabric.ends[end as usize].id.port)
                }
                _ => continue,
            };
            let groups = match switch {
                NONE => &mut self.down[at],
                next => match self.ranks[at].cmp(&self.ranks[next as usize]) {
                    std::cmp::Ordering::Greater => &mut self.up[at],
                    std::cmp::Ordering::Equal => &mut self.level[at],
                    std::cmp::Ordering::Less => &mut self.down[at],
                },
            };
            let cable = (port as u8, back);
            match groups.iter_mut().find(|group| group.switch == switch && group.end == end) {
                Some(group) => group.cables.push(cable),
                None => groups.push(Group { switch, end, cables: vec![cable] }),
            }
        }
    }

    /// All compute nodes must be on switches of one rank.
    fn mark_leaves(&mut self, fabric: &Fabric<'_>, roots_given: bool) -> Result<(), RouteError> {
        let mut adapters: Vec<usize> = (0..fabric.ends.len())
            .filter(|&end| self.compute[end] && fabric.ends[end].switch != NONE)
            .collect();
        adapters.sort_by_key(|&end| {
            let id = fabric.ends[end].id;
            (fabric.subnet.node(id.node).guid.map_key(), id.port)
        });
        let Some(&first) = adapters.first() else { return fail("no compute nodes") };
        if roots_given {
            self.leaf_rank = self.ranks[fabric.ends[first].switch as usize];
        }
        if !(1..MOST_LEVELS).contains(&self.leaf_rank) {
            return fail(format!("{} levels: must be 2 to {MOST_LEVELS}", self.leaf_rank + 1));
        }
        for end in adapters {
            let at = fabric.ends[end].switch as usize;
            self.is_leaf[at] = true;
            if self.ranks[at] != self.leaf_rank {
                let (name, rank) = (fabric.switch_name(at), self.ranks[at]);
                return fail(format!(
                    "{name} on level {rank} has adapters; leaves are on level {}",
                    self.leaf_rank
                ));
            }
        }
        Ok(())
    }

    /// Gives indices to the switches by a breadth-first search from the first leaf (`fabric_make_indexing`).
    fn index(&mut self, fabric: &Fabric<'_>) -> Result<(), RouteError> {
        let mut indices = vec![NO_INDEX; fabric.len()];
        let mut used: BTreeSet<Index> = BTreeSet::new();
        let Some(first) = self.is_leaf.iter().position(|&leaf| leaf) else { return fail("no leaves") };
        indices[first][0] = self.ranks[first] as u8;
        indices[first][1..=self.leaf_rank as usize].fill(0);
        used.insert(indices[first]);
        let mut queue = VecDeque::from([first]);
        while let Some(at) = queue.pop_front() {
            let rank = self.ranks[at];
            if rank < self.leaf_rank {
                for slot in 0..self.down[at].len() {
                    let next = self.down[at][slot].switch;
                    if next != NONE && indices[next as usize] == NO_INDEX {
                        indices[next as usize] = free_index(indices[at], rank + 1, rank + 1, &mut used)?;
                        queue.push_back(next as usize);
                    }
                }
                self.down[at].sort_by_key(|group| index_of(group, &indices));
            }
            if rank != 0 {
                for slot in 0..self.up[at].len() {
                    let next = self.up[at][slot].switch as usize;
                    if indices[next] == NO_INDEX {
                        indices[next] = free_index(indices[at], rank - 1, rank, &mut used)?;
                        queue.push_back(next);
                    }
                }
                self.up[at].sort_by_key(|group| index_of(group, &indices));
            }
        }
        self.order_leaves(fabric, &indices)
    }

    fn order_leaves(&mut self, fabric: &Fabric<'_>, indices: &[Index]) -> Result<(), RouteError> {
        let mut bottom: Vec<usize> =
            (0..fabric.len()).filter(|&at| self.ranks[at] == self.leaf_rank).collect();
        bottom.sort_by_key(|&at| indices[at]);
        let first = bottom.iter().position(|&at| self.is_leaf[at]);
        let last = bottom.iter().rposition(|&at| self.is_leaf[at]);
        match first.zip(last).filter(|(first, last)| first < last) {
            Some((first, last)) => self.leaves = bottom[first..=last].to_vec(),
            None => return fail("fewer than two leaves"),
        }
        // equal indices (of switches without any) keep equal places
        let distinct: BTreeMap<Index, u32> = indices
            .iter()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .zip(0..)
            .map(|(index, place)| (*index, place))
            .collect();
        self.places = indices.iter().map(|index| distinct[index]).collect();
        let compute = |group: &&Group| group.switch == NONE && self.compute[group.end as usize];
        let most = self.leaves.iter().map(|&at| self.down[at].iter().filter(compute).count()).max();
        self.most_compute = most.unwrap_or(0);
        Ok(())
    }

    /// Switches of a rank must be alike (`fabric_validate_topology`).
    fn validate(&self, fabric: &Fabric<'_>) -> Result<(), RouteError> {
        let mut reference: BTreeMap<u32, usize> = BTreeMap::new();
        for at in 0..fabric.len() {
            let rank = self.ranks[at];
            let like = *reference.entry(rank).or_insert(at);
            let is_leaf = rank == self.leaf_rank;
            let cables = |groups: &[Group]| groups.first().map_or(0, |group| group.cables.len());
            let differs = self.up[at].len() != self.up[like].len()
                || (!is_leaf && self.down[at].len() != self.down[like].len())
                || self.up[at].iter().any(|group| group.cables.len() != cables(&self.up[like]))
                || (!is_leaf && cables(&self.down[at]) != cables(&self.down[like]));
            if differs && at != like {
                let (one, other) = (fabric.switch_name(at), fabric.switch_name(like));
                return fail(format!(
                    "{one} and {other} on level {rank} have different cables; give roots to allow it"
                ));
            }
        }
        Ok(())
    }
}

fn check_size(fabric: &Fabric<'_>) -> Result<(), RouteError> {
    if fabric.ends.iter().any(|end| end.lmc > 0) {
        return fail("an LMC above 0 is not supported");
    }
    if fabric.len() < 2 {
        return fail("fewer than two switches");
    }
    let adapters = fabric.subnet.nodes.iter().filter(|node| node.kind == NodeKind::Adapter).count();
    if adapters < 2 {
        return fail("fewer than two adapters");
    }
    let is_direct =
        |end: &&crate::fabric::EndPort| end.switch == NONE && kind(fabric, end) == NodeKind::Adapter;
    match fabric.ends.iter().find(is_direct) {
        Some(end) => {
            fail(format!("{} is connected to no switch", crate::subnet::port_name(fabric.subnet, end.id)))
        }
        None => Ok(()),
    }
}

/// Switches that are farthest from all adapters (`fabric_rank_from_hcas`).
fn roots_above_adapters(fabric: &Fabric<'_>) -> Result<Vec<usize>, RouteError> {
    let has_adapter = |&at: &usize| {
        fabric.end_links(at).any(|(_, end)| kind(fabric, &fabric.ends[end]) == NodeKind::Adapter)
    };
    let leaves: Vec<usize> = (0..fabric.len()).filter(has_adapter).collect();
    if leaves.is_empty() {
        return fail("no switch has an adapter");
    }
    let heights = ranks(fabric, &leaves);
    let most = heights.iter().copied().max().unwrap_or(0);
    Ok((0..fabric.len()).filter(|&at| heights[at] == most).collect())
}

fn index_of(group: &Group, indices: &[Index]) -> Index {
    if group.switch == NONE { NO_INDEX } else { indices[group.switch as usize] }
}

/// The first free index on level `rank` that differs from `from` at `varied` only.
fn free_index(from: Index, rank: u32, varied: u32, used: &mut BTreeSet<Index>) -> Result<Index, RouteError> {
    let mut index = from;
    index[0] = rank as u8;
    for value in 0..0xff {
        index[varied as usize] = value;
        if used.insert(index) {
            return Ok(index);
        }
    }
    fail("more than 255 switches differ in one place of their index")
}
