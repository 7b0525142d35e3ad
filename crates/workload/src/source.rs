use fabricsim_units::{HostId, Time};

use crate::Message;
use crate::closed::{Arrival, Closed, Event};
use crate::injected::Injected;
use crate::job::Ranks;
use crate::stream::MessageStream;

/// The messages of one host: all entries of the traffic list that it is a source of, merged.
///
/// Order. The open-loop streams (all but `saturating`) form one queue in order of message creation;
/// at the same picosecond the lower entry comes first. That order, and all that is in the messages, does not depend
/// on when they are taken. Each saturating stream is a queue of its own. Queues that have a message are served in
/// turn, message by message: the open-loop queue first, then the saturating streams by entry. Requests of a window
/// and messages of jobs are in the open-loop queue, after those that other streams create at the same picosecond, and after these the
/// messages of the caller ([`Source::inject`]); responses are apart, so that a host that cannot send its requests can
/// still respond.
///
/// Use: `next` returns the time of the next message; `take` takes it. At the end of a run [`Source::finish`] creates the
/// messages that were due but never taken, so that [`Source::offered_bytes`] is exact.
#[derive(Clone, Debug, fabricsim_state::State)]
pub struct Source {
    #[state(each)]
    streams: Box<[MessageStream]>,
    /// The window of [`Source::offered_bytes`].
    from: Time,
    to: Time,
    /// The queue whose turn it is: 0 the open-loop streams, i + 1 the saturating stream i.
    turn: u16,
    saturating: bool,
    /// True if there is one open-loop stream and nothing else, whose packets go where their message does.
    is_single: bool,
    /// Time at which the next message is created, if no stream is saturating; [`Time::MAX`] when all have ended.
    next: Time,
    /// Messages that follow from others, if there are any.
    #[state(each)]
    closed: Option<Box<Closed>>,
    /// Messages of the caller, if there were any.
    injected: Option<Box<Injected>>,
}

impl Source {
    /// `streams` by entry.
    pub(crate) fn new(streams: Vec<MessageStream>, closed: Option<Closed>) -> Self {
        let saturating = streams.iter().any(MessageStream::is_saturating);
        let is_single = !saturating
            && closed.is_none()
            && matches!(streams.as_slice(), [only] if !only.draws_per_packet());
        let mut source = Self {
            streams: streams.into(),
            from: Time::ZERO,
            to: Time::MAX,
            turn: 0,
            saturating,
            is_single,
            next: Time::MAX,
            closed: closed.map(Box::new),
            injected: None,
        };
        if let Some(closed) = &mut source.closed {
            closed.start(&mut source.streams);
        }
        source.schedule();
        source
    }

    #[inline]
    fn schedule(&mut self) {
        if !self.saturating {
            self.next = self.streams.iter().map(MessageStream::next_open).min().unwrap_or(Time::MAX);
            if let Some(closed) = &self.closed {
                self.next = self.next.min(closed.next());
            }
            if let Some(injected) = &self.injected {
                self.next = self.next.min(injected.next());
            }
        }
    }

    /// Returns the time at which the next message is created: up to `now` if it is ready, later if not; `None`
    /// when the source has ended. A saturating stream has a message at `now`, or at its start if that is later.
    #[inline(always)]
    pub fn next(&self, now: Time) -> Option<Time> {
        if self.saturating {
            return self.next_with_saturating(now);
        }
        (self.next < Time::MAX).then_some(self.next)
    }

    #[inline(never)]
    fn next_with_saturating(&self, now: Time) -> Option<Time> {
        let closed = self.closed.as_ref().map(|closed| closed.next()).filter(|&at| at < Time::MAX);
        let injected = self.injected.as_ref().map(|injected| injected.next()).filter(|&at| at < Time::MAX);
        self.streams.iter().filter_map(|stream| stream.next(now)).chain(closed).chain(injected).min()
    }

    /// Takes the message whose turn it is. There must be one: [`Source::next`] is at most `now`. Those of saturating
    /// streams are created at `now`.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[inline]
    pub fn take(&mut self, now: Time) -> Message {
        let chosen = if self.saturating { self.in_turn(now) } else { self.earliest(now) };
        let (index, created) =
            chosen.unwrap_or_else(|| panic!("no message at {now}: take needs next() <= now"));
        self.draw(index, created)
    }

    /// Time at which the next message is created, [`Time::MAX`] if there is none, if the source has one open-loop stream whose packets go
    /// where their message does, and nothing else; else `None`.
    #[inline(always)]
    pub fn next_of_only_stream(&self) -> Option<Time> {
        self.is_single.then_some(self.next)
    }

    /// Takes the message of [`Source::next_of_only_stream`].
    #[inline(always)]
    pub fn take_of_only_stream(&mut self) -> Message {
        let (created, stream) = (self.next, &mut self.streams[0]);
        debug_assert!(self.is_single && created < Time::MAX);
        let message = stream.take_open(created);
        if created >= self.from && created < self.to {
            stream.offered = stream.offered.saturating_add(message.bytes);
        }
        self.next = stream.next_open();
        message
    }

