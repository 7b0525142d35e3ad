//! The search of a destination's paths over channels, which never closes a cycle of dependencies.

use super::colors::{BLOCKED, Colors, ESCAPE, UNUSED};
use super::network::{FAR, NO, Network};

/// State of a search.
struct Search {
    source: usize,
    source_channel: u32,
    color: u32,
    /// Switches that were reached.
    found: usize,
    /// Number of steps back; 0 before the first.
    step: i32,
}

impl Network {
    /// Finds paths from all switches to a destination at a switch (`route_via_modified_dijkstra_on_ccdg`).
    pub(super) fn search(&mut self, source: usize, colors: &mut Colors) {
        for node in &mut self.nodes {
            (node.distance, node.used, node.hops, node.found_after) = (FAR, NO, 0, -1);
            node.stack.clear();
        }
        (self.nodes[source].distance, self.nodes[source].hops) = (0, 1);
        let source_channel = self.source_channel(source);
        let color = colors.begin(source_channel);
        let mut search = Search { source, source_channel, color, found: 1, step: 0 };
        let mut current = Some(source_channel);
        while let Some(channel) = current {
            self.expand(channel, &mut search, colors);
            current = self.link_heap.pop().map(|link| link as u32);
            if current.is_none() && search.found != self.nodes.len() {
                current = self.step_back(&search, colors);
                if current.is_some() {
                    search.found += 1;
                    search.step += 1;
                } else {
                    self.use_escape_paths(source);
                }
            }
        }
        self.keep(&search, colors);
    }

    fn distance(&self, channel: u32) -> u64 {
        self.links.get(channel as usize).map_or(0, |link| link.distance)
    }

    /// Goes on from a channel: first by dependencies in use, then by unused ones.
    fn expand(&mut self, channel: u32, search: &mut Search, colors: &mut Colors) {
        for in_use in [true, false] {
            for edge in self.edges(channel) {
                let color = colors.edge(edge);
                if (in_use && color >= ESCAPE) || (!in_use && color == UNUSED) {
                    self.follow(channel, edge, search, colors);
                }
            }
        }
    }

    fn follow(&mut self, channel: u32, edge: usize, search: &mut Search, colors: &mut Colors) {
        let next = self.edge_to[edge];
        let to = self.links[next as usize].to as usize;
        let distance = self.distance(channel) + self.links[next as usize].weight;
        if distance < self.nodes[to].distance {
            if !colors.use_edge(self, channel, edge, search.color) {
                return;
            }
            let used = self.nodes[to].used;
            if search.step > 0 && used != NO && search.step != self.nodes[to].found_after {
                if !self.is_shortcut(to, next, search, colors) {
                    return;
                }
            } else {
                if used == NO {
                    search.found += 1;
                    self.nodes[to].found_after = search.step;
                } else {
                    self.replace(used, colors);
                }
                self.links[next as usize].distance = distance;
                self.link_heap.insert(distance, next as usize);
            }
            self.nodes[to].distance = distance;
            self.nodes[to].used = next;
            let before = self.links.get(channel as usize).map_or(search.source, |link| link.to as usize);
            self.nodes[to].hops = self.nodes[before].hops.wrapping_add(1);
        } else if colors.edge(edge) > UNUSED && !(search.step > 0 && self.nodes[to].used != NO) {
            self.links[next as usize].distance = distance;
            self.remember(to, next);
        }
    }

    /// Takes back a channel for which a better one was found.
    fn replace(&mut self, old: u32, colors: &mut Colors) {
        self.link_heap.remove(old as usize);
        let before = self.nodes[self.links[old as usize].from as usize].used;
        if before != NO
            && let Some(edge) = self.edge(before, old)
        {
            colors.reset_edge(edge);
        }
    }

    fn remember(&mut self, node: usize, link: u32) {
        let stack = &mut self.nodes[node].stack;
        if !stack.contains(&link) {
            stack.push(link);
        }
    }

    /// Channels that continue a path beyond a node.
    fn dependents(&self, node: usize) -> Vec<u32> {
        let links = self.nodes[node].links.clone();
        let used = links.map(|link| self.nodes[self.links[link].to as usize].used);
        used.filter(|&used| used != NO && self.links[used as usize].from as usize == node).collect()
    }

