//! Congestion control at a host: flows that are held back, and what it answers to the sources of marked packets.

use std::collections::VecDeque;
use std::sync::Arc;

use fabricsim_model::{Observer, Packet, PacketKind};
use fabricsim_protocols::congestion::{Destination, FlowKey, RateControl, SourceControl};
use fabricsim_spec::{ControlPer, NotifyBy};
use fabricsim_units::{HostId, Time};

/// Rules common to all hosts.
#[derive(Clone, Debug)]
pub(crate) struct PacingRules {
    pub(crate) by: NotifyBy,
    /// Size of an answer, in bytes.
    pub(crate) bytes: u32,
    /// First lane of the service class of answers.
    pub(crate) class_base: u8,
    pub(crate) first: bool,
    pub(crate) delay: Time,
    pub(crate) control: ControlPer,
    /// Service class of each stream.
    pub(crate) classes: Vec<u8>,
}

/// Answer that is due to a source.
#[derive(Clone, Copy, Debug)]
struct Pending {
    ready: Time,
    to: HostId,
    notifies: bool,
    stream: u16,
}

/// Next user of a host's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Answers,
    Data,
}

/// Congestion control of an adapter: when its flows may send, and what it owes to the sources of what it received.
#[derive(Clone, Debug)]
pub(crate) struct Pacing {
    host: HostId,
    source: SourceControl,
    destination: Destination,
    rules: Arc<PacingRules>,
    /// In order of readiness.
    answers: VecDeque<Pending>,
    turn: Turn,
    /// Since when the link has been idle only because a packet to this host is held back.
    throttled: Option<(Time, HostId)>,
}

impl Pacing {
    pub(crate) fn new(
        host: HostId,
        source: SourceControl,
        destination: Destination,
        rules: Arc<PacingRules>,
    ) -> Self {
        let answers = VecDeque::new();
        Self { host, source, destination, rules, answers, turn: Turn::Answers, throttled: None }
    }

    fn key(&self, destination: HostId, stream: u16) -> FlowKey {
        match self.rules.control {
            ControlPer::QueuePair => destination.0,
            ControlPer::ServiceLevel => u32::from(self.rules.classes[usize::from(stream)]),
        }
    }

    /// Returns the earliest time at which the next packet of a flow, of `bytes`, may be sent.
    #[inline]
    pub(crate) fn allowed_at(
        &mut self,
        (destination, stream): (HostId, u16),
        _bytes: u32,
        now: Time,
    ) -> Time {
        let key = self.key(destination, stream);
        self.source.allowed_at(key, now)
    }

    /// A packet with data is sent.
    pub(crate) fn sent<B: Observer>(&mut self, packet: &Packet, start: Time, end: Time, observer: &mut B) {
        let (key, host, per) = (self.key(packet.destination, packet.stream), self.host, self.rules.control);
        let mut report = |key, from, to, level| tell(observer, host, per, (key, from, to, level));
        self.source.sent(key, packet.bytes, start, end, &mut report);
        self.turn = Turn::Answers;
    }

    /// A packet has arrived. True if there is something to send because of it.
    pub(crate) fn arrived<B: Observer>(&mut self, packet: &Packet, now: Time, observer: &mut B) -> bool {
        if packet.becn {
            let (key, host, per) = (self.key(packet.source, packet.stream), self.host, self.rules.control);
            let mut report = |key, from, to, level| tell(observer, host, per, (key, from, to, level));
            self.source.notified(key, now, &mut report);
            observer.notified(now, host, packet.source);
        }
        if packet.kind != PacketKind::Data {
            return false;
        }
        let answer = self.destination.arrived(now, packet.source, packet.fecn, packet.last);
        let Some(answer) = answer else { return false };
        let ready = now + self.rules.delay;
        let pending = Pending { ready, to: answer.to, notifies: answer.notifies, stream: packet.stream };
        self.answers.push_back(pending);
        true
    }

    /// Returns the time at which the first answer may be sent.
    pub(crate) fn answer_ready(&self) -> Option<Time> {
        self.answers.front().map(|answer| answer.ready)
    }

    /// Returns the next user of the link.
    pub(crate) fn turn(&self) -> Turn {
        if self.rules.first { Turn::Answers } else { self.turn }
    }

    /// The first answer as a packet; it stays until [`Pacing::answered`].
    pub(crate) fn answer(&self, now: Time) -> Option<Packet> {
        let pending = self.answers.front()?;
        let kind = match self.rules.by {
            NotifyBy::Cnp => PacketKind::Notification,
            NotifyBy::Acknowledgement => PacketKind::Acknowledgement,
        };
        Some(Packet {
            created: pending.ready,
            stream: pending.stream,
            becn: pending.notifies,
            ..Packet::new(kind, (self.host, pending.to), self.rules.bytes, now)
        })
    }

    /// True if every message is answered.
    pub(crate) fn acknowledges(&self) -> bool {
        self.rules.by == NotifyBy::Acknowledgement
    }

    /// First lane of the service class of answers.
    pub(crate) fn class_base(&self) -> u8 {
        self.rules.class_base
    }

    /// The first answer has been sent.
    pub(crate) fn answered(&mut self) {
        self.answers.pop_front();
        self.turn = Turn::Data;
    }

    /// Called when the link is looked at again: ends a time of throttling, or reports it in parts.
    #[inline]
    pub(crate) fn end_throttling<B: Observer>(&mut self, now: Time, observer: &mut B) {
        if let Some((since, destination)) = self.throttled.take()
            && since < now
        {
            observer.throttled(self.host, destination, since, now);
        }
    }

    /// The link is idle only because a packet to `destination` is held back.
    pub(crate) fn begin_throttling(&mut self, now: Time, destination: HostId) {
        self.throttled = Some((now, destination));
    }

    /// Nothing is left to be sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Reports what has not been reported yet.
    pub(crate) fn finish<B: Observer>(&mut self, now: Time, observer: &mut B) {
        self.end_throttling(now, observer);
        let (host, per) = (self.host, self.rules.control);
        self.source
            .report(now, &mut |key, from, to, level| tell(observer, host, per, (key, from, to, level)));
    }

    /// Events of the trigger threshold.
    pub(crate) fn events(&self) -> u64 {
        self.source.events()
    }
}

fn tell<B: Observer>(
    observer: &mut B,
    host: HostId,
    per: ControlPer,
    (key, from, to, level): (FlowKey, Time, Time, u32),
) {
    let destination = (per == ControlPer::QueuePair).then_some(HostId(key));
    observer.held_back(host, destination, from, to, level);
}
