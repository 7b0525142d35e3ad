//! Endpoint protocols: state machines that turn messages into packets. They know no clock and no network.

mod datagram;
#[cfg(test)]
mod explore;
pub mod infiniband;
pub mod ordering;
pub mod pacing;

pub use datagram::{Datagram, Outgoing};
