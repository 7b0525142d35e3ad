//! Packets that an adapter cannot send now: their flows are rate-limited, or there are no credits.

use fabricsim_fabric::PartitionContext;
use fabricsim_model::Observer;
use fabricsim_units::{HostId, Time};

use super::Chain;
use crate::adapter::{Candidate, Endpoint};

/// Packets that cannot be sent now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    /// Time at which one of them may be sent.
    pub(super) retry: Time,
    /// Destination of the first that is rate-limited.
    rate_limited: Option<HostId>,
    /// True if one with data has no credits.
    lacks_credits: bool,
}

impl Default for Waits {
    fn default() -> Self {
        Self { retry: Time::MAX, rate_limited: None, lacks_credits: false }
    }
}

impl Waits {
    /// There may be credits for a packet at `at`.
    #[inline]
    pub(super) fn lacks_credits(&mut self, candidate: Candidate, at: Time) {
        self.retry = self.retry.min(at);
        self.lacks_credits |= candidate.stream.is_some();
    }
}

impl Chain {
    /// True if congestion control rate-limits the flow of a packet, which then waits.
    #[inline]
    pub(super) fn is_rate_limited<R, B: Observer, O>(
        &mut self,
        candidate: Candidate,
        waits: &mut Waits,
        context: &mut PartitionContext<R, B, O>,
    ) -> bool {
        let (Some(stream), Some(pacing)) = (candidate.stream, &mut self.pacing) else { return false };
        let flow = (candidate.destination, stream);
        let allowed = pacing.allowed_at(flow, context.now, &mut context.observer);
        if allowed <= context.now {
            return false;
        }
        waits.retry = waits.retry.min(allowed);
        waits.rate_limited.get_or_insert(candidate.destination);
        true
    }

    /// No data can be sent. Congestion control blocks the link if all packets with data wait for it alone.
    #[inline]
    pub(super) fn no_data(&mut self, waits: &Waits, now: Time) {
        if let (Some(destination), Some(pacing), false) =
            (waits.rate_limited, &mut self.pacing, waits.lacks_credits)
        {
            pacing.begin_blocking_by_cc(now, destination);
        }
    }

    /// After a packet of the only open message: if the next one lacks credits when the link is free, as far as is known, the stall begins then,
    /// and the adapter need not be woken for that. Returns the time at which there are credits; `None` if it must be woken as the link is free.
    #[inline]
    pub(super) fn stall_ahead<E: Endpoint, R, B, O>(
        &self,
        endpoint: &E,
        context: &mut PartitionContext<R, B, O>,
    ) -> Option<Time> {
        let lane = context.injection_lanes.filter(|lanes| lanes.count == 1)?.first;
        let is_simple = self.is_plain && !E::ACKNOWLEDGES && self.paths.is_none() && !self.app.is_closed();
        if !is_simple
            || endpoint.turns() != 1
            || endpoint.has_room(false)
            || context.ports.have_control_frames()
        {
            return None;
        }
        let Candidate { destination, bytes, .. } = endpoint.candidate(0)?;
        if destination.group().is_some() {
            return None;
        }
        let blocks = bytes.div_ceil(context.ports.ramps.unit());
        context.ports.stall_ahead(self.port, lane, blocks)
    }
}
