//! The channel-dependency graph of DFSSSP, with the paths of each dependency, and its cycle search (`osm_ucast_dfsssp.c`).
//!
//! Channels and dependencies keep the order in which OpenSM creates and visits them, so that the same cycles break at the same
//! places and as many layers are needed.

use crate::fabric::Fabric;

const NONE: u32 = u32::MAX;

/// State of a channel in the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not visited.
    New,
    /// On the way from the start.
    Open,
    /// Not on any cycle.
    Done,
}

/// A dependency of a channel on the next.
#[derive(Debug)]
struct Dependency {
    to: u32,
    /// Weight of its paths, without those that were removed.
    weight: u32,
    /// Paths: source switch, LID; those that were removed stay.
    paths: Vec<(u32, u32)>,
}

/// A channel: an output of a switch.
#[derive(Debug)]
struct Channel {
    /// Dependencies in the order of creation.
    next: Vec<Dependency>,
    state: State,
    /// Channel from which the search came.
    before: u32,
    /// Children in the tree by identifier.
    less: u32,
    greater: u32,
}

/// Channels of one layer.
#[derive(Debug)]
pub(super) struct Channels {
    /// Index of a channel by port of the fabric.
    index: Vec<u32>,
    /// Identifiers by port of the fabric: LID, port, LID, port.
    keys: Vec<u64>,
    nodes: Vec<Channel>,
    /// Ports of the channels.
    ports: Vec<u32>,
    /// Channel at which the search goes on.
    current: Option<u32>,
    started: bool,
    /// Channels in the order of OpenSM's walk through its tree.
    preorder: Vec<u32>,
    visited: usize,
}

impl Channels {
    /// A graph without channels.
    pub(super) fn new(fabric: &Fabric<'_>) -> Self {
        let mut keys = vec![0; fabric.num_ports()];
        for at in 0..fabric.len() {
            for (port, next, back) in fabric.switch_links(at) {
                let (own, far) = (fabric.switch_lid(at) as u64, fabric.switch_lid(next) as u64);
                keys[fabric.first_port(at) + port] =
                    (own << 48) + ((port as u64) << 32) + (far << 16) + back as u64;
            }
        }
        Self {
            index: vec![NONE; fabric.num_ports()],
            keys,
            nodes: Vec::new(),
            ports: Vec::new(),
            current: None,
            started: false,
            preorder: Vec::new(),
            visited: 0,
        }
    }

    /// Adds a channel, unless it is there: at its place in a binary tree, which decides where searches start.
    pub(super) fn use_channel(&mut self, port: usize) {
        if self.index[port] != NONE {
            return;
        }
        let new = self.nodes.len() as u32;
        self.index[port] = new;
        self.ports.push(port as u32);
        self.nodes.push(Channel {
            next: Vec::new(),
            state: State::New,
            before: NONE,
            less: NONE,
            greater: NONE,
        });
        if new == 0 {
            return;
        }
        let key = self.keys[port];
        let mut at = 0u32;
        loop {
            let here = self.keys[self.ports[at as usize] as usize];
            let channel = &mut self.nodes[at as usize];
            let child = if key < here { &mut channel.less } else { &mut channel.greater };
            if *child == NONE {
                *child = new;
                return;
            }
            at = *child;
        }
    }

    /// Adds a path to the dependency of channel `before` on `port`.
    pub(super) fn add_pair(&mut self, before: usize, port: usize, path: (u32, u32), weight: u32) {
        let to = self.index[port];
        let next = &mut self.nodes[self.index[before] as usize].next;
        match next.iter_mut().find(|dependency| dependency.to == to) {
            Some(dependency) => {
                dependency.weight += weight;
                dependency.paths.push(path);
            }
            None => next.push(Dependency { to, weight, paths: vec![path] }),
        }
    }

    /// Removes the weight of a path from a dependency, unless the dependency was broken already.
    pub(super) fn remove_pair(&mut self, before: usize, port: usize, weight: u32) {
        let to = self.index[port];
        let next = &mut self.nodes[self.index[before] as usize].next;
        if let Some(dependency) = next.iter_mut().find(|dependency| dependency.to == to) {
            dependency.weight = dependency.weight.saturating_sub(weight);
        }
    }

    /// Finds a cycle and removes its least used dependency, of which it returns the paths; none if there is no cycle.
    pub(super) fn break_cycle(&mut self) -> Option<Vec<(u32, u32)>> {
        if !self.started {
            self.started = true;
            self.preorder = self.tree_order();
            self.current = (!self.nodes.is_empty()).then_some(0);
        }
        let cycle = self.search()?;
        self.current = Some(cycle);
        Some(self.break_weakest(cycle))
    }

    fn tree_order(&self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut stack = if self.nodes.is_empty() { vec![] } else { vec![0] };
        while let Some(at) = stack.pop() {
            order.push(at);
            let channel = &self.nodes[at as usize];
            stack.extend([channel.greater, channel.less].into_iter().filter(|&child| child != NONE));
        }
        order
    }

    /// Depth-first search from where it was interrupted: returns a channel on a cycle.
    fn search(&mut self) -> Option<u32> {
        while let Some(at) = self.current {
            self.nodes[at as usize].state = State::Open;
            let state = |to: u32| self.nodes[to as usize].state;
            let next =
                self.nodes[at as usize].next.iter().map(|next| next.to).find(|&to| state(to) != State::Done);
            match next {
                Some(to) if state(to) == State::Open => return Some(to),
                Some(to) => {
                    self.nodes[to as usize].before = at;
                    self.current = Some(to);
                }
                None => {
                    let channel = &mut self.nodes[at as usize];
                    channel.state = State::Done;
                    for dependency in &mut channel.next {
                        dependency.paths = Vec::new();
                    }
                    let before = std::mem::replace(&mut channel.before, NONE);
                    self.current = if before == NONE { self.next_start() } else { Some(before) };
                }
            }
        }
        None
    }

    /// The next channel that no search visited. States only go from new to done between calls, so earlier ones stay visited.
    fn next_start(&mut self) -> Option<u32> {
        while let Some(&at) = self.preorder.get(self.visited) {
            if self.nodes[at as usize].state == State::New {
                return Some(at);
            }
            self.visited += 1;
        }
        None
    }

    /// Removes the dependency with the least weight, the first of several, from the open cycle through a channel.
    fn break_weakest(&mut self, cycle: u32) -> Vec<(u32, u32)> {
        let mut weakest: Option<(u32, u32, usize)> = None;
        let mut at = cycle;
        loop {
            let nodes = &self.nodes;
            let next = nodes[at as usize]
                .next
                .iter()
                .position(|next| nodes[next.to as usize].state == State::Open || next.to == cycle);
            let Some(slot) = next else { break };
            let dependency = &nodes[at as usize].next[slot];
            if weakest.is_none_or(|(weight, ..)| dependency.weight < weight) {
                weakest = Some((dependency.weight, at, slot));
            }
            let to = dependency.to;
            self.nodes[at as usize].state = State::New;
            at = to;
            if at == cycle {
                break;
            }
        }
        weakest.map_or_else(Vec::new, |(_, at, slot)| self.nodes[at as usize].next.remove(slot).paths)
    }
}