    /// Adds a message of the caller. It is created at its time, which must not lie before what has been taken.
    pub fn inject(&mut self, message: Message) {
        self.is_single = false;
        self.injected.get_or_insert_default().push(message);
        self.schedule();
    }

    /// Bytes of the caller's messages that were offered within the window, by destination.
    pub fn injected(&self) -> impl Iterator<Item = (HostId, u64)> {
        self.injected.iter().flat_map(|injected| injected.offered())
    }

    /// True if messages of this host follow from others. Then the caller must notify it of arrivals and departures.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// The host has accepted a packet with data. True if there is something new to send, now or later.
    pub fn arrived(&mut self, now: Time, arrival: &Arrival) -> bool {
        self.with_closed_loop(|closed, streams| closed.arrived(now, arrival, streams))
    }

    /// The last byte of a message leaves the host at `at`, which may be later than now. True if there is something new
    /// to send.
    pub fn left(&mut self, at: Time, stream: u16, tag: u32) -> bool {
        self.with_closed_loop(|closed, _| closed.left(at, stream, tag))
    }

    fn with_closed_loop(&mut self, apply: impl FnOnce(&mut Closed, &mut [MessageStream])) -> bool {
        let Some(closed) = &mut self.closed else { return false };
        let before = closed.waiting();
        apply(closed, &mut self.streams);
        let more = closed.waiting() > before;
        self.schedule();
        more
    }

    /// Time at which the next response is ready; `None` if none is known.
    #[inline]
    pub fn next_response(&self) -> Option<Time> {
        self.closed.as_ref().map(|closed| closed.out.responses.next()).filter(|&at| at < Time::MAX)
    }

    /// Responses that are created, now or later, and have not been taken.
    pub fn responses(&self) -> usize {
        self.closed.as_ref().map_or(0, |closed| closed.out.responses.len())
    }

    /// True if messages of `stream` are answered.
    pub fn is_request(&self, stream: u16) -> bool {
        self.closed.as_ref().is_some_and(|closed| closed.is_request(stream))
    }

    /// Takes the next response, if there is one at `now`.
    pub fn take_response(&mut self, now: Time) -> Option<Message> {
        let message = self.closed.as_mut()?.out.responses.take(now)?;
        self.count(&message);
        Some(message)
    }

    /// Events to be measured since the last call.
    pub fn events(&mut self) -> impl Iterator<Item = Event> {
        self.closed.iter_mut().flat_map(|closed| closed.out.events.drain(..))
    }

    /// A destination for the next packet of a message of `stream`, for streams that draw one per packet.
    ///
    /// # Panics
    ///
    /// If the host is no source of `stream`.
    #[inline]
    pub fn destination(&mut self, stream: u16) -> HostId {
        let index = self.index(stream).unwrap_or_else(|| panic!("the host is no source of stream {stream}"));
        self.streams[index].destination()
    }

    /// True if every packet of a message of `stream` goes to a destination of its own. Then the first packet goes to the
    /// message's, each other to [`Source::destination`]. False if the pattern leaves no choice.
    #[inline]
    pub fn draws_per_packet(&self, stream: u16) -> bool {
        self.index(stream).is_some_and(|index| self.streams[index].draws_per_packet())
    }

    /// The entries of the traffic list that the host is a source of, ascending.
    pub fn streams(&self) -> impl Iterator<Item = u16> {
        self.streams.iter().map(MessageStream::number)
    }

    /// The destination of `stream`, where the pattern leaves no choice.
    pub fn fixed_destination(&self, stream: u16) -> Option<HostId> {
        self.index(stream).and_then(|index| self.streams[index].fixed_destination())
    }

