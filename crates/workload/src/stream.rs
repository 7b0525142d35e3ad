use std::sync::Arc;

use fabricsim_model::Random;
use fabricsim_units::{HostId, Rate, Time};

use crate::Message;
use crate::clock::Clock;
use crate::injection::{Process, Timing};
use crate::pattern::{Draw, DrawState};
use crate::purpose::{Purpose, key};
use crate::size::Sizes;

/// An entry of the traffic list, as the sources with one link rate share it.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its number.
    pub(crate) stream: u16,
    pub(crate) timing: Timing,
    pub(crate) sizes: Arc<Sizes>,
    pub(crate) draw: Arc<Draw>,
    /// True if the destination is drawn for every packet.
    pub(crate) per_packet: bool,
    pub(crate) start: Time,
    pub(crate) stop: Time,
    /// Messages in all.
    pub(crate) messages: u64,
    /// The sources' link rate.
    pub(crate) link: Rate,
    /// Nominal load as a fraction of that.
    pub(crate) load: f64,
}

/// A stream of messages of one source.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct MessageStream {
    #[state(fixed)]
    entry: Arc<Entry>,
    process: Process,
    destinations: Random,
    sizes: Random,
    mark: DrawState,
    /// Time at which the next message is created, at the earliest if the stream is saturating; [`Time::MAX`] when it has
    /// ended.
    at: Time,
    /// Messages that it may still create.
    left: u64,
    /// Bytes that it has offered within the window.
    pub(crate) offered: u64,
    /// Copies of what is in the entry, for the hot path.
    #[state(fixed)]
    number: u16,
    #[state(fixed)]
    saturating: bool,
}

impl MessageStream {
    pub(crate) fn new(entry: Arc<Entry>, mark: DrawState, seed: u64, host: HostId) -> Self {
        let random = |purpose: Purpose| Random::new(seed, purpose as u64, key(entry.stream, host));
        let mut stream = Self {
            process: entry.timing.start(entry.start, random(Purpose::Timing)),
            destinations: random(Purpose::Destination),
            sizes: random(Purpose::Size),
            mark,
            at: Time::MAX,
            left: entry.messages,
            offered: 0,
            number: entry.stream,
            saturating: entry.timing.is_saturating(),
            entry,
        };
        stream.schedule();
        stream
    }

    /// Sets the time of the next message from the process.
    #[inline]
    fn schedule(&mut self) {
        let time = self.process.clock.time().filter(|&time| self.left > 0 && time < self.entry.stop);
        self.at = time.unwrap_or(Time::MAX);
    }

    #[inline]
    pub(crate) fn number(&self) -> u16 {
        self.number
    }

    #[inline]
    pub(crate) fn is_saturating(&self) -> bool {
        self.saturating
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    pub(crate) fn mark(&self) -> DrawState {
        self.mark
    }

    pub(crate) fn load(&self) -> f64 {
        self.entry.load
    }

    /// Time at which the next message is created; `now` matters to saturating streams only, which have one at `now`.
    #[inline]
    pub(crate) fn next(&self, now: Time) -> Option<Time> {
        let created = if self.saturating { now.max(self.at) } else { self.at };
        let ended = created == Time::MAX || self.saturating && created >= self.entry.stop;
        (!ended).then_some(created)
    }

    /// Time at which the next message of an open-loop stream is created; [`Time::MAX`] when it has ended.
    #[inline]
    pub(crate) fn next_open(&self) -> Time {
        self.at
    }

    /// Creates the next message, which is ready (`created` is the value of [`MessageStream::next`]).
    #[inline]
    pub(crate) fn take(&mut self, created: Time) -> Message {
        let bytes = self.entry.sizes.draw(&mut self.sizes);
        let tag = (self.entry.messages - self.left) as u32;
        self.left -= 1;
        if self.saturating {
            self.count_down(created, bytes);
        } else {
            self.entry.timing.advance(&mut self.process, bytes);
            self.schedule();
        }
        Message { created, destination: self.destination(), bytes, stream: self.number, tag }
    }

    /// [`MessageStream::take`] of a stream that is not saturating.
    #[inline(always)]
    pub(crate) fn take_open(&mut self, created: Time) -> Message {
        let entry = &*self.entry;
        let bytes = entry.sizes.draw(&mut self.sizes);
        let tag = (entry.messages - self.left) as u32;
        self.left -= 1;
        entry.timing.advance(&mut self.process, bytes);
        let time = self.process.clock.time().filter(|&time| self.left > 0 && time < entry.stop);
        self.at = time.unwrap_or(Time::MAX);
        let destination = entry.draw.destination(self.mark, &mut self.destinations);
        Message { created, destination, bytes, stream: self.number, tag }
    }

    /// A message at `now`, out of turn, while the stream has not ended.
    pub(crate) fn make(&mut self, now: Time) -> Option<Message> {
        let ended = self.left == 0 || now >= self.entry.stop;
        (!ended).then(|| self.take(now))
    }

    /// After the last message of a saturating stream, its clock holds the time at which that could have been sent.
    fn count_down(&mut self, created: Time, bytes: u64) {
        if self.left == 0 {
            let sending =
                u128::from(bytes) * 8_000_000_000_000 / u128::from(self.entry.link.bits_per_second());
            let sent = created.saturating_add(Time(sending.min(u128::from(u64::MAX)) as u64));
            self.process.clock = Clock::at(sent);
            self.at = Time::MAX;
        }
    }

    /// A destination.
    #[inline(always)]
    pub(crate) fn destination(&mut self) -> HostId {
        self.entry.draw.destination(self.mark, &mut self.destinations)
    }

    /// The destination, if it is always the same.
    pub(crate) fn fixed_destination(&self) -> Option<HostId> {
        self.entry.draw.is_fixed().then_some(HostId(self.mark[0]))
    }

    pub(crate) fn draws_per_packet(&self) -> bool {
        self.entry.per_packet
    }

    /// Bytes that a saturating stream offers from `from` to `to`: what its link carries in the time in which it has
    /// messages, that is until it stops, or until its last message could have been sent.
    pub(crate) fn offered_by_time(&self, from: Time, to: Time) -> u64 {
        let exhausted = if self.left == 0 { self.process.clock.time() } else { None };
        let end = to.min(self.entry.stop).min(exhausted.unwrap_or(Time::MAX));
        let time = end.saturating_sub(from.max(self.entry.start));
        let bits = u128::from(time.0) * u128::from(self.entry.link.bits_per_second()) / 1_000_000_000_000;
        (bits / 8) as u64
    }
}
