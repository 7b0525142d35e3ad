//! What tables do: reachability, path lengths, loads of links, cyclic dependencies.
//!
//! Paths go from every port of adapters and routers to every LID of the others. A path's length is the number of switches on it.

mod check;
mod deadlock;
mod links;
mod paths;
mod traffic;

pub use check::check_tables;
pub(crate) use check::check_tables_at;
pub use deadlock::Cycle;
pub use links::{LinkEnds, LinkRow, LinkUse, LostPath, SlowLink, link_rows};
pub use traffic::{Bisection, Demand, PatternLoad, Traffic, traffic};

use rayon::prelude::*;
use serde::Serialize;

use crate::engines::{HopMatrix, PathSls};
use crate::fabric::{Fabric, NONE};
use crate::{PortId, RouteError, Sl2Vl, Subnet, Tables};
use deadlock::Dependencies;
use paths::{Sources, Tree};

/// Number of links that [`Analysis::hot_links`] lists.
const HOT: usize = 10;

/// Number of paths that [`Analysis::lost`] lists.
const LOST: usize = 5;

/// Number of paths by their outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Pairs {
    /// Paths that arrive.
    pub reachable: u64,
    /// Paths that end at a hole, in a loop or at the wrong port.
    pub unreachable: u64,
    /// Of these, paths to routers, which some engines leave out ([`Engine::routes_routers`]).
    pub to_routers: u64,
    /// Paths that arrive and are longer than the shortest.
    pub non_minimal: u64,
}

/// Largest, mean and least value.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Spread {
    /// Largest.
    pub max: u64,
    /// Mean.
    pub mean: f64,
    /// Least.
    pub min: u64,
}

/// A link between switches, by its output port, and its number of paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkLoad {
    /// Output port.
    pub port: PortId,
    /// Number of paths.
    pub paths: u64,
    /// Description of the switch, port number, description of the next switch.
    pub name: String,
    /// GUIDs and physical ports of both ends.
    #[serde(flatten)]
    pub ends: LinkEnds,
}

/// Result of [`analyse`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// Number of paths.
    pub pairs: Pairs,
    /// Mean number of switches on a path.
    pub hops_mean: f64,
    /// Entries that lead to another port than that of the LID: the tables are of another subnet, or of other LIDs.
    pub misdelivered: u64,
    /// Paths on each direction of each link between switches.
    pub link_load: Spread,
    /// The most loaded links, at most ten.
    pub hot_links: Vec<LinkLoad>,
    /// Paths that do not arrive, at most five of them.
    pub lost: Vec<LostPath>,
    /// Links and switches that no path crosses, and slow links.
    pub link_use: LinkUse,
    /// Paths by channel: the output ports of all switches.
    #[serde(skip)]
    pub(crate) loads: Vec<u64>,
    /// Number of virtual lanes that paths use.
    pub lanes: usize,
    /// A cyclic dependency, if there is one.
    pub cycle: Option<Cycle>,
}

/// Totals over destinations.
struct Totals {
    pairs: Pairs,
    hops: u64,
    loads: Vec<u64>,
    /// Paths that enter and leave a switch, by switch.
    transit: Vec<u64>,
    /// Switch of the source, port of the destination: the first ones that do not arrive.
    lost: Vec<(usize, u32)>,
    dependencies: Dependencies,
}

impl Totals {
    fn new(fabric: &Fabric<'_>, lanes: usize) -> Self {
        let dependencies = Dependencies::new(fabric, lanes);
        Self {
            pairs: Pairs::default(),
            hops: 0,
            loads: vec![0; fabric.num_ports()],
            transit: vec![0; fabric.len()],
            lost: Vec::new(),
            dependencies,
        }
    }

    /// Notes a path that does not arrive, once for all LIDs of a port.
    fn lose(&mut self, path: (usize, u32)) {
        if self.lost.len() < LOST && !self.lost.contains(&path) {
            self.lost.push(path);
        }
    }

