//! Endpoint protocols: state machines that turn messages into packets. They know no clock and no network.

pub mod congestion;
mod datagram;
pub mod ordering;

pub use datagram::{Datagram, Outgoing};
