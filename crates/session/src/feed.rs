//! Subscription to events, and captures.

use fabricsim_model::{Crossing, Exchange, Grant, Iteration, LossCause, Observer, Packet};
use fabricsim_units::{HostId, Time, Vl};

use crate::Session;
use crate::tap::{CaptureFilter, Captured, Tap};
use crate::traced::Traced;

/// Events that a subscriber receives, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Subscription {
    /// Packets with data that are delivered.
    pub deliveries: bool,
    /// Packets that are marked (FECN).
    pub marks: bool,
    /// Messages of transports that are complete at their receiver.
    pub completions: bool,
    /// Packets that are lost with links and switches that fail.
    pub losses: bool,
    /// Maximum number of events kept between two calls of [`Session::events`]; later ones are counted and dropped.
    pub capacity: usize,
}

/// Event of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct Event {
    /// Its time.
    pub time: Time,
    /// Its kind.
    pub kind: EventKind,
    /// The packet.
    pub packet: Packet,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, fabricsim_state::Value)]
pub enum EventKind {
    /// The packet is marked as it leaves a sending port on a lane.
    Marked {
        /// Sending port.
        port: u32,
        /// Virtual lane.
        lane: Vl,
    },
    /// Its last byte is accepted by its receiver; with a transport, its operation is visible there.
    Delivered,
    /// The last operation of its message is visible at its receiver.
    Completed,
    /// It is lost: its link or its switch has failed.
    Lost(LossCause),
}

/// Events since the last call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// The first events, in order of time, kind, sender and number.
    pub first: Vec<Event>,
    /// Number of later ones, which were not kept.
    pub missed: u64,
}

/// An observer that also collects events for a subscriber, and captures what crosses links. Sessions with other observers spend
/// nothing on either.
#[derive(Clone, Debug, Default, fabricsim_state::State)]
pub struct Feed<B> {
    inner: B,
    buffer: Option<Box<Buffer>>,
    #[state(refuse = "a capture (`capture`)")]
    tap: Option<Box<Tap>>,
    trace: Option<Vec<Traced>>,
}

/// Events of a partition.
#[derive(Clone, Debug, fabricsim_state::Value)]
struct Buffer {
    subscription: Subscription,
    events: Vec<Event>,
    missed: u64,
}

impl Buffer {
    /// Keeps an event among the first. Those of the same picosecond come in any order: all are kept, to be sorted.
    fn add(&mut self, event: Event) {
        let is_late = self.events.last().is_some_and(|last| event.time > last.time);
        if self.events.len() >= self.subscription.capacity && (is_late || self.subscription.capacity == 0) {
            self.missed += 1;
        } else {
            self.events.push(event);
        }
    }
}

impl<B> Feed<B> {
    /// Without a subscription at first.
    pub fn new(inner: B) -> Self {
        Self { inner, buffer: None, tap: None, trace: None }
    }

    /// The observer within.
    pub fn inner(&mut self) -> &mut B {
        &mut self.inner
    }

    /// The observer within.
    pub fn into_inner(self) -> B {
        self.inner
    }

    #[inline]
    fn add(
        &mut self,
        is_subscribed: impl Fn(&Subscription) -> bool,
        time: Time,
        kind: EventKind,
        packet: &Packet,
    ) {
        if let Some(buffer) = &mut self.buffer
            && is_subscribed(&buffer.subscription)
        {
            buffer.add(Event { time, kind, packet: *packet });
        }
    }
}

impl<B: Observer> Session<Feed<B>> {
    /// Collects events from now on, instead of those subscribed to before.
    pub fn subscribe(&mut self, subscription: Subscription) {
        let empty = || Some(Box::new(Buffer { subscription, events: Vec::new(), missed: 0 }));
        self.engine.observers().for_each(|feed| feed.buffer = empty());
    }

    /// Collects no events from now on.
    pub fn unsubscribe(&mut self) {
        self.engine.observers().for_each(|feed| feed.buffer = None);
    }

    /// The events since the last call, or since the subscription. The same for every number of partitions.
    pub fn events(&mut self) -> Events {
        let mut all = Events::default();
        let mut capacity = 0;
        for buffer in self.engine.observers().filter_map(|feed| feed.buffer.as_mut()) {
            capacity = buffer.subscription.capacity;
            all.first.append(&mut buffer.events);
            all.missed += std::mem::take(&mut buffer.missed);
        }
        // A full partition has kept all events up to some time: those that come first of all are among what is kept.
        all.first.sort_by_key(|event| (event.time, event.kind, event.packet.source, event.packet.sequence));
        all.missed += all.first.len().saturating_sub(capacity) as u64;
        all.first.truncate(capacity);
        all
    }
}

impl<B: Observer> Session<Feed<B>> {
    /// Captures what crosses links from now on, instead of those chosen before.
    pub fn start_capture(&mut self, filter: &CaptureFilter) {
        self.engine.observers().for_each(|feed| feed.tap = Some(Box::new(Tap::new(filter))));
    }

    /// What has begun to cross links before `until`, but for what an earlier call returned, in order of time and port. The same for
    /// every number of partitions if `until` is not after now, or nothing is to follow.
    pub fn take_captured(&mut self, until: Time) -> Vec<Captured> {
        let mut all = Vec::new();
        self.taps().for_each(|tap| tap.take(until, &mut all));
        // What leaves a port comes from one partition, in order.
        all.sort_by_key(|captured| (captured.time, captured.port));
        all
    }

    /// From now on, only counts what it would capture.
    pub fn count_captured(&mut self) {
        self.taps().for_each(Tap::count_only);
    }

