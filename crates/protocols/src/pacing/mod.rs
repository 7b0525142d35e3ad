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
#[derive(Clone, Debug, fabricsim_state::State)]
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fabricsim_spec as spec;

    use super::*;

    type Reported = Vec<(FlowKey, Time, Time, u32)>;
    /// Time, window, level and events after each step.
    type Seen = Vec<(Time, u64, Option<u32>, u64)>;

    /// What a source answers to a few calls, which all algorithms notice some of.
    fn answers(pacer: &mut impl Pacer) -> (Seen, Reported) {
        let (mut seen, mut reported) = (Vec::new(), Reported::new());
        let mut report =
            |key: FlowKey, from: Time, to: Time, level: u32| reported.push((key, from, to, level));
        let rate = fabricsim_units::Rate::new(100_000_000_000).unwrap();
        for step in 0..60_u64 {
            let now = Time::us(10 * (step + 1));
            let end = now + Time::ns(400);
            pacer.on_sent(3, 4096, now, end, &mut report);
            let telemetry = HopTelemetry {
                output: 7,
                time: now,
                sent: 120_000 * step,
                queued: 50_000,
                byte_time: rate.byte_time(),
            };
            let acknowledged = Acknowledged {
                bytes: 4096,
                packets: 1,
                marked: (step % 3 == 0).into(),
                rtt: Time::us(8 + 3 * (step % 20)),
                hops: 2,
                telemetry: &[telemetry],
            };
            pacer.on_ack(3, &acknowledged, 8192, end, &mut report);
            if step % 5 == 4 {
                pacer.on_mark(3, end, &mut report);
            }
            if step % 7 == 6 {
                pacer.on_loss(3, end, &mut report);
            }
            if step % 4 == 3 {
                pacer.report(end, &mut report);
            }
            let level = pacer.level(3, end);
            seen.push((pacer.allowed_at(3, end), pacer.window(3, end), level, pacer.events()));
        }
        (seen, reported)
    }

    /// Checks that a source does the same by way of [`AnyPacer`]; returns what it does.
    fn same<P: Pacer + Clone>(source: &P, any: impl Fn(P) -> AnyPacer) -> Seen {
        let (mut alone, mut wrapped) = (source.clone(), any(source.clone()));
        let (seen, reported) = answers(&mut alone);
        assert_eq!(answers(&mut wrapped), (seen.clone(), reported.clone()));
        let (_, _, level, events) = seen[seen.len() - 1];
        assert!(level.is_some_and(|level| level > 1) && events > 1 && !reported.is_empty(), "{seen:?}");
        seen
    }

    #[test]
    fn each_algorithm_is_called_by_way_of_any() {
        let (line, rtt, mtu) = (100_000.0, Time::us(8), 4096);
        let infiniband = InfiniBandSource::new(
            Arc::new(InfiniBandRules::new(&spec::InfiniBandCongestion::default())),
            Time::ns(400),
        );
        let dcqcn = DcqcnSource::new(Arc::new(DcqcnRules::new(&spec::Dcqcn::default())), line);
        let swift = SwiftSource::new(Arc::new(SwiftRules::new(&spec::Swift::default(), rtt, mtu)), line);
        let hpcc = HpccSource::new(Arc::new(HpccRules::new(&spec::Hpcc::default(), rtt)), line);
        let nscc = NsccSource::new(Arc::new(NsccRules::new(&spec::Nscc::default(), rtt, mtu)), line);
        // Without a window as much may be in flight as there is.
        let unlimited = |seen: Seen| seen.iter().all(|of| of.1 == u64::MAX);
        assert!(unlimited(same(&infiniband, AnyPacer::InfiniBand)));
        assert!(unlimited(same(&dcqcn, AnyPacer::Dcqcn)));
        for seen in [same(&swift, AnyPacer::Swift), same(&hpcc, AnyPacer::Hpcc), same(&nscc, AnyPacer::Nscc)]
        {
            assert!(!unlimited(seen));
        }
    }
}
