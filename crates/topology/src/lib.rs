//! Topology builders and importers: an experiment's `[topology]` and `[links]` become a plain [`Graph`].
//!
//! [`build`] is the entry. A regular topology is a file in `builders` and a line in the match of [`build`].

mod assemble;
mod build;
mod builder_input;
mod builders;
mod export;
mod facts;
mod faults;
mod file;
pub mod graph;
mod groups;
mod identity;
mod limits;
mod links;
mod per_link;
mod retry;
mod validate;

pub use build::{build, build_checked};
pub use builder_input::SizeCheck;
pub use export::{ExportError, export};
pub use facts::{Bisection, Facts, facts};
pub use faults::{Failing, Failure, failed_switches, failing, failures};
pub use file::{Format, overruled, parse};
pub use graph::{
    DragonflyShape, End, Graph, GridShape, HostNode, HyperXShape, Link, LinkClass, MegaflyShape, Node, Shape,
    SwitchNode, TreeShape,
};
pub use groups::Groups;
pub use identity::Identity;
pub use limits::{MAX_DIMENSIONS, MAX_LINKS, MAX_NODES, MAX_PORTS};
pub use links::{Defaults, failed_links};
pub use per_link::PerLink;
pub use validate::{largest_packet, validate};

#[cfg(test)]
mod tests;
