//! Paths of a fat tree, destination by destination.

use super::subtrees::Subtrees;
use super::tree::{Group, Tree};
use crate::engines::{NO_PATH, NO_PORT};
use crate::fabric::{Fabric, NONE};
use crate::subnet::NodeKind;
use crate::{Tables, engines::sssp::kind};

/// Side of a block of the transposition.
const BLOCK: usize = 64;

/// No switch: a walk begins.
const NOWHERE: usize = usize::MAX;

/// Switch of groups that lead to an adapter.
const ADAPTER: u16 = u16::MAX;

/// Groups of a switch in their present order, which balancing changes.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: u32,
    len: u32,
}

impl Span {
    fn slots(self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.len) as usize
    }
}

/// A group with its loads: 16 bytes, since all groups are visited for every destination.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// Switch (each has a LID, so there are fewer than 2^16); `ADAPTER` for an adapter.
    switch: u16,
    /// Place of the switch in the order of indices.
    place: u16,
    /// Routes up and down.
    up: u32,
    down: u32,
    /// First of its cables in the lower 24 bits, their number in the upper 8.
    cables: u32,
}

impl Load {
    /// Order of groups for routes up.
    fn up_key(&self) -> u64 {
        u64::from(self.up) << 16 | u64::from(self.place)
    }

    fn cables(&self) -> std::ops::Range<usize> {
        let first = (self.cables & 0xff_ffff) as usize;
        first..first + (self.cables >> 24) as usize
    }
}

/// A cable with its loads.
#[derive(Debug, Clone, Copy)]
struct Cable {
    /// Port of the group's switch at the other end.
    far: u8,
    up: u32,
    down: u32,
}

/// State of the routing.
pub(super) struct Router<'a> {
    fabric: &'a Fabric<'a>,
    tree: Tree,
    groups: Vec<Load>,
    cables: Vec<Cable>,
    up: Vec<Span>,
    level: Vec<Span>,
    down: Vec<Span>,
    /// Least number of routes down a group, by switch: brought up to date now and then only.
    least_down: Vec<u32>,
    up_changed: Vec<bool>,
    /// True for switches with nothing but adapters below.
    is_bottom: Vec<bool>,
    /// Sets of switches below a switch that all have their routes to the destination.
    subtrees: Subtrees,
    /// Table and hops of the destination being routed, by switch.
    port: Vec<u8>,
    hops: Vec<u8>,
    /// Finished tables by LID, then switch.
    columns: Vec<u8>,
}

/// What does not change while a destination is routed.
#[derive(Clone, Copy)]
struct Target {
    /// False for the dummies of a leaf.
    is_real: bool,
}

impl<'a> Router<'a> {
    pub(super) fn new(fabric: &'a Fabric<'a>, tree: Tree) -> Self {
        let count = fabric.len();
        let lids = usize::from(fabric.max_lid()) + 1;
        let mut router = Self {
            fabric,
            groups: Vec::new(),
            cables: Vec::new(),
            up: Vec::with_capacity(count),
            level: Vec::with_capacity(count),
            down: Vec::with_capacity(count),
            least_down: vec![0; count],
            up_changed: vec![false; count],
            is_bottom: tree
                .down
                .iter()
                .map(|groups| groups.iter().all(|group| group.switch == NONE))
                .collect(),
            subtrees: Subtrees::new(&tree),
            port: vec![NO_PORT; count],
            hops: vec![NO_PATH; count],
            columns: vec![NO_PORT; lids * count],
            tree,
        };
        for at in 0..count {
            let span = router.add_groups(at, |tree| &tree.up);
            router.up.push(span);
            let span = router.add_groups(at, |tree| &tree.level);
            router.level.push(span);
            let span = router.add_groups(at, |tree| &tree.down);
            router.down.push(span);
        }
        router
    }

    /// The same without leaving out visits.
    #[cfg(test)]
    pub(super) fn visiting_all(mut self) -> Self {
        self.subtrees = Subtrees::leaving_out_none(&self.tree);
        self
    }

    fn add_groups(&mut self, at: usize, side: impl Fn(&Tree) -> &Vec<Vec<Group>>) -> Span {
        let first = self.groups.len() as u32;
        let groups = &side(&self.tree)[at];
        for group in groups {
            let cables = self.cables.len() as u32;
            self.cables.extend(group.cables.iter().map(|&(_, far)| Cable { far, up: 0, down: 0 }));
            let (switch, place) = match group.switch {
                NONE => (ADAPTER, u16::MAX),
                switch => (switch as u16, self.tree.places[switch as usize] as u16),
            };
            let cables = cables | (group.cables.len() as u32) << 24;
            self.groups.push(Load { switch, place, up: 0, down: 0, cables });
        }
        Span { first, len: groups.len() as u32 }
    }

