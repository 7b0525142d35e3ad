//! Distribution of LIDs over the ports with least hops (`osm_ucast_mgr.c`, `osm_switch_recommend_path` in `osm_switch.c`).
//!
//! Ports are chosen switch by switch and LID by LID: the port with the fewest LIDs so far, the first of several. Adapters
//! are taken by the number of end ports of their switch, descending, then by port number; everything else follows by GUID. LIDs of
//! switches take a port but do not count.

use rayon::prelude::*;

use super::hops::HopMatrix;
use super::random::Random;
use super::{NO_PORT, Options};
use crate::fabric::{Fabric, NONE, Peer};
use crate::{Guid, Tables};

/// Rules by which ports are chosen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Only ports to the first neighbour that has one with least hops (DOR).
    pub(super) dimension_order: bool,
    /// LIDs are shifted among ports (`port_shifting`).
    pub(super) shift: bool,
    /// Seed of the random choice among equal ports (`scatter_ports`); 0 for the first.
    pub(super) scatter: u32,
}

impl Rules {
    /// The rules that options ask.
    pub(super) fn new(options: &Options, dimension_order: bool) -> Self {
        Self { dimension_order, shift: options.port_shifting, scatter: options.scatter_ports }
    }
}

/// Fills tables by a hop matrix.
pub(super) fn assign(fabric: &Fabric<'_>, matrix: &HopMatrix, rules: Rules) -> Tables {
    let mut tables = Tables::new(fabric);
    let order = order(fabric);
    let lmc = fabric.ends.iter().map(|end| end.lmc).max().unwrap_or(0);
    let rows = tables.rows_mut();
    if rules.scatter > 0 {
        // the choices of all switches come from one stream
        let mut random = Random::new(rules.scatter);
        for (at, row) in rows.enumerate() {
            Balancer::new(fabric, matrix, rules, at, lmc).fill(&order, row, Some(&mut random));
        }
    } else {
        rows.enumerate().par_bridge().for_each(|(at, row)| {
            Balancer::new(fabric, matrix, rules, at, lmc).fill(&order, row, None);
        });
    }
    tables
}

/// Order in which end ports are routed.
pub(super) fn order(fabric: &Fabric<'_>) -> Vec<u32> {
    let mut switches: Vec<usize> = (0..fabric.len()).collect();
    let load = |at: usize| fabric.peers(at).iter().filter(|peer| matches!(peer, Peer::End(_))).count();
    switches.sort_by_key(|&at| std::cmp::Reverse(load(at)));
    let mut taken = vec![false; fabric.ends.len()];
    let mut order = Vec::with_capacity(fabric.ends.len());
    for at in switches {
        for (_, end) in fabric.end_links(at) {
            if !std::mem::replace(&mut taken[end], true) {
                order.push(end as u32);
            }
        }
    }
    order.extend((0..fabric.ends.len()).filter(|&end| !taken[end]).map(|end| end as u32));
    order
}

/// A neighbour through which LIDs of an end port go already.
#[derive(Clone, Copy)]
struct Used {
    node: usize,
    port: u8,
    forwarded: u32,
}

/// A candidate of a choice with LMC.
struct Candidate {
    port: usize,
    paths: u32,
    forwarded: u32,
    /// Whether the system, and the node, behind the port are in use already.
    system_used: bool,
    node_used: bool,
}

/// The choices of one switch.
struct Balancer<'a> {
    fabric: &'a Fabric<'a>,
    matrix: &'a HopMatrix,
    rules: Rules,
    at: usize,
    lmc: u8,
    /// LIDs through each port.
    paths: Vec<u32>,
    /// Neighbours in use, by end port; empty without LMC.
    used: Vec<Vec<Used>>,
    found: (bool, bool),
}

impl<'a> Balancer<'a> {
    fn new(fabric: &'a Fabric<'a>, matrix: &'a HopMatrix, rules: Rules, at: usize, lmc: u8) -> Self {
        let used = if lmc > 0 { vec![Vec::new(); fabric.ends.len()] } else { Vec::new() };
        Self {
            fabric,
            matrix,
            rules,
            at,
            lmc,
            paths: vec![0; fabric.peers(at).len()],
            used,
            found: (false, false),
        }
    }

    /// Fills the table of the switch.
    fn fill(self, order: &[u32], row: &mut [u8], random: Option<&mut Random>) {
        if self.lmc == 0 && !self.rules.shift && !self.rules.dimension_order && random.is_none() {
            self.fill_by_runs(order, row);
        } else {
            self.fill_by_rules(order, row, random);
        }
    }

