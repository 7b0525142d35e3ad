//! Programs that use verbs: each has a clock of its own, which its calls move, and says what it waits for.
//!
//! A program runs between the events before the session's time and those at it, when that time has reached its clock. What it posts reaches the
//! adapter after the time of the doorbell, and what the adapter has done is visible to it after the time of a completion. Both are above
//! zero, so a session may advance by the time of a completion beyond the next event, and results do not depend on its steps or partitions.

mod driver;
mod host;
mod scheduler;

use fabricsim_units::Time;
use fabricsim_verbs::{Cq, Mr};

pub use driver::{Ended, Programs};
pub use host::ProgramHost;
pub use scheduler::{Next, Scheduler};

/// Thing that becomes visible to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A completion in a queue.
    Completion(Cq),
    /// An event of a completion queue: the program sleeps, and needs the time to wake up.
    Event(Cq),
    /// A remote WRITE to a watched region.
    Write(Mr),
    /// An asynchronous event of the adapter: the program sleeps, and needs the time to wake up.
    AsyncEvent,
    /// An event of communication management on a channel: the program sleeps, and needs the time to wake up.
    ConnectionEvent(u32),
}

/// What a program waits for. It runs again at that time, or when its own clock has reached it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A time.
    Until(Time),
    /// A completion in a queue is visible: the program polls.
    Completion(Cq),
    /// An event of a completion queue: the program sleeps, and needs the time to wake up.
    Event(Cq),
    /// A remote WRITE to a watched region is visible: the program polls memory.
    Write(Mr),
    /// The first of several things, or a time; [`Time::MAX`]: without limit. With no thing and no limit, only [`Scheduler::wake`] ends it.
    Any(Vec<Awaited>, Time),
    /// Nothing: it has ended.
    Done,
}

impl Wait {
    /// The things of which the first ends the wait.
    fn awaited(&self) -> impl Iterator<Item = Awaited> {
        let (one, more) = match self {
            Self::Until(_) | Self::Done => (None, &[][..]),
            Self::Completion(cq) => (Some(Awaited::Completion(*cq)), &[][..]),
            Self::Event(cq) => (Some(Awaited::Event(*cq)), &[][..]),
            Self::Write(mr) => (Some(Awaited::Write(*mr)), &[][..]),
            Self::Any(list, _) => (None, list.as_slice()),
        };
        one.into_iter().chain(more.iter().copied())
    }

    /// The time that ends it if nothing else does.
    fn limit(&self) -> Time {
        match self {
            Self::Until(at) | Self::Any(_, at) => *at,
            _ => Time::MAX,
        }
    }
}

/// A program of a host.
pub trait Program {
    /// Goes on at the time of its clock. Returns what it waits for.
    fn run(&mut self, host: &mut ProgramHost<'_>) -> Wait;
}
