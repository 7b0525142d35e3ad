//! Paths of a table: for each destination, the tree of switches that lead to it.

use super::Totals;
use super::deadlock::Dependencies;
use crate::engines::{HopMatrix, NO_PORT, PathSls};
use crate::fabric::{Fabric, NONE, Peer};
use crate::{NodeKind, Sl2Vl, Tables};

/// Sources at a switch that share the service levels of their paths.
pub(super) struct Source {
    /// A LID of the sources.
    lid: u16,
    /// Port of the switch, if there is one source only; else 0.
    port: u8,
}

/// Sources of paths by switch.
pub(super) struct Sources {
    /// Number of ports at each switch.
    counts: Vec<u64>,
    /// Sources that differ in their service levels or input ports.
    groups: Vec<Vec<Source>>,
}

impl Sources {
    /// All ports of adapters and routers.
    pub(super) fn new(fabric: &Fabric<'_>) -> Self {
        let mut counts = vec![0; fabric.len()];
        let mut groups: Vec<Vec<Source>> = (0..fabric.len()).map(|_| Vec::new()).collect();
        for end in fabric.ends.iter().filter(|end| !end.is_switch && end.switch != NONE) {
            counts[end.switch as usize] += 1;
            groups[end.switch as usize].push(Source { lid: end.lid, port: end.port });
        }
        Self { counts, groups }
    }
}

/// Switches that lead to a LID.
pub(super) struct Tree {
    /// Output port of each switch.
    port: Vec<u8>,
    /// Next switch; `NONE` at the end.
    next: Vec<u32>,
    /// Number of switches to the destination; 0 if it is not reached.
    hops: Vec<u32>,
    /// Switches that reach the destination, the farthest last.
    order: Vec<u32>,
    paths: Vec<u64>,
}

impl Tree {
    pub(super) fn new(fabric: &Fabric<'_>) -> Self {
        let count = fabric.len();
        Self {
            port: vec![NO_PORT; count],
            next: vec![NONE; count],
            hops: vec![0; count],
            order: Vec::with_capacity(count),
            paths: vec![0; count],
        }
    }

    /// Follows the tables to a LID.
    pub(super) fn grow(&mut self, fabric: &Fabric<'_>, tables: &Tables, lid: usize) {
        let end = &fabric.ends[fabric.lid_ends[lid] as usize];
        self.hops.fill(0);
        for at in 0..fabric.len() {
            self.port[at] = tables.row(at).get(lid).copied().unwrap_or(NO_PORT);
            self.next[at] = match fabric.peers(at).get(usize::from(self.port[at])) {
                Some(&Peer::Switch(next, _)) => next,
                _ => NONE,
            };
            if at == end.switch as usize && self.port[at] == end.port {
                self.next[at] = NONE;
                self.hops[at] = 1;
            }
        }
        self.order.clear();
        let mut stack = Vec::new();
        for start in 0..fabric.len() {
            let mut at = start;
            // a loop ends when as many steps are taken as there are switches
            while self.hops[at] == 0 && self.next[at] != NONE && stack.len() <= fabric.len() {
                stack.push(at);
                at = self.next[at] as usize;
            }
            let mut hops = self.hops[at];
            let arrives = hops > 0 && stack.len() <= fabric.len();
            while let Some(at) = stack.pop() {
                hops += 1;
                if arrives {
                    self.hops[at] = hops;
                }
            }
        }
        self.order.extend((0..fabric.len() as u32).filter(|&at| self.hops[at as usize] > 0));
        self.order.sort_by_key(|&at| self.hops[at as usize]);
    }

    /// Adds the paths from all sources.
    pub(super) fn count(
        &mut self,
        fabric: &Fabric<'_>,
        shortest: &HopMatrix,
        sources: &Sources,
        lid: usize,
        totals: &mut Totals,
    ) {
        let end = &fabric.ends[fabric.lid_ends[lid] as usize];
        self.paths.copy_from_slice(&sources.counts);
        self.paths[end.switch as usize] -= 1;
        for at in 0..fabric.len() {
            let count = self.paths[at];
            let hops = u64::from(self.hops[at]);
            if hops == 0 {
                totals.pairs.unreachable += count;
                if count > 0 {
                    let is_router = fabric.subnet.node(end.id.node).kind == NodeKind::Router;
                    totals.pairs.to_routers += if is_router { count } else { 0 };
                    totals.lose((at, fabric.lid_ends[lid]));
                }
                continue;
            }
            totals.pairs.reachable += count;
            totals.hops += count * hops;
            if hops > u64::from(shortest.least(at, end.switch as usize)) + 1 {
                totals.pairs.non_minimal += count;
            }
        }
        for &at in self.order.iter().rev() {
            let at = at as usize;
            if self.next[at] != NONE {
                totals.loads[fabric.first_port(at) + usize::from(self.port[at])] += self.paths[at];
                totals.transit[at] += self.paths[at] - sources.counts[at];
                self.paths[self.next[at] as usize] += self.paths[at];
            }
        }
    }

    /// Notes the dependencies of all paths on one lane, after [`Self::count`].
    pub(super) fn depend(&self, fabric: &Fabric<'_>, dependencies: &mut Dependencies) {
        for &at in &self.order {
            let at = at as usize;
            let next = self.next[at];
            if next == NONE || self.paths[at] == 0 {
                continue;
            }
            let channel = fabric.first_port(at) + usize::from(self.port[at]);
            dependencies.use_channel(channel, 0);
            if self.next[next as usize] != NONE {
                dependencies.add(channel, 0, usize::from(self.port[next as usize]), 0);
            }
        }
    }

    /// Notes the dependencies of each path on its lanes.
    pub(super) fn lanes(
        &self,
        fabric: &Fabric<'_>,
        sources: &Sources,
        sls: &PathSls,
        sl2vl: &Sl2Vl,
        lid: usize,
        dependencies: &mut Dependencies,
    ) {
        let uniform = sl2vl.is_uniform();
        for (start, groups) in sources.groups.iter().enumerate() {
            if self.hops[start] < 2 {
                continue;
            }
            let mut seen = 0u32;
            for source in groups {
                let base = sls.base(source.lid, lid as u16);
                for level in base..base + sls.share(base) {
                    // with uniform lanes all sources of a switch do the same
                    let bit = 1 << level;
                    if uniform && seen & bit != 0 {
                        continue;
                    }
                    seen |= bit;
                    self.lane_path(fabric, sl2vl, (start, source.port, level), dependencies);
                }
            }
        }
    }

    fn lane_path(
        &self,
        fabric: &Fabric<'_>,
        sl2vl: &Sl2Vl,
        (start, input, level): (usize, u8, u8),
        dependencies: &mut Dependencies,
    ) {
        let (mut at, mut input) = (start, input);
        let mut before: Option<(usize, usize)> = None;
        while self.next[at] != NONE {
            let port = self.port[at];
            let lane = usize::from(sl2vl.lane(fabric.switches[at], input, port, level));
            let channel = fabric.first_port(at) + usize::from(port);
            dependencies.use_channel(channel, lane);
            if let Some((channel, from)) = before {
                dependencies.add(channel, from, usize::from(port), lane);
            }
            before = Some((channel, lane));
            let Peer::Switch(next, back) = fabric.peers(at)[usize::from(port)] else { return };
            (at, input) = (next as usize, back);
        }
    }
}
