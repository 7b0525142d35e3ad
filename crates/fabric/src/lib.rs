//! Switches, links, buffers, credits and arbiters, as state machines: the time comes in, actions go out through an
//! [`Outbox`]. Nothing here owns a clock or an event queue.
//!
//! Ports are numbered within a partition: a switch's or host's ports are contiguous, and each number stands for
//! both directions, the [`Sender`] out of the entity and the [`Receiver`] into it.

pub mod age;
mod arbiter;
mod arena;
mod bits;
mod columns;
pub mod congestion;
mod context;
mod control_schedule;
mod copies;
mod credit;
mod features;
pub mod flow_control;
mod held;
pub mod link_layer;
mod load_broadcast;
pub mod pause;
mod port;
mod queue;
mod release;
mod separable;
mod sink;
mod switch;
mod table;
mod transmit;
mod vl_turns;

pub use arena::{Arena, NONE, Slot};
pub use columns::{Column, Columns, Sending};
pub use context::{Outbox, PartitionContext, Rules, injection_lanes};
pub use copies::{Copies, SharedPacket};
pub use credit::{LaneCredits, Ramp, RampPool};
pub use features::{AdaptiveFeatures, AllFeatures, CommonFeatures, Features, PlainFeatures};
pub use load_broadcast::LoadBroadcast;
pub use port::{FarEnd, Ports, ReadPorts, Receiver, Sender};
pub use release::{leaving, return_space};
pub use sink::SinkState;
pub use switch::{LifetimeRules, StagingRules, Switch};
pub use table::Table;
pub use transmit::{report_multicast, send, send_as};
pub use vl_turns::{VlEntry, VlTables, VlTurns};
