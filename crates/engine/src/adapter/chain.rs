//! The chain of an adapter: messages of the application are opened at the endpoint, and its packets are put on the link when
//! pacing and credits allow it.

mod application;
mod arbitration;
mod link;
mod single;
#[cfg(test)]
mod tests;
mod waits;

use std::sync::Arc;

use fabricsim_fabric::{Features, Outbox, PartitionContext, VlTurns};
use fabricsim_model::{ExtensionHeaders, LossCause, Observer, Packet, PacketKind};
use fabricsim_routing::RoutingFunction;
use fabricsim_units::{HostId, Time};
use fabricsim_workload::{Message, Source};

use self::waits::Waits;
use super::pacing::NextToSend;
use super::{AdmissionGate, Candidate, Endpoint, Pacing, PathChooser};

/// The parts of an adapter besides its endpoint.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct Chain {
    #[state(fixed)]
    pub(crate) id: HostId,
    #[state(fixed)]
    pub(crate) port: u32,
    /// Application: creates the messages, and is notified of arrivals.
    pub(crate) app: Source,
    /// Congestion control, if there is any.
    #[state(each)]
    pub(crate) pacing: Option<Box<Pacing>>,
    /// The first lane of the service class of each stream.
    #[state(fixed)]
    pub(crate) service_classes: Arc<[u8]>,
    /// Packets sent so far.
    pub(crate) sent: u64,
    /// No more messages are opened.
    pub(crate) stopped: bool,
    /// The LIDs to which packets are sent, if hosts have several.
    #[state(each)]
    pub(crate) paths: Option<Box<PathChooser>>,
    /// Turns of virtual lanes, if tables of weights arbitrate among them.
    #[state(each)]
    pub(crate) vl_turns: Option<Box<VlTurns>>,
    /// True without congestion control and without tables of weights.
    pub(crate) is_plain: bool,
    /// Packets that wait to be accepted, if the number of pending responses is limited.
    #[state(each)]
    pub(crate) admission: Option<Box<AdmissionGate>>,
}

