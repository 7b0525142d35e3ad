//! Traces of MPI programs: readers, schedules of operations, replay on a LogGP network.
//!
//! Every reader returns a [`Schedule`]: sends, receives and computations of each rank, and which of them wait for which.

mod error;
pub mod goal;
pub mod loggp;
mod schedule;

pub use error::{Place, TraceError};
pub use schedule::{ANY, Kind, MOST, Operation, RankBuilder, RankSchedule, Schedule};
