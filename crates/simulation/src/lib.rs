//! A whole run: from a prepared experiment through warm-up, measurement and drain to figures and tables.

mod congestion;
mod control;
mod demands;
mod describe;
mod memory;
mod nodes;
mod opensm;
mod outcome;
mod refusals;
mod routers;
mod run;
mod transports;
mod waiting;

pub use control::{Control, Phase};
pub use demands::{Demands, DemandsError, demands};
pub use describe::{BitErrors, Description, ZeroLoad, describe, look_up_tables, zero_load};
pub use fabricsim_engine::warnings as transport_warnings;
pub use memory::{available_memory, needed as needed_memory};
pub use opensm::opensm;
pub use outcome::{Invariants, Lost, Outcome, Status};
pub use run::{RunError, permit, simulate};
