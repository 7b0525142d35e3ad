//! Colours of channels and dependencies: connected acyclic parts of the channel-dependency graph.
//!
//! A dependency between two parts of different colours closes no cycle; within a part a search decides. Parts merge when a
//! dependency connects them. What a search used in vain is "wet" and is erased after it.

use super::network::Network;

/// Colour of dependencies that would close a cycle.
pub(super) const BLOCKED: u32 = 0;
/// Colour of what no path uses.
pub(super) const UNUSED: u32 = 1;
/// Colour of escape paths.
pub(super) const ESCAPE: u32 = 2;

/// Colours of one lane.
pub(super) struct Colors {
    /// Colour into which each colour was merged.
    merged: Vec<u32>,
    channels: Vec<u32>,
    edges: Vec<u32>,
    wet_channels: Vec<bool>,
    wet_edges: Vec<bool>,
    /// Colour of the next destination.
    pub(super) next: u32,
    visited: Vec<u32>,
    visits: u32,
    stack: Vec<u32>,
}

impl Colors {
    /// Everything unused, with colours for a number of destinations.
    pub(super) fn new(network: &Network, destinations: usize) -> Self {
        let channels = network.first_edge.len() - 1;
        Self {
            merged: (0..destinations as u32 + 4).collect(),
            channels: vec![UNUSED; channels],
            edges: vec![UNUSED; network.edge_to.len()],
            wet_channels: vec![false; channels],
            wet_edges: vec![false; network.edge_to.len()],
            next: ESCAPE + 1,
            visited: vec![0; channels],
            visits: 0,
            stack: Vec::new(),
        }
    }

    pub(super) fn channel(&self, channel: u32) -> u32 {
        self.merged[self.channels[channel as usize] as usize]
    }

    pub(super) fn edge(&self, edge: usize) -> u32 {
        self.merged[self.edges[edge] as usize]
    }

    pub(super) fn is_wet(&self, edge: usize) -> bool {
        self.wet_edges[edge]
    }

    pub(super) fn set_escape(&mut self, channel: u32) {
        self.channels[channel as usize] = ESCAPE;
    }

    pub(super) fn set_escape_edge(&mut self, edge: Option<usize>) {
        if let Some(edge) = edge {
            self.edges[edge] = ESCAPE;
        }
    }

    /// Gives the channel of a destination its colour.
    pub(super) fn begin(&mut self, channel: u32) -> u32 {
        let color = self.next;
        self.next += 1;
        let old = self.channels[channel as usize];
        if self.channel(channel) > UNUSED {
            self.merged[old as usize] = color;
        } else {
            self.channels[channel as usize] = color;
        }
        color
    }

    /// Erases a wet dependency.
    pub(super) fn reset_edge(&mut self, edge: usize) {
        if std::mem::take(&mut self.wet_edges[edge]) {
            self.edges[edge] = UNUSED;
        }
    }

    fn paint_edge(&mut self, from: u32, edge: usize) {
        self.edges[edge] = self.channels[from as usize];
        self.wet_edges[edge] = true;
    }

    /// Uses a dependency of channel `from`; false, and the dependency is blocked, if that closes a cycle.
    pub(super) fn use_edge(&mut self, network: &Network, from: u32, edge: usize, color: u32) -> bool {
        let to = network.edge_to[edge];
        if self.edge(edge) > UNUSED {
            return true;
        }
        let of_target = self.channel(to);
        if of_target == color {
            if self.leads_to(network, to, from) {
                self.edges[edge] = BLOCKED;
                return false;
            }
        } else if of_target == UNUSED {
            self.channels[to as usize] = self.channels[from as usize];
            self.wet_channels[to as usize] = true;
        } else {
            let old = self.channels[to as usize] as usize;
            self.merged[old] = self.channels[from as usize];
        }
        self.paint_edge(from, edge);
        true
    }

    /// True if used dependencies lead from one channel to another.
    fn leads_to(&mut self, network: &Network, from: u32, to: u32) -> bool {
        self.visits += 1;
        self.stack.clear();
        self.stack.push(from);
        self.visited[from as usize] = self.visits;
        while let Some(at) = self.stack.pop() {
            for edge in network.edges(at) {
                let next = network.edge_to[edge];
                if self.visited[next as usize] == self.visits || self.edge(edge) <= UNUSED {
                    continue;
                }
                if next == to {
                    return true;
                }
                self.visited[next as usize] = self.visits;
                self.stack.push(next);
            }
        }
        false
    }

    /// Keeps a channel that a path uses, and the dependency on it.
    pub(super) fn dry(&mut self, channel: u32, edge: Option<usize>) {
        self.wet_channels[channel as usize] = false;
        if let Some(edge) = edge {
            self.wet_edges[edge] = false;
        }
    }

    /// Erases what is still wet, and applies merges.
    pub(super) fn settle(&mut self) {
        for (color, wet) in self.channels.iter_mut().zip(&mut self.wet_channels) {
            if std::mem::take(wet) {
                *color = UNUSED;
            }
            *color = self.merged[*color as usize];
        }
        for (color, wet) in self.edges.iter_mut().zip(&mut self.wet_edges) {
            if std::mem::take(wet) {
                *color = UNUSED;
            }
            *color = self.merged[*color as usize];
        }
    }
}
