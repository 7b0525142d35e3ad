//! Event queue, clock, partitions and the assembly of a run.
//!
//! A run is a pure function of experiment and seed: the same bits in every number of partitions, on every machine.

mod adapter;
mod ages;
mod assembly;
mod calendar;
mod congestion;
mod devices;
mod engine;
mod failed;
mod failures;
mod fault_plan;
mod flow_control;
mod lookahead;
mod losses;
mod mail;
mod management;
mod management_traffic;
mod p_keys;
mod partition;
mod path_mtu;
mod pause;
mod prepare;
mod publisher;
mod round_trip;
mod snapshot;
mod subnet_plan;
mod switch_errors;
#[cfg(test)]
mod testing;
mod totals;

pub use adapter::{HostTransport, QueuePairCounters, QueuePairReport, Refused, transport_bytes, warnings};
pub use assembly::Assembly;
pub use congestion::dcqcn_warning;
pub use engine::{Advance, CreditError, Engine, Exchanged, Processes, Scaling};
pub use fabricsim_fabric::VlTables;
pub use fault_plan::{FabricChange, FaultPlan, PlannedChange, Routes};
pub use losses::LostPackets;
pub use p_keys::SwitchPort;
pub use pause::pause_warning;
pub use prepare::{BuildStep, PrepareError, Prepared, hosts};
pub use snapshot::{
    BufferKind, Extent, HostState, LaneAhead, LaneState, PendingMessage, Queue, QueuedPacket, SharedSpace,
    Snapshot,
};
pub use subnet_plan::{ManagerPlan, SubnetPlan};
pub use totals::Totals;
