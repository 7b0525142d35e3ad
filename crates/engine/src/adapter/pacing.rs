//! Congestion control at an adapter: rate limiting of flows, and feedback to the sources of received packets.

use std::collections::VecDeque;
use std::sync::Arc;

use fabricsim_model::{Echo, ExtensionHeaders, HopTelemetry, Observer, Packet, PacketKind};
use fabricsim_protocols::pacing::{
    Acknowledged, AnyPacer, Destination, Feedback, FeedbackMode, FlowKey, Flows, Pacer,
};
use fabricsim_spec::ControlPer;
use fabricsim_units::{HostId, Time};

use super::ArrivalFilter;

/// Rules common to all adapters.
#[derive(Clone, Debug)]
pub(crate) struct PacingRules {
    /// Feedback of destinations.
    pub(crate) feedback_mode: FeedbackMode,
    /// Size of an answer, in bytes.
    pub(crate) bytes: u32,
    /// First lane of the service class of answers.
    pub(crate) service_class: u8,
    pub(crate) first: bool,
    pub(crate) delay: Time,
    pub(crate) control: ControlPer,
    /// Service class of each stream.
    pub(crate) classes: Vec<u8>,
    /// Time without an acknowledgement after which the packets of a flow in flight count as lost. Also where nothing in the experiment loses packets:
    /// a copy of the run may have failures.
    pub(crate) timeout: Time,
}

/// Answer that is due to a source.
#[derive(Clone, Debug, fabricsim_state::Value)]
struct Pending {
    ready: Time,
    answer: Feedback,
    stream: u16,
    telemetry: Vec<HopTelemetry>,
}

/// Bytes of a flow in flight.
#[derive(Clone, Copy, Debug, Default, fabricsim_state::Value)]
struct InFlight {
    /// Bytes that are not acknowledged.
    bytes: u64,
    /// Time of the last acknowledgement, or of the first packet after all was acknowledged.
    since: Time,
}

/// Next user of an adapter's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub(crate) enum NextToSend {
    Answers,
    Data,
}

/// Congestion control of an adapter: when its flows may send, and the pending feedback to sources.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct Pacing {
    #[state(fixed)]
    host: HostId,
    pacer: AnyPacer,
    /// Of flows with a window.
    flights: Flows<InFlight>,
    destination: Destination,
    #[state(fixed)]
    rules: Arc<PacingRules>,
    /// In order of readiness.
    answers: VecDeque<Pending>,
    next_to_send: NextToSend,
    /// Time since which the link has been idle only because a packet to this host is rate-limited, and the host.
    blocked_by_cc: Option<(Time, HostId)>,
}

impl Pacing {
    pub(crate) fn new(
        host: HostId,
        pacer: AnyPacer,
        destination: Destination,
        rules: Arc<PacingRules>,
    ) -> Self {
        Self {
            host,
            pacer,
            flights: Flows::default(),
            destination,
            rules,
            answers: VecDeque::new(),
            next_to_send: NextToSend::Answers,
            blocked_by_cc: None,
        }
    }

    /// Arrivals that are reported to the adapter.
    pub(crate) fn arrival_filter(&self) -> ArrivalFilter {
        match self.destination.feedback_mode() {
            FeedbackMode::Marks { .. } => ArrivalFilter::Marks,
            FeedbackMode::Messages => ArrivalFilter::MarksAndEnds,
            FeedbackMode::Packets { .. } => ArrivalFilter::All,
        }
    }

    /// True if flows have windows: packets are acknowledged.
    fn has_windows(&self) -> bool {
        matches!(self.rules.feedback_mode, FeedbackMode::Packets { .. })
    }

    fn key(&self, destination: HostId, stream: u16) -> FlowKey {
        match self.rules.control {
            ControlPer::QueuePair => destination.0,
            ControlPer::ServiceLevel => u32::from(self.rules.classes[usize::from(stream)]),
        }
    }

    /// Time up to which a flow is rate-limited. A full window does not count: the time of the acknowledgement that it waits for is not known.
    pub(crate) fn rate_limited_until(&mut self, (destination, stream): (HostId, u16), now: Time) -> Time {
        if destination.group().is_some() {
            return now;
        }
        self.pacer.allowed_at(self.key(destination, stream), now)
    }

