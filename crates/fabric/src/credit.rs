//! Credits: the space in the buffer at the other end of a link that a sender may still use.
//!
//! Space comes back block by block while a packet leaves that buffer. Instead of a message per block, the receiver
//! notifies the sender once when the packet starts to leave: a [`Ramp`]. From its ramps the sender computes the space that
//! is free at any time, and the time at which there will be enough.

use fabricsim_units::{ByteTime, Time};

use crate::{NONE, Table};

/// Blocks that become free one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    /// The i-th block is the sender's at `base` + the time of min(i * unit, `bytes`) bytes.
    pub base: Time,
    /// Time of a byte on the link that the packet leaves by; zero: all blocks at `base`.
    pub byte_time: ByteTime,
    /// Bytes of the packet.
    pub bytes: u32,
    /// Blocks of the packet.
    pub blocks: u32,
}

impl Ramp {
    /// Returns the time at which the `i`-th block (from 1) is free; `unit` is the size of a block in bytes.
    #[inline]
    pub fn time_of(&self, i: u32, unit: u32) -> Time {
        self.base + self.byte_time.duration((i * unit).min(self.bytes))
    }
}

#[derive(Clone, Copy, Debug)]
struct Node {
    ramp: Ramp,
    /// Time at which the last block is free.
    end: Time,
    taken: u32,
    next: u32,
}

impl Node {
    /// Blocks that are free at `now`.
    #[inline]
    fn free_at(&self, now: Time, unit: u32) -> u32 {
        let Ramp { base, byte_time, blocks, .. } = self.ramp;
        if now < base {
            0
        } else if now >= self.end {
            blocks
        } else {
            byte_time.units_within(now - base, unit)
        }
    }
}

/// The ramps of all lanes of a partition, as lists in one allocation.
#[derive(Clone, Debug)]
pub struct RampPool {
    nodes: Table<Node>,
    free: u32,
    unit: u32,
    /// Number of ramps at which the ended ones of all lanes are collected, although nothing needs their blocks.
    full: usize,
}

/// Credits of a sending port for a virtual lane. Aligned so that its place in a table is found by a shift.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct LaneCredits {
    /// Blocks that may be used now.
    pub free: u32,
    /// Blocks of the buffer in all.
    pub capacity: u32,
    /// The smallest packet (in blocks) that waits for credits of this lane; `u32::MAX` if none does.
    pub awaited: u32,
    /// Blocks in use by packets, counted separately for the checks of debug builds.
    #[cfg(debug_assertions)]
    occupied: u32,
    head: u32,
    tail: u32,
}

/// Ramps of all lanes that are kept before the ended ones are collected for the first time.
const KEPT: usize = 256;

/// Ramps for each lane, on average over the lanes of a partition, that are kept before the ended ones are collected.
const RAMPS_PER_LANE: usize = 8;

impl LaneCredits {
    /// An empty buffer of `capacity` blocks.
    pub fn new(capacity: u32) -> Self {
        Self {
            free: capacity,
            capacity,
            awaited: u32::MAX,
            #[cfg(debug_assertions)]
            occupied: 0,
            head: NONE,
            tail: NONE,
        }
    }

    /// True if blocks are announced that are not free yet.
    pub fn expects_more(&self) -> bool {
        self.head != NONE
    }
}

impl RampPool {
    /// A pool for blocks of `unit` bytes.
    pub fn new(unit: u32) -> Self {
        Self { nodes: Table::new(Vec::new()), free: NONE, unit, full: KEPT }
    }

    /// Size of a block in bytes.
    #[inline]
    pub fn unit(&self) -> u32 {
        self.unit
    }

