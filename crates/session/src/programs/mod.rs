//! Programs that use verbs: each has a clock of its own, which its calls move, and says what it waits for.
//!
//! A program runs between the events before the session's time and those at it, when that time has reached its clock. What it posts reaches the
//! adapter after the time of the doorbell, and what the adapter has done is visible to it after the time of a completion. Both are above
//! zero, so a session may advance by the time of a completion beyond the next event, and results do not depend on its steps or partitions.

mod driver;
mod host;

use fabricsim_units::Time;
use fabricsim_verbs::{Cq, Mr};

pub use driver::{Ended, Programs};
pub use host::ProgramHost;

/// What a program waits for. It runs again at that time, or when its own clock has reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A time.
    Until(Time),
    /// A completion in a queue is visible: the program polls.
    Completion(Cq),
    /// An event of a completion queue: the program sleeps, and needs the time to wake up.
    Event(Cq),
    /// A remote WRITE to a watched region is visible: the program polls memory.
    Write(Mr),
    /// Nothing: it has ended.
    Done,
}

/// A program of a host.
pub trait Program {
    /// Goes on at the time of its clock. Returns what it waits for.
    fn run(&mut self, host: &mut ProgramHost<'_>) -> Wait;
}
