//! A calendar of few events: they are one list in order of time, in place of buckets that would mostly be empty.
//!
//! The list is at the end of its cells, before a sentinel. What is put into it moves the earlier events down by a cell, and what is taken out
//! leaves room there. That costs some instructions for each earlier event, and nothing for a time step; a bucket costs about a hundred.

use super::{BUCKETS, CHUNK, Calendar, EMPTY, Event, NO_WAKE_UPS, SENTINEL};

/// Events of a list at most: of more, some wait for so long that buckets are cheaper.
pub(super) const MOST: usize = 3 * CHUNK;
/// Events up to which a list takes the place of buckets with few events each.
const FEW: usize = 2 * CHUNK;

/// Number of the next bucket while there are none: none is near it.
const NO_BUCKETS: u64 = 1 << 63;

impl Calendar {
    /// True if the events are a list.
    #[inline]
    pub(super) fn is_list(&self) -> bool {
        self.next == NO_BUCKETS
    }

    /// Makes `events` a list if they are few.
    pub(super) fn try_list(&mut self, mut events: Vec<Event>) -> Result<(), Vec<Event>> {
        if events.len() > FEW {
            return Err(events);
        }
        events.sort_unstable_by_key(|event| event.time);
        if self.list_end == EMPTY as usize {
            (0..=MOST).for_each(|_| self.cells.push(SENTINEL));
            self.list_end = self.cells.len() - 1;
            // The last cell of a chunk is at a multiple of its length.
            while !self.cells.len().is_multiple_of(CHUNK) {
                self.cells.push(SENTINEL);
            }
            self.cells.push(SENTINEL);
        }
        self.position = self.list_end - events.len();
        events.iter().zip(self.position..).for_each(|(&event, place)| self.cells[place] = event);
        self.next = NO_BUCKETS;
        Ok(())
    }

    /// Puts an event into the list.
    #[inline]
    pub(super) fn push_to_list(&mut self, event: Event) {
        if self.position + MOST == self.list_end {
            return self.leave_list(event);
        }
        self.position -= 1;
        let mut place = self.position;
        while self.cells[place + 1].time <= event.time {
            self.cells[place] = self.cells[place + 1];
            place += 1;
        }
        self.cells[place] = event;
    }

    /// Puts the events of the list, and another one, into buckets.
    #[cold]
    #[inline(never)]
    fn leave_list(&mut self, event: Event) {
        let mut events = self.take_list();
        events.push(event);
        let earliest = events.iter().map(|event| event.time).min().unwrap_or_default();
        self.refill(earliest, events);
    }

    /// Takes out the events of the list, which is one no more.
    pub(super) fn take_list(&mut self) -> Vec<Event> {
        let events = (self.position..self.list_end).map(|place| self.cells[place]).collect();
        self.position = EMPTY as usize;
        self.next = 1;
        // They are put in anew, and none of them is there until then.
        self.latest = NO_WAKE_UPS;
        events
    }
}

const _: () = assert!(FEW < MOST && BUCKETS > MOST);
