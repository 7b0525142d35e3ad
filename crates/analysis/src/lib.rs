//! Deadlocks, congestion trees and waiting packets, found in a [`Snapshot`](fabricsim_engine::Snapshot) of the fabric.
//!
//! Nothing here knows the engine: the same snapshot gives the same findings, and the fabric stays as it is.

mod congestion_tree;
mod deadlock;
mod passed;
mod waits;

pub use congestion_tree::{CongestionTree, Ends, OutputLane, congestion_trees};
pub use deadlock::{Blocked, Deadlock, find_deadlock};
pub use passed::{PacketId, PassedOver, passed};
pub use waits::{Reason, Wait, Waiter, waits};