    /// Routes all destinations: compute nodes, other adapters, switches.
    pub(super) fn route(mut self) -> Tables {
        for leaf in self.tree.leaves.clone() {
            let ends = self.tree.down[leaf].iter().filter(|group| group.switch == NONE);
            let ends: Vec<u32> =
                ends.map(|group| group.end).filter(|&end| self.tree.compute[end as usize]).collect();
            for &end in &ends {
                self.route_adapter(end as usize);
            }
            for _ in ends.len()..self.tree.most_compute {
                self.begin(leaf, NO_PORT, 1);
                self.down_by_up(leaf, NOWHERE, true, 1, Target { is_real: false });
            }
        }
        let mut others: Vec<usize> = (0..self.fabric.ends.len()).filter(|&end| self.is_other(end)).collect();
        others.sort_by_key(|&end| {
            let id = self.fabric.ends[end].id;
            (self.fabric.subnet.node(id.node).guid.map_key(), id.port)
        });
        for end in others {
            self.route_adapter(end);
        }
        for at in 0..self.fabric.len() {
            self.begin(at, 0, 0);
            self.down_by_up(at, NOWHERE, false, 0, Target { is_real: true });
            self.finish(self.fabric.switch_lid(at));
        }
        self.tables()
    }

    fn is_other(&self, end: usize) -> bool {
        let port = &self.fabric.ends[end];
        !self.tree.compute[end] && port.switch != NONE && kind(self.fabric, port) == NodeKind::Adapter
    }

    fn route_adapter(&mut self, end: usize) {
        let end = self.fabric.ends[end];
        self.begin(end.switch as usize, end.port, 1);
        self.down_by_up(end.switch as usize, NOWHERE, true, 1, Target { is_real: true });
        self.finish(usize::from(end.lid));
    }

    fn begin(&mut self, at: usize, port: u8, hops: u8) {
        self.port.fill(NO_PORT);
        self.hops.fill(NO_PATH);
        self.subtrees.clear();
        self.port[at] = port;
        self.hops[at] = hops;
    }

    fn finish(&mut self, lid: usize) {
        let count = self.port.len();
        self.columns[lid * count..(lid + 1) * count].copy_from_slice(&self.port);
    }

    /// Routes from a switch and all below it towards the destination, which is above or at it
    /// (`fabric_route_upgoing_by_going_down`). Returns true if adapters use it.
    fn up_by_down(&mut self, at: usize, before: usize, hops: u8, target: Target) -> bool {
        let down = self.down[at];
        if down.len == 0 {
            return false;
        }
        if self.subtrees.are_routed(at, hops) {
            return self.subtrees.has_adapter(at);
        }
        if std::mem::take(&mut self.up_changed[at]) {
            self.sort_up(down);
        }
        let level = self.level[at];
        let mut created = false;
        if self.is_bottom[at] {
            if level.len == 0 {
                return true;
            }
            created = true;
        }
        self.sort_up(level);
        let level = if target.is_real { level.slots() } else { 0..0 };
        for slot in down.slots().chain(level) {
            let group = self.groups[slot];
            if group.switch == ADAPTER {
                created = true;
                continue;
            }
            let next = usize::from(group.switch);
            if next == before || (self.hops[next] != NO_PATH && hops.wrapping_add(1) >= self.hops[next]) {
                continue;
            }
            let cable = self.least_cable(group, |cable| cable.up);
            self.port[next] = self.cables[cable].far;
            self.hops[next] = hops.wrapping_add(1);
            if self.up_by_down(next, NOWHERE, hops.wrapping_add(1), target) {
                created = true;
                self.cables[cable].up += 1;
                self.groups[slot].up += 1;
                self.up_changed[at] = true;
            }
        }
        self.subtrees.mark(at, hops);
        created
    }

