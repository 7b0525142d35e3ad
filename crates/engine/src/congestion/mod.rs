//! Congestion control in a run: what watches in each switch, what holds back at each host.

mod build;
mod endpoint;
mod ports;

pub(crate) use build::{Builder, class_bases};
pub(crate) use endpoint::{Endpoint, Turn};
pub(crate) use ports::check;
