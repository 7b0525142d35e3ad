//! Escape paths: a spanning tree from the most central switch among the destinations of a lane.

use super::colors::Colors;
use super::network::{FAR, NO, Network};

impl Network {
    /// Colours the escape paths of a lane. `destinations` are the switches of its destinations, one entry for each.
    pub(super) fn mark_escape_paths(&mut self, destinations: &[usize], colors: &mut Colors) {
        self.find_hull(destinations);
        let root = self.central(destinations);
        self.grow_tree(root);
        let mut into_root: Vec<u32> = Vec::new();
        for start in 0..self.nodes.len() {
            let mut link = self.nodes[start].escape;
            while link != NO {
                let parent = self.links[link as usize].from as usize;
                colors.set_escape(link);
                let next = self.nodes[parent].escape;
                if next == NO {
                    if !into_root.contains(&link) {
                        into_root.push(link);
                    }
                    break;
                }
                colors.set_escape(next);
                colors.set_escape_edge(self.edge(next, link));
                if self.nodes[start].has_destinations {
                    self.mark_way_up(link, next, colors);
                }
                link = next;
            }
        }
        for &one in &into_root {
            for &other in into_root.iter().filter(|&&other| other != one) {
                let back = self.links[other as usize].reverse;
                colors.set_escape(one);
                colors.set_escape(back);
                colors.set_escape_edge(self.edge(back, one));
            }
        }
    }

    /// Colours the way up the tree against a link, and the ways down beside it.
    fn mark_way_up(&self, link: u32, next: u32, colors: &mut Colors) {
        let (up, farther) = (self.links[link as usize].reverse, self.links[next as usize].reverse);
        colors.set_escape(up);
        colors.set_escape(farther);
        colors.set_escape_edge(self.edge(up, farther));
        let (parent, child) = (self.links[link as usize].from, self.links[link as usize].to);
        for slot in self.nodes[parent as usize].links.clone() {
            let down = self.nodes[self.links[slot].to as usize].escape;
            if down != NO && self.links[down as usize].from == parent && self.links[down as usize].to != child
            {
                colors.set_escape_edge(self.edge(up, down));
            }
        }
    }

    /// Shortest weighted paths from a root, as a tree of escape links.
    pub(super) fn grow_tree(&mut self, root: usize) {
        for node in &mut self.nodes {
            node.distance = FAR;
            node.escape = NO;
        }
        self.node_heap.fill(FAR, 0..self.nodes.len() as u32);
        self.nodes[root].distance = 0;
        self.node_heap.decrease(root, 0);
        while let Some(at) = self.node_heap.pop() {
            for link in self.nodes[at].links.clone() {
                let to = self.links[link].to as usize;
                let distance = self.nodes[at].distance + self.links[link].weight;
                if distance < self.nodes[to].distance {
                    self.nodes[to].escape = link as u32;
                    self.nodes[to].distance = distance;
                    self.node_heap.decrease(to, distance);
                }
            }
        }
    }

    /// Takes the escape paths to a destination: the tree, with the links between the destination and its root reversed.
    pub(super) fn use_escape_paths(&mut self, destination: usize) {
        for node in &mut self.nodes {
            node.used = node.escape;
        }
        let mut link = std::mem::replace(&mut self.nodes[destination].used, NO);
        while link != NO {
            let (parent, reverse) =
                (self.links[link as usize].from as usize, self.links[link as usize].reverse);
            link = std::mem::replace(&mut self.nodes[parent].used, reverse);
        }
    }

    /// Marks all switches on shortest paths between destinations (`calculate_convex_subnetwork`).
    fn find_hull(&mut self, destinations: &[usize]) {
        for node in &mut self.nodes {
            (node.in_hull, node.has_destinations) = (false, false);
        }
        for &at in destinations {
            (self.nodes[at].in_hull, self.nodes[at].has_destinations) = (true, true);
        }
        for start in 0..self.nodes.len() {
            if !self.nodes[start].in_hull {
                continue;
            }
            let distances = self.hops_from(start);
            let mut processed = vec![false; self.nodes.len()];
            processed[start] = true;
            for other in 0..self.nodes.len() {
                if !self.nodes[other].in_hull || processed[other] {
                    continue;
                }
                processed[other] = true;
                let mut queue = vec![other];
                while let Some(at) = queue.pop() {
                    for link in self.nodes[at].links.clone() {
                        let near = self.links[link].to as usize;
                        if !processed[near] && distances[near] + 1 == distances[at] {
                            self.nodes[near].in_hull = true;
                            processed[near] = true;
                            queue.push(near);
                        }
                    }
                }
            }
        }
    }

    fn hops_from(&self, start: usize) -> Vec<u32> {
        let mut distances = vec![u32::MAX - 1; self.nodes.len()];
        distances[start] = 0;
        let mut queue = vec![start];
        let mut head = 0;
        while let Some(&at) = queue.get(head) {
            head += 1;
            for link in self.nodes[at].links.clone() {
                let next = self.links[link].to as usize;
                if distances[next] == u32::MAX - 1 {
                    distances[next] = distances[at] + 1;
                    queue.push(next);
                }
            }
        }
        distances
    }

    /// The switch of the hull with the largest betweenness (Brandes), the first of several
    /// (`get_central_node_wrt_subnetwork`). Sums are formed in OpenSM's order, so that ties come out alike.
    fn central(&self, destinations: &[usize]) -> usize {
        let count = self.nodes.len();
        // modulo 256 as in OpenSM
        let mut terminals = vec![0u8; count];
        for &at in destinations {
            terminals[at] = terminals[at].wrapping_add(1);
        }
        let mut centrality = vec![0.0f64; count];
        for source in (0..count).filter(|&source| self.nodes[source].in_hull) {
            self.add_centrality(source, &terminals, &mut centrality);
        }
        let mut best = (0, -1.0);
        for (at, &value) in centrality.iter().enumerate() {
            if self.nodes[at].in_hull && value > best.1 {
                best = (at, value);
            }
        }
        best.0
    }

    fn add_centrality(&self, source: usize, terminals: &[u8], centrality: &mut [f64]) {
        let count = self.nodes.len();
        let mut sigma = vec![0u64; count];
        let mut distance = vec![u32::MAX; count];
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
        (sigma[source], distance[source]) = (1, 0);
        let mut order = vec![source];
        let mut head = 0;
        while let Some(&at) = order.get(head) {
            head += 1;
            for link in self.nodes[at].links.clone() {
                let next = self.links[link].to as usize;
                if !self.nodes[next].in_hull {
                    continue;
                }
                if distance[next] == u32::MAX {
                    distance[next] = distance[at] + 1;
                    order.push(next);
                }
                if distance[next] == distance[at] + 1 {
                    sigma[next] += sigma[at];
                    before[next].push(at);
                }
            }
        }
        // Paths begin at the switch itself, then at each of its terminals.
        for (starts, is_terminal) in [(1, false), (terminals[source], true)] {
            if starts == 0 {
                continue;
            }
            let mut delta = vec![0.0f64; count];
            for &at in order.iter().rev() {
                let own = if at == source && is_terminal { terminals[at] - 1 } else { terminals[at] };
                // OpenSM adds them one by one: their sum at once is rounded otherwise, and decides ties
                (0..own).for_each(|_| delta[at] += 1.0);
                for &near in &before[at] {
                    delta[near] += (sigma[near] as f64) / (sigma[at] as f64) * (1.0 + delta[at]);
                }
                if is_terminal || at != source {
                    (0..starts).for_each(|_| centrality[at] += delta[at]);
                }
            }
        }
    }
}
