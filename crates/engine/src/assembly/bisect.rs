//! Division of switches into parts between which there are few links, and long ones rather than short ones.
//!
//! Parts are halved again and again. A half grows from a switch at the edge of the network by the neighbour that adds the fewest links to
//! the cut, and switches then change sides as long as that makes the cut smaller (Karypis, Kumar: A Fast and High Quality Multilevel Scheme
//! for Partitioning Irregular Graphs, 1998; Fiduccia, Mattheyses: A Linear-Time Heuristic for Improving Network Partitions, 1982).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use fabricsim_topology::{Graph, Node};

/// Weight of the shortest link; of one that is longer by a factor, less by that factor, but 1 at least.
const SHORTEST: u64 = 64;
/// Rounds in which each switch may change sides.
const ROUNDS: usize = 4;
/// A half may be heavier or lighter than its share by one part in this number, or by a switch.
const SLACK: u64 = 32;
/// Switches from which a half grows; the smallest cut is taken.
const STARTS: usize = 4;

/// Links between switches, both ways: the other end and the weight.
type Links = Vec<Vec<(u32, i64)>>;

/// The part of each switch, of `count` parts; `weights` are those of the switches. No part is empty if there are as many switches as parts.
pub(super) fn divide(graph: &Graph, count: usize, weights: &[u64]) -> Vec<u16> {
    let links = links(graph);
    let mut parts = vec![0; weights.len()];
    let mut open = vec![((0..weights.len() as u32).collect::<Vec<_>>(), 0..count)];
    while let Some((members, range)) = open.pop() {
        if range.len() == 1 {
            for member in members {
                parts[member as usize] = range.start as u16;
            }
            continue;
        }
        let middle = range.start + range.len() / 2;
        let (first, second) = Halves::new(&links, weights, &members, &range, middle).split();
        open.push((first, range.start..middle));
        open.push((second, middle..range.end));
    }
    parts
}

fn links(graph: &Graph) -> Links {
    let between = graph.links.iter().filter_map(|link| match (link.a.node, link.b.node) {
        (Node::Switch(a), Node::Switch(b)) if a != b => Some((a.0, b.0, link.parameters.latency.0.max(1))),
        _ => None,
    });
    let shortest = between.clone().map(|(.., latency)| latency).min().unwrap_or(1);
    let mut links = vec![Vec::new(); graph.switches.len()];
    for (a, b, latency) in between {
        let weight = (u128::from(SHORTEST) * u128::from(shortest) / u128::from(latency)).max(1) as i64;
        links[a as usize].push((b, weight));
        links[b as usize].push((a, weight));
    }
    links
}

/// Where a switch is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Not among those to be divided.
    Outside,
    First,
    Second,
}

/// Two halves of some switches.
struct Halves<'a> {
    links: &'a Links,
    weights: &'a [u64],
    members: &'a [u32],
    side: Vec<Side>,
    /// Weight and number of the first half, and what it should weigh.
    weight: u64,
    number: usize,
    target: u64,
    /// Largest difference from that.
    slack: u64,
    /// Numbers that the first half may have, so that each part of both halves has a switch.
    numbers: Range<usize>,
}

impl<'a> Halves<'a> {
    /// All in the second half, of which the parts from `middle` on will be.
    fn new(
        links: &'a Links,
        weights: &'a [u64],
        members: &'a [u32],
        parts: &Range<usize>,
        middle: usize,
    ) -> Self {
        let mut side = vec![Side::Outside; links.len()];
        for &member in members {
            side[member as usize] = Side::Second;
        }
        let total: u64 = members.iter().map(|&member| weights[member as usize]).sum();
        let (first, second) = (middle - parts.start, parts.end - middle);
        let target = (u128::from(total) * first as u128 / parts.len() as u128) as u64;
        let heaviest = members.iter().map(|&member| weights[member as usize]).max().unwrap_or(0);
        let slack = heaviest.max(target / SLACK);
        let numbers = first..members.len().saturating_sub(second) + 1;
        Self { links, weights, members, side, weight: 0, number: 0, target, slack, numbers }
    }

    fn split(&mut self) -> (Vec<u32>, Vec<u32>) {
        let members = self.members;
        let spread = (1..STARTS).map(|start| members[start * (members.len() - 1) / (STARTS - 1)]);
        let mut best: Option<(i64, Vec<Side>)> = None;
        for start in std::iter::once(self.farthest()).chain(spread) {
            self.begin();
            self.grow(start);
            for _ in 0..ROUNDS {
                if !self.improve() {
                    break;
                }
            }
            let cut = self.cut();
            if best.as_ref().is_none_or(|(least, _)| cut < *least) {
                best = Some((cut, self.side.clone()));
            }
        }
        let side = best.map_or_else(Vec::new, |(_, side)| side);
        members.iter().partition(|&&member| side[member as usize] == Side::First)
    }

    /// All are in the second half again.
    fn begin(&mut self) {
        for &member in self.members {
            self.side[member as usize] = Side::Second;
        }
        (self.weight, self.number) = (0, 0);
    }

