//! A whole run: from a prepared experiment through warm-up, measurement and drain to figures and tables.

mod by_name;
mod capture;
mod catalogue;
mod congestion;
mod control;
mod demands;
mod describe;
mod finish;
mod looking;
mod memory;
mod nodes;
mod opensm;
mod outcome;
mod plan;
mod recording;
mod refusals;
mod routers;
mod run;
mod transports;
mod waiting;
mod watch;

pub use by_name::NameError;
pub use capture::{CapturePlan, CaptureReport, CapturedInterface, Capturing, simulate_captured};
pub use catalogue::{catalogue, results_schema};
pub use control::{Control, Phase};
pub use demands::{Demands, DemandsError, demands};
pub use describe::{BitErrors, Description, ZeroLoad, describe, look_up_tables, zero_load};
pub use fabricsim_engine::warnings as transport_warnings;
pub use looking::{events_table, snapshot_tables};
pub use memory::{available_memory, needed as needed_memory};
pub use opensm::opensm;
pub use outcome::{Invariants, LostPackets, Outcome, Status};
pub use plan::{Run, Stop};
pub use recording::Recording;
pub use run::{RunError, permit, simulate};
