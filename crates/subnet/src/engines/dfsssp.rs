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
    let Layers { layer, paths, needed } = Layering::new(fabric, &tables)
        .split(lanes)
        .ok_or(RouteError::TooFewLanes { engine: "dfsssp", lanes: options.vls })?;
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
    let sls =
        PathSls::new(fabric, |at, lid| base[usize::from(layer[at * tables.row(0).len() + lid])], shares);
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
    columns: Columns,
    /// Number of LIDs, 0 included.
    width: usize,
    /// Number of adapters' LIDs at each switch: weight of a path from there.
    sources: Vec<u32>,
    layer: Vec<u8>,
    paths: Vec<u64>,
}

impl<'a> Layering<'a> {
    fn new(fabric: &'a Fabric<'a>, tables: &Tables) -> Self {
        let mut sources = vec![0; fabric.len()];
        for end in fabric.ends.iter().filter(|end| !end.is_switch && end.switch != NONE) {
            if sssp::kind(fabric, end) != NodeKind::Router {
                sources[end.switch as usize] += 1 << end.lmc;
            }
        }
        let layer = vec![0; fabric.len() * tables.row(0).len()];
        let (columns, width) = (Columns::new(fabric, tables), tables.row(0).len());
        Self { fabric, columns, width, sources, layer, paths: Vec::new() }
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
                    let slot = path.0 as usize * self.width + path.1 as usize;
                    if usize::from(self.layer[slot]) != layer {
                        continue;
                    }
                    self.layer[slot] = layer as u8 + 1;
                    let weight = self.sources[path.0 as usize];
                    self.columns.remove(&mut now, path, weight);
                    self.columns.add(&mut next, path, weight);
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
                    self.columns.add(&mut channels, (at as u32, lid as u32), self.sources[at]);
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

/// Paths of tables, destination by destination: output port by LID, then switch.
struct Columns {
    switches: usize,
    ports: Vec<u8>,
    /// First port of each switch in dense arrays, and the switch behind each port.
    first: Vec<u32>,
    behind: Vec<u32>,
}

impl Columns {
    fn new(fabric: &Fabric<'_>, tables: &Tables) -> Self {
        let switches = fabric.len();
        let mut ports = vec![0; switches * tables.row(0).len()];
        for at in 0..switches {
            for (lid, &port) in tables.row(at).iter().enumerate() {
                ports[lid * switches + at] = port;
            }
        }
        let mut behind = vec![NONE; fabric.num_ports()];
        for at in 0..switches {
            for (port, next, _) in fabric.switch_links(at) {
                behind[fabric.first_port(at) + port] = next as u32;
            }
        }
        let first = (0..=switches).map(|at| fabric.first_port(at) as u32).collect();
        Self { switches, ports, first, behind }
    }

    /// Calls `visit` with each channel (port index of the fabric) between switches of a path.
    #[inline]
    fn walk(&self, path: Path, mut visit: impl FnMut(usize)) {
        let column = &self.ports[path.1 as usize * self.switches..(path.1 as usize + 1) * self.switches];
        let mut at = path.0 as usize;
        // tables of shortest paths have no loops; the bound keeps damaged ones from hanging
        for _ in 0..self.switches {
            let channel = self.first[at] as usize + usize::from(column[at]);
            if column[at] == 0 || channel >= self.first[at + 1] as usize || self.behind[channel] == NONE {
                return;
            }
            visit(channel);
            at = self.behind[channel] as usize;
        }
    }

    /// Adds the dependencies of a path.
    fn add(&self, channels: &mut Channels, path: Path, weight: u32) {
        let mut before = None;
        self.walk(path, |channel| {
            channels.use_channel(channel);
            if let Some(before) = before.replace(channel) {
                channels.add_pair(before, channel, path, weight);
            }
        });
    }

    /// Removes the dependencies of a path.
    fn remove(&self, channels: &mut Channels, path: Path, weight: u32) {
        let mut before = None;
        self.walk(path, |channel| {
            if let Some(before) = before.replace(channel) {
                channels.remove_pair(before, channel, weight);
            }
        });
    }
}
