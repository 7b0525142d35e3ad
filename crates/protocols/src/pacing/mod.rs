//! Congestion control at the edge of the fabric: when the flows of a source may send, given notifications and
//! acknowledgements, and the notifications and acknowledgements of destinations. Detection and marking are the switches'
//! (`fabricsim_fabric::congestion`).
//!
//! Adding an algorithm: a file with a type that implements [`Pacer`], and a line in [`AnyPacer`].

mod cct;
mod dcqcn;
mod destination;
mod flows;
mod hpcc;
mod infiniband;
mod nscc;
mod rate;
mod swift;

pub use cct::CongestionControlTable;
pub use dcqcn::{DcqcnRules, DcqcnSource};
pub use destination::{Destination, Feedback, FeedbackMode};
pub use flows::Flows;
pub use hpcc::{HpccRules, HpccSource};
pub use infiniband::{InfiniBandRules, InfiniBandSource};
pub use nscc::{NsccRules, NsccSource};
pub use swift::{SwiftRules, SwiftSource};

use fabricsim_model::HopTelemetry;
use fabricsim_units::Time;

/// Unit of pacing at a source: a destination (a queue pair), or a service class.
pub type FlowKey = u32;

/// Rate limiting of a flow over an interval: start, end, and level (InfiniBand: the index CCTI; all others: the
/// rate in Mb/s).
pub type Report<'a> = &'a mut dyn FnMut(FlowKey, Time, Time, u32);

/// Content of an acknowledgement for the source of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged<'a> {
    /// Bytes of the packets that it acknowledges.
    pub bytes: u64,
    /// Number of those packets, 1 or more.
    pub packets: u32,
    /// Number of those that were marked (FECN).
    pub marked: u32,
    /// From the first byte of the newest of them to the last byte of the acknowledgement, without the time that the receiver
    /// kept it.
    pub rtt: Time,
    /// Switches that the newest of them passed.
    pub hops: u16,
    /// State of the outputs that the newest of them left by, in order; empty unless switches add it.
    pub telemetry: &'a [HopTelemetry],
}

/// Decides when the flows of one source may send. A state machine without clock: every call has `now`.
pub trait Pacer {
    /// The earliest time at which the next packet of `flow` may be sent, as known at `now`. At most `now`: at
    /// once.
    fn allowed_at(&mut self, flow: FlowKey, now: Time) -> Time;
    /// Window of `flow` in bytes at `now`: a packet may be sent while fewer are sent and not acknowledged.
    fn window(&mut self, _flow: FlowKey, _now: Time) -> u64 {
        u64::MAX
    }
    /// A packet of `flow` of `bytes` is sent from `start` to `end`.
    fn on_sent(&mut self, flow: FlowKey, bytes: u32, start: Time, end: Time, report: Report<'_>);
    /// An acknowledgement of packets of `flow` arrives, of which `in_flight` bytes are not acknowledged then.
    fn on_ack(
        &mut self,
        _flow: FlowKey,
        _acknowledged: &Acknowledged<'_>,
        _in_flight: u64,
        _now: Time,
        _report: Report<'_>,
    ) {
    }
    /// A notification for `flow` arrives. First reports how the flow was rate-limited until now.
    fn on_mark(&mut self, flow: FlowKey, now: Time, report: Report<'_>);
    /// A packet of `flow` is retransmitted, because it or its acknowledgement by the transport counts as lost.
    fn on_loss(&mut self, _flow: FlowKey, _now: Time, _report: Report<'_>) {}
    /// Reports how flows were rate-limited until `now`, as far as it has not been reported yet; forgets flows that are
    /// free again.
    fn report(&mut self, now: Time, report: Report<'_>);
    /// Level of the rate limiting of `flow` at `now`, as in [`Report`]; `None` if it is not limited.
    fn level(&mut self, flow: FlowKey, now: Time) -> Option<u32>;
    /// Number of times that a notification found or brought a flow to the level at which an event is reported.
    fn events(&self) -> u64;
}

/// The algorithm of a source.
#[derive(Clone, Debug)]
pub enum AnyPacer {
    /// InfiniBand congestion control.
    InfiniBand(InfiniBandSource),
    /// DCQCN.
    Dcqcn(DcqcnSource),
    /// Swift.
    Swift(SwiftSource),
    /// HPCC.
    Hpcc(HpccSource),
    /// NSCC.
    Nscc(NsccSource),
}

macro_rules! dispatch {
    ($self:ident, $pacer:ident => $work:expr) => {
        match $self {
            Self::InfiniBand($pacer) => $work,
            Self::Dcqcn($pacer) => $work,
            Self::Swift($pacer) => $work,
            Self::Hpcc($pacer) => $work,
            Self::Nscc($pacer) => $work,
        }
    };
}

impl Pacer for AnyPacer {
    #[inline]
    fn allowed_at(&mut self, flow: FlowKey, now: Time) -> Time {
        dispatch!(self, pacer => pacer.allowed_at(flow, now))
    }
    #[inline]
    fn window(&mut self, flow: FlowKey, now: Time) -> u64 {
        dispatch!(self, pacer => pacer.window(flow, now))
    }
    #[inline]
    fn on_sent(&mut self, flow: FlowKey, bytes: u32, start: Time, end: Time, report: Report<'_>) {
        dispatch!(self, pacer => pacer.on_sent(flow, bytes, start, end, report));
    }
    fn on_ack(
        &mut self,
        flow: FlowKey,
        acknowledged: &Acknowledged<'_>,
        in_flight: u64,
        now: Time,
        report: Report<'_>,
    ) {
        dispatch!(self, pacer => pacer.on_ack(flow, acknowledged, in_flight, now, report));
    }
    fn on_mark(&mut self, flow: FlowKey, now: Time, report: Report<'_>) {
        dispatch!(self, pacer => pacer.on_mark(flow, now, report));
    }
    fn on_loss(&mut self, flow: FlowKey, now: Time, report: Report<'_>) {
        dispatch!(self, pacer => pacer.on_loss(flow, now, report));
    }
    fn report(&mut self, now: Time, report: Report<'_>) {
        dispatch!(self, pacer => pacer.report(now, report));
    }
    fn level(&mut self, flow: FlowKey, now: Time) -> Option<u32> {
        dispatch!(self, pacer => pacer.level(flow, now))
    }
    fn events(&self) -> u64 {
        dispatch!(self, pacer => pacer.events())
    }
}