    /// Routes from a switch's surroundings to a destination below or at it (`fabric_route_downgoing_by_going_up`).
    fn down_by_up(&mut self, at: usize, before: usize, main: bool, hops: u8, target: Target) -> bool {
        let mut created = self.up_by_down(at, before, hops, target);
        if self.tree.ranks[at] == 0 {
            return created;
        }
        let up = self.up[at];
        self.sort_down(up);
        let least = up.first as usize;
        let farther = hops.wrapping_add(1);
        if main {
            created |= self.climb(least, farther, at, target);
        }
        for slot in up.slots().skip(usize::from(main)) {
            let group = self.groups[slot];
            let next = usize::from(group.switch);
            if !self.is_better(next, farther) {
                continue;
            }
            let cable = self.least_cable(group, |cable| cable.down);
            self.set_farther(next, cable, farther);
            created |= self.down_by_up(next, at, false, farther, target);
        }
        let level = self.level[at];
        self.sort_down(level);
        for slot in level.slots() {
            let group = self.groups[slot];
            let next = usize::from(group.switch);
            if !self.is_better(next, farther) {
                continue;
            }
            let cable = self.least_cable(group, |cable| cable.down);
            self.set_farther(next, cable, farther);
            if self.down_by_up(next, at, false, farther, target) {
                created = true;
                // OpenSM counts the route on the group upwards, and on the cable between siblings
                self.groups[least].down += 1;
                self.cables[cable].down += 1;
            }
        }
        created
    }

    /// The path of a destination up the least loaded group.
    fn climb(&mut self, slot: usize, hops: u8, at: usize, target: Target) -> bool {
        let group = self.groups[slot];
        let next = usize::from(group.switch);
        let cable = self.least_cable(group, |cable| cable.down);
        self.groups[slot].down += 1;
        self.cables[cable].down += 1;
        if self.groups[slot].down == self.least_down[next] + 1 {
            let loads = self.down[next].slots().map(|slot| self.groups[slot].down);
            self.least_down[next] = loads.min().unwrap_or(0);
        }
        if self.is_better(next, hops) {
            self.set_farther(next, cable, hops);
        }
        self.down_by_up(next, at, true, hops, target)
    }

    /// Sets the route of a switch that is above or beside the route so far.
    fn set_farther(&mut self, at: usize, cable: usize, hops: u8) {
        if self.hops[at] < hops {
            self.subtrees.disable();
        }
        self.port[at] = self.cables[cable].far;
        self.hops[at] = hops;
    }

    /// True if a switch has no route to the destination, or a longer one.
    fn is_better(&self, at: usize, hops: u8) -> bool {
        self.port[at] == NO_PORT || hops < self.hops[at]
    }

    fn least_cable(&self, group: Load, load: impl Fn(&Cable) -> u32) -> usize {
        let cables = group.cables();
        let first = cables.start;
        cables.min_by_key(|&cable| load(&self.cables[cable])).unwrap_or(first)
    }

    /// Sorts groups by their routes up, then by index. Few are out of place: those that the last destination left out.
    fn sort_up(&mut self, span: Span) {
        let groups = &mut self.groups[span.slots()];
        for slot in 1..groups.len() {
            let key = groups[slot].up_key();
            if key < groups[slot - 1].up_key() {
                let place = groups[..slot]
                    .iter()
                    .rposition(|group| group.up_key() <= key)
                    .map_or(0, |before| before + 1);
                groups[place..=slot].rotate_right(1);
            }
        }
    }

    /// Sorts groups by their routes down as OpenSM does: its comparison is no order, so the steps of its bubble sort count.
    fn sort_down(&mut self, span: Span) {
        let least = &self.least_down;
        let groups = &mut self.groups[span.slots()];
        let is_before = |a: &Load, b: &Load| {
            a.down < b.down
                || (a.down == b.down
                    && least[usize::from(a.switch)] <= least[usize::from(b.switch)]
                    && a.place < b.place)
        };
        for end in (2..=groups.len()).rev() {
            let mut swapped = false;
            for slot in 1..end {
                if is_before(&groups[slot], &groups[slot - 1]) {
                    groups.swap(slot, slot - 1);
                    swapped = true;
                }
            }
            if !swapped {
                break;
            }
        }
    }

    fn tables(self) -> Tables {
        let mut tables = Tables::new(self.fabric);
        let count = self.fabric.len();
        let lids = usize::from(tables.max_lid()) + 1;
        for first in (0..count).step_by(BLOCK) {
            for lid in 0..lids {
                let column = &self.columns[lid * count..(lid + 1) * count];
                for (at, &port) in column.iter().enumerate().skip(first).take(BLOCK) {
                    tables.row_mut(at)[lid] = port;
                }
            }
        }
        tables
    }
}
