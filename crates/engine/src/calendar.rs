//! The event queue: a calendar of buckets (Brown 1988), each a stretch of time, with a heap for what lies beyond.
//! The events of a bucket are in a list of chunks of a few each.
//!
//! Only the bucket that is being emptied is in order. Events of the same picosecond come out in no particular order:
//! the partition gathers them before anything is decided, so nothing may depend on it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fabricsim_fabric::Table;
use fabricsim_units::Time;

mod chunks;
mod event;
mod few;
mod sort;
#[cfg(test)]
mod tests;
mod tune;

use self::chunks::first_of;
pub(crate) use self::event::{Event, Kind};

const BUCKETS: usize = 4096;
/// Cells of a chunk. The last one, whose place is a multiple of this, links to another chunk; the others hold an event
/// each.
const CHUNK: usize = 16;
/// Events of a full chunk.
const FULL: usize = CHUNK - 1;
/// End of an empty bucket: a link that belongs to no chunk.
const EMPTY: u32 = 0;
/// Places for the latest wake-ups of ports, see [`Calendar::is_repeated`].
const LATEST: usize = 1024;
/// Events before the first check of the width of a bucket. Each later check is after twice as many events as the one before.
const TUNE_FIRST: u64 = 1 << 8;
/// Most events between two such checks.
const TUNE_EVERY: u64 = 1 << 14;

/// No wake-up: an event of another kind for each place.
const NO_WAKE_UPS: [Event; LATEST] = [Event::none(); LATEST];

/// Behind the last event of a chunk: never due. In links, the packet is the end of the next chunk's events.
const SENTINEL: Event = Event::sentinel(EMPTY);

#[derive(Clone, fabricsim_state::Value)]
pub(crate) struct Calendar {
    /// For each bucket the position behind the event last put into it; [`EMPTY`] if there is none.
    ends: [u32; BUCKETS],
    /// A bit for each bucket that holds events.
    occupied: [u64; BUCKETS / 64],
    /// A bit for each bucket of which some chunk is not in order of time.
    disordered: [u64; BUCKETS / 64],
    /// Chunks of all buckets. They are used again, the last freed first: so few are in use that they stay in the
    /// cache, which a vector for each bucket would not. Of a bucket all but the first chunk are full.
    cells: Table<Event>,
    /// The link of a free chunk; [`EMPTY`] for none.
    free: u32,
    /// A bucket is 2^shift picoseconds wide.
    shift: u32,
    /// Number of the bucket being emptied, since time zero.
    at: u64,
    /// Number of the next bucket; with few events, which are in no bucket, another number ([`Calendar::is_list`]).
    next: u64,
    /// Place of its next event, or of the sentinel at the end of a chunk, or of the list of few events.
    position: usize,
    /// Place of the sentinel behind the list of few events; [`EMPTY`] before there is one.
    list_end: usize,
    /// True if events were put into its place since it was entered.
    late: bool,
    /// Space for sorting.
    scratch: Vec<Event>,
    far: BinaryHeap<Reverse<Event>>,
    /// The latest wake-ups of ports, of those that were put far away or into the present bucket.
    latest: [Event; LATEST],
    statistics: Statistics,
    /// Events from the last check of the width of a bucket to the next.
    tune_after: u64,
}

#[derive(Clone, Default, fabricsim_state::Value)]
struct Statistics {
    events: u64,
    buckets: u64,
    sorted: u64,
    far: u64,
}