    /// Returns the earliest time at which the next packet of a flow may be sent. With a full window it is that at which its packets in flight
    /// count as lost, unless an acknowledgement comes.
    #[inline]
    pub(crate) fn allowed_at<B: Observer>(
        &mut self,
        (destination, stream): (HostId, u16),
        now: Time,
        observer: &mut B,
    ) -> Time {
        if destination.group().is_some() {
            // No host answers a packet for a multicast group.
            return now;
        }
        let key = self.key(destination, stream);
        let allowed = self.pacer.allowed_at(key, now);
        if allowed > now || !self.has_windows() {
            return allowed;
        }
        let Some(flight) = self.flights.get(key).filter(|flight| flight.bytes > 0) else { return allowed };
        if flight.bytes < self.pacer.window(key, now) {
            return allowed;
        }
        let expires = flight.since.saturating_add(self.rules.timeout);
        if expires > now {
            return expires;
        }
        flight.bytes = 0;
        let (host, per) = (self.host, self.rules.control);
        let mut report =
            |key, from, to, level| report_rate_limit(observer, host, per, (key, from, to, level));
        self.pacer.on_loss(key, now, &mut report);
        self.pacer.allowed_at(key, now)
    }

    /// A packet with data is sent; `retransmitted`: a copy was sent before.
    pub(crate) fn sent<B: Observer>(
        &mut self,
        packet: &Packet,
        retransmitted: bool,
        (start, end): (Time, Time),
        observer: &mut B,
    ) {
        if packet.destination.group().is_some() {
            self.next_to_send = NextToSend::Answers;
            return;
        }
        let (key, host, per) = (self.key(packet.destination, packet.stream), self.host, self.rules.control);
        let mut report =
            |key, from, to, level| report_rate_limit(observer, host, per, (key, from, to, level));
        if retransmitted {
            self.pacer.on_loss(key, start, &mut report);
        }
        self.pacer.on_sent(key, packet.bytes, start, end, &mut report);
        self.next_to_send = NextToSend::Answers;
        // A retransmitted packet replaces the lost one.
        if self.has_windows() && !retransmitted {
            let flight = self.flights.get_or_insert(key, InFlight::default);
            if flight.bytes == 0 {
                flight.since = start;
            }
            flight.bytes += u64::from(packet.bytes);
        }
    }

    /// A packet has arrived. True if there may be something to send because of it.
    pub(crate) fn arrived<B: Observer>(
        &mut self,
        packet: &Packet,
        extensions: &mut ExtensionHeaders,
        now: Time,
        observer: &mut B,
    ) -> bool {
        if packet.becn {
            let (key, host, per) = (self.key(packet.source, packet.stream), self.host, self.rules.control);
            let mut report =
                |key, from, to, level| report_rate_limit(observer, host, per, (key, from, to, level));
            self.pacer.on_mark(key, now, &mut report);
            observer.notified(now, host, packet.source);
        }
        if let Some(echo) = &extensions.echo {
            self.acknowledged((packet, echo, &extensions.telemetry), now, observer);
            return true;
        }
        if packet.kind != PacketKind::Data {
            return false;
        }
        let Some(answer) = self.destination.arrived(now, packet) else {
            // The adapter must be woken when the packet has waited for others for too long.
            return self.destination.wake_at() < Time::MAX;
        };
        let (ready, telemetry) = (now + self.rules.delay, std::mem::take(&mut extensions.telemetry));
        self.answers.push_back(Pending { ready, answer, stream: packet.stream, telemetry });
        true
    }

    /// An acknowledgement of packets has arrived.
    fn acknowledged<B: Observer>(
        &mut self,
        (packet, echo, telemetry): (&Packet, &Echo, &[HopTelemetry]),
        now: Time,
        observer: &mut B,
    ) {
        let (key, host, per) = (self.key(packet.source, packet.stream), self.host, self.rules.control);
        let flight = self.flights.get_or_insert(key, InFlight::default);
        flight.bytes = flight.bytes.saturating_sub(echo.bytes);
        flight.since = now;
        let &Echo { bytes, packets, marked, sent, arrived, hops } = echo;
        let kept = packet.injected.saturating_sub(arrived);
        let rtt = now.saturating_sub(sent).saturating_sub(kept);
        let acknowledged = Acknowledged { bytes, packets, marked, rtt, hops, telemetry };
        let mut report =
            |key, from, to, level| report_rate_limit(observer, host, per, (key, from, to, level));
        self.pacer.on_ack(key, &acknowledged, flight.bytes, now, &mut report);
        if marked > 0 {
            observer.notified(now, host, packet.source);
        }
    }