    /// Without LMC and options: end ports of a switch follow each other, and have the same candidates. One pass over these serves as many
    /// LIDs as there are ports with the least number of LIDs.
    fn fill_by_runs(mut self, order: &[u32], row: &mut [u8]) {
        let ends = &self.fabric.ends;
        let same = |a: &u32, b: &u32| {
            let (a, b) = (&ends[*a as usize], &ends[*b as usize]);
            a.switch == b.switch && !a.is_switch && !b.is_switch
        };
        let mut candidates: Vec<usize> = Vec::new();
        for run in order.chunk_by(same) {
            let first = &ends[run[0] as usize];
            if first.switch == NONE {
                continue;
            }
            if first.switch as usize == self.at {
                for end in run.iter().map(|&end| &ends[end as usize]) {
                    row[usize::from(end.lid)] = end.port;
                }
                continue;
            }
            candidates.clear();
            candidates.extend(self.matrix.ports(self.at, first.switch as usize));
            let mut run = run.iter().map(|&end| &ends[end as usize]).peekable();
            while run.peek().is_some() {
                let Some(least) = candidates.iter().map(|&port| self.paths[port]).min() else { break };
                for &port in &candidates {
                    if self.paths[port] != least {
                        continue;
                    }
                    let Some(end) = run.next() else { break };
                    row[usize::from(end.lid)] = port as u8;
                    // LIDs of switches come alone
                    if end.is_switch {
                        break;
                    }
                    self.paths[port] += 1;
                }
            }
        }
    }

    fn fill_by_rules(mut self, order: &[u32], row: &mut [u8], mut random: Option<&mut Random>) {
        let mut candidates: Vec<usize> = Vec::new();
        let mut of = NONE;
        for offset in 0..1usize << self.lmc {
            for &end in order {
                let target = &self.fabric.ends[end as usize];
                if offset >= target.lids().len() || target.switch == NONE {
                    continue;
                }
                let lid = usize::from(target.lid) + offset;
                let (switch, own_port, is_switch) = (target.switch, target.port, target.is_switch);
                let port = if switch as usize == self.at {
                    usize::from(own_port)
                } else {
                    if of != switch {
                        candidates.clear();
                        candidates.extend(self.matrix.ports(self.at, switch as usize));
                        of = switch;
                    }
                    let start = if offset > 0 && !self.rules.dimension_order {
                        usize::from(row[lid - 1]) + 1
                    } else {
                        1
                    };
                    let scatter = if offset == 0 { random.as_deref_mut() } else { None };
                    self.choose(end as usize, &candidates, start, scatter).unwrap_or(usize::from(NO_PORT))
                };
                row[lid] = port as u8;
                if port != usize::from(NO_PORT) && !is_switch {
                    self.count(end as usize, port);
                }
            }
        }
    }

    fn count(&mut self, end: usize, port: usize) {
        self.paths[port] += 1;
        if self.lmc == 0 || port == 0 {
            return;
        }
        let Some((node, back)) = self.behind(port) else { return };
        let by_port = self.rules.dimension_order;
        let used = &mut self.used[end];
        match used.iter_mut().find(|used| used.node == node && (!by_port || used.port == back)) {
            Some(used) => used.forwarded += 1,
            None => used.push(Used { node, port: back, forwarded: 1 }),
        }
    }

    /// Node and port at the other end of a port; none if nothing is known there, as while a cable fails in a sweep.
    fn behind(&self, port: usize) -> Option<(usize, u8)> {
        match self.fabric.peers(self.at)[port] {
            Peer::Switch(next, back) => Some((self.fabric.switches[next as usize].index(), back)),
            Peer::End(end) if end != NONE => {
                let id = self.fabric.ends[end as usize].id;
                Some((id.node.index(), id.port))
            }
            _ => None,
        }
    }

    /// The port for the next LID of an end port; none if there are no candidates.
    fn choose(
        &mut self,
        end: usize,
        candidates: &[usize],
        start: usize,
        random: Option<&mut Random>,
    ) -> Option<usize> {
        if self.lmc > 0 || self.rules.shift || self.rules.dimension_order {
            return self.choose_by_rules(end, candidates, start, random);
        }
        let best = candidates.iter().copied().min_by_key(|&port| self.paths[port])?;
        let Some(random) = random else { return Some(best) };
        let least = self.paths[best];
        let equal: Vec<usize> =
            candidates.iter().copied().filter(|&port| self.paths[port] == least).collect();
        Some(equal[random.next() as usize % equal.len()])
    }

