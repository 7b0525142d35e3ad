//! The event queue: a calendar of buckets (Brown 1988), each a stretch of time, with a heap for what lies beyond.
//!
//! Only the bucket that is being emptied is in order. Events of the same picosecond come out in no particular order:
//! the partition gathers them before anything is decided, so nothing may depend on it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fabricsim_units::Time;

/// Something that happens at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) time: u64,
    tag: u32,
    pub(crate) packet: u32,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A packet may be sent on from an input buffer (a switch), or its head arrives (a host).
    Arrive,
    /// The last byte of a packet is taken by a host.
    Deliver,
    /// A sender is to be looked at again.
    Wake,
}

const PORT_BITS: u32 = 30;

impl Event {
    pub(crate) fn new(time: u64, kind: Kind, port: u32, packet: u32) -> Self {
        debug_assert!(port < 1 << PORT_BITS);
        Self { time, tag: (kind as u32) << PORT_BITS | port, packet }
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        match self.tag >> PORT_BITS {
            0 => Kind::Arrive,
            1 => Kind::Deliver,
            _ => Kind::Wake,
        }
    }

    #[inline]
    pub(crate) fn port(self) -> u32 {
        self.tag & ((1 << PORT_BITS) - 1)
    }
}

const BUCKETS: usize = 4096;
/// Events between looks at whether the width of a bucket fits.
const TUNE_EVERY: u64 = 1 << 16;

pub(crate) struct Calendar {
    buckets: Box<[Vec<Event>]>,
    /// A bit for each bucket that holds events.
    occupied: [u64; BUCKETS / 64],
    /// A bucket is 2^shift picoseconds wide.
    shift: u32,
    /// Number of the bucket being emptied, since time zero.
    at: u64,
    /// Its events in order of time, and how many of them are out.
    current: Vec<Event>,
    position: usize,
    far: BinaryHeap<Reverse<Event>>,
    len: usize,
    statistics: Statistics,
}

