//! LASH: one shortest path for each pair of switches, in layers without cyclic dependency (`osm_ucast_lash.c`).
//!
//! Breadth-first trees from every switch give the paths. Pair by pair, both directions go to the first layer that stays acyclic. Then
//! random pairs move from the fullest layer to the emptiest, until their sizes differ by less than six.

use super::hops::HopMatrix;
use super::layer_graph::LayerGraph;
use super::random::Random;
use super::{Options, PathSls, Routing};
use crate::fabric::{Fabric, NONE};
use crate::{RouteError, Sl2Vl, Tables};

/// Difference of the sizes of layers at which balancing ends.
const BALANCED: i64 = 6;

/// Port of a switch that no path uses yet.
const UNSET: u8 = 0;

pub(super) fn route(fabric: &Fabric<'_>, options: &Options) -> Result<Routing, RouteError> {
    let mut lash = Lash::new(fabric);
    lash.assign(usize::from(options.vls))
        .ok_or(RouteError::TooFewLanes { engine: "lash", lanes: options.vls })?;
    lash.balance();
    let mut routing = Routing::new(lash.tables(), HopMatrix::shortest(fabric));
    routing.layers = lash.layers.len() as u8;
    routing.sl2vl = Sl2Vl::modulo(options.vls);
    let level = |at: usize, lid: usize| {
        let end = fabric.lid_ends[lid];
        let target = if end == NONE { NONE } else { fabric.ends[end as usize].switch };
        if target == NONE { 0 } else { lash.lane[at * fabric.len() + target as usize] }
    };
    routing.sls = Some(PathSls::new(fabric, level, [1; 16]));
    Ok(routing)
}

struct Lash<'a> {
    fabric: &'a Fabric<'a>,
    /// Port and next switch, by switch, then target switch.
    ports: Vec<u8>,
    next: Vec<u32>,
    /// Layer of each pair of switches.
    lane: Vec<u8>,
    layers: Vec<LayerGraph>,
    /// Number of paths in each layer.
    sizes: Vec<i64>,
}

impl<'a> Lash<'a> {
    fn new(fabric: &'a Fabric<'a>) -> Self {
        let count = fabric.len();
        let mut lash = Self {
            fabric,
            ports: vec![UNSET; count * count],
            next: vec![0; count * count],
            lane: vec![0; count * count],
            layers: vec![LayerGraph::new(fabric.num_ports())],
            sizes: vec![0],
        };
        for root in 0..count {
            lash.add_tree(root);
        }
        lash
    }

    /// Takes the paths down the breadth-first tree of a root, where no earlier tree gave one.
    fn add_tree(&mut self, root: usize) {
        let count = self.fabric.len();
        let mut parent = vec![NONE; count];
        let mut port = vec![UNSET; count];
        let mut queue = vec![root];
        parent[root] = root as u32;
        let mut head = 0;
        while let Some(&at) = queue.get(head) {
            head += 1;
            for (out, next, _) in self.fabric.switch_links(at) {
                if parent[next] == NONE {
                    parent[next] = at as u32;
                    port[next] = out as u8;
                    queue.push(next);
                }
            }
        }
        for target in 0..count {
            let mut below = target;
            while below != root {
                let at = parent[below] as usize;
                let slot = at * count + target;
                if self.ports[slot] == UNSET {
                    self.ports[slot] = port[below];
                    self.next[slot] = below as u32;
                }
                below = at;
            }
        }
    }

    /// Channels of the path between two switches.
    fn path(&self, from: usize, to: usize, path: &mut Vec<u32>) {
        path.clear();
        let mut at = from;
        while at != to {
            let slot = at * self.fabric.len() + to;
            path.push((self.fabric.first_port(at) + usize::from(self.ports[slot])) as u32);
            at = self.next[slot] as usize;
        }
    }

    /// Adds both paths of a pair to a layer, or none.
    fn add(&mut self, layer: usize, there: &[u32], back: &[u32]) -> bool {
        let graph = &mut self.layers[layer];
        if !graph.add(there) {
            return false;
        }
        if !graph.add(back) {
            graph.remove(there);
            return false;
        }
        true
    }

    /// Puts every pair in the first layer that stays acyclic; none if there are not enough layers.
    fn assign(&mut self, lanes: usize) -> Option<()> {
        let count = self.fabric.len();
        let (mut there, mut back) = (Vec::new(), Vec::new());
        for from in 0..count {
            for to in from + 1..count {
                self.path(from, to, &mut there);
                self.path(to, from, &mut back);
                let mut layer = 0;
                while !self.add(layer, &there, &back) {
                    layer += 1;
                    if layer == lanes {
                        return None;
                    }
                    if layer == self.layers.len() {
                        self.layers.push(LayerGraph::new(self.fabric.num_ports()));
                        self.sizes.push(0);
                    }
                }
                self.sizes[layer] += 2;
                self.lane[from * count + to] = layer as u8;
                self.lane[to * count + from] = layer as u8;
            }
        }
        Some(())
    }

    /// Moves pairs from the fullest layer to the emptiest, at random as OpenSM draws them.
    fn balance(&mut self) {
        let count = self.fabric.len();
        if self.layers.len() == 1 {
            return;
        }
        let mut random = Random::new(1);
        let mut refused = vec![false; count * count];
        let (mut full, mut empty) = (0, self.layers.len() - 1);
        let mut trials = self.sizes[full];
        let (mut there, mut back) = (Vec::new(), Vec::new());
        while trials > 0 && self.sizes[full] - self.sizes[empty] >= BALANCED {
            let Some((from, to)) = self.draw(&mut random, full, &refused) else { return };
            self.path(from, to, &mut there);
            self.path(to, from, &mut back);
            let slots = [from * count + to, to * count + from];
            if self.add(empty, &there, &back) {
                self.layers[full].remove(&there);
                self.layers[full].remove(&back);
                self.sizes[full] -= 2;
                self.sizes[empty] += 2;
                for slot in slots {
                    self.lane[slot] = empty as u8;
                }
            } else {
                for slot in slots {
                    refused[slot] = true;
                }
                trials -= 2;
            }
            let before = (full, empty);
            empty = (0..self.sizes.len()).min_by_key(|&layer| self.sizes[layer]).unwrap_or(0);
            full = (0..self.sizes.len()).rev().max_by_key(|&layer| self.sizes[layer]).unwrap_or(0);
            if (full, empty) != before {
                trials = self.sizes[full];
                refused.fill(false);
            }
        }
    }

    /// The first pair of a layer, not refused before, from a random one on.
    fn draw(&self, random: &mut Random, layer: usize, refused: &[bool]) -> Option<(usize, usize)> {
        let count = self.fabric.len();
        let (first, second) = (random.next() as usize % count, random.next() as usize % count);
        let slots = (0..count * count).map(|step| ((first + step / count) % count, (second + step) % count));
        slots.into_iter().find(|&(from, to)| {
            let slot = from * count + to;
            from != to && usize::from(self.lane[slot]) == layer && !refused[slot]
        })
    }

    fn tables(&self) -> Tables {
        let mut tables = Tables::new(self.fabric);
        let count = self.fabric.len();
        for at in 0..count {
            let row = tables.row_mut(at);
            for end in self.fabric.ends.iter().filter(|end| end.switch != NONE) {
                let target = end.switch as usize;
                let port = if target == at { end.port } else { self.ports[at * count + target] };
                row[end.lids()].fill(port);
            }
        }
        tables
    }
}