impl Chain {
    /// Sends a packet if the link is free and one is ready; schedules the next wake-up.
    #[inline]
    pub(super) fn settle<F: Features, E: Endpoint, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        endpoint: &mut E,
        context: &mut PartitionContext<R, B, O>,
    ) {
        let now = context.now;
        let busy_until = context.ports.senders[self.port as usize].busy_until;
        if busy_until > now {
            context.ports.ensure_wake(self.port, busy_until, &mut context.out);
            return;
        }
        if !self.settle_single::<F, E, R, B, O>(endpoint, context) {
            self.settle_open(endpoint, context);
        }
    }

    /// [`Chain::settle`] on a free link: the messages are opened at the endpoint, which sends their packets.
    #[inline(never)]
    fn settle_open<E: Endpoint, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        endpoint: &mut E,
        context: &mut PartitionContext<R, B, O>,
    ) {
        let now = context.now;
        if !self.is_plain
            && let Some(pacing) = &mut self.pacing
        {
            pacing.end_blocking_by_cc(now, &mut context.observer);
            pacing.expire(now);
        }
        if E::ACKNOWLEDGES {
            endpoint.expire(now, &mut context.observer);
            self.notify_application(endpoint, now, &mut context.observer);
        }
        self.open_messages(endpoint, now);
        context.ports.forget_awaited(self.port);
        let overdue = self.pacing_wakes_at();
        let retry = match self.send_next(endpoint, context) {
            Ok(()) => match self.stall_ahead(endpoint, context) {
                Some(at) => at,
                None => self.after_sending(endpoint, context),
            },
            Err(at) => at.min(overdue).min(endpoint.wake_at()).min(self.next_opening(endpoint, now)),
        };
        if retry < Time::MAX {
            context.ports.ensure_wake(self.port, retry.max(Time(now.0 + 1)), &mut context.out);
        }
    }

    /// Sends one packet: an answer of the protocol, one of congestion control, or data. Else returns the time at which there may be one and
    /// credits for it.
    #[inline(always)]
    fn send_next<E: Endpoint, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        endpoint: &mut E,
        context: &mut PartitionContext<R, B, O>,
    ) -> Result<(), Time> {
        let mut retry = Time::MAX;
        if !self.is_plain && self.vl_turns.is_some() {
            return self.send_arbitrated(endpoint, context);
        }
        if let Some(answer) = endpoint.answer() {
            match self.try_answer(endpoint, answer, context) {
                Ok(()) => return Ok(()),
                Err(at) => retry = at,
            }
        }
        if !self.is_plain {
            return self.send_paced(endpoint, context).map_err(|at| at.min(retry));
        }
        for turn in 0..endpoint.turns() {
            let Some(candidate) = endpoint.candidate(turn) else { continue };
            match self.try_candidate(endpoint, (turn, candidate), context) {
                Ok(()) => return Ok(()),
                Err(at) => retry = retry.min(at),
            }
        }
        Err(retry)
    }

    /// [`Chain::send_next`] with congestion control: notifications and acknowledgements are sent as well, and flows may be rate-limited.
    #[inline(never)]
    fn send_paced<E: Endpoint, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        endpoint: &mut E,
        context: &mut PartitionContext<R, B, O>,
    ) -> Result<(), Time> {
        let order = match self.pacing.as_ref().map(|pacing| pacing.next_to_send()) {
            Some(NextToSend::Data) => [NextToSend::Data, NextToSend::Answers],
            _ => [NextToSend::Answers, NextToSend::Data],
        };
        let mut retry = Time::MAX;
        for turn in order {
            let sent = match turn {
                NextToSend::Answers => self.try_notification(context),
                NextToSend::Data => self.try_flows(endpoint, context),
            };
            match sent {
                Ok(()) => return Ok(()),
                Err(at) => retry = retry.min(at),
            }
        }
        Err(retry)
    }

    /// Returns the time at which there is something to send after a packet that has just been sent.
    #[inline(always)]
    fn after_sending<E: Endpoint, R, B, O>(&self, endpoint: &E, context: &PartitionContext<R, B, O>) -> Time {
        let busy_until = context.ports.senders[self.port as usize].busy_until;
        let data = if endpoint.has_more() {
            busy_until
        } else {
            self.next_opening(endpoint, context.now).min(endpoint.wake_at())
        };
        if self.is_plain {
            return data.max(busy_until);
        }
        let answer = self.pacing.as_ref().and_then(|pacing| pacing.answer_ready()).unwrap_or(Time::MAX);
        data.min(answer).min(self.pacing_wakes_at()).max(busy_until)
    }

    #[inline(always)]
    fn pacing_wakes_at(&self) -> Time {
        match &self.pacing {
            Some(pacing) if !self.is_plain => pacing.wake_at(),
            _ => Time::MAX,
        }
    }

    /// Sends the first packet whose flow is not rate-limited, or returns the time at which there may be one.
    fn try_flows<E: Endpoint, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        endpoint: &mut E,
        context: &mut PartitionContext<R, B, O>,
    ) -> Result<(), Time> {
        let mut waits = Waits::default();
        for turn in 0..endpoint.turns() {
            let Some(candidate) = endpoint.candidate(turn) else { continue };
            if self.is_rate_limited(candidate, &mut waits, context) {
                continue;
            }
            match self.try_candidate(endpoint, (turn, candidate), context) {
                Ok(()) => return Ok(()),
                Err(at) => waits.lacks_credits(candidate, at),
            }
        }
        self.no_data(&waits, context.now);
        Err(waits.retry)
    }

    /// Sends the first notification or acknowledgement of congestion control, or returns the time at which there may be one and credits
    /// for it.
    #[inline(never)]
    fn try_notification<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
    ) -> Result<(), Time> {
        let now = context.now;
        let Some(pacing) = &self.pacing else { return Err(Time::MAX) };
        let ready = pacing.answer_ready().unwrap_or(Time::MAX);
        if ready > now {
            return Err(ready);
        }
        let Some(packet) = pacing.answer(now) else { return Err(Time::MAX) };
        let class = pacing.service_class();
        let entry = self.choose_lane(context, Candidate::of(&packet), class)?;
        let extensions = self.pacing.as_mut().map(|pacing| pacing.answered()).unwrap_or_default();
        self.put_on_link(packet, |arena, index| arena.attach(index, extensions), entry, context);
        Ok(())
    }

    fn try_answer<E: Endpoint, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        endpoint: &mut E,
        answer: Candidate,
        context: &mut PartitionContext<R, B, O>,
    ) -> Result<(), Time> {
        let class = answer.path.level.unwrap_or_else(|| endpoint.answer_class());
        let entry = self.choose_lane(context, answer, class)?;
        let Some(outgoing) = endpoint.send_answer(context.now) else { return Err(Time::MAX) };
        self.send_outgoing(endpoint, outgoing, entry, context);
        Ok(())
    }

    /// Sends the packet of a turn, or returns the time at which there may be credits for it.
    #[inline(always)]
    fn try_candidate<E: Endpoint, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        endpoint: &mut E,
        (turn, candidate): (usize, Candidate),
        context: &mut PartitionContext<R, B, O>,
    ) -> Result<(), Time> {
        let class = self.class(endpoint, candidate);
        let entry = self.choose_lane(context, candidate, class)?;
        let app = &mut self.app;
        let draw = |stream| app.draws_per_packet(stream).then(|| app.destination(stream));
        let Some(outgoing) = endpoint.send(turn, context.now, draw) else { return Err(Time::MAX) };
        self.send_outgoing(endpoint, outgoing, entry, context);
        Ok(())
    }

    /// A packet has arrived; see [`super::Adapter::arrive`].
    pub(super) fn arrive<E: Endpoint, B: Observer>(
        &mut self,
        endpoint: &mut E,
        (packet, extensions): (&Packet, &mut ExtensionHeaders),
        now: Time,
        observer: &mut B,
    ) -> Result<bool, LossCause> {
        if let Some(cause) = endpoint.lose(packet, extensions, now, observer) {
            return Err(cause);
        }
        let answer =
            self.pacing.as_mut().is_some_and(|pacing| pacing.arrived(packet, extensions, now, observer));
        let more = endpoint.arrive(packet, extensions, now, observer);
        let notified = self.notify_application(endpoint, now, observer);
        // An application whose messages follow from others may have some, and congestion control ends what it measures when the adapter
        // settles.
        let may_follow = extensions.transport.is_some() && (self.app.is_closed() || !self.is_plain);
        Ok(answer || more || notified || may_follow)
    }

    /// True if an adapter whose endpoint sends this number of responses may accept a packet now.
    pub(super) fn accepts(&self, packet: &Packet, responses: usize) -> bool {
        let pending_responses = self.app.responses() + responses;
        let is_open = self.admission.as_ref().is_none_or(|gate| gate.is_open(pending_responses));
        is_open || packet.kind != PacketKind::Data || !self.app.is_request(packet.stream)
    }

    /// Longest time for which congestion control still rate-limits one of these messages.
    pub(super) fn rate_limited_for<'a>(
        &self,
        messages: impl Iterator<Item = &'a Message>,
        now: Time,
    ) -> Time {
        let Some(pacing) = &self.pacing else { return Time::ZERO };
        let mut pacing = pacing.clone();
        let until = messages.map(|m| pacing.rate_limited_until((m.destination, m.stream), now));
        until.max().unwrap_or_default().saturating_sub(now)
    }

    /// True if every request is answered, and every notification sent.
    pub(super) fn is_drained(&self) -> bool {
        self.app.next_response().is_none() && self.pacing.as_ref().is_none_or(|pacing| pacing.is_empty())
    }
}
