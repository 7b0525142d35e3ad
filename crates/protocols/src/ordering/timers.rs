//! Timers of a source endpoint. A target has none.

use fabricsim_units::Time;

use super::identifiers::ClosingTimer;
use super::mutation::Mutation;
use super::outbox::{SourceOutbox, StreamId};
use super::window::State;
use super::{Cid, Mode, Source};

/// A running timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// A packet has no answer: stream, position.
    Packet(StreamId, u16),
    /// No copy of a stream's packets can be in the network.
    Quiet(StreamId),
    /// No copy of an acknowledged packet can be in the network: stream, position.
    Copies(StreamId, u16),
    /// FIN has no answer.
    Fin(Cid),
    /// No copy of FIN can be in the network.
    FinQuiet(Cid),
}

impl<P: Copy> Source<P> {
    /// No timer ends before this time; [`Time::MAX`]: none runs.
    #[inline]
    pub fn wake_at(&self) -> Time {
        self.wake
    }

    /// Handles the timers that have expired at `now`, and computes when the next one expires.
    pub fn expire(&mut self, now: Time, out: &mut impl SourceOutbox<P>) {
        if now < self.wake {
            return;
        }
        // Firing one timer may stop others or finish a stream, so the search begins anew; that happens at losses only.
        loop {
            let ended = self.timers().find(|&(_, ends)| ends <= now);
            let Some((timer, _)) = ended else { break };
            self.fire(timer, out);
        }
        self.wake = self.timers().map(|(_, ends)| ends).min().unwrap_or(Time::MAX);
    }

    /// Running timers, and their expiry times.
    pub(crate) fn timers(&self) -> impl Iterator<Item = (Timer, Time)> + '_ {
        let (timeout, quiet) = (self.options.timeout, self.options.quiet_time());
        let streams = self.active.iter().flat_map(move |&number| {
            let stream = &self.streams[usize::from(number)];
            let id = StreamId(number);
            // Go-back-N has one timer for a connection.
            let timed = if stream.mode == Mode::GoBackN { 1 } else { u16::MAX };
            let packets = (0..stream.window.sent.min(timed)).filter_map(move |position| {
                let entry = stream.window.get(position);
                match entry.state {
                    State::Flying => {
                        Some((Timer::Packet(id, position), entry.sent_at.saturating_add(timeout)))
                    }
                    State::Acknowledged if entry.copies > 0 => {
                        Some((Timer::Copies(id, position), entry.sent_at.saturating_add(quiet)))
                    }
                    _ => None,
                }
            });
            let waits = stream.waits_for_copies();
            packets.chain(waits.then(|| (Timer::Quiet(id), stream.last_sent.saturating_add(quiet))))
        });
        let closing = self.identifiers.timers().map(move |(cid, timer, since)| match timer {
            ClosingTimer::Resend => (Timer::Fin(cid), since.saturating_add(timeout)),
            ClosingTimer::Quiet => (Timer::FinQuiet(cid), since.saturating_add(quiet)),
        });
        streams.chain(closing)
    }

    /// Timers free places in a window, too: those of acknowledged packets of which a copy might have been in the network.
    fn report_room_by_timer(&self, id: StreamId, out: &mut impl SourceOutbox<P>) {
        if !self.options.mutated(Mutation::TimersReportNoRoom) {
            self.report_room(id, out);
        }
    }

    /// A timer has ended.
    pub(crate) fn fire(&mut self, timer: Timer, out: &mut impl SourceOutbox<P>) {
        match timer {
            Timer::Packet(id, position) => {
                self.count_timeout();
                self.streams[usize::from(id.0)].time_out(position);
            }
            Timer::Copies(id, position) => {
                let stream = &mut self.streams[usize::from(id.0)];
                stream.settled(position);
                stream.advance(&self.options, self.space);
                self.report_room_by_timer(id, out);
                self.settle(id, out);
            }
            Timer::Quiet(id) => {
                let stream = &mut self.streams[usize::from(id.0)];
                stream.quiet();
                stream.advance(&self.options, self.space);
                self.report_room_by_timer(id, out);
                self.settle(id, out);
            }
            Timer::Fin(cid) => self.identifiers.expire(cid, ClosingTimer::Resend),
            Timer::FinQuiet(cid) => self.identifiers.expire(cid, ClosingTimer::Quiet),
        }
    }
}