    /// Number of crossings that were counted and not kept.
    pub fn missed_captures(&mut self) -> u64 {
        self.taps().map(|tap| tap.missed()).sum()
    }

    fn taps(&mut self) -> impl Iterator<Item = &mut Tap> {
        self.engine.observers().filter_map(|feed| feed.tap.as_deref_mut())
    }
}

impl<B: Observer> Session<Feed<B>> {
    /// Traces what crosses any link from now on.
    pub fn start_trace(&mut self) {
        self.engine.observers().for_each(|feed| feed.trace = Some(Vec::new()));
    }

    /// What has begun to cross links before `until`, but for what an earlier call returned, in order of time and port. The same for every
    /// number of partitions if `until` is not after now, or nothing is to follow.
    pub fn take_traced(&mut self, until: Time) -> Vec<Traced> {
        let mut all = Vec::new();
        for trace in self.engine.observers().filter_map(|feed| feed.trace.as_mut()) {
            all.extend(trace.extract_if(.., |traced| traced.time < until));
        }
        // What leaves a port comes from one partition, in order.
        all.sort_by_key(|traced| (traced.time, traced.port));
        all
    }
}

impl<B: Observer> Observer for Feed<B> {
    const CAPTURES: bool = true;

    #[inline]
    fn captures(&self, time: Time, port: u32) -> bool {
        self.trace.is_some() || self.tap.as_ref().is_some_and(|tap| tap.captures(time, port))
    }
    fn crossed(&mut self, crossing: &Crossing<'_>) {
        if let Some(tap) = &mut self.tap
            && (self.trace.is_none() || tap.captures(crossing.time, crossing.port))
        {
            tap.add(crossing);
        }
        if let Some(trace) = &mut self.trace {
            trace.push(crossing.into());
        }
    }
    #[inline]
    fn injected(&mut self, now: Time, packet: &Packet) {
        self.inner.injected(now, packet);
    }
    #[inline]
    fn delivered(&mut self, now: Time, packet: &Packet) {
        self.add(|of| of.deliveries, now, EventKind::Delivered, packet);
        self.inner.delivered(now, packet);
    }
    #[inline]
    fn lost(&mut self, now: Time, packet: &Packet, cause: LossCause) {
        self.add(|of| of.losses, now, EventKind::Lost(cause), packet);
        self.inner.lost(now, packet, cause);
    }
    fn lost_at(&mut self, now: Time, port: u32, lane: Vl, cause: LossCause) {
        self.inner.lost_at(now, port, lane, cause);
    }
    #[inline]
    fn transmitted(&mut self, port: u32, lane: Vl, bytes: u32, start: Time, end: Time) {
        self.inner.transmitted(port, lane, bytes, start, end);
    }
    #[inline]
    fn stalled(&mut self, port: u32, lane: Vl, start: Time, end: Time) {
        self.inner.stalled(port, lane, start, end);
    }
    #[inline]
    fn forwarded(&mut self, now: Time, grant: &Grant) {
        self.inner.forwarded(now, grant);
    }
    #[inline]
    fn blocked(&mut self, port: u32, lane: Vl, start: Time, end: Time) {
        self.inner.blocked(port, lane, start, end);
    }
    #[inline]
    fn retried(&mut self, now: Time, port: u32, lane: Vl, times: u32) {
        self.inner.retried(now, port, lane, times);
    }
    fn multicast(&mut self, now: Time, port: u32, lane: Vl) {
        self.inner.multicast(now, port, lane);
    }
    #[inline]
    fn flow_controlled(&mut self, now: Time, port: u32, packets: u32) {
        self.inner.flow_controlled(now, port, packets);
    }
    #[inline]
    fn flow_refreshed(&mut self, first: Time, every: Time, port: u32, packets: u64) {
        self.inner.flow_refreshed(first, every, port, packets);
    }
    #[inline]
    fn marked(&mut self, now: Time, port: u32, lane: Vl, packet: &Packet) {
        self.add(|of| of.marks, now, EventKind::Marked { port, lane }, packet);
        self.inner.marked(now, port, lane, packet);
    }
    #[inline]
    fn answered(&mut self, now: Time, stream: u16, created: Time) {
        self.inner.answered(now, stream, created);
    }
    #[inline]
    fn iterated(&mut self, iteration: &Iteration) {
        self.inner.iterated(iteration);
    }
    #[inline]
    fn controlled(&mut self, now: Time, packet: &Packet) {
        self.inner.controlled(now, packet);
    }
    #[inline]
    fn completed(&mut self, now: Time, packet: &Packet) {
        self.add(|of| of.completions, now, EventKind::Completed, packet);
        self.inner.completed(now, packet);
    }
    #[inline]
    fn exchanged(&mut self, now: Time, exchange: &Exchange) {
        self.inner.exchanged(now, exchange);
    }
    #[inline]
    fn reordering(&mut self, now: Time, host: HostId, packets: u32, connections: u32) {
        self.inner.reordering(now, host, packets, connections);
    }
    #[inline]
    fn notified(&mut self, now: Time, source: HostId, destination: HostId) {
        self.inner.notified(now, source, destination);
    }
    #[inline]
    fn rate_limited(
        &mut self,
        source: HostId,
        destination: Option<HostId>,
        start: Time,
        end: Time,
        level: u32,
    ) {
        self.inner.rate_limited(source, destination, start, end, level);
    }
    #[inline]
    fn blocked_by_cc(&mut self, source: HostId, destination: HostId, start: Time, end: Time) {
        self.inner.blocked_by_cc(source, destination, start, end);
    }
}
