//! Congestion control from the experiment to its parts: what detects congestion in each switch, what paces each adapter.

mod build;
mod ports;

pub(crate) use build::{Builder, class_bases};
pub(crate) use ports::check;
