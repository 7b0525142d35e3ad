//! One file per regular topology.

pub(crate) mod dragonfly;
pub(crate) mod fat_tree;
mod field;
mod global;
pub(crate) mod grid;
pub(crate) mod hypercube;
pub(crate) mod hyperx;
pub(crate) mod jellyfish;
pub(crate) mod megafly;
mod naming;
pub(crate) mod parking_lot;
mod plug;
pub(crate) mod ring;
pub(crate) mod single_switch;
pub(crate) mod slim_fly;
mod thesis;
mod thesis_table;
pub(crate) mod xgft;
pub(crate) mod xpander;