    fn choose_by_rules(
        &mut self,
        end: usize,
        candidates: &[usize],
        start: usize,
        random: Option<&mut Random>,
    ) -> Option<usize> {
        let start = start % self.paths.len();
        let (below, above): (Vec<usize>, Vec<usize>) = candidates.iter().partition(|&&port| port < start);
        let mut ports: Vec<usize> = above.into_iter().chain(below).collect();
        if self.rules.dimension_order
            && let Some(&first) = ports.first()
        {
            let node = self.behind(first).map(|behind| behind.0);
            ports.retain(|&port| self.behind(port).map(|behind| behind.0) == node);
        }
        let candidates: Vec<Candidate> = ports.into_iter().map(|port| self.candidate(end, port)).collect();
        let mut choice = Choice::default();
        for candidate in &candidates {
            choice.see(candidate, self.lmc > 0, self.rules.dimension_order);
        }
        let mut best = choice.best?;
        if self.rules.shift {
            let total: u32 = candidates.iter().map(|candidate| candidate.paths).sum();
            let count = candidates.len();
            let from = total as usize / count;
            choice = Choice::default();
            for index in 0..count {
                choice.see_shifted(&candidates[(from + index) % count], self.lmc > 0);
            }
            best = choice.best?;
        }
        if let Some(random) = random {
            let least = candidates.iter().map(|candidate| candidate.paths).min()?;
            let equal: Vec<&Candidate> =
                candidates.iter().filter(|candidate| candidate.paths == least).collect();
            return Some(equal[random.next() as usize % equal.len()].port);
        }
        if self.lmc > 0 {
            best = choice.other_system.or(choice.other_node).map_or(best, |(_, port)| port);
        }
        Some(best)
    }

    fn candidate(&mut self, end: usize, port: usize) -> Candidate {
        let mut candidate =
            Candidate { port, paths: self.paths[port], forwarded: 0, system_used: false, node_used: false };
        if self.lmc == 0 {
            return candidate;
        }
        let Some((node, back)) = self.behind(port) else { return candidate };
        let nodes = &self.fabric.subnet.nodes;
        let used = &self.used[end];
        let same: Option<&Used> = if self.rules.dimension_order {
            used.iter().find(|used| used.node == node && used.port == back)
        } else {
            let system = |node: usize| -> Guid { nodes[node].system_guid };
            self.found.0 = used.iter().any(|used| system(used.node) == system(node));
            let same = used.iter().find(|used| used.node == node);
            if self.found.0 {
                self.found.1 = same.is_some();
            }
            same
        };
        candidate.forwarded = same.map_or(0, |used| used.forwarded);
        (candidate.system_used, candidate.node_used) = self.found;
        if self.rules.dimension_order {
            candidate.node_used = true;
        }
        candidate
    }
}

/// The best port so far.
#[derive(Default)]
struct Choice {
    best: Option<usize>,
    paths: u32,
    /// Least number of LIDs forwarded to the neighbour of the best port; none at first.
    forwarded: Option<u32>,
    /// Best port to a system, and to a node, that is not in use yet, with its LIDs.
    other_system: Option<(u32, usize)>,
    other_node: Option<(u32, usize)>,
}

impl Choice {
    /// A candidate in the order of ports.
    fn see(&mut self, candidate: &Candidate, lmc: bool, dimension_order: bool) {
        let fewer = |other: Option<(u32, usize)>| other.is_none_or(|(paths, _)| candidate.paths < paths);
        let known = lmc && (dimension_order || candidate.system_used && candidate.node_used);
        if lmc && !dimension_order {
            if !candidate.system_used {
                if fewer(self.other_system) {
                    self.other_system = Some((candidate.paths, candidate.port));
                    self.forwarded = Some(0);
                }
            } else if !candidate.node_used && fewer(self.other_node) {
                self.other_node = Some((candidate.paths, candidate.port));
                self.forwarded = Some(0);
            }
        }
        self.take(candidate, known);
    }

    /// A candidate in shifted order: other rules hold for used nodes.
    fn see_shifted(&mut self, candidate: &Candidate, lmc: bool) {
        let fewer = |other: Option<(u32, usize)>| other.is_none_or(|(paths, _)| candidate.paths < paths);
        if lmc {
            if !candidate.system_used && fewer(self.other_system) {
                self.other_system = Some((candidate.paths, candidate.port));
                self.forwarded = Some(0);
            } else if !candidate.node_used && fewer(self.other_node) {
                self.other_node = Some((candidate.paths, candidate.port));
                self.forwarded = Some(0);
            }
        }
        self.take(candidate, lmc && (candidate.system_used || candidate.node_used));
    }

    fn take(&mut self, candidate: &Candidate, known: bool) {
        let less_forwarded = known && self.forwarded.is_none_or(|least| candidate.forwarded < least);
        if self.best.is_none() || candidate.paths < self.paths {
            self.best = Some(candidate.port);
            self.paths = candidate.paths;
            if less_forwarded {
                self.forwarded = Some(candidate.forwarded);
            }
        } else if candidate.paths == self.paths && less_forwarded {
            self.best = Some(candidate.port);
            self.forwarded = Some(candidate.forwarded);
        }
    }
}