impl Calendar {
    /// A calendar for a fabric in which nothing takes effect elsewhere in less than `step`: with buckets no wider than
    /// that, those of networks that work in step come out in order by themselves.
    pub(crate) fn new(step: Time) -> Self {
        Self {
            ends: [EMPTY; BUCKETS],
            occupied: [0; BUCKETS / 64],
            disordered: [0; BUCKETS / 64],
            cells: Table::new(vec![SENTINEL]),
            free: EMPTY,
            shift: step.0.max(1).ilog2().clamp(9, 20),
            at: 0,
            next: 1,
            position: EMPTY as usize,
            list_end: EMPTY as usize,
            late: false,
            scratch: Vec::new(),
            far: BinaryHeap::new(),
            latest: NO_WAKE_UPS,
            statistics: Statistics::default(),
            tune_after: TUNE_FIRST,
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.peek().is_none()
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event) {
        debug_assert!(event.time < u64::MAX);
        let bucket = event.time >> self.shift;
        if bucket.wrapping_sub(self.next) < BUCKETS as u64 - 1 {
            self.push_near(event, bucket);
        } else {
            self.push_elsewhere(event, bucket);
        }
    }

    /// Into a bucket that has its place in the calendar.
    #[inline(always)]
    fn push_near(&mut self, event: Event, bucket: u64) {
        let slot = bucket as usize % BUCKETS;
        let mut end = self.ends[slot];
        if end.is_multiple_of(CHUNK as u32) {
            end = self.open_chunk(slot, end);
        }
        // Signed, so that the link before the first event of a chunk, whose time is that of the sentinel, is the lowest of all.
        if event.time.cast_signed() < self.cells[end as usize - 1].time.cast_signed() {
            self.disordered[slot / 64] |= 1 << (slot % 64);
        }
        self.cells[end as usize] = event;
        self.ends[slot] = end + 1;
    }

    /// A chunk for more events of a bucket, whose others end at `end`; the place of its first event.
    #[inline(never)]
    fn open_chunk(&mut self, slot: usize, end: u32) -> u32 {
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.new_chunk(end)
    }

    #[inline(never)]
    fn push_elsewhere(&mut self, event: Event, bucket: u64) {
        if self.is_repeated(event) {
            return;
        }
        if self.is_list() {
            self.push_to_list(event);
        } else if bucket <= self.at {
            if !self.insert(event) {
                self.late = true;
                self.push_near(event, self.at);
            }
        } else {
            self.statistics.far += 1;
            self.far.push(Reverse(event));
        }
    }

    /// True if an event is a wake-up that is there already. A port with a timer far away is woken for other reasons before, and requests that
    /// wake-up again each time: thousands of them would be moved with the bucket of the timer whenever that is entered again.
    fn is_repeated(&mut self, event: Event) -> bool {
        if event.kind() != Kind::Wake {
            return false;
        }
        let latest = &mut self.latest[event.port() as usize % LATEST];
        // Nothing is put at a time whose events have come out: so an equal one has not.
        let is_repeated = *latest == event;
        if event.time > latest.time {
            *latest = event;
        }
        is_repeated
    }

    /// Puts an event in order into what is left of the present bucket, if it belongs into the present chunk, and there
    /// is room before its next event.
    #[inline]
    fn insert(&mut self, event: Event) -> bool {
        if self.position == EMPTY as usize || self.position % CHUNK == 1 {
            return false;
        }
        let mut after = self.position;
        while self.cells[after].time <= event.time {
            after += 1;
        }
        // Behind the sentinel the bucket may go on.
        let link = after.next_multiple_of(CHUNK);
        if self.cells[after].time == u64::MAX && self.cells[link].packet() != EMPTY {
            return false;
        }
        for place in self.position..after {
            self.cells[place - 1] = self.cells[place];
        }
        self.cells[after - 1] = event;
        self.position -= 1;
        true
    }

    /// Puts what is left of the present bucket to what has come to its place meanwhile, and enters it again.
    #[cold]
    fn enter_again(&mut self) {
        self.late = false;
        let mut events = std::mem::take(&mut self.scratch);
        self.empty(self.position, &mut events);
        events.drain(..).for_each(|event| self.push_near(event, self.at));
        self.scratch = events;
        self.enter();
    }

    /// The time of the next event; if all are at `until` or later, perhaps `None`. No bucket from there on is entered, so that earlier events
    /// may still come: they would go into that bucket, and have it sorted for each of them.
    #[inline]
    pub(crate) fn next_before(&mut self, until: u64) -> Option<u64> {
        let mut time = self.cells[self.position].time;
        if time == u64::MAX || self.late {
            if !self.advance(until) {
                return None;
            }
            time = self.cells[self.position].time;
        }
        Some(time)
    }

    /// The time of the next event.
    pub(crate) fn peek(&self) -> Option<u64> {
        let far = self.far.peek().map_or(u64::MAX, |Reverse(event)| event.time);
        if self.is_list() {
            return (self.position < self.list_end).then(|| self.cells[self.position].time);
        }
        let mut earliest = self.rest_of(self.position);
        if self.late {
            earliest = earliest.min(self.least_of(self.at));
        }
        if earliest == u64::MAX {
            let near = self.next_occupied();
            earliest = if near == u64::MAX { far } else { far.min(self.least_of(near)) };
        }
        (earliest < u64::MAX).then_some(earliest)
    }

    /// Removes the next event if it is at `time`, which [`Calendar::next_before`] has just returned.
    #[inline]
    pub(crate) fn pop_at(&mut self, time: u64) -> Option<Event> {
        let mut event = self.cells[self.position];
        if event.time != time {
            if event.time != u64::MAX || self.is_list() {
                return None;
            }
            self.position = self.next_chunk(self.position);
            event = self.cells[self.position];
            if event.time != time {
                return None;
            }
        }
        self.position += 1;
        Some(event)
    }

    /// Advances to the next bucket with events, if the present one has no more; false if there is none that begins before `until`.
    #[inline(never)]
    fn advance(&mut self, until: u64) -> bool {
        if self.late {
            self.enter_again();
            return true;
        }
        if self.is_list() {
            return false;
        }
        self.position = self.next_chunk(self.position);
        if self.position != EMPTY as usize {
            return true;
        }
        if self.statistics.events > self.tune_after {
            self.tune();
            if self.late {
                self.enter_again();
                return true;
            }
            if self.is_list() {
                return self.position < self.list_end;
            }
        }
        let near = self.next_occupied();
        let far = self.far.peek().map_or(u64::MAX, |Reverse(event)| event.time >> self.shift);
        let next = near.min(far);
        if next == u64::MAX || next << self.shift >= until {
            return false;
        }
        self.at = next;
        self.next = self.at + 1;
        if far - self.at < BUCKETS as u64 {
            self.bring_near();
        }
        self.statistics.buckets += 1;
        self.enter();
        true
    }

    /// Makes the present bucket ready to be emptied.
    #[inline]
    fn enter(&mut self) {
        let slot = self.at as usize % BUCKETS;
        let (word, bit) = (slot / 64, 1 << (slot % 64));
        self.occupied[word] &= !bit;
        let mut is_ordered = self.disordered[word] & bit == 0;
        self.disordered[word] &= !bit;
        let end = std::mem::replace(&mut self.ends[slot], EMPTY) as usize;
        self.cells[end].time = u64::MAX;
        self.position = first_of(end);
        let (mut latest, mut events) = (end - 1, end - self.position);
        let newest = end.next_multiple_of(CHUNK);
        let mut older = self.cells[newest].packet() as usize;
        while older != EMPTY as usize {
            events += FULL;
            is_ordered &= self.cells[latest].time <= self.cells[older - FULL].time;
            latest = older - 1;
            older = self.cells[older].packet() as usize;
        }
        self.statistics.events += events as u64;
        if !is_ordered {
            self.put_in_order(end);
        }
    }

    /// Moves what has come within the calendar's reach out of the heap.
    #[cold]
    #[inline(never)]
    fn bring_near(&mut self) {
        while let Some(Reverse(event)) = self.far.peek() {
            let bucket = event.time >> self.shift;
            if bucket - self.at >= BUCKETS as u64 {
                return;
            }
            let event = *event;
            self.far.pop();
            self.push_near(event, bucket);
        }
    }

    /// Number of the next bucket after the present one that holds events; [`u64::MAX`] if none does.
    #[inline]
    fn next_occupied(&self) -> u64 {
        let next = self.next;
        let start = next as usize % BUCKETS;
        let bits = self.occupied[start / 64] >> (start % 64);
        if bits != 0 {
            return next + u64::from(bits.trailing_zeros());
        }
        let words = self.occupied.len();
        // The last word looked at is the first again: what is in it lies before `start`.
        for i in 1..=words {
            let bits = self.occupied[(start / 64 + i) % words];
            if bits != 0 {
                return next - (start % 64) as u64 + i as u64 * 64 + u64::from(bits.trailing_zeros());
            }
        }
        u64::MAX
    }
}
