//! Replay of a schedule on a LogGOPS network without contention, with LogGOPSim's results to the nanosecond.
//!
//! A send takes its processor `o + (bytes - 1) O` and its interface `g + (bytes - 1) G`. Its message arrives `o + L` after
//! its start, waits until processor and interface of the receiver with the same numbers are free, and takes them `o +
//! (bytes - 1) max(O, G)` and `g + (bytes - 1) G`. Receives take no time of their own. A send of more than `S` bytes ends
//! when it is matched, others at once. Operations start in the order in which they become executable, those that do so
//! together by kind: sends, receives, computations.
//!
//! Where LogGOPSim's own behaviour is undefined, this differs: an empty schedule ends at 0; times are never negative; whether a
//! message waits for its receive depends on its own size, also where the receive has another one.
//!
//! Source: T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim - Simulating Large-Scale Applications in the LogGOPS Model",
//! HPDC 2010, and the behaviour of the program at commit 76451de.

mod matching;
mod order;
mod parameters;
mod simulate;
mod waiting;

use serde::Serialize;
use thiserror::Error;

use crate::Schedule;

pub use parameters::Parameters;

/// A time that no longer fits 63 bits of ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "rank {rank}, operation {operation}: its time exceeds 2^63 ns: use smaller sizes, durations or parameters"
)]
pub struct Overflow {
    /// Rank.
    pub rank: u32,
    /// Number of the operation, from 0.
    pub operation: u32,
}

/// A send without a receive, or a receive without a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unmatched {
    /// Rank whose operation it is.
    pub rank: u32,
    /// `send` or `recv`.
    pub kind: &'static str,
    /// The other rank; none for any.
    pub peer: Option<u32>,
    /// Tag; none for any.
    pub tag: Option<u32>,
    /// Bytes.
    pub bytes: u64,
    /// Number of the operation in its rank, from 0.
    pub operation: u32,
    /// Time at which the receive was posted or the message arrived, in ns.
    pub time_ns: u64,
}

/// Progress of a rank that did not end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Rank.
    pub rank: u32,
    /// Operations that have ended.
    pub done: u64,
    /// Operations of the rank.
    pub operations: u64,
    /// Time until which its processors were busy, in ns.
    pub end_ns: u64,
}

/// Results of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Time at which the last processor of each rank gets free, in ns.
    pub ends_ns: Vec<u64>,
    /// Operations that became executable, and messages.
    pub steps: u64,
    /// Sends and receives without a match, by rank.
    pub unmatched: Vec<Unmatched>,
    /// Ranks with operations that did not end.
    pub unfinished: Vec<Progress>,
}

impl Outcome {
    /// Time at which the last rank ends, in ns.
    pub fn end_ns(&self) -> u64 {
        self.ends_ns.iter().copied().max().unwrap_or(0)
    }
}

/// Replays `schedule`.
pub fn simulate(schedule: &Schedule, parameters: &Parameters) -> Result<Outcome, Overflow> {
    simulate::simulate(schedule, parameters)
}
