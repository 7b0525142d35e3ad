//! Chunks of cells, which hold the events of the buckets, and the list of those that are free.

use super::{BUCKETS, CHUNK, Calendar, EMPTY, Event, FULL, SENTINEL};

impl Calendar {
    /// An empty chunk that links to the one whose events end at `end`; its first place.
    #[inline]
    pub(super) fn new_chunk(&mut self, end: u32) -> u32 {
        let mut link = self.free;
        if link == EMPTY {
            (0..CHUNK).for_each(|_| self.cells.push(SENTINEL));
            link = self.cells.len() as u32 - 1;
        } else {
            self.free = self.cells[link as usize].packet();
        }
        self.cells[link as usize] = Event::sentinel(end);
        link - FULL as u32
    }

    /// Frees the chunks from `position` on; their events are added to `events`.
    pub(super) fn empty(&mut self, mut position: usize, events: &mut Vec<Event>) {
        while position != EMPTY as usize {
            let event = self.cells[position];
            if event.time == u64::MAX {
                position = self.next_chunk(position);
            } else {
                events.push(event);
                position += 1;
            }
        }
    }

    /// The earliest time of the present bucket's events from `position` on, which are in order; [`u64::MAX`] if there is none.
    pub(super) fn rest_of(&self, position: usize) -> u64 {
        let time = self.cells[position].time;
        let link = position.next_multiple_of(CHUNK);
        if time < u64::MAX || link == EMPTY as usize {
            return time;
        }
        match self.cells[link].packet() {
            EMPTY => u64::MAX,
            end => self.cells[end as usize - FULL].time,
        }
    }

    /// The earliest time in a bucket's place, which is in any order; [`u64::MAX`] if there is no event.
    pub(super) fn least_of(&self, bucket: u64) -> u64 {
        let mut end = self.ends[bucket as usize % BUCKETS] as usize;
        let mut least = u64::MAX;
        while end != EMPTY as usize {
            let first = first_of(end);
            least = (first..end).map(|place| self.cells[place].time).fold(least, u64::min);
            end = self.cells[end.next_multiple_of(CHUNK)].packet() as usize;
        }
        least
    }

    /// Frees the chunk of `position`; the first place of the one that it links to, or that of no chunk.
    #[inline]
    pub(super) fn next_chunk(&mut self, position: usize) -> usize {
        let link = position.next_multiple_of(CHUNK);
        if link == EMPTY as usize {
            return link;
        }
        let end = self.cells[link].packet() as usize;
        self.cells[link] = Event::sentinel(self.free);
        self.free = link as u32;
        if end == EMPTY as usize { end } else { end - FULL }
    }
}

/// The first place of the chunk whose events end at `end`; it has some.
#[inline]
pub(super) fn first_of(end: usize) -> usize {
    (end - 1) / CHUNK * CHUNK + 1
}
