//! Reliable connections over UDP as RoCE v2 (annex A17): requester and responder of `fabricsim_protocols::infiniband`, driven by sockets and
//! a real clock.
//!
//! A datagram is a packet from BTH to ICRC, to and from UDP port 4791; each end has a loopback address of its own, 127.0.0.1 to
//! 127.255.255.254. A capture of the loopback interface, and the one that a [`RocePort`] records, are read by `fabricsim_wire::dissect`.
//! Connections are agreed on elsewhere: both ends get their [`RoceSettings`]. Every process of the machine can send datagrams; those of
//! another address, queue pair or partition, or with a wrong checksum, are counted and dropped.

mod capture;
mod memory;
mod port;
mod queue_pair;
#[cfg(test)]
mod tests;

pub use capture::FrameRecorder;
pub use memory::{Permissions, Region};
pub use port::{Incoming, PortCounters, RocePort};
pub use queue_pair::{ReceivedMessage, RoceQueuePair, RoceSettings, SendDone};