    /// Time at which packets that wait for others must be acknowledged; [`Time::MAX`] if none do.
    pub(crate) fn wake_at(&self) -> Time {
        self.destination.wake_at()
    }

    /// Acknowledges packets that have waited for others for too long by `now`.
    pub(crate) fn expire(&mut self, now: Time) {
        while let Some(answer) = self.destination.overdue(now) {
            let ready = now + self.rules.delay;
            self.answers.push_back(Pending { ready, answer, stream: 0, telemetry: Vec::new() });
        }
    }

    /// Returns the time at which the first answer may be sent.
    pub(crate) fn answer_ready(&self) -> Option<Time> {
        self.answers.front().map(|answer| answer.ready)
    }

    /// Returns the next user of the link.
    pub(crate) fn next_to_send(&self) -> NextToSend {
        if self.rules.first { NextToSend::Answers } else { self.next_to_send }
    }

    /// The first answer as a packet; it stays until [`Pacing::answered`].
    pub(crate) fn answer(&self, now: Time) -> Option<Packet> {
        let Pending { ready, answer, stream, .. } = self.answers.front()?;
        let kind = match self.rules.feedback_mode {
            FeedbackMode::Marks { .. } => PacketKind::Notification,
            FeedbackMode::Messages | FeedbackMode::Packets { .. } => PacketKind::Acknowledgement,
        };
        Some(Packet {
            created: *ready,
            stream: *stream,
            becn: answer.notifies,
            ..Packet::new(kind, (self.host, answer.to), self.rules.bytes, now)
        })
    }

    /// First lane of the service class of answers.
    pub(crate) fn service_class(&self) -> u8 {
        self.rules.service_class
    }

    /// The first answer is sent. Returns the extension headers of its packet.
    pub(crate) fn answered(&mut self) -> ExtensionHeaders {
        self.next_to_send = NextToSend::Data;
        let Some(Pending { answer, telemetry, .. }) = self.answers.pop_front() else {
            return ExtensionHeaders::default();
        };
        ExtensionHeaders { echo: answer.echo, telemetry, ..ExtensionHeaders::default() }
    }

    /// Called when the link is checked: reports the time for which it was blocked by congestion control.
    #[inline]
    pub(crate) fn end_blocking_by_cc<B: Observer>(&mut self, now: Time, observer: &mut B) {
        if let Some((since, destination)) = self.blocked_by_cc.take()
            && since < now
        {
            observer.blocked_by_cc(self.host, destination, since, now);
        }
    }

    /// The link is idle only because a packet to `destination` is rate-limited.
    pub(crate) fn begin_blocking_by_cc(&mut self, now: Time, destination: HostId) {
        self.blocked_by_cc = Some((now, destination));
    }

    /// Nothing is left to be sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.destination.wake_at() == Time::MAX
    }

    /// Reports what has not been reported yet.
    pub(crate) fn finish<B: Observer>(&mut self, now: Time, observer: &mut B) {
        self.end_blocking_by_cc(now, observer);
        let (host, per) = (self.host, self.rules.control);
        self.pacer.report(now, &mut |key, from, to, level| {
            report_rate_limit(observer, host, per, (key, from, to, level));
        });
    }

    /// Events of the trigger threshold.
    pub(crate) fn events(&self) -> u64 {
        self.pacer.events()
    }
}

fn report_rate_limit<B: Observer>(
    observer: &mut B,
    host: HostId,
    per: ControlPer,
    (key, from, to, level): (FlowKey, Time, Time, u32),
) {
    let destination = (per == ControlPer::QueuePair).then_some(HostId(key));
    observer.rate_limited(host, destination, from, to, level);
}

#[cfg(test)]
mod tests;