    /// True if the next ramp needs memory, and there are enough ramps to collect the ended ones first ([`RampPool::tidy`]).
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.free == NONE && self.nodes.len() >= self.full
    }

    /// Collects the ended ramps of all `lanes` at `now`, so that memory does not grow with the capacity of buffers whose credits never
    /// run short. The next time is when there are twice as many ramps as are left, or
    /// [`RAMPS_PER_LANE`]: at most a look at a ramp and a lane for each new ramp, on average.
    #[cold]
    #[inline(never)]
    pub fn tidy<'a>(&mut self, lanes: impl Iterator<Item = &'a mut LaneCredits>, now: Time) {
        let (mut looks, mut left) = (0, 0);
        for lane in lanes {
            self.collect_ended(lane, now);
            looks += 1;
            left += self.list(lane.head).count();
        }
        self.full = KEPT.max(RAMPS_PER_LANE * looks).max(2 * left);
    }

    fn list(&self, first: u32) -> impl Iterator<Item = &Node> {
        let node = |at: u32| self.nodes.get(at as usize);
        std::iter::successors(node(first), move |n| node(n.next))
    }

    fn allocate(&mut self, ramp: Ramp) -> u32 {
        let node = Node { end: ramp.base + ramp.byte_time.duration(ramp.bytes), ramp, taken: 0, next: NONE };
        if self.free == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        let index = self.free;
        self.free = self.nodes[index as usize].next;
        self.nodes[index as usize] = node;
        index
    }

    /// Adds a ramp to a lane, in order of base time.
    #[inline]
    pub fn push(&mut self, lane: &mut LaneCredits, ramp: Ramp) {
        let new = self.allocate(ramp);
        if lane.head == NONE {
            lane.head = new;
            lane.tail = new;
        } else if self.nodes[lane.tail as usize].ramp.base <= ramp.base {
            self.nodes[lane.tail as usize].next = new;
            lane.tail = new;
        } else {
            self.insert_sorted(lane, new);
        }
    }

    #[cold]
    fn insert_sorted(&mut self, lane: &mut LaneCredits, new: u32) {
        let base = self.nodes[new as usize].ramp.base;
        let (mut before, mut at) = (NONE, lane.head);
        while self.nodes[at as usize].ramp.base <= base {
            (before, at) = (at, self.nodes[at as usize].next);
        }
        self.nodes[new as usize].next = at;
        if before == NONE {
            lane.head = new;
        } else {
            self.nodes[before as usize].next = new;
        }
    }

    /// Moves what is free at `now` to `lane.free`.
    #[inline(always)]
    pub fn collect(&mut self, lane: &mut LaneCredits, now: Time) {
        self.collect_ended(lane, now);
        if lane.head != NONE && self.nodes[lane.head as usize].ramp.base <= now {
            self.collect_partly(lane, now);
        }
    }

    /// Moves the blocks of ramps that have ended to `lane.free`, up to the first that has not.
    #[inline(always)]
    pub fn collect_ended(&mut self, lane: &mut LaneCredits, now: Time) {
        while lane.head != NONE {
            let node = &mut self.nodes[lane.head as usize];
            if node.end > now {
                return;
            }
            lane.free += node.ramp.blocks - node.taken;
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = lane.head;
            lane.head = next;
        }
    }

    /// The same where the first ramp has begun and not ended: those behind it may have begun as well.
    #[inline(never)]
    fn collect_partly(&mut self, lane: &mut LaneCredits, now: Time) {
        let mut at = lane.head;
        while let Some(node) = self.nodes.get_mut(at as usize) {
            if node.ramp.base > now {
                return;
            }
            let ready = node.free_at(now, self.unit);
            lane.free += ready - node.taken;
            node.taken = ready;
            at = node.next;
        }
    }

    /// Returns the time at which `lane` has `need` blocks free, given the announced ramps; [`Time::MAX`] if those are not
    /// enough. It may be in the past if free blocks have not been collected.
    pub fn earliest(&self, lane: &LaneCredits, need: u32) -> Time {
        let mut missing = need.saturating_sub(lane.free);
        let mut at = lane.head;
        while at != NONE {
            let node = &self.nodes[at as usize];
            let left = node.ramp.blocks - node.taken;
            let overlaps = node.next != NONE && self.nodes[node.next as usize].ramp.base < node.end;
            if overlaps {
                return self.earliest_merged(at, missing);
            }
            if left >= missing {
                return node.ramp.time_of(node.taken + missing, self.unit);
            }
            missing -= left;
            at = node.next;
        }
        Time::MAX
    }

    /// The same for ramps from `first` on that overlap in time: the `missing`-th smallest of their blocks' times.
    #[cold]
    #[inline(never)]
    fn earliest_merged(&self, first: u32, missing: u32) -> Time {
        let mut merge = Merge::new(self.unit);
        self.list(first).all(|node| merge.add(node));
        if merge.len == FEW && self.list(first).nth(FEW).is_some() {
            return self.earliest_of_many(first, missing);
        }
        if merge.left() < missing {
            return Time::MAX;
        }
        merge.count_by(merge.guess(missing));
        merge.step_to(missing)
    }

    /// The same for any number of ramps, by bisection over time.
    #[cold]
    #[inline(never)]
    fn earliest_of_many(&self, first: u32, missing: u32) -> Time {
        let nodes = || self.list(first);
        let free_by = |t: Time| -> u64 {
            nodes().map(|n| u64::from(n.free_at(t, self.unit).saturating_sub(n.taken))).sum()
        };
        let last = nodes().map(|n| n.end).max().unwrap_or(Time::MAX);
        if free_by(last) < u64::from(missing) {
            return Time::MAX;
        }
        let (mut low, mut high) = (0, last.0);
        while low < high {
            let middle = low + (high - low) / 2;
            if free_by(Time(middle)) >= u64::from(missing) { high = middle } else { low = middle + 1 }
        }
        Time(low)
    }

    /// A packet takes `blocks` of the buffer; there is room for it.
    #[inline]
    pub fn take(&self, lane: &mut LaneCredits, blocks: u32) {
        lane.free -= blocks;
        #[cfg(debug_assertions)]
        {
            lane.occupied += blocks;
            self.check(lane);
        }
    }

    /// The blocks of a packet are announced: [`RampPool::push`] with a check, in debug builds, that none is lost.
    #[inline]
    pub fn give_back(&mut self, lane: &mut LaneCredits, ramp: Ramp) {
        self.push(lane, ramp);
        #[cfg(debug_assertions)]
        {
            lane.occupied -= ramp.blocks;
            self.check(lane);
        }
    }

    #[cfg(debug_assertions)]
    fn check(&self, lane: &LaneCredits) {
        assert_eq!(lane.free + self.outstanding(lane) + lane.occupied, lane.capacity, "credits of {lane:?}");
    }

    /// Blocks of a lane that may be used at `now`, without collecting any: for snapshots, at a time that
    /// the sender itself has not reached yet.
    pub fn free_at(&self, lane: &LaneCredits, now: Time) -> u32 {
        let begun = self.list(lane.head).take_while(|node| node.ramp.base <= now);
        lane.free + begun.map(|node| node.free_at(now, self.unit).saturating_sub(node.taken)).sum::<u32>()
    }

    /// Ramps for which there is memory: the most that all lanes had at once.
    pub fn allocated(&self) -> usize {
        self.nodes.len()
    }

    /// Blocks of a lane that are announced and not yet free.
    pub fn outstanding(&self, lane: &LaneCredits) -> u32 {
        self.list(lane.head).map(|node| node.ramp.blocks - node.taken).sum()
    }
}

