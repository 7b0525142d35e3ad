//! Paths of a fat tree, destination by destination.

use super::tree::{Group, Tree};
use crate::engines::{NO_PATH, NO_PORT};
use crate::fabric::{Fabric, NONE};
use crate::subnet::NodeKind;
use crate::{Tables, engines::sssp::kind};

/// Side of a block of the transposition.
const BLOCK: usize = 64;

/// One more route in [`Load::up`].
const ONE_UP: u64 = 1 << 32;

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

/// A group with its loads.
#[derive(Debug, Clone, Copy)]
struct Load {
    switch: u32,
    /// Place of the switch in the order of indices.
    place: u32,
    /// Routes up, then place: the order of groups for routes up.
    up: u64,
    down: u32,
    /// First of its cables, and their number.
    cables: u32,
    count: u32,
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

    fn add_groups(&mut self, at: usize, side: impl Fn(&Tree) -> &Vec<Vec<Group>>) -> Span {
        let first = self.groups.len() as u32;
        let groups = &side(&self.tree)[at];
        for group in groups {
            let cables = self.cables.len() as u32;
            self.cables.extend(group.cables.iter().map(|&(_, far)| Cable { far, up: 0, down: 0 }));
            let place = if group.switch == NONE { u32::MAX } else { self.tree.places[group.switch as usize] };
            let count = group.cables.len() as u32;
            self.groups.push(Load {
                switch: group.switch,
                place,
                up: u64::from(place),
                down: 0,
                cables,
                count,
            });
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
                self.down_by_up(leaf, NONE, true, 1, Target { is_real: false });
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
            self.down_by_up(at, NONE, false, 0, Target { is_real: true });
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
        self.down_by_up(end.switch as usize, NONE, true, 1, Target { is_real: true });
        self.finish(usize::from(end.lid));
    }

    fn begin(&mut self, at: usize, port: u8, hops: u8) {
        self.port.fill(NO_PORT);
        self.hops.fill(NO_PATH);
        self.port[at] = port;
        self.hops[at] = hops;
    }

    fn finish(&mut self, lid: usize) {
        let count = self.port.len();
        self.columns[lid * count..(lid + 1) * count].copy_from_slice(&self.port);
    }

    /// Routes from a switch and all below it towards the destination, which is above or at it
    /// (`fabric_route_upgoing_by_going_down`). Returns true if adapters use it.
    fn up_by_down(&mut self, at: usize, before: u32, hops: u8, target: Target) -> bool {
        let down = self.down[at];
        if down.len == 0 {
            return false;
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
            let Load { switch, cables, count, .. } = self.groups[slot];
            if switch == NONE {
                created = true;
                continue;
            }
            let next = switch as usize;
            if switch == before || (self.hops[next] != NO_PATH && hops.wrapping_add(1) >= self.hops[next]) {
                continue;
            }
            let cable = self.least_cable(cables, count, |cable| cable.up);
            self.port[next] = self.cables[cable].far;
            self.hops[next] = hops.wrapping_add(1);
            if self.up_by_down(next, NONE, hops.wrapping_add(1), target) {
                created = true;
                self.cables[cable].up += 1;
                self.groups[slot].up += ONE_UP;
                self.up_changed[at] = true;
            }
        }
        created
    }

    /// Routes from a switch's surroundings to a destination below or at it (`fabric_route_downgoing_by_going_up`).
    fn down_by_up(&mut self, at: usize, before: u32, main: bool, hops: u8, target: Target) -> bool {
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
            let Load { switch, cables, count, .. } = self.groups[slot];
            if !self.is_better(switch as usize, farther) {
                continue;
            }
            let cable = self.least_cable(cables, count, |cable| cable.down);
            self.port[switch as usize] = self.cables[cable].far;
            self.hops[switch as usize] = farther;
            created |= self.down_by_up(switch as usize, at as u32, false, farther, target);
        }
        let level = self.level[at];
        self.sort_down(level);
        for slot in level.slots() {
            let Load { switch, cables, count, .. } = self.groups[slot];
            if !self.is_better(switch as usize, farther) {
                continue;
            }
            let cable = self.least_cable(cables, count, |cable| cable.down);
            self.port[switch as usize] = self.cables[cable].far;
            self.hops[switch as usize] = farther;
            if self.down_by_up(switch as usize, at as u32, false, farther, target) {
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
        let Load { switch, cables, count, .. } = self.groups[slot];
        let next = switch as usize;
        let cable = self.least_cable(cables, count, |cable| cable.down);
        self.groups[slot].down += 1;
        self.cables[cable].down += 1;
        if self.groups[slot].down == self.least_down[next] + 1 {
            let loads = self.down[next].slots().map(|slot| self.groups[slot].down);
            self.least_down[next] = loads.min().unwrap_or(0);
        }
        if self.is_better(next, hops) {
            self.port[next] = self.cables[cable].far;
            self.hops[next] = hops;
        }
        self.down_by_up(next, at as u32, true, hops, target)
    }

    /// True if a switch has no route to the destination, or a longer one.
    fn is_better(&self, at: usize, hops: u8) -> bool {
        self.port[at] == NO_PORT || hops < self.hops[at]
    }

    fn least_cable(&self, first: u32, count: u32, load: impl Fn(&Cable) -> u32) -> usize {
        let range = first as usize..(first + count) as usize;
        range.min_by_key(|&cable| load(&self.cables[cable])).unwrap_or(first as usize)
    }

    /// Sorts groups by their routes up, then by index.
    fn sort_up(&mut self, span: Span) {
        let groups = &mut self.groups[span.slots()];
        if !groups.is_sorted_by_key(|group| group.up) {
            groups.sort_by_key(|group| group.up);
        }
    }

    /// Sorts groups by their routes down as OpenSM does: its comparison is no order, so the steps of its bubble sort count.
    fn sort_down(&mut self, span: Span) {
        let least = &self.least_down;
        let groups = &mut self.groups[span.slots()];
        let is_before = |a: &Load, b: &Load| {
            a.down < b.down
                || (a.down == b.down
                    && least[a.switch as usize] <= least[b.switch as usize]
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
