//! Actions of the ranks of a job: one file per program, and the registry [`new`].
//!
//! A program is a graph of messages and delays that is never built: for a step of a rank it returns the messages that the rank
//! sends in it, those that must have arrived before it is complete, and the time for which the rank computes then. A message
//! sent in step k is received in step k. An all-to-all of thousands of ranks costs no memory for its messages.

mod all_gather;
mod all_reduce;
mod all_to_all;
mod all_to_all_v;
mod barrier;
mod broadcast;
mod fft;
mod fold;
mod neighbour_exchange;
mod shift;
#[cfg(test)]
mod symbolic;

use std::fmt::Debug;
use std::sync::Arc;

use fabricsim_spec::{self as spec, Operation as Kind};
use fabricsim_units::Time;

use crate::error::ErrorLocation;
use crate::{Problem, WorkloadError};

/// Steps of a rank that must be complete before one begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub enum After {
    /// All that come before it.
    #[default]
    All,
    /// All but the last ones; the job gives the number that may be in progress.
    Window,
}

/// A step of a rank. It is complete when its messages have left and those that it waits for have arrived; then the rank
/// computes.
#[derive(Clone, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub struct Step {
    /// Steps that must be complete before it begins.
    pub after: After,
    /// Receiving rank and bytes (1 or more) of each message.
    pub sends: Vec<(u32, u64)>,
    /// Sending rank and bytes of each message that must have arrived. A rank may be there more than once.
    pub receives: Vec<(u32, u64)>,
    /// From its completion to the time when others may begin.
    pub compute: Time,
}

impl Step {
    /// Resets it to the empty step: after all others.
    pub fn clear(&mut self) {
        self.after = After::All;
        self.sends.clear();
        self.receives.clear();
        self.compute = Time::ZERO;
    }

    /// Sends `bytes` to rank `to`; an empty message has one byte, since it is sent as well.
    pub(crate) fn send(&mut self, to: u32, bytes: u64) {
        self.sends.push((to, bytes.max(1)));
    }

    /// Waits for `bytes` from rank `from`.
    pub(crate) fn receive(&mut self, from: u32, bytes: u64) {
        self.receives.push((from, bytes.max(1)));
    }

    /// Sends to a rank and waits for the same amount from it.
    fn exchange(&mut self, with: u32, bytes: u64) {
        self.send(with, bytes);
        self.receive(with, bytes);
    }
}

/// Actions of the ranks of a job in an iteration.
pub trait Program: Debug + Send + Sync {
    /// Steps of each rank, 1 or more.
    fn steps(&self) -> u64;

    /// Fills `step`, which is empty, with step `number` of `rank`.
    fn step(&self, rank: u32, number: u64, step: &mut Step);

    /// True if there are steps that may be in progress with others ([`After::Window`]).
    fn is_independent(&self) -> bool {
        false
    }
}

/// Input of a program.
pub(crate) struct ProgramInput<'a> {
    pub(crate) place: ErrorLocation<'a>,
    /// Key of the program in the entry: `program`, `program.sequence.phases.0.operation`.
    pub(crate) key: &'a str,
    /// Number of ranks, 2 or more.
    pub(crate) ranks: u32,
}

/// The registry of programs.
pub(crate) fn new(context: &ProgramInput, program: &Kind) -> Result<Arc<dyn Program>, WorkloadError> {
    let p = context.ranks;
    Ok(match program {
        Kind::AllToAll(spec::AllToAll { algorithm, message }) => {
            all_to_all::new(p, *algorithm, message.get())
        }
        Kind::AllReduce(spec::AllReduce { algorithm, message }) => {
            all_reduce::new(p, *algorithm, message.get())
        }
        Kind::AllGather(spec::AllGather { algorithm, message }) => {
            all_gather::new(p, *algorithm, message.get())
        }
        Kind::Broadcast(spec) => Arc::new(broadcast::Binomial::new(context, spec)?),
        Kind::Barrier(barrier) => Arc::new(barrier::Dissemination::new(p, barrier.message.get())),
        Kind::Fft(fft) => Arc::new(fft::Fft::new(context, fft)?),
        Kind::NeighbourExchange(exchange) => Arc::new(neighbour_exchange::Exchange::new(context, exchange)?),
        Kind::AllToAllV(spec) => Arc::new(all_to_all_v::AllToAllV::new(context, spec)?),
        Kind::Shift(shift) => Arc::new(shift::Shift { p, by: shift.by % p, bytes: shift.message.get() }),
    })
}

/// The smallest number of doublings of 1 that reach `p`: ceil(log2 p).
const fn doublings(p: u32) -> u64 {
    p.next_power_of_two().trailing_zeros() as u64
}

/// The rank `by` (at most p) after `rank`, of p in a ring.
const fn after(rank: u32, by: u32, p: u32) -> u32 {
    ((rank as u64 + by as u64) % p as u64) as u32
}

/// The rank `by` (at most p) before `rank`, of p in a ring.
const fn before(rank: u32, by: u32, p: u32) -> u32 {
    ((rank as u64 + p as u64 - by as u64) % p as u64) as u32
}

/// Position at which part `number` of `parts` begins in a vector of `bytes`.
pub(crate) const fn part(bytes: u64, number: u32, parts: u32) -> u64 {
    (bytes as u128 * number as u128 / parts as u128) as u64
}

/// An error of a value with which a program cannot work; `key` is within the program's.
fn refused(context: &ProgramInput, key: &str, problem: Problem) -> WorkloadError {
    context.place.error(&format!("{}.{key}", context.key), problem)
}
