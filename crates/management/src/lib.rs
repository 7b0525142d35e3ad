//! InfiniBand subnet management (chapter 14): the agent of every node and the subnet manager, as state machines. The time and the
//! datagrams come in, datagrams go out; nothing here owns a clock, a link or a queue of packets.
//!
//! - [`Agent`] answers for a node: it holds what a manager has programmed and reports what follows from it ([`Effect`])
//! - [`directed`] is what a node does with a datagram that carries its own route
//! - [`Manager`] discovers a subnet, assigns LIDs, computes forwarding tables with an engine of OpenSM, programs and activates
//!   ports, sweeps, and agrees with other managers on the master
//! - [`Loopback`] connects both without time, for tests and for subnets that are configured at the start

mod agent;
pub mod directed;
mod loopback;
mod manager;
mod weights;

pub use agent::{Agent, Effect};
pub use loopback::{Loopback, TooManySmps};
pub use manager::{
    Counters, Manager, MulticastGroup, Outgoing, PartitionKeys, Quality, Settings, Sweep, SweepCause,
};
pub use weights::Weights;

/// Bytes of a datagram on a link: LRH 8, BTH 12, DETH 8, the datagram 256, ICRC 4, VCRC 2.
pub const SMP_BYTES: u32 = 290;