    /// True if a channel can replace the one in use of a node that was reached before a step back
    /// (`attempt_shortcut_discovery`).
    fn is_shortcut(&self, node: usize, channel: u32, search: &Search, colors: &mut Colors) -> bool {
        let old = self.nodes[node].used;
        let edges: Option<Vec<usize>> =
            self.dependents(node).into_iter().map(|dependent| self.edge(channel, dependent)).collect();
        let Some(edges) = edges else { return false };
        let were_wet: Vec<bool> = edges.iter().map(|&edge| colors.is_wet(edge)).collect();
        let blocked = edges.iter().position(|&edge| {
            colors.edge(edge) == BLOCKED || !colors.use_edge(self, channel, edge, search.color)
        });
        if let Some(until) = blocked {
            for (slot, &edge) in edges.iter().enumerate().take(until) {
                if colors.edge(edge) != BLOCKED && !were_wet[slot] {
                    colors.reset_edge(edge);
                }
            }
            return false;
        }
        let before = self.nodes[self.links[old as usize].from as usize].used;
        if before != NO
            && let Some(edge) = self.edge(before, old)
        {
            colors.reset_edge(edge);
        }
        // OpenSM erases the new dependencies here, not those of the old channel
        for edge in edges {
            colors.reset_edge(edge);
        }
        true
    }

    /// Reaches one more switch by another channel to a neighbour (`attempt_local_backtracking`).
    fn step_back(&mut self, search: &Search, colors: &mut Colors) -> Option<u32> {
        for node in 0..self.nodes.len() {
            if self.nodes[node].distance != FAR {
                continue;
            }
            let mut found = None;
            for (link, before) in self.candidates(node, colors) {
                let channel = self.links[link as usize].reverse;
                if !self.try_candidate(before, channel, search, colors) {
                    continue;
                }
                let distance = self.links[before as usize].distance + self.links[channel as usize].weight;
                self.links[channel as usize].distance = distance;
                if found.is_some() {
                    self.remember(node, channel);
                    continue;
                }
                (self.nodes[node].used, self.nodes[node].distance) = (channel, distance);
                let neighbour = self.links[link as usize].to as usize;
                self.nodes[neighbour].used = before;
                self.nodes[neighbour].distance = self.links[before as usize].distance;
                found = Some(channel);
            }
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Links to reached neighbours, with another channel that could serve them, by distance.
    fn candidates(&self, node: usize, colors: &Colors) -> Vec<(u32, u32)> {
        let mut candidates = Vec::new();
        for link in self.nodes[node].links.clone() {
            let neighbour = self.links[link].to as usize;
            if self.nodes[neighbour].distance == FAR {
                continue;
            }
            let dependents = self.dependents(neighbour);
            let serves = |&channel: &u32| {
                dependents.iter().all(|&dependent| {
                    !self.turns_back(channel, dependent)
                        && self.edge(channel, dependent).is_some_and(|edge| colors.edge(edge) >= ESCAPE)
                })
            };
            candidates.extend(
                self.nodes[neighbour]
                    .stack
                    .iter()
                    .copied()
                    .filter(serves)
                    .map(|channel| (link as u32, channel)),
            );
        }
        candidates.sort_by_key(|&(_, channel)| self.links[channel as usize].distance);
        candidates
    }

    /// Uses the dependencies of a candidate: on channel `before`, and of it on `channel`.
    fn try_candidate(&self, before: u32, channel: u32, search: &Search, colors: &mut Colors) -> bool {
        let Some(edge) = self.edge(before, channel) else { return false };
        let from = self.links[before as usize].from as usize;
        if colors.edge(edge) == BLOCKED || from == search.source {
            return false;
        }
        let earlier = self.nodes[from].used;
        if earlier == NO || self.turns_back(before, earlier) {
            return false;
        }
        let Some(first) = self.edge(earlier, before) else { return false };
        if colors.edge(first) == BLOCKED {
            return false;
        }
        let was_wet = colors.is_wet(first);
        if !colors.use_edge(self, earlier, first, search.color) {
            return false;
        }
        if !colors.use_edge(self, before, edge, search.color) {
            if !was_wet {
                colors.reset_edge(first);
            }
            return false;
        }
        true
    }

    /// Keeps the colours of the paths, and erases the rest.
    fn keep(&self, search: &Search, colors: &mut Colors) {
        for node in self.nodes.iter().filter(|node| node.used != NO) {
            let from = self.links[node.used as usize].from as usize;
            let before = if from == search.source { search.source_channel } else { self.nodes[from].used };
            let edge = if before == NO { None } else { self.edge(before, node.used) };
            colors.dry(node.used, edge);
        }
        colors.settle();
    }
}