#[derive(Default)]
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
            buckets: vec![Vec::new(); BUCKETS].into_boxed_slice(),
            occupied: [0; BUCKETS / 64],
            shift: step.0.max(1).ilog2().clamp(9, 20),
            at: 0,
            current: Vec::new(),
            position: 0,
            far: BinaryHeap::new(),
            len: 0,
            statistics: Statistics::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        self.len += 1;
        let bucket = event.time >> self.shift;
        let ahead = bucket.wrapping_sub(self.at);
        if ahead.wrapping_sub(1) < BUCKETS as u64 - 1 {
            let slot = (bucket % BUCKETS as u64) as usize;
            self.buckets[slot].push(event);
            self.occupied[slot / 64 % (BUCKETS / 64)] |= 1 << (slot % 64);
        } else {
            self.push_elsewhere(event, bucket);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_elsewhere(&mut self, event: Event, bucket: u64) {
        if bucket <= self.at {
            let place =
                self.position + self.current[self.position..].partition_point(|e| e.time <= event.time);
            self.current.insert(place, event);
        } else {
            self.statistics.far += 1;
            self.far.push(Reverse(event));
        }
    }

    /// The time of the next event.
    #[inline]
    pub(crate) fn next_time(&mut self) -> Option<u64> {
        if self.position == self.current.len() && !self.advance() {
            return None;
        }
        Some(self.current[self.position].time)
    }

    /// Takes the next event if it is at `time`, which [`Calendar::next_time`] has just given.
    #[inline]
    pub(crate) fn pop_at(&mut self, time: u64) -> Option<Event> {
        let event = *self.current.get(self.position)?;
        if event.time != time {
            return None;
        }
        self.position += 1;
        self.len -= 1;
        Some(event)
    }

    /// Turns to the next bucket with events; false if there is none.
    #[inline(never)]
    fn advance(&mut self) -> bool {
        self.current.clear();
        self.position = 0;
        if self.len == 0 {
            return false;
        }
        self.statistics.buckets += 1;
        if self.statistics.events > TUNE_EVERY {
            self.tune();
            if !self.current.is_empty() {
                return true;
            }
        }
        let near = self.next_occupied();
        let far = self.far.peek().map(|Reverse(event)| event.time >> self.shift);
        self.at = match (near, far) {
            (Some(near), Some(far)) => near.min(far),
            (Some(bucket), None) | (None, Some(bucket)) => bucket,
            (None, None) => return false,
        };
        let slot = (self.at % BUCKETS as u64) as usize;
        if near == Some(self.at) {
            std::mem::swap(&mut self.current, &mut self.buckets[slot]);
            self.occupied[slot / 64] &= !(1 << (slot % 64));
        }
        self.bring_near();
        self.statistics.events += self.current.len() as u64;
        if !self.current.is_sorted_by_key(|event| event.time) {
            self.statistics.sorted += 1;
            self.current.sort_unstable_by_key(|event| event.time);
        }
        true
    }

    /// Moves what has come within the calendar's reach out of the heap.
    fn bring_near(&mut self) {
        while let Some(Reverse(event)) = self.far.peek() {
            let bucket = event.time >> self.shift;
            if bucket - self.at >= BUCKETS as u64 {
                return;
            }
            let event = *event;
            self.far.pop();
            if bucket == self.at {
                self.current.push(event);
            } else {
                let slot = (bucket % BUCKETS as u64) as usize;
                self.buckets[slot].push(event);
                self.occupied[slot / 64 % (BUCKETS / 64)] |= 1 << (slot % 64);
            }
        }
    }

    /// Number of the next bucket after the present one that holds events.
    fn next_occupied(&self) -> Option<u64> {
        let start = ((self.at + 1) % BUCKETS as u64) as usize;
        let words = self.occupied.len();
        for i in 0..=words {
            let word = (start / 64 + i) % words;
            let mut bits = self.occupied[word];
            if i == 0 {
                bits &= !0 << (start % 64);
            } else if i == words {
                bits &= !(!0 << (start % 64));
            }
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                let ahead = (slot + BUCKETS - start) % BUCKETS;
                return Some(self.at + 1 + ahead as u64);
            }
        }
        None
    }

    /// Fits the width of a bucket to the density of events. Changes when events come out by nothing.
    fn tune(&mut self) {
        let Statistics { events, buckets, sorted, far } = std::mem::take(&mut self.statistics);
        let crowded = events > 24 * buckets && sorted * 2 > buckets;
        let sparse = far * 8 > events || events < buckets * 3 / 2;
        let shift = match (crowded, sparse) {
            (true, false) => self.shift.saturating_sub(1).max(4),
            (false, true) => (self.shift + 1).min(40),
            _ => return,
        };
        let mut events: Vec<Event> = self.far.drain().map(|Reverse(event)| event).collect();
        self.buckets.iter_mut().for_each(|bucket| events.append(bucket));
        self.occupied.fill(0);
        let now = self.at << self.shift;
        self.shift = shift;
        // The bucket before the one that holds the present, so that nothing counts as current.
        self.at = (now >> shift).saturating_sub(1);
        self.len -= events.len();
        for event in events {
            self.push(event);
        }
        self.statistics = Statistics::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabricsim_model::Random;

    /// Against a sorted list: random times near and far, pushed while others come out.
    #[test]
    fn comes_out_in_order() {
        for (seed, spread) in [(1, 10_u64), (2, 5_000), (3, 40_000_000), (4, 1 << 44)] {
            let mut random = Random::new(seed, 0, 0);
            let mut calendar = Calendar::new(Time::ns(4));
            let mut model = BinaryHeap::new();
            let mut now = 0;
            let mut pending = 2000_u32;
            for packet in 0..pending {
                let time = 1 + random.below(spread);
                calendar.push(Event::new(time, Kind::Wake, packet, packet));
                model.push(Reverse(time));
            }
            let mut left = 200_000_u32;
            while let Some(time) = calendar.next_time() {
                assert!(time >= now);
                now = time;
                while let Some(event) = calendar.pop_at(time) {
                    assert_eq!(model.pop(), Some(Reverse(time)));
                    pending -= 1;
                    if left > 0 {
                        left -= 1;
                        let later = time + 1 + random.below(spread);
                        calendar.push(Event::new(later, Kind::Arrive, event.packet, event.packet));
                        model.push(Reverse(later));
                        pending += 1;
                    }
                }
            }
            assert_eq!((pending, model.len(), calendar.is_empty()), (0, 0, true));
        }
    }
}
