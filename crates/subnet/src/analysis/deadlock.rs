//! The channel-dependency graph of tables: channels are pairs of a link between switches and a lane.
//!
//! Without a cycle no set of packets can wait for each other (Dally and Seitz, "Deadlock-free message routing in multiprocessor
//! interconnection networks", 1987). Links to adapters are no part of cycles: adapters consume all packets.

use serde::Serialize;

use crate::fabric::{Fabric, Peer};
use crate::{PortId, Subnet};

const WORD: usize = 64;

/// A cyclic dependency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cycle {
    /// Output port and lane of each channel, in the order of waiting.
    pub channels: Vec<(PortId, u8)>,
    /// The same with descriptions: switch, port, lane, next switch.
    pub names: Vec<String>,
}

/// Dependencies of channels.
#[derive(Debug, Clone)]
pub(super) struct Dependencies {
    lanes: usize,
    /// Words of the set of next channels: by output port of the next switch and lane.
    words: usize,
    /// Sets by channel and lane.
    next: Vec<u64>,
    /// Lanes in use, by channel.
    used: Vec<u16>,
}

impl Dependencies {
    pub(super) fn new(fabric: &Fabric<'_>, lanes: usize) -> Self {
        let words = (fabric.most_ports() * lanes).div_ceil(WORD);
        let channels = fabric.num_ports();
        Self { lanes, words, next: vec![0; channels * lanes * words], used: vec![0; channels] }
    }

    /// Notes that a path uses a channel.
    pub(super) fn use_channel(&mut self, channel: usize, lane: usize) {
        self.used[channel] |= 1 << lane;
    }

    /// Adds a dependency on the output `port` of the next switch.
    pub(super) fn add(&mut self, channel: usize, lane: usize, port: usize, next_lane: usize) {
        if lane >= self.lanes || next_lane >= self.lanes {
            return;
        }
        let bit = port * self.lanes + next_lane;
        self.next[(channel * self.lanes + lane) * self.words + bit / WORD] |= 1 << (bit % WORD);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.next.iter_mut().zip(&other.next).for_each(|(set, more)| *set |= more);
        self.used.iter_mut().zip(&other.used).for_each(|(set, more)| *set |= more);
    }

    /// Number of lanes that paths use.
    pub(super) fn lanes_in_use(&self) -> usize {
        self.used.iter().fold(0, |all, used| all | used).count_ones() as usize
    }

    /// Finds a cycle.
    pub(super) fn cycle(&self, fabric: &Fabric<'_>) -> Option<Cycle> {
        let mut owner = Vec::with_capacity(fabric.num_ports());
        for at in 0..fabric.len() {
            owner.extend(std::iter::repeat_n(at, fabric.peers(at).len()));
        }
        let mut search =
            Search { graph: self, fabric, owner, state: vec![0; fabric.num_ports() * self.lanes] };
        let found = (0..search.state.len()).find_map(|start| search.from(start))?;
        Some(search.name(&found))
    }
}

struct Search<'a> {
    graph: &'a Dependencies,
    fabric: &'a Fabric<'a>,
    /// Switch of each channel.
    owner: Vec<usize>,
    /// By channel and lane: 0 new, 1 on the way, 2 done.
    state: Vec<u8>,
}

impl Search<'_> {
    /// The next dependency of a channel from bit `from` on.
    fn next(&self, node: usize, from: usize) -> Option<(usize, usize)> {
        let graph = self.graph;
        let set = &graph.next[node * graph.words..(node + 1) * graph.words];
        let mut word = from / WORD;
        let mut bits = set.get(word)? & (u64::MAX << (from % WORD));
        while bits == 0 {
            word += 1;
            bits = *set.get(word)?;
        }
        let bit = word * WORD + bits.trailing_zeros() as usize;
        let channel = node / graph.lanes;
        let at = self.owner[channel];
        let Peer::Switch(next, _) = self.fabric.peers(at)[channel - self.fabric.first_port(at)] else {
            return None;
        };
        let next_channel = self.fabric.first_port(next as usize) + bit / graph.lanes;
        Some((bit + 1, next_channel * graph.lanes + bit % graph.lanes))
    }

    fn from(&mut self, start: usize) -> Option<Vec<usize>> {
        if self.state[start] != 0 {
            return None;
        }
        let mut stack = vec![(start, 0)];
        self.state[start] = 1;
        while let Some(top) = stack.last_mut() {
            let node = top.0;
            let Some((bit, next)) = self.next(node, top.1) else {
                self.state[node] = 2;
                stack.pop();
                continue;
            };
            if let Some(top) = stack.last_mut() {
                top.1 = bit;
            }
            match self.state[next] {
                0 => {
                    self.state[next] = 1;
                    stack.push((next, 0));
                }
                1 => {
                    let begin = stack.iter().position(|&(node, _)| node == next)?;
                    return Some(stack[begin..].iter().map(|&(node, _)| node).collect());
                }
                _ => {}
            }
        }
        None
    }

    fn name(&self, nodes: &[usize]) -> Cycle {
        let lanes = self.graph.lanes;
        let mut cycle = Cycle { channels: Vec::new(), names: Vec::new() };
        for &node in nodes {
            let (channel, lane) = (node / lanes, node % lanes);
            let at = self.owner[channel];
            let port = channel - self.fabric.first_port(at);
            cycle.channels.push((PortId { node: self.fabric.switches[at], port: port as u8 }, lane as u8));
            cycle.names.push(format!("{} on VL {lane}", channel_name(self.fabric, at, port)));
        }
        cycle
    }
}

/// Description of a channel: switch, port, next switch.
pub(super) fn channel_name(fabric: &Fabric<'_>, at: usize, port: usize) -> String {
    let subnet: &Subnet = fabric.subnet;
    let name = |at: usize| &subnet.node(fabric.switches[at]).description;
    match fabric.peers(at)[port] {
        Peer::Switch(next, _) => format!("\"{}\" port {port} to \"{}\"", name(at), name(next as usize)),
        _ => format!("\"{}\" port {port}", name(at)),
    }
}
