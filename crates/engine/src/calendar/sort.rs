//! Order of the bucket that is being emptied.

use super::chunks::first_of;
use super::{CHUNK, Calendar, EMPTY, FULL};

impl Calendar {
    /// Sorts the present bucket, whose newest chunk ends at `end`.
    #[inline(never)]
    pub(super) fn put_in_order(&mut self, end: usize) {
        self.statistics.sorted += 1;
        if self.cells[end.next_multiple_of(CHUNK)].packet() == EMPTY {
            self.sort_chunk(end);
        } else {
            self.sort();
        }
    }

    /// Sorts the present bucket, which is one chunk that ends at `end`.
    #[inline]
    fn sort_chunk(&mut self, end: usize) {
        for place in self.position + 1..end {
            let event = self.cells[place];
            let mut to = place;
            while to > self.position && self.cells[to - 1].time > event.time {
                self.cells[to] = self.cells[to - 1];
                to -= 1;
            }
            self.cells[to] = event;
        }
    }

    /// Sorts the present bucket.
    #[cold]
    #[inline(never)]
    fn sort(&mut self) {
        let mut events = std::mem::take(&mut self.scratch);
        self.empty(self.position, &mut events);
        events.sort_unstable_by_key(|event| event.time);
        // The chunk that is emptied first is created last.
        let mut end = EMPTY;
        for full in events.rchunks(FULL) {
            let first = self.new_chunk(end);
            full.iter().zip(first as usize..).for_each(|(&event, place)| self.cells[place] = event);
            end = first + full.len() as u32;
            self.cells[end as usize].time = u64::MAX;
        }
        self.position = first_of(end as usize);
        events.clear();
        self.scratch = events;
    }
}
