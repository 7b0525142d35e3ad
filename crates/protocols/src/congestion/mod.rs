//! Congestion control at the edge of the fabric: reaction of a source to notifications of marked packets, and notifications by
//! destinations. Detection and marking are the switches' (`fabricsim_fabric::congestion`).
//!
//! Adding an algorithm: a file with a type that implements [`RateControl`], and a line in [`SourceControl`].

mod cct;
mod dcqcn;
mod destination;
mod flows;
mod infiniband;

pub use cct::CongestionControlTable;
pub use dcqcn::{DcqcnRules, DcqcnSource};
pub use destination::{Answer, Destination};
pub use infiniband::{InfiniBandRules, InfiniBandSource};

use fabricsim_units::Time;

/// Unit at a source with a rate of its own: a destination (a queue pair), or a service class.
pub type FlowKey = u32;

/// Rate limiting of a flow over a stretch of time: from, to, and how strongly (InfiniBand: the index CCTI; DCQCN: the rate
/// in Mb/s).
pub type Report<'a> = &'a mut dyn FnMut(FlowKey, Time, Time, u32);

/// Decides when the flows of one source may send.
pub trait RateControl {
    /// The earliest time at which the next packet of `flow` may be sent, by what is known at `now`. At most `now`: at
    /// once.
    fn allowed_at(&mut self, flow: FlowKey, now: Time) -> Time;
    /// A packet of `flow` of `bytes` is sent from `start` to `end`.
    fn sent(&mut self, flow: FlowKey, bytes: u32, start: Time, end: Time, report: Report<'_>);
    /// A notification for `flow` arrives. First reports how the flow was rate-limited until now.
    fn notified(&mut self, flow: FlowKey, now: Time, report: Report<'_>);
    /// Reports how flows were rate-limited until `now`, as far as it has not been reported yet; forgets flows that are
    /// free again.
    fn report(&mut self, now: Time, report: Report<'_>);
    /// Strength of the rate limiting of `flow` at `now`, as in [`Report`]; `None`: not at all.
    fn level(&mut self, flow: FlowKey, now: Time) -> Option<u32>;
    /// Number of times that a notification found or brought a flow to the level at which an event is reported.
    fn events(&self) -> u64;
}

/// The algorithm of a source.
#[derive(Clone, Debug, Default)]
pub enum SourceControl {
    /// None: flows send as fast as they get credits.
    #[default]
    None,
    /// InfiniBand congestion control.
    InfiniBand(InfiniBandSource),
    /// DCQCN.
    Dcqcn(DcqcnSource),
}

macro_rules! dispatch {
    ($self:ident, $control:ident => $work:expr, $none:expr) => {
        match $self {
            Self::None => $none,
            Self::InfiniBand($control) => $work,
            Self::Dcqcn($control) => $work,
        }
    };
}

impl RateControl for SourceControl {
    #[inline]
    fn allowed_at(&mut self, flow: FlowKey, now: Time) -> Time {
        dispatch!(self, control => control.allowed_at(flow, now), Time::ZERO)
    }
    #[inline]
    fn sent(&mut self, flow: FlowKey, bytes: u32, start: Time, end: Time, report: Report<'_>) {
        dispatch!(self, control => control.sent(flow, bytes, start, end, report), ());
    }
    fn notified(&mut self, flow: FlowKey, now: Time, report: Report<'_>) {
        dispatch!(self, control => control.notified(flow, now, report), ());
    }
    fn report(&mut self, now: Time, report: Report<'_>) {
        dispatch!(self, control => control.report(now, report), ());
    }
    fn level(&mut self, flow: FlowKey, now: Time) -> Option<u32> {
        dispatch!(self, control => control.level(flow, now), None)
    }
    fn events(&self) -> u64 {
        dispatch!(self, control => control.events(), 0)
    }
}