    /// Weight of the links between the halves.
    fn cut(&self) -> i64 {
        let first = self.members.iter().filter(|&&member| self.side[member as usize] == Side::First);
        let others = first.flat_map(|&member| &self.links[member as usize]);
        others.filter(|(other, _)| self.side[*other as usize] == Side::Second).map(|(_, weight)| weight).sum()
    }

    /// Weight of the links by which the cut shrinks if a switch changes sides.
    fn gain(&self, switch: u32) -> i64 {
        let own = self.side[switch as usize];
        let of = |&(other, weight): &(u32, i64)| match self.side[other as usize] {
            Side::Outside => 0,
            side if side == own => -weight,
            _ => weight,
        };
        self.links[switch as usize].iter().map(of).sum()
    }

    fn change(&mut self, switch: u32) {
        let weight = self.weights[switch as usize];
        if self.side[switch as usize] == Side::First {
            (self.weight, self.number) = (self.weight - weight, self.number - 1);
            self.side[switch as usize] = Side::Second;
        } else {
            (self.weight, self.number) = (self.weight + weight, self.number + 1);
            self.side[switch as usize] = Side::First;
        }
    }

    /// The first half grows to its share.
    fn grow(&mut self, start: u32) {
        let mut heap = BinaryHeap::new();
        let mut rest = self.members.iter();
        let mut next = start;
        while self.number < self.numbers.start
            || self.weight < self.target && self.number + 1 < self.numbers.end
        {
            // Half of a switch may be too much.
            let too_heavy = 2 * (self.target.saturating_sub(self.weight)) < self.weights[next as usize];
            if too_heavy && self.number >= self.numbers.start {
                return;
            }
            self.change(next);
            for &(other, _) in &self.links[next as usize] {
                if self.side[other as usize] == Side::Second {
                    heap.push((self.gain(other), Reverse(other)));
                }
            }
            let mut found = None;
            while let Some((gain, Reverse(switch))) = heap.pop() {
                if self.side[switch as usize] == Side::Second && self.gain(switch) == gain {
                    found = Some(switch);
                    break;
                }
            }
            // What is not connected with it comes in order of number.
            let in_order = || rest.find(|&&member| self.side[member as usize] == Side::Second).copied();
            let Some(switch) = found.or_else(in_order) else { return };
            next = switch;
        }
    }

    /// A switch that is far from the others: the last one that a search reaches from the last one that a search reaches.
    fn farthest(&self) -> u32 {
        let mut from = self.members[0];
        for _ in 0..2 {
            let mut seen = vec![false; self.links.len()];
            let mut queue = VecDeque::from([from]);
            seen[from as usize] = true;
            while let Some(switch) = queue.pop_front() {
                from = switch;
                for &(other, _) in &self.links[switch as usize] {
                    if self.side[other as usize] != Side::Outside && !seen[other as usize] {
                        seen[other as usize] = true;
                        queue.push_back(other);
                    }
                }
            }
        }
        from
    }

    /// True if a switch may change sides.
    fn may_change(&self, switch: u32) -> bool {
        let weight = self.weights[switch as usize];
        let leaves = self.side[switch as usize] == Side::First;
        let number = if leaves { self.number.wrapping_sub(1) } else { self.number + 1 };
        let after = if leaves { self.weight - weight } else { self.weight + weight };
        let is_near = after.abs_diff(self.target) <= self.slack.max(self.weight.abs_diff(self.target));
        self.numbers.contains(&number) && is_near
    }

    /// A round of changes, each switch at most once, also such as make the cut larger at first. The best state remains. False if that is the first.
    fn improve(&mut self) -> bool {
        let mut heap: BinaryHeap<(i64, Reverse<u32>)> = self
            .members
            .iter()
            .filter(|&&member| self.is_at_the_cut(member))
            .map(|&member| (self.gain(member), Reverse(member)))
            .collect();
        let mut changed = Vec::new();
        let mut done = vec![false; self.links.len()];
        let (mut sum, mut best, mut kept) = (0, 0, 0);
        while let Some((gain, Reverse(switch))) = heap.pop() {
            if done[switch as usize] || self.gain(switch) != gain || !self.may_change(switch) {
                continue;
            }
            self.change(switch);
            done[switch as usize] = true;
            changed.push(switch);
            sum += gain;
            if sum > best {
                (best, kept) = (sum, changed.len());
            }
            if changed.len() - kept > 64 + self.members.len() / 16 {
                break;
            }
            for &(other, _) in &self.links[switch as usize] {
                if self.side[other as usize] != Side::Outside && !done[other as usize] {
                    heap.push((self.gain(other), Reverse(other)));
                }
            }
        }
        changed[kept..].iter().rev().for_each(|&switch| self.change(switch));
        best > 0
    }

    fn is_at_the_cut(&self, switch: u32) -> bool {
        let own = self.side[switch as usize];
        let others = self.links[switch as usize].iter().map(|&(other, _)| self.side[other as usize]);
        others.into_iter().any(|side| side != Side::Outside && side != own)
    }
}
