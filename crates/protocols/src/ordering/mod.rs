//! Ordered and synchronized transfers over a network that keeps no order and loses packets: the protocols of Eberle and
//! Dennison, "Light-Weight Protocols for Wire-Speed Ordering" (SC18), and alternatives to them.
//! `docs/design/ordering.md` lists the choices that the paper leaves open, and why they are correct.
//!
//! State machines without clock, queue or network: a [`Source`] and a [`Target`] for each endpoint. The time comes in,
//! actions go out through [`SourceOutbox`] and [`TargetOutbox`]. On the steady path nothing is allocated.

#[cfg(test)]
mod checks;
mod connections;
mod go_back_n;
mod header;
mod identifiers;
mod mutation;
mod operation;
mod option_ranges;
mod options;
mod ordered;
mod outbox;
mod reorder_buffer;
mod replay_buffer;
mod sequence;
mod source;
mod stream;
mod synchronized;
mod tally;
mod target;
mod timers;
mod window;

pub use header::{Cid, Flags, Header, Kind, Reason, Transfer};
pub use operation::Operation;
pub use option_ranges::OptionError;
pub use options::{
    Close, OnNoConnection, Recovery, Resend, SourceOptions, StartOffset, TargetOptions, TimedOut,
};
pub use outbox::{SourceOutbox, StreamId, TargetOutbox, Ticket};
pub use reorder_buffer::{Refusal, ReorderBuffer};
pub use sequence::{Seq, SequenceSpace};
pub use source::{Outgoing, Source, SourceCounters};
pub use stream::Mode;
pub use tally::Tally;
pub use target::{Target, TargetCounters};
