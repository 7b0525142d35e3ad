//! The application's side of the chain: its messages are opened at the endpoint, and it learns of arrivals.

use fabricsim_model::{Observer, Packet};
use fabricsim_units::Time;
use fabricsim_workload::Event;

use super::Chain;
use crate::adapter::Endpoint;

impl Chain {
    /// Notifies the application of finished messages and of arrivals. True if there is something new to send.
    #[inline]
    pub(super) fn notify_application<E: Endpoint, B: Observer>(
        &mut self,
        endpoint: &mut E,
        now: Time,
        observer: &mut B,
    ) -> bool {
        if !self.app.is_closed() {
            endpoint.discard_reports();
            return false;
        }
        self.notify_closed(endpoint, now, observer)
    }

    #[inline(never)]
    fn notify_closed<E: Endpoint, B: Observer>(
        &mut self,
        endpoint: &mut E,
        now: Time,
        observer: &mut B,
    ) -> bool {
        while let Some(finished) = endpoint.next_finished() {
            self.app.left(now, finished.stream, finished.tag);
        }
        let mut more = false;
        for arrival in endpoint.arrivals() {
            more |= self.app.arrived(now, &arrival);
        }
        self.report_events(now, observer);
        more
    }

    /// Reports answered requests and completed iterations to the observer.
    pub(crate) fn report_events<B: Observer>(&mut self, now: Time, observer: &mut B) {
        for event in self.app.events() {
            match event {
                Event::Answered { stream, created, .. } => observer.answered(now, stream, created),
                Event::Iterated(iteration) => observer.iterated(&iteration),
            }
        }
    }

    /// The last byte of a message leaves at `at`.
    #[inline(never)]
    pub(super) fn left<B: Observer>(&mut self, now: Time, at: Time, packet: &Packet, observer: &mut B) {
        self.app.left(at, packet.stream, packet.tag);
        self.report_events(now, observer);
    }

    #[inline(always)]
    pub(super) fn open_messages<E: Endpoint>(&mut self, endpoint: &mut E, now: Time) {
        while !self.stopped && endpoint.has_room(false) && self.app.next(now).is_some_and(|at| at <= now) {
            endpoint.open(self.app.take(now), false, now);
        }
        if self.app.is_closed() {
            self.open_responses(endpoint, now);
        }
    }

    #[inline(never)]
    fn open_responses<E: Endpoint>(&mut self, endpoint: &mut E, now: Time) {
        while endpoint.has_room(true)
            && let Some(message) = self.app.take_response(now)
        {
            endpoint.open(message, true, now);
        }
    }

    /// Returns the time at which the next message can be opened, as far as there is room.
    #[inline(always)]
    pub(super) fn next_opening<E: Endpoint>(&self, endpoint: &E, now: Time) -> Time {
        let wanted = !self.stopped && endpoint.has_room(false);
        let message = if wanted { self.app.next(now).unwrap_or(Time::MAX) } else { Time::MAX };
        if !self.app.is_closed() || !endpoint.has_room(true) {
            return message;
        }
        message.min(self.app.next_response().unwrap_or(Time::MAX))
    }
}
