//! OpenSM's routing engines, as pure functions of a subnet with LIDs.
//!
//! An engine is one file and one row of [`ENGINES`]. It returns tables, or an error that says why it cannot route the fabric: unlike
//! OpenSM, it never falls back to another engine.

mod balance;
mod channels;
mod dfsssp;
mod dijkstra;
mod dimension_order;
mod down_up;
mod fat_tree;
mod heap;
mod hops;
mod lash;
mod layer_graph;
mod min_hop;
mod nue;
mod random;
mod ranked;
mod service_levels;
mod sssp;
mod torus;
mod up_down;

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use thiserror::Error;

pub use hops::NO_PATH;
pub(crate) use hops::{HopMatrix, Hops};
pub(crate) use service_levels::LEVELS;
pub use service_levels::PathSls;
pub use torus::{Seed, TorusConfig};

use crate::fabric::Fabric;
use crate::{Guid, Sl2Vl, Subnet, Tables};

/// Entry of a forwarding table that discards the packet.
pub const NO_PORT: u8 = 255;

type Route = fn(&Fabric<'_>, &Options) -> Result<Routing, RouteError>;

/// All engines: name in OpenSM's `routing_engine`, function.
const ENGINES: [(Engine, &str, Route); 10] = [
    (Engine::MinHop, "minhop", min_hop::route),
    (Engine::UpDown, "updn", up_down::route),
    (Engine::DownUp, "dnup", down_up::route),
    (Engine::DimensionOrder, "dor", dimension_order::route),
    (Engine::FatTree, "ftree", fat_tree::route),
    (Engine::Torus2Qos, "torus-2QoS", torus::route),
    (Engine::Lash, "lash", lash::route),
    (Engine::Sssp, "sssp", sssp::route),
    (Engine::Dfsssp, "dfsssp", dfsssp::route),
    (Engine::Nue, "nue", nue::route),
];

/// A routing engine of OpenSM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Shortest paths, balanced.
    MinHop,
    /// No turn from down to up.
    UpDown,
    /// No turn from up to down.
    DownUp,
    /// Shortest paths by the order of ports.
    DimensionOrder,
    /// Balanced paths of a fat tree.
    FatTree,
    /// Dimension order on tori and meshes, with failures.
    Torus2Qos,
    /// Shortest paths in layers.
    Lash,
    /// Shortest paths, balanced over the whole fabric.
    Sssp,
    /// The paths of SSSP in layers.
    Dfsssp,
    /// Paths by a search that closes no cycle of dependencies.
    Nue,
}

impl Engine {
    /// All engines.
    pub fn all() -> impl Iterator<Item = Self> {
        ENGINES.iter().map(|row| row.0)
    }

    fn row(self) -> &'static (Self, &'static str, Route) {
        &ENGINES[self as usize]
    }

    /// False for the engines that leave routers out, as OpenSM's do: no path leads to them.
    pub fn routes_routers(self) -> bool {
        !matches!(self, Self::Sssp | Self::Dfsssp | Self::Nue)
    }

    /// Routes a subnet.
    ///
    /// # Errors
    ///
    /// The fabric or the options do not suit the engine, ports have no LIDs, or the subnet has several parts.
    pub fn route(self, subnet: &Subnet, options: &Options) -> Result<Routing, RouteError> {
        if !(1..=15).contains(&options.vls) {
            return Err(RouteError::Lanes(options.vls));
        }
        (self.row().2)(&Fabric::new(subnet)?, options)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().1)
    }
}

impl FromStr for Engine {
    type Err = RouteError;

    fn from_str(text: &str) -> Result<Self, RouteError> {
        let row = ENGINES.iter().find(|row| row.1.eq_ignore_ascii_case(text));
        row.map(|row| row.0).ok_or_else(|| {
            let names: Vec<&str> = ENGINES.iter().map(|row| row.1).collect();
            RouteError::UnknownEngine(text.to_owned(), names.join(", "))
        })
    }
}

impl Serialize for Engine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Options of the engines, with OpenSM's names in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Roots of UpDown and FatTree (`root_guid_file`); found automatically if none are given.
    pub roots: Option<Vec<Guid>>,
    /// Shift LIDs among ports (`port_shifting`).
    pub port_shifting: bool,
    /// Seed of the random choice among ports with equal loads; 0 takes the first (`scatter_ports`).
    pub scatter_ports: u32,
    /// Port GUIDs of the compute nodes of FatTree; all adapters if none are given (`cn_guid_file`).
    pub compute_nodes: Option<Vec<Guid>>,
    /// Description of the torus for Torus-2QoS (`torus_config`).
    pub torus: Option<TorusConfig>,
    /// Number of virtual lanes of all links, 1 to 15.
    pub vls: u8,
    /// Number of virtual lanes of Nue (`nue_max_num_vls`), at most `vls`; 0 for all.
    pub nue_vls: u8,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            roots: None,
            compute_nodes: None,
            torus: None,
            port_shifting: false,
            scatter_ports: 0,
            vls: 8,
            nue_vls: 1,
        }
    }
}

/// Result of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routing {
    /// Forwarding tables.
    pub tables: Tables,
    /// Hop counts that go with the tables.
    pub(crate) hops: Hops,
    /// Service levels of paths; none if all paths have level 0.
    pub sls: Option<PathSls>,
    /// Number of layers that keep the paths free of deadlock; 1 if the engine has none.
    pub layers: u8,
    /// Virtual lanes of service levels.
    pub sl2vl: Sl2Vl,
}

impl Routing {
    /// With hop counts on which the tables are based.
    fn new(tables: Tables, hops: HopMatrix) -> Self {
        Self::with_hops(tables, Hops::Least(hops))
    }

    fn with_hops(tables: Tables, hops: Hops) -> Self {
        Self { tables, hops, sls: None, layers: 1, sl2vl: Sl2Vl::modulo(8) }
    }
}

/// Reason for which an engine cannot route a fabric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    /// No switch.
    #[error("no switch in the subnet: nothing to route")]
    NoSwitches,
    /// A port without LID.
    #[error("{0} has no LID: assign LIDs first")]
    NoLid(String),
    /// A subnet of several parts.
    #[error("the subnet has several parts: no path from {first} to {second}")]
    Divided {
        /// A switch of the first part.
        first: String,
        /// A switch of another part.
        second: String,
        /// Line of the file that declares it; 0 for none.
        line: usize,
    },
    /// A name that no engine has.
    #[error("no engine \"{0}\": must be one of {1}")]
    UnknownEngine(String, String),
    /// Given roots of which none is in the subnet.
    #[error("none of the given roots is a switch of the subnet")]
    RootsAbsent,
    /// No roots were found.
    #[error("updn: found no roots (no switch is equally far from 90 % of the adapters); give roots")]
    NoRoots,
    /// A fabric that is no fat tree.
    #[error("ftree: not a fat tree: {0}")]
    NotFatTree(String),
    /// A fabric that is not the described torus, or one that is too damaged.
    #[error("torus-2QoS: {0}")]
    NotTorus(String),
    /// Too few virtual lanes.
    #[error("{engine}: {lanes} virtual lanes do not suffice for deadlock-free layers")]
    TooFewLanes {
        /// Engine.
        engine: &'static str,
        /// Lanes.
        lanes: u8,
    },
    /// A number of virtual lanes beyond the range.
    #[error("{0} virtual lanes: must be 1 to 15")]
    Lanes(u8),
    /// No switch with adapters.
    #[error("dnup: no switch has an adapter")]
    NoLeaves,
}
