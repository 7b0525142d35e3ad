//! Topology builders and importers: an experiment's `[topology]` and `[links]` become a plain [`Graph`].

pub mod graph;

pub use graph::{End, Graph, GridShape, HostNode, Link, LinkClass, Node, Shape, SwitchNode, TreeShape};