    fn merge(mut self, other: &Self) -> Self {
        self.pairs.reachable += other.pairs.reachable;
        self.pairs.unreachable += other.pairs.unreachable;
        self.pairs.to_routers += other.pairs.to_routers;
        self.pairs.non_minimal += other.pairs.non_minimal;
        self.hops += other.hops;
        self.loads.iter_mut().zip(&other.loads).for_each(|(sum, load)| *sum += load);
        self.transit.iter_mut().zip(&other.transit).for_each(|(sum, paths)| *sum += paths);
        for &path in &other.lost {
            self.lose(path);
        }
        self.dependencies.merge(&other.dependencies);
        self
    }
}

/// Analyses tables with the service levels of paths and their lanes.
///
/// # Errors
///
/// The subnet has no switches, LIDs are missing, or it has several parts.
pub fn analyse(
    subnet: &Subnet,
    tables: &Tables,
    sls: Option<&PathSls>,
    sl2vl: &Sl2Vl,
) -> Result<Analysis, RouteError> {
    let fabric = Fabric::new(subnet)?;
    let shortest = HopMatrix::shortest(&fabric);
    let sources = Sources::new(&fabric);
    let lanes = if sls.is_some() || !sl2vl.is_uniform() { usize::from(sl2vl.most()) + 1 } else { 1 };
    let lids: Vec<usize> = fabric
        .ends
        .iter()
        .filter(|end| !end.is_switch && end.switch != NONE)
        .flat_map(crate::fabric::EndPort::lids)
        .collect();
    let chunk = lids.len().div_ceil(rayon::current_num_threads() * 4).max(1);
    let totals = lids
        .par_chunks(chunk)
        .map(|lids| {
            let mut totals = Totals::new(&fabric, lanes);
            let mut tree = Tree::new(&fabric);
            for &lid in lids {
                tree.grow(&fabric, tables, lid);
                tree.count(&fabric, &shortest, &sources, lid, &mut totals);
                match sls {
                    Some(sls) => tree.lanes(&fabric, &sources, sls, sl2vl, lid, &mut totals.dependencies),
                    None if lanes == 1 => tree.depend(&fabric, &mut totals.dependencies),
                    None => tree.lanes(
                        &fabric,
                        &sources,
                        &PathSls::of_sources(&[], 0),
                        sl2vl,
                        lid,
                        &mut totals.dependencies,
                    ),
                }
            }
            totals
        })
        .collect::<Vec<_>>()
        .iter()
        .fold(Totals::new(&fabric, lanes), Totals::merge);
    Ok(summary(&fabric, check::misdelivered(&fabric, tables), &totals))
}

fn summary(fabric: &Fabric<'_>, misdelivered: u64, totals: &Totals) -> Analysis {
    let mut links: Vec<(u64, usize, usize)> = Vec::new();
    for at in 0..fabric.len() {
        links.extend(
            fabric.switch_links(at).map(|(port, ..)| (totals.loads[fabric.first_port(at) + port], at, port)),
        );
    }
    let sum: u64 = links.iter().map(|link| link.0).sum();
    let link_load = Spread {
        max: links.iter().map(|link| link.0).max().unwrap_or(0),
        mean: sum as f64 / links.len().max(1) as f64,
        min: links.iter().map(|link| link.0).min().unwrap_or(0),
    };
    links.sort_by_key(|&(load, at, port)| (std::cmp::Reverse(load), at, port));
    let hot = links.iter().take(HOT).filter(|link| link.0 > 0).map(|&(paths, at, port)| {
        let id = PortId { node: fabric.switches[at], port: port as u8 };
        let ends = LinkEnds::of(fabric.subnet, id);
        LinkLoad { port: id, paths, name: deadlock::channel_name(fabric, at, port), ends }
    });
    Analysis {
        pairs: totals.pairs,
        hops_mean: totals.hops as f64 / totals.pairs.reachable.max(1) as f64,
        misdelivered,
        link_load,
        hot_links: hot.collect(),
        lost: links::lost_paths(fabric, &totals.lost),
        link_use: links::link_use(fabric, &totals.loads, &totals.transit),
        loads: totals.loads.clone(),
        lanes: totals.dependencies.lanes_in_use().max(1),
        cycle: totals.dependencies.cycle(fabric),
    }
}
