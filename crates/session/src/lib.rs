//! A fabric in operation, controlled by a caller: advance, inject, configure, snapshot, subscribe.
//!
//! A whole run (warm-up, measurement, drain) is a plan over a [`Session`], and so are the commands of a user in a notebook. The caller's
//! actions happen at the session's time, between the events before it and those after it, so that results do not
//! depend on the number of partitions, nor on where the session stops in between.

mod change;
mod feed;
mod inject;
mod programs;
mod session;
mod subnet;
mod tap;
mod traced;
mod watchdog;

pub use change::{Change, ChangeError};
pub use feed::{Event, EventKind, Events, Feed, Subscription};
pub use inject::{InjectError, Injection, MessageId};
pub use programs::{Awaited, Ended, Next, Program, ProgramHost, Programs, Scheduler, Wait};
pub use session::Session;
pub use subnet::{SubnetReport, SweepReport};
pub use tap::{CaptureFilter, Captured, CapturedContent};
pub use traced::Traced;