    /// Counts a message that follows from another as offered.
    fn count(&mut self, message: &Message) {
        if message.created < self.from || message.created >= self.to {
            return;
        }
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.number() == message.stream) {
            stream.offered = stream.offered.saturating_add(message.bytes);
        } else if let Some(closed) = &mut self.closed {
            closed.offer(message);
        }
    }

    /// Nominal load: what all streams offer while they are active, as a fraction of the link rate; 1 for each
    /// saturating stream.
    pub fn nominal_load(&self) -> f64 {
        self.streams.iter().map(MessageStream::load).sum()
    }

    /// Counts offered bytes from `from` on and before `to`; at first from 0 to the end of time. Exact when called at a
    /// simulated time of at most `from`. The end may be changed later, with the same `from`, at a simulated time of at
    /// most both the old and the new `to`; another `from` starts the count anew.
    pub fn set_window(&mut self, from: Time, to: Time) {
        if from != self.from {
            self.streams.iter_mut().for_each(|stream| stream.offered = 0);
            let closed = self.closed.iter_mut().flat_map(|closed| &mut closed.offered);
            closed.for_each(|(_, bytes)| *bytes = 0);
            self.injected.iter_mut().for_each(|injected| injected.forget_offered());
        }
        (self.from, self.to) = (from, to);
    }

    /// Ends the source's run at `end`: creates the messages that are created before `end` and were not taken, counts
    /// them as offered and passes them to `visit`, in order of creation; saturating streams, which have none, are
    /// counted by time. Called at most once; no message may be taken afterwards.
    pub fn finish(&mut self, end: Time, mut visit: impl FnMut(&Message)) {
        let last = Time(end.0.saturating_sub(1));
        while end > Time::ZERO
            && let Some((index, created)) = self.earliest(last)
        {
            let message = self.draw(index, created);
            visit(&message);
        }
        while let Some(message) = self.take_response(last).filter(|_| end > Time::ZERO) {
            visit(&message);
        }
        let (from, to) = (self.from, self.to.min(end));
        for stream in self.streams.iter_mut().filter(|stream| stream.is_saturating()) {
            stream.offered = stream.offered_by_time(from, to);
        }
    }

    /// Bytes offered within the window: those of the messages of open-loop streams created in it, and what the link
    /// carries while a saturating stream has messages. Final after [`Source::finish`]; until then only what was taken,
    /// and nothing of saturating streams.
    pub fn offered_bytes(&self) -> u64 {
        let injected = self.injected().map(|(_, bytes)| bytes);
        self.offered().map(|(_, bytes)| bytes).chain(injected).fold(0, u64::saturating_add)
    }

    /// [`Source::offered_bytes`] by entry of the traffic list, without the caller's messages.
    pub fn offered(&self) -> impl Iterator<Item = (u16, u64)> {
        let closed = self.closed.iter().flat_map(|closed| closed.offered.iter().copied());
        self.streams.iter().map(|stream| (stream.number(), stream.offered)).chain(closed)
    }

    /// Ranks of jobs on the host.
    pub(crate) fn ranks(&self) -> Option<&Ranks> {
        self.closed.as_ref().map(|closed| closed.ranks())
    }

    pub(crate) fn all_streams(&self) -> &[MessageStream] {
        &self.streams
    }

    #[inline]
    fn index(&self, stream: u16) -> Option<usize> {
        self.streams.iter().position(|s| s.number() == stream)
    }

    /// The open-loop stream with the earliest message up to `now`.
    #[inline]
    fn earliest(&self, now: Time) -> Option<(usize, Time)> {
        if self.streams.len() == 1 && !self.saturating && self.closed.is_none() && self.injected.is_none() {
            return self.next(now).filter(|&created| created <= now).map(|created| (0, created));
        }
        let open = self.streams.iter().enumerate().filter(|(_, stream)| !stream.is_saturating());
        let next = open.filter_map(|(index, stream)| Some((stream.next(now)?, index)));
        let closed = self.closed.as_ref().map(|closed| (closed.next(), self.streams.len()));
        let injected = self.injected.as_ref().map(|injected| (injected.next(), self.streams.len() + 1));
        let first = next.chain(closed).chain(injected).filter(|&(created, _)| created <= now).min();
        first.map(|(created, index)| (index, created))
    }

    /// Returns the queue whose turn it is among those with a message, and advances the turn.
    fn in_turn(&mut self, now: Time) -> Option<(usize, Time)> {
        if let [only] = &*self.streams
            && self.closed.is_none()
            && self.injected.is_none()
        {
            // The only queue is always in turn.
            return only.next(now).filter(|&created| created <= now).map(|created| (0, created));
        }
        let queues = self.streams.len() + 1;
        let first = usize::from(self.turn);
        let (queue, chosen) = (first..first + queues).find_map(|queue| {
            let queue = queue % queues;
            let chosen = match queue.checked_sub(1) {
                None => self.earliest(now),
                Some(index) => self.saturated(index, now),
            };
            chosen.map(|chosen| (queue, chosen))
        })?;
        self.turn = ((queue + 1) % queues) as u16;
        Some(chosen)
    }

    fn saturated(&self, index: usize, now: Time) -> Option<(usize, Time)> {
        let stream = &self.streams[index];
        let created = if stream.is_saturating() { stream.next(now)? } else { return None };
        (created <= now).then_some((index, created))
    }

    #[inline(always)]
    fn draw(&mut self, index: usize, created: Time) -> Message {
        let Some(stream) = self.streams.get_mut(index) else {
            let is_closed = index == self.streams.len();
            return if is_closed { self.draw_closed(created) } else { self.draw_injected(created) };
        };
        let message = stream.take(created);
        if created >= self.from && created < self.to && !stream.is_saturating() {
            stream.offered = stream.offered.saturating_add(message.bytes);
        }
        if let Some(closed) = &mut self.closed {
            closed.created(&message);
        }
        self.schedule();
        message
    }

    /// The first of the messages that follow from others, which is ready at `now`.
    fn draw_closed(&mut self, now: Time) -> Message {
        let taken = self.closed.as_mut().and_then(|closed| closed.out.ready.take(now));
        let message = taken.unwrap_or_else(|| panic!("no message at {now}, although one was ready"));
        self.count(&message);
        self.schedule();
        message
    }

    /// The first of the caller's messages, which is ready at `now`.
    fn draw_injected(&mut self, now: Time) -> Message {
        let (from, to) = (self.from, self.to);
        let taken = self.injected.as_mut().and_then(|injected| injected.take(now, from, to));
        let message = taken.unwrap_or_else(|| panic!("no message at {now}, although one was ready"));
        self.schedule();
        message
    }
}

#[cfg(test)]
mod tests;
