//! DFSSSP: the paths of SSSP on several virtual lanes, so that no lane has a cyclic dependency (`osm_ucast_dfsssp.c`).
//!
//! All paths begin in layer 0. Where a depth-first search finds a cycle in the channel-dependency graph of a layer, the paths of its
//! least used dependency move to the next layer. All sources of a switch share their paths to a LID, so they move together. Lanes
//! that are left over take a share of the fullest layers.

use super::channels::Channels;
use super::hops::HopMatrix;
use super::{Options, PathSls, Routing, sssp};
use crate::fabric::{Fabric, NONE};
use crate::subnet::NodeKind;
use crate::{RouteError, Sl2Vl, Tables};

pub(super) fn route(fabric: &Fabric<'_>, options: &Options) -> Result<Routing, RouteError> {
    let tables = sssp::tables(fabric);
    let lanes = usize::from(options.vls);
    let Layers { layer, paths, needed } = Layering::new(fabric, &tables).split(lanes).ok_or_else(|| {
        RouteError::TooFewLanes { engine: "dfsssp", lanes: options.vls }
    })?;
    let split = shares(&paths, needed, lanes);
    // each layer gets as many lanes as its share, in order
    let mut base = vec![0u8; needed];
    for index in 1..needed {
        base[index] = base[index - 1] + split[index - 1];
    }
    let mut shares = [1; 16];
    for index in 0..needed {
        shares[usize::from(base[index])] = split[index];
    }
    let sls = PathSls::new(fabric, |at, lid| base[usize::from(layer[at * tables.row(0).len() + lid])], shares);
    let mut routing = Routing::new(tables, HopMatrix::shortest(fabric));
    routing.layers = needed as u8;
    routing.sls = Some(sls);
    routing.sl2vl = Sl2Vl::modulo(options.vls);
    Ok(routing)
}

/// Number of lanes for each layer: every lane that is left goes to the layer with the most paths a lane.
fn shares(paths: &[u64], needed: usize, lanes: usize) -> Vec<u8> {
    let mut split = vec![1u8; needed];
    for _ in needed..lanes {
        let mut most = (0, 0.0);
        for (index, &share) in split.iter().enumerate() {
            let mean = paths[index] as f64 / f64::from(share);
            if mean > most.1 {
                most = (index, mean);
            }
        }
        split[most.0] += 1;
    }
    split
}

/// Layers of all paths.
struct Layers {
    /// Layer by source switch, then LID.
    layer: Vec<u8>,
    /// Number of paths (pairs of LIDs) in each layer.
    paths: Vec<u64>,
    /// Number of layers.
    needed: usize,
}

/// A path: source switch and destination LID.
type Path = (u32, u32);

struct Layering<'a> {
    fabric: &'a Fabric<'a>,
    tables: &'a Tables,
    /// Number of adapters' LIDs at each switch: weight of a path from there.
    sources: Vec<u32>,
    layer: Vec<u8>,
    paths: Vec<u64>,
}

impl<'a> Layering<'a> {
    fn new(fabric: &'a Fabric<'a>, tables: &'a Tables) -> Self {
        let mut sources = vec![0; fabric.len()];
        for end in fabric.ends.iter().filter(|end| !end.is_switch && end.switch != NONE) {
            if sssp::kind(fabric, end) != NodeKind::Router {
                sources[end.switch as usize] += 1 << end.lmc;
            }
        }
        let layer = vec![0; fabric.len() * tables.row(0).len()];
        Self { fabric, tables, sources, layer, paths: Vec::new() }
    }

    /// Splits the paths into at most `lanes` layers; none if they do not suffice.
    fn split(mut self, lanes: usize) -> Option<Layers> {
        let mut now = self.all_paths();
        let mut needed = 1;
        for layer in 0..lanes {
            let mut next = Channels::new(self.fabric);
            let mut moved = 0;
            while let Some(paths) = now.break_cycle() {
                if layer + 1 == lanes {
                    return None;
                }
                for path in paths {
                    let slot = path.0 as usize * self.tables.row(0).len() + path.1 as usize;
                    if usize::from(self.layer[slot]) != layer {
                        continue;
                    }
                    self.layer[slot] = layer as u8 + 1;
                    let weight = self.sources[path.0 as usize];
                    now.remove(self.fabric, self.tables, path, weight);
                    next.add(self.fabric, self.tables, path, weight);
                    moved += u64::from(weight);
                }
                needed = layer + 2;
            }
            self.paths[layer] -= moved;
            self.paths.push(moved);
            if needed == layer + 1 {
                break;
            }
            now = next;
        }
        Some(Layers { layer: self.layer, paths: self.paths, needed })
    }

    /// The dependencies of all paths between switches.
    fn all_paths(&mut self) -> Channels {
        let mut channels = Channels::new(self.fabric);
        let order = sssp::order(self.fabric);
        let mut switches: Vec<usize> = Vec::new();
        for &end in order.iter().map(|&end| &self.fabric.ends[end as usize]).filter(|end| !end.is_switch) {
            if switches.last() != Some(&(end.switch as usize)) {
                switches.push(end.switch as usize);
            }
        }
        for &end in &order {
            let end = &self.fabric.ends[end as usize];
            for lid in end.lids() {
                for &at in switches.iter().filter(|&&at| at != end.switch as usize && self.sources[at] > 0) {
                    channels.add(self.fabric, self.tables, (at as u32, lid as u32), self.sources[at]);
                }
            }
        }
        // pairs of LIDs of different ports, those of switches included
        let lids: Vec<u64> = order.iter().map(|&end| 1 << self.fabric.ends[end as usize].lmc).collect();
        let total: u64 = lids.iter().sum();
        self.paths = vec![total * total - lids.iter().map(|lids| lids * lids).sum::<u64>()];
        channels
    }
}

impl Channels {
    /// Adds the dependencies of a path.
    fn add(&mut self, fabric: &Fabric<'_>, tables: &Tables, path: Path, weight: u32) {
        let mut before = None;
        walk(fabric, tables, path, |channel, at| {
            self.use_channel(channel);
            if let Some(before) = before.replace(channel) {
                self.add_pair(before, at, channel, path, weight);
            }
        });
    }

    /// Removes the dependencies of a path.
    fn remove(&mut self, fabric: &Fabric<'_>, tables: &Tables, path: Path, weight: u32) {
        let mut before = None;
        walk(fabric, tables, path, |channel, at| {
            if let Some(before) = before.replace(channel) {
                self.remove_pair(before, at, channel, weight);
            }
        });
    }
}

/// Calls `visit` with each channel (port index of the fabric) between switches of a path, and its switch.
fn walk(fabric: &Fabric<'_>, tables: &Tables, path: Path, mut visit: impl FnMut(usize, usize)) {
    let mut at = path.0 as usize;
    // tables of shortest paths have no loops; the bound keeps damaged ones from hanging
    for _ in 0..fabric.len() {
        let port = usize::from(tables.row(at)[path.1 as usize]);
        let Some(&crate::fabric::Peer::Switch(next, _)) = fabric.peers(at).get(port) else { return };
        visit(fabric.first_port(at) + port, at);
        at = next as usize;
    }
}
