//! Credits: the space in the buffer at the other end of a link that a sender may still use.
//!
//! Space comes back block by block while a packet leaves that buffer. Instead of a message per block, the receiver
//! notifies the sender once when the packet starts to leave: a [`Ramp`]. From its ramps the sender computes the space that
//! is free at any time, and the time at which there will be enough.

mod merge;
#[cfg(test)]
mod tests;

use fabricsim_units::{ByteTime, Time};

use crate::{NONE, Table};
use merge::{FEW, Merge};

/// Blocks that become free one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
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

    /// The same `delay` later.
    #[inline]
    pub fn later(self, delay: Time) -> Self {
        Self { base: self.base + delay, ..self }
    }
}

#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
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
#[derive(Clone, Debug, fabricsim_state::Value)]
pub struct RampPool {
    nodes: Table<Node>,
    free: u32,
    unit: u32,
    /// Number of ramps at which the ended ones of all lanes are collected, although nothing needs their blocks.
    full: usize,
}

/// Credits of a sending port for a virtual lane. Aligned so that its place in a table is found by a shift.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
#[repr(align(16))]
pub struct LaneCredits {
    /// Blocks that may be used now.
    pub free: u32,
    /// The smallest packet (in blocks) that waits for credits of this lane; `u32::MAX` if none does.
    pub awaited: u32,
    /// Blocks of the buffer in all, and those in use by packets, counted separately for the checks of debug builds.
    #[cfg(debug_assertions)]
    capacity: u32,
    #[cfg(debug_assertions)]
    occupied: u32,
    head: u32,
    tail: u32,
}

/// Ramps of all lanes that are kept before the ended ones are collected for the first time.
const KEPT: usize = 256;

/// Ramps for each lane, on average over the lanes of a partition, that are kept before the ended ones are collected; fewer with more lanes than
/// [`MANY`].
const RAMPS_PER_LANE: usize = 8;
/// Lanes of which the ended ramps may take more memory than all other state.
const MANY: usize = 1 << 17;

impl LaneCredits {
    /// An empty buffer of `capacity` blocks.
    pub fn new(capacity: u32) -> Self {
        Self {
            free: capacity,
            awaited: u32::MAX,
            #[cfg(debug_assertions)]
            capacity,
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
    /// [`RAMPS_PER_LANE`] for each lane: at most a look at a ramp and a lane for each new ramp, on average; with very many lanes four.
    #[cold]
    #[inline(never)]
    pub fn tidy<'a>(&mut self, lanes: impl Iterator<Item = &'a mut LaneCredits>, now: Time) {
        let (mut looks, mut left) = (0, 0);
        for lane in lanes {
            self.collect_ended(lane, now);
            looks += 1;
            left += self.list(lane.head).count();
        }
        let kept = RAMPS_PER_LANE * looks.min(MANY);
        self.full = KEPT.max(kept).max(looks / 4).max(2 * left);
    }

    fn list(&self, first: u32) -> impl Iterator<Item = &Node> {
        let node = |at: u32| self.nodes.get(at as usize);
        std::iter::successors(node(first), move |n| node(n.next))
    }

    #[inline(always)]
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
    #[inline(always)]
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

    /// Blocks that were taken are free again.
    #[inline]
    pub fn put_back(&self, lane: &mut LaneCredits, blocks: u32) {
        lane.free += blocks;
        #[cfg(debug_assertions)]
        {
            lane.occupied -= blocks;
            self.check(lane);
        }
    }

    /// The blocks of a packet are announced: [`RampPool::push`] with a check, in debug builds, that none is lost.
    #[inline(always)]
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