/// Ramps that are merged block by block; more than these overlap only where buffers are read by many outputs at once.
const FEW: usize = 4;

/// A few ramps of a lane that overlap in time, and how many blocks of each are counted.
struct Merge {
    unit: u32,
    len: usize,
    nodes: [Node; FEW],
    /// At least the number that is taken.
    counted: [u32; FEW],
}

impl Merge {
    fn new(unit: u32) -> Self {
        let ramp = Ramp { base: Time::ZERO, byte_time: ByteTime::default(), bytes: 0, blocks: 0 };
        let nothing = Node { ramp, end: Time::ZERO, taken: 0, next: NONE };
        Self { unit, len: 0, nodes: [nothing; FEW], counted: [0; FEW] }
    }

    /// Adds a ramp; false if there is no room for more.
    fn add(&mut self, node: &Node) -> bool {
        self.nodes[self.len] = *node;
        self.counted[self.len] = node.taken;
        self.len += 1;
        self.len < FEW
    }

    fn nodes(&self) -> &[Node] {
        &self.nodes[..self.len]
    }

    fn left(&self) -> u32 {
        self.nodes().iter().map(|node| node.ramp.blocks - node.taken).sum()
    }

    /// A time by which about `missing` blocks are free: as if they came evenly while the first ramp that has them all
    /// lasts.
    fn guess(&self, missing: u32) -> Time {
        let has_all = |node: &&Node| node.ramp.blocks - node.taken >= missing;
        let times = self.nodes().iter().filter(has_all);
        let whole = times.map(|node| node.ramp.time_of(node.taken + missing, self.unit)).min();
        let whole = whole.or_else(|| self.nodes().iter().map(|node| node.end).max()).unwrap_or_default();
        let from = self.nodes().iter().map(|node| node.ramp.time_of(node.taken, self.unit)).min();
        let from = from.unwrap_or_default().min(whole);
        let by_then = self.nodes().iter().map(|n| n.free_at(whole, self.unit).saturating_sub(n.taken)).sum();
        let by_then: u32 = u32::max(by_then, missing);
        from + Time((whole - from).0 / u64::from(by_then) * u64::from(missing))
    }

