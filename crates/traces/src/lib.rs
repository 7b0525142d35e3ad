//! Traces of MPI programs: readers, schedules of operations, replay on a LogGP network.
//!
//! Every reader returns a [`Schedule`]: sends, receives and computations of each rank, and which of them wait for which.

#![allow(non_snake_case, reason = "the names of LogGP differ in case only")]

pub mod chakra;
pub mod dumpi;
mod error;
pub mod events;
mod format;
pub mod goal;
pub mod loggp;
pub mod records;
mod schedule;
pub mod ti;

pub use error::{Place, TraceError};
pub use format::{Format, Options};
pub use schedule::{ANY, Kind, MOST, Operation, RankBuilder, RankSchedule, Schedule};
