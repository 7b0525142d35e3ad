//! InfiniBand subnets as administrators know them, and OpenSM's routing engines.
//!
//! [`read()`] reads a [`Subnet`] (nodes, GUIDs, LIDs, physical ports, cables) from the files of `ibnetdiscover`, ibsim and OpenSM.

mod analysis;
mod engines;
mod error;
mod fabric;
mod guid;
mod guids;
mod lids;
pub mod multicast;
mod options_file;
mod read;
pub mod report;
mod subnet;
mod tables;
mod write;

pub use analysis::{
    Analysis, Bisection, Cycle, Demand, LinkEnds, LinkLoad, LinkRow, LinkUse, LostPath, Pairs, PatternLoad,
    SlowLink, Spread, Traffic, analyse, check_tables, link_rows, traffic,
};
pub use engines::{Engine, NO_PATH, NO_PORT, Options, PathSls, RouteError, Routing, Seed, TorusConfig};
pub use error::{FileError, Problem};
pub use guid::Guid;
pub use lids::{LidError, LidOptions, assign_lids};
pub use options_file::{OptionFiles, engine_options, table_options};
pub use read::{Format, Import, detect, read, read_as};
pub use subnet::{
    Counts, Finding, FindingKind, MAX_LID, MAX_LMC, MAX_PORT, Node, NodeId, NodeKind, Port, PortId, Speed,
    Subnet, Width,
};
pub use tables::{Lanes, Sl2Vl, SwitchTable, TableFile, TableForm, Tables};
