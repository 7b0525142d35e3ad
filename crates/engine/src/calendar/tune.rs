//! Width of the buckets, and the removal of events.

use std::cmp::Reverse;

use fabricsim_units::Time;

use super::chunks::first_of;
use super::{BUCKETS, Calendar, EMPTY, Event, NO_WAKE_UPS, Statistics, TUNE_EVERY};

impl Calendar {
    /// Fits the width of a bucket to the density of events. Does not change the times of events.
    pub(super) fn tune(&mut self) {
        self.tune_after = TUNE_EVERY.min(2 * self.tune_after);
        let Statistics { events, buckets, sorted, far } = std::mem::take(&mut self.statistics);
        let crowded = events > 8 * buckets && sorted * 2 > buckets;
        let sparse = far * 8 > events || events < buckets * 5 / 2;
        let shift = match (crowded, sparse) {
            (true, false) => self.shift.saturating_sub(1).max(4),
            (false, true) => (self.shift + 1).min(40),
            _ => return,
        };
        let now = self.at << self.shift;
        let events = self.take_all();
        let events = match if sparse { self.try_list(events) } else { Err(events) } {
            Ok(()) => return,
            Err(events) => events,
        };
        self.shift = shift;
        self.refill(now, events);
        self.statistics = Statistics::default();
    }

    /// Takes out the events that `is_wanted` selects, at a time `now` before which there are none.
    pub(crate) fn take_if(&mut self, now: Time, mut is_wanted: impl FnMut(&Event) -> bool) -> Vec<Event> {
        let (taken, kept): (Vec<Event>, Vec<Event>) =
            self.take_all().into_iter().partition(|event| is_wanted(event));
        self.refill(now.0, kept);
        taken
    }

    /// Takes out all events.
    fn take_all(&mut self) -> Vec<Event> {
        if self.is_list() {
            return self.take_list();
        }
        let mut events: Vec<Event> = self.far.drain().map(|Reverse(event)| event).collect();
        self.empty(self.position, &mut events);
        self.position = EMPTY as usize;
        self.late = false;
        self.latest = NO_WAKE_UPS;
        for slot in 0..BUCKETS {
            let end = std::mem::replace(&mut self.ends[slot], EMPTY) as usize;
            if end == EMPTY as usize {
                continue;
            }
            self.cells[end].time = u64::MAX;
            self.empty(first_of(end), &mut events);
        }
        self.occupied.fill(0);
        self.disordered.fill(0);
        events
    }

    /// Puts `events`, none of which is before `now`, into the empty calendar.
    pub(super) fn refill(&mut self, now: u64, events: Vec<Event>) {
        // The bucket before the one that holds the present, so that nothing counts as current.
        self.at = (now >> self.shift).saturating_sub(1);
        self.next = self.at + 1;
        for event in events {
            self.push(event);
        }
    }
}
