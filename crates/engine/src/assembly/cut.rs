//! Division of the switches among partitions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fabricsim_topology::{Graph, Link, Node, Shape};
use fabricsim_units::{SwitchId, Time};

use super::bisect::divide;

/// Parts of the switches of nearly equal weight; hosts go with their switch.
///
/// The switches are cut in order of number, as grids and dragonflies are built: into layers, and groups. A cut is moved by up to an eighth of a part
/// to where the links that it cuts are longest, since partitions advance in windows no longer than what happens in one takes to reach another.
/// Groups of a dragonfly stay whole so. Of a tree, whose switches are in order of levels, each level is cut so: the pods below stay together. In other networks,
/// which a file may have in any order, parts between which there are few links are searched as well ([`divide`]).
pub(super) struct Cut {
    /// By switch.
    parts: Vec<u16>,
    count: usize,
}

impl Cut {
    /// This number of parts, or as many as there are switches. `weights` are those of the switches.
    pub(super) fn new(graph: &Graph, wanted: u32, weights: &[u64]) -> Self {
        let switches = graph.switches.len();
        let count = (wanted.max(1) as usize).min(switches.max(1));
        if count == 1 {
            return Self { parts: vec![0; switches], count };
        }
        let by_number = Self::by_number(graph, count, weights);
        match &graph.shape {
            Shape::Grid(_) | Shape::Dragonfly(_) => by_number,
            Shape::Tree(tree) => by_number.or_better(Self::by_level(&tree.level, count, weights), graph),
            _ => by_number.or_better(Self { parts: divide(graph, count, weights), count }, graph),
        }
    }

    fn by_number(graph: &Graph, count: usize, weights: &[u64]) -> Self {
        let switches = graph.switches.len();
        let reach = switches / (8 * count);
        let latencies = if reach == 0 { Vec::new() } else { cut_latencies(graph) };
        let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
        // Weight of the switches before each.
        let before: Vec<u128> = std::iter::once(0)
            .chain(weights.iter().scan(0, |sum, &weight| {
                *sum += u128::from(weight);
                Some(*sum)
            }))
            .collect();
        let mut parts = vec![0; switches];
        let mut last = 0;
        for part in 1..count {
            let even = before.partition_point(|&sum| sum * (count as u128) < total * part as u128);
            let best = |&at: &usize| (latencies.get(at).copied(), Reverse(at.abs_diff(even)));
            let near = (even.saturating_sub(reach)..=even + reach).max_by_key(best).unwrap_or(even);
            // Each part has a switch.
            last = near.clamp(last + 1, switches - (count - part));
            parts[last..].fill(part as u16);
        }
        Self { parts, count }
    }

    /// Each level is cut for itself.
    fn by_level(levels: &[u8], count: usize, weights: &[u64]) -> Self {
        let mut parts = vec![0; levels.len()];
        let highest = levels.iter().copied().max().unwrap_or(0);
        for level in 0..=highest {
            let of_level = || (0..levels.len()).filter(move |&switch| levels[switch] == level);
            let total: u128 = of_level().map(|switch| u128::from(weights[switch])).sum();
            let mut sum = 0;
            for switch in of_level() {
                // The part of its middle.
                let middle = 2 * sum + u128::from(weights[switch]);
                parts[switch] = (middle * count as u128 / (2 * total).max(1)).min(count as u128 - 1) as u16;
                sum += u128::from(weights[switch]);
            }
        }
        Self { parts, count }
    }

    /// The better one of two: whose windows are more than twice as long; else the one that cuts fewer links. No part may be empty.
    fn or_better(self, other: Self, graph: &Graph) -> Self {
        let mut is_used = vec![false; other.count];
        other.parts.iter().for_each(|&part| is_used[usize::from(part)] = true);
        if is_used.contains(&false) {
            return self;
        }
        let (own, its) = (self.least_latency(graph).0, other.least_latency(graph).0);
        let is_better = if own / 2 > its {
            false
        } else {
            its / 2 > own || other.links(graph).count() < self.links(graph).count()
        };
        if is_better { other } else { self }
    }

    /// Number of parts.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The part of a switch.
    pub(super) fn of(&self, switch: SwitchId) -> usize {
        usize::from(self.parts[switch.index()])
    }

    /// The links between two parts.
    fn links<'a>(&'a self, graph: &'a Graph) -> impl Iterator<Item = &'a Link> {
        graph.links.iter().filter(|link| self.of_node(graph, link.a.node) != self.of_node(graph, link.b.node))
    }

    /// Least latency of a link between two parts; [`Time::MAX`] if there is none.
    pub(super) fn least_latency(&self, graph: &Graph) -> Time {
        self.links(graph).map(|link| link.parameters.latency).min().unwrap_or(Time::MAX)
    }

    fn of_node(&self, graph: &Graph, node: Node) -> usize {
        match node {
            Node::Switch(switch) => self.of(switch),
            Node::Host(host) => self.of(graph.hosts[host.index()].switch),
        }
    }
}

/// For each switch the least latency of the links between it or later ones and those before.
fn cut_latencies(graph: &Graph) -> Vec<Time> {
    let between = graph.links.iter().filter_map(|link| match (link.a.node, link.b.node) {
        (Node::Switch(a), Node::Switch(b)) => {
            let (a, b) = (a.index(), b.index());
            Some((a.min(b), a.max(b), link.parameters.latency))
        }
        _ => None,
    });
    let mut links: Vec<_> = between.collect();
    links.sort_unstable_by_key(|&(first, ..)| Reverse(first));
    let mut open = BinaryHeap::new();
    (0..graph.switches.len())
        .map(|at| {
            while let Some((_, last, latency)) = links.pop_if(|&mut (first, ..)| first < at) {
                open.push(Reverse((latency, last)));
            }
            while open.peek().is_some_and(|&Reverse((_, last))| last < at) {
                open.pop();
            }
            open.peek().map_or(Time::MAX, |&Reverse((latency, _))| latency)
        })
        .collect()
}

#[cfg(test)]
mod tests;
