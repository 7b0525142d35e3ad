//! One file per regular topology.

pub(crate) mod dragonfly;
pub(crate) mod fat_tree;
mod global;
pub(crate) mod grid;
pub(crate) mod hypercube;
pub(crate) mod hyperx;
pub(crate) mod megafly;
mod naming;
pub(crate) mod parking_lot;
pub(crate) mod ring;
pub(crate) mod single_switch;
mod thesis;
mod thesis_table;
pub(crate) mod xgft;