    /// Counts the blocks that are free by `time`.
    fn count_by(&mut self, time: Time) {
        for (node, counted) in self.nodes.iter().zip(&mut self.counted).take(self.len) {
            *counted = node.free_at(time, self.unit).max(node.taken);
        }
    }

    /// Counts on, or back, until exactly `missing` are counted that have not been taken, the earliest ones; the time of
    /// the last of them.
    fn step_to(&mut self, missing: u32) -> Time {
        let mut count: u32 =
            self.nodes().iter().zip(&self.counted).map(|(node, counted)| counted - node.taken).sum();
        while count < missing {
            let (_, next) = self.next();
            self.counted[next] += 1;
            count += 1;
        }
        loop {
            let (time, last) = self.last();
            if count == missing {
                return time;
            }
            self.counted[last] -= 1;
            count -= 1;
        }
    }

    /// The earliest block that is not counted: its time and ramp.
    fn next(&self) -> (Time, usize) {
        let times = (0..self.len).filter(|&i| self.counted[i] < self.nodes[i].ramp.blocks);
        let times = times.map(|i| (self.nodes[i].ramp.time_of(self.counted[i] + 1, self.unit), i));
        times.min().unwrap_or_default()
    }

    /// The latest block that is counted and was not taken.
    fn last(&self) -> (Time, usize) {
        let times = (0..self.len).filter(|&i| self.counted[i] > self.nodes[i].taken);
        times.map(|i| (self.nodes[i].ramp.time_of(self.counted[i], self.unit), i)).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabricsim_units::Rate;
    use proptest::prelude::*;

    fn byte_time(gbps: u64) -> ByteTime {
        Rate::new(gbps * 1_000_000_000).unwrap().byte_time()
    }

    #[test]
    fn blocks_come_back_one_by_one() {
        let mut pool = RampPool::new(64);
        let mut lane = LaneCredits::new(34);
        lane.free = 0;
        // 8 Gb/s: a byte takes 1 ns, a block 64 ns.
        pool.push(&mut lane, Ramp { base: Time::ns(100), byte_time: byte_time(8), bytes: 2176, blocks: 34 });
        for (at, free) in [(99, 0), (100, 0), (163, 0), (164, 1), (227, 1), (228, 2), (2275, 33), (2276, 34)]
        {
            pool.collect(&mut lane, Time::ns(at));
            assert_eq!(lane.free, free, "at {at} ns");
        }
        assert!(!lane.expects_more());
    }

    #[test]
    fn a_last_block_may_be_short() {
        let mut pool = RampPool::new(64);
        let mut lane = LaneCredits::new(2);
        lane.free = 0;
        pool.push(&mut lane, Ramp { base: Time::ZERO, byte_time: byte_time(8), bytes: 70, blocks: 2 });
        assert_eq!(pool.earliest(&lane, 2), Time::ns(70));
        assert_eq!(pool.earliest(&lane, 3), Time::MAX);
    }

    proptest! {
        /// `earliest` is exactly the first time at which `collect` finds enough.
        #[test]
        fn earliest_agrees_with_collect(
            ramps in prop::collection::vec((0_u64..2000, 1_u64..200, 1_u32..1000), 1..6), need in 1_u32..40,
        ) {
            let unit = 64;
            let mut pool = RampPool::new(unit);
            let mut lane = LaneCredits::new(1000);
            lane.free = 0;
            let mut total = 0;
            for (base, gbps, bytes) in ramps {
                let blocks = bytes.div_ceil(unit);
                total += blocks;
                pool.push(&mut lane, Ramp { base: Time::ns(base), byte_time: byte_time(gbps), bytes, blocks });
            }
            let at = pool.earliest(&lane, need);
            let collected = |t: Time| {
                let seen = pool.free_at(&lane, t);
                let (mut pool, mut lane) = (pool.clone(), lane);
                pool.collect(&mut lane, t);
                prop_assert_eq!(lane.free, seen);
                prop_assert_eq!(lane.free + pool.outstanding(&lane), total);
                Ok(lane.free)
            };
            if at == Time::MAX {
                prop_assert!(collected(Time::ms(1))? < need);
            } else {
                prop_assert!(collected(at)? >= need);
                prop_assert!(at.0 == 0 || collected(Time(at.0 - 1))? < need);
            }
        }

        /// No block is lost or counted twice, at any number of looks.
        #[test]
        fn collecting_conserves_blocks(
            ramps in prop::collection::vec((0_u64..500, 1_u64..100, 1_u32..500), 1..8),
            looks in prop::collection::vec(0_u64..3000, 0..20),
        ) {
            let mut pool = RampPool::new(64);
            let mut lane = LaneCredits::new(1000);
            lane.free = 0;
            let mut total = 0;
            for (base, gbps, bytes) in ramps {
                let blocks = bytes.div_ceil(64);
                total += blocks;
                pool.push(&mut lane, Ramp { base: Time::ns(base), byte_time: byte_time(gbps), bytes, blocks });
            }
            let mut looks = looks;
            looks.sort_unstable();
            for look in looks {
                pool.collect(&mut lane, Time::ns(look));
                prop_assert_eq!(lane.free + pool.outstanding(&lane), total);
            }
            pool.collect(&mut lane, Time::ms(10));
            prop_assert_eq!(lane.free, total);
            prop_assert!(!lane.expects_more());
        }

        /// The free space, and the time at which there will be enough, do not depend on when ended ramps are collected.
        #[test]
        fn collecting_in_time_changes_nothing(
            packets in prop::collection::vec((0_u64..60, 0_u64..400, 1_u64..100, 1_u32..500), 1..200),
            need in 1_u32..40,
        ) {
            let (mut tidied, mut kept) = (RampPool::new(64), RampPool::new(64));
            let mut tidy = LaneCredits::new(u32::MAX);
            tidy.free = 0;
            let mut never = tidy;
            let mut now = Time::ZERO;
            for (pause, delay, gbps, bytes) in packets {
                now += Time::ns(pause);
                let (base, blocks) = (now + Time::ns(delay), bytes.div_ceil(64));
                let ramp = Ramp { base, byte_time: byte_time(gbps), bytes, blocks };
                tidied.tidy(std::iter::once(&mut tidy), now);
                tidied.push(&mut tidy, ramp);
                kept.push(&mut never, ramp);
                let look = |pool: &RampPool, lane: &LaneCredits| {
                    let (mut pool, mut lane) = (pool.clone(), *lane);
                    pool.collect(&mut lane, now);
                    (lane.free, pool.outstanding(&lane), pool.earliest(&lane, lane.free + need))
                };
                prop_assert_eq!(look(&tidied, &tidy), look(&kept, &never));
            }
        }
    }

    /// A source that sends 64-byte packets in bursts into a buffer whose credits never run short, as in the time in which the
    /// ramps of 1024 packets overlap.
    #[test]
    fn ramps_kept_do_not_grow_with_the_capacity() {
        let allocated = |capacity: u32| {
            let mut pool = RampPool::new(64);
            let mut lane = LaneCredits::new(capacity);
            let mut now = Time::ZERO;
            for packet in 0..30_000_u32 {
                now += if packet % 1000 == 0 { Time::us(20) } else { Time::ns(10) };
                if lane.free == 0 {
                    pool.collect(&mut lane, now);
                }
                pool.take(&mut lane, 1);
                let ramp = Ramp { base: now + Time::us(1), byte_time: byte_time(100), bytes: 64, blocks: 1 };
                if pool.is_full() {
                    pool.tidy(std::iter::once(&mut lane), now);
                }
                pool.give_back(&mut lane, ramp);
            }
            pool.allocated()
        };
        // Ramps of packets every 10 ns overlap for 1 us: at most 101. Twice as many are less than those kept in any case.
        assert_eq!([1 << 10, 1 << 14, 1 << 20].map(|capacity| allocated(capacity) <= KEPT), [true; 3]);
    }
}
