//! The tables themselves while they are made: a byte an entry.

use std::collections::BTreeMap;

use fabricsim_units::SwitchId;

use super::grid::Grid;
use super::layout::{Layout, MOST_PARTITIONS};
use super::lines::Lines;

/// Entry of a router for itself.
pub(super) const HERE: u8 = 0x7f;

/// Entries from here on are numbers of rules: the direction depends on the input port.
pub(super) const RULE: u8 = 0x80;

/// Entries of a global table.
pub(super) const GLOBAL: usize = MOST_PARTITIONS as usize;

/// Query to a router: the target of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// To a partition that the router is not in.
    Partition(u16),
    /// To a switch of the router's own partition.
    Switch(SwitchId),
}

/// Outputs of packets that come in by each direction (the last entry: those of the router's own hosts).
pub(super) type Rule = Vec<u8>;

/// Global and local tables of all routers. Routers at the same place of partitions alike share their local table.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    /// Entries of a local table.
    pub(super) entries: usize,
    /// The local tables, one after the other, and where each router's begins.
    pub(super) local: Vec<u8>,
    pub(super) begins: Vec<usize>,
    /// True if a router shares its local table.
    shares: Vec<bool>,
    /// [`GLOBAL`] entries for each router.
    pub(super) global: Vec<u8>,
    /// Partition and local entry of each switch.
    pub(super) numbers: Vec<(u16, u16)>,
    /// Rules of the routers that have some.
    pub(super) rules: BTreeMap<SwitchId, Vec<Rule>>,
}

impl Tables {
    /// Tables by [`Lines`].
    pub(super) fn new(lines: &Lines<'_>) -> Self {
        let (grid, layout) = (lines.grid, lines.layout);
        let switches = &grid.graph.switches;
        let mut tables = Self {
            entries: layout.entries(),
            local: Vec::new(),
            begins: Vec::with_capacity(switches.len()),
            shares: Vec::with_capacity(switches.len()),
            global: vec![HERE; GLOBAL * switches.len()],
            numbers: switches.iter().map(|switch| layout.number(&switch.coordinates)).collect(),
            rules: BTreeMap::new(),
        };
        let mut known = BTreeMap::new();
        for at in (0..switches.len() as u32).map(SwitchId) {
            tables.fill_global(lines, at);
            let (partition, entry) = tables.numbers[at.index()];
            let shares = !grid.is_hurt_at(at);
            let next = tables.local.len();
            let begin = if shares {
                *known.entry((lengths(grid, layout, partition), entry)).or_insert(next)
            } else {
                next
            };
            if begin == next {
                let end = next + tables.entries;
                tables.local.resize(end, HERE);
                fill_local(lines, at, partition, &mut tables.local[begin..]);
            }
            tables.begins.push(begin);
            tables.shares.push(shares);
        }
        tables
    }

    fn fill_global(&mut self, lines: &Lines<'_>, at: SwitchId) {
        let own = self.numbers[at.index()].0;
        for partition in (0..lines.layout.partitions()).filter(|&partition| partition != own) {
            self.global[GLOBAL * at.index() + usize::from(partition)] =
                lines.towards_partition(at, partition);
        }
    }

    fn place(&self, at: SwitchId, target: Target) -> usize {
        match target {
            Target::Partition(partition) => GLOBAL * at.index() + usize::from(partition),
            Target::Switch(to) => self.begins[at.index()] + usize::from(self.numbers[to.index()].1),
        }
    }

    /// The entry of a router.
    pub(super) fn entry(&self, at: SwitchId, target: Target) -> u8 {
        match target {
            Target::Partition(_) => self.global[self.place(at, target)],
            Target::Switch(_) => self.local[self.place(at, target)],
        }
    }

    /// The direction of packets that come in by a direction, or from the router's hosts.
    pub(super) fn direction(&self, at: SwitchId, input: Option<u8>, target: Target) -> u8 {
        let entry = self.entry(at, target);
        if entry < RULE {
            return entry;
        }
        let rule = &self.rules[&at][usize::from(entry - RULE)];
        rule[input.map_or(rule.len() - 1, usize::from)]
    }

    /// Sets an entry.
    pub(super) fn set(&mut self, at: SwitchId, target: Target, entry: u8) {
        if self.entry(at, target) == entry {
            return;
        }
        if matches!(target, Target::Switch(_)) && std::mem::take(&mut self.shares[at.index()]) {
            let begin = self.begins[at.index()];
            self.begins[at.index()] = self.local.len();
            self.local.extend_from_within(begin..begin + self.entries);
        }
        let place = self.place(at, target);
        match target {
            Target::Partition(_) => self.global[place] = entry,
            Target::Switch(_) => self.local[place] = entry,
        }
    }

    /// Sets an entry that depends on the input; `false` if the router has no room for another rule.
    pub(super) fn set_rule(&mut self, at: SwitchId, target: Target, rule: Rule) -> bool {
        let rules = self.rules.entry(at).or_default();
        let number = rules.iter().position(|known| *known == rule).unwrap_or_else(|| {
            rules.push(rule);
            rules.len() - 1
        });
        if number > usize::from(u8::MAX - RULE) {
            return false;
        }
        self.set(at, target, RULE + number as u8);
        true
    }
}

/// Lengths of a partition in all dimensions.
fn lengths(grid: &Grid<'_>, layout: &Layout, partition: u16) -> Vec<u32> {
    let length = |d: usize| {
        let (first, end) = layout.range(partition, d);
        end - first
    };
    (0..grid.directions / 2).map(length).collect()
}

/// Fills a router's local table: the first dimension that differs decides.
fn fill_local(lines: &Lines<'_>, at: SwitchId, partition: u16, table: &mut [u8]) {
    let grid = lines.grid;
    let dimensions = grid.directions / 2;
    let ranges: Vec<(u32, u32)> = (0..dimensions).map(|d| lines.layout.range(partition, d)).collect();
    // By dimension, place in the block, and parity of the entry.
    let routes: Vec<Vec<[u8; 2]>> = (0..dimensions)
        .map(|d| {
            let here = grid.coordinate(at, d);
            let route = |to: u32, odd| if to == here { HERE } else { lines.towards(at, d, to, odd) };
            (ranges[d].0..ranges[d].1).map(|to| [route(to, false), route(to, true)]).collect()
        })
        .collect();
    let count: usize = routes.iter().map(Vec::len).product();
    let mut place = vec![0; dimensions];
    for (entry, cell) in table.iter_mut().take(count).enumerate() {
        let odd = entry.count_ones() as usize % 2;
        let routes = lines.order.iter().map(|&d| routes[d][place[d]][odd]);
        *cell = routes.into_iter().find(|&route| route != HERE).unwrap_or(HERE);
        for (at, (first, end)) in place.iter_mut().zip(&ranges) {
            *at += 1;
            if *at < (end - first) as usize {
                break;
            }
            *at = 0;
        }
    }
}
