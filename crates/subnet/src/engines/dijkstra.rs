//! Shortest weighted paths from a destination to all switches, ties broken as OpenSM does (`osm_ucast_dfsssp.c`).
//!
//! Which of several shortest paths is found depends on the order in which equal distances leave the heap.

use super::heap::Heap;
use crate::fabric::Fabric;

/// Distance of switches that are not reached.
const FAR: u64 = u64::MAX;

/// No link.
pub(super) const NO_LINK: u32 = u32::MAX;

/// A link in the direction away from the destination.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// Switch nearer to the destination.
    pub(super) from: u32,
    /// Switch that it leads to.
    pub(super) to: u32,
    /// Port of `to` through which packets go to the destination.
    pub(super) port: u8,
    /// Number of paths, plus a constant that forces shortest paths.
    pub(super) weight: u64,
}

/// A graph of switches with weights, and the last search.
pub(super) struct Graph {
    first: Vec<u32>,
    /// Links by their nearer switch.
    pub(super) links: Vec<Link>,
    heap: Heap,
    distance: Vec<u64>,
    done: Vec<bool>,
    /// Link by which each switch was reached; `NO_LINK` for the destination's switch.
    pub(super) used: Vec<u32>,
}

impl Graph {
    /// The graph of a fabric; every link has the same weight.
    pub(super) fn new(fabric: &Fabric<'_>, weight: u64) -> Self {
        let mut first = vec![0];
        let mut links = Vec::new();
        for from in 0..fabric.len() {
            links.extend(fabric.switch_links(from).map(|(_, to, back)| Link {
                from: from as u32,
                to: to as u32,
                port: back as u8,
                weight,
            }));
            first.push(links.len() as u32);
        }
        let count = fabric.len();
        Self {
            first,
            links,
            heap: Heap::new(count + 1),
            distance: vec![FAR; count],
            done: vec![false; count],
            used: vec![NO_LINK; count],
        }
    }

    /// Searches from a switch. An adapter as destination is an element of its own in the heap, which changes the order of ties.
    pub(super) fn search(&mut self, from: usize, adapter: bool) {
        let count = self.distance.len();
        self.distance.fill(FAR);
        self.done.fill(false);
        self.used.fill(NO_LINK);
        self.heap.fill(FAR, 0..(count + usize::from(adapter)) as u32);
        if adapter {
            self.heap.decrease(count, 0);
        } else {
            self.distance[from] = 0;
            self.heap.decrease(from, 0);
        }
        while let Some(at) = self.heap.pop() {
            if at == count {
                self.distance[from] = 1;
                self.heap.decrease(from, 1);
                continue;
            }
            self.done[at] = true;
            for link in self.first[at]..self.first[at + 1] {
                let Link { to, weight, .. } = self.links[link as usize];
                let to = to as usize;
                let distance = self.distance[at].saturating_add(weight);
                if !self.done[to] && distance < self.distance[to] {
                    self.used[to] = link;
                    self.distance[to] = distance;
                    self.heap.decrease(to, distance);
                }
            }
        }
    }

    /// Adds to the weights of all links on the paths of the last search: for each switch, its number of destinations.
    pub(super) fn add_weights(&mut self, destinations: &[u64]) {
        for (start, &weight) in destinations.iter().enumerate() {
            let mut at = start;
            while self.used[at] != NO_LINK {
                let link = &mut self.links[self.used[at] as usize];
                link.weight += weight;
                at = link.from as usize;
            }
        }
    }
}
