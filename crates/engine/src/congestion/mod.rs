//! Congestion control from the experiment to its parts: the detector of each switch, and the pacer of each adapter.

mod build;
mod ports;
mod published;
#[cfg(test)]
mod tests;

pub(crate) use build::{Builder, service_classes};
pub(crate) use ports::check;
pub use published::dcqcn_warning;
