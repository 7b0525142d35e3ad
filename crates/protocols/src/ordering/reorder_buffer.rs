//! The reorder buffer: a ring indexed by a hash, with a small associative cache for collisions (section IV-D).

use fabricsim_units::HostId;

use super::mutation::Mutation;
use super::tally::Tally;
use super::{Cid, Header, Seq, TargetOptions};

/// {source, CID, SEQ}.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
struct Key(u64);

impl Key {
    #[inline]
    const fn new(from: HostId, cid: Cid, seq: Seq) -> Self {
        Self((from.0 as u64) << 32 | (cid.0 as u64) << 16 | seq.0 as u64)
    }
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
struct Entry<P> {
    key: Key,
    header: Header,
    payload: P,
}

/// Reason for which a packet was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is already in the buffer.
    Held,
    /// No room.
    Overflow,
}

/// Packets that arrived ahead of sequence, of all connections.
#[derive(Clone, Debug, PartialEq, Eq, Hash, fabricsim_state::State)]
pub struct ReorderBuffer<P> {
    ring: Box<[Option<Entry<P>>]>,
    cache: Box<[Option<Entry<P>>]>,
    #[state(fixed)]
    capacity: u16,
    occupied: u16,
    cached: u16,
    #[state(fixed)]
    without_cid: bool,
    #[state(fixed)]
    leaks: bool,
    most: Tally,
    collisions: Tally,
}

impl<P: Copy> ReorderBuffer<P> {
    /// An empty buffer; the options have been checked.
    pub fn new(options: &TargetOptions) -> Self {
        Self {
            ring: vec![None; options.reorder_ring as usize].into(),
            cache: vec![None; usize::from(options.reorder_cache)].into(),
            capacity: options.reorder_capacity,
            occupied: 0,
            cached: 0,
            without_cid: options.mutated(Mutation::KeyWithoutCid),
            leaks: options.mutated(Mutation::LeakSlot),
            most: Tally::default(),
            collisions: Tally::default(),
        }
    }

    /// Bytes of memory of a buffer with `slots` slots, the cache's included.
    pub const fn bytes(slots: u64) -> u64 {
        slots * size_of::<Option<Entry<P>>>() as u64
    }

    #[inline]
    fn key(&self, from: HostId, cid: Cid, seq: Seq) -> Key {
        Key::new(from, if self.without_cid { Cid(0) } else { cid }, seq)
    }

    /// Consecutive packets of a connection go into consecutive slots: they do not collide among themselves.
    #[inline]
    fn slot(&self, key: Key) -> usize {
        let hash = (key.0 >> 16).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        (hash.wrapping_add(key.0 & 0xffff) as usize) & (self.ring.len() - 1)
    }

    fn in_cache(&self, key: Key) -> Option<usize> {
        if self.cached == 0 {
            return None;
        }
        self.cache.iter().position(|entry| entry.as_ref().is_some_and(|entry| entry.key == key))
    }

    /// Puts a packet in.
    pub fn put(&mut self, from: HostId, header: Header, payload: P) -> Result<(), Refusal> {
        let key = self.key(from, header.cid, header.seq);
        let slot = self.slot(key);
        let in_slot = self.ring[slot].as_ref().map(|entry| entry.key);
        if in_slot == Some(key) || self.in_cache(key).is_some() {
            return Err(Refusal::Held);
        }
        if self.occupied >= self.capacity {
            return Err(Refusal::Overflow);
        }
        let entry = Some(Entry { key, header, payload });
        if in_slot.is_none() {
            self.ring[slot] = entry;
        } else {
            self.collisions.count();
            let Some(place) = self.cache.iter_mut().find(|place| place.is_none()) else {
                return Err(Refusal::Overflow);
            };
            *place = entry;
            self.cached += 1;
        }
        self.occupied += 1;
        self.most.raise(u64::from(self.occupied));
        Ok(())
    }

    /// Removes and returns a packet, if it is in the buffer.
    #[inline]
    pub fn take(&mut self, from: HostId, cid: Cid, seq: Seq) -> Option<(Header, P)> {
        let key = self.key(from, cid, seq);
        let slot = self.slot(key);
        let found = if self.ring[slot].as_ref().is_some_and(|entry| entry.key == key) {
            if self.leaks { self.ring[slot] } else { self.ring[slot].take() }
        } else {
            let place = self.in_cache(key)?;
            self.cached -= 1;
            self.cache[place].take()
        };
        if !self.leaks {
            self.occupied -= 1;
        }
        found.map(|entry| (entry.header, entry.payload))
    }

    /// True if this packet is in it.
    #[cfg(test)]
    pub(super) fn holds(&self, from: HostId, cid: Cid, seq: Seq) -> bool {
        let key = self.key(from, cid, seq);
        self.ring[self.slot(key)].as_ref().is_some_and(|entry| entry.key == key)
            || self.in_cache(key).is_some()
    }

    /// Packets in it.
    #[inline]
    pub const fn len(&self) -> u16 {
        self.occupied
    }

    /// True if none is in it.
    pub const fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// The largest number of packets that were in it at a time.
    pub const fn most(&self) -> u64 {
        self.most.get()
    }

    /// Packets whose slot was taken.
    pub const fn collisions(&self) -> u64 {
        self.collisions.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn buffer(capacity: u16, ring: u32, cache: u16) -> ReorderBuffer<u32> {
        let options = TargetOptions {
            reorder_capacity: capacity,
            reorder_ring: ring,
            reorder_cache: cache,
            ..TargetOptions::default()
        };
        ReorderBuffer::new(&options)
    }

    fn header(cid: u16, seq: u16) -> Header {
        Header { cid: Cid(cid), seq: Seq(seq), ..Header::default() }
    }

    #[test]
    fn a_window_of_one_connection_does_not_collide() {
        let mut buffer = buffer(64, 64, 0);
        for seq in 65500_u16..65535 {
            assert_eq!(buffer.put(HostId(7), header(3, seq), 0), Ok(()));
        }
        for seq in 0_u16..29 {
            assert_eq!(buffer.put(HostId(7), header(3, seq.wrapping_sub(1)), 0), Ok(()));
        }
        assert_eq!((buffer.len(), buffer.most(), buffer.collisions()), (64, 64, 0));
        assert_eq!(buffer.put(HostId(7), header(3, 40), 0), Err(Refusal::Overflow));
    }

    #[test]
    fn collisions_go_to_the_cache_and_then_overflow() {
        let mut buffer = buffer(8, 1, 2);
        assert_eq!(buffer.put(HostId(1), header(0, 1), 1), Ok(()));
        assert_eq!(buffer.put(HostId(1), header(0, 2), 2), Ok(()));
        assert_eq!(buffer.put(HostId(2), header(0, 1), 3), Ok(()));
        assert_eq!(buffer.put(HostId(2), header(0, 2), 4), Err(Refusal::Overflow));
        assert_eq!(buffer.put(HostId(2), header(0, 1), 9), Err(Refusal::Held));
        assert_eq!(buffer.take(HostId(2), Cid(0), Seq(1)).map(|found| found.1), Some(3));
        assert_eq!(buffer.take(HostId(2), Cid(0), Seq(1)), None);
        assert_eq!(buffer.put(HostId(2), header(0, 2), 4), Ok(()));
        assert_eq!(buffer.collisions(), 4, "one of them did not fit");
    }

    /// Consecutive packets have consecutive slots, round the ring, and half of 64 connections at least begin at a slot of their own.
    #[test]
    fn connections_begin_at_different_slots() {
        let buffer = buffer(64, 512, 0);
        let slot = |from, cid, seq| buffer.slot(Key::new(HostId(from), Cid(cid), Seq(seq)));
        for (from, cid) in [(0, 0), (7, 3), (1000, 255)] {
            for seq in [0, 1, 511, 512, 65534] {
                assert_eq!(slot(from, cid, seq + 1), (slot(from, cid, seq) + 1) % 512, "{from} {cid} {seq}");
            }
        }
        let starts: std::collections::BTreeSet<usize> =
            (0..64).map(|number| slot(number / 4, number as u16 % 4, 0)).collect();
        assert!(starts.len() >= 32, "{}", starts.len());
    }

    #[test]
    fn memory_grows_with_the_slots() {
        let slot = ReorderBuffer::<u64>::bytes(1);
        assert!(slot >= 32, "a key, a header and a payload take 8, 16 and 8 bytes");
        assert_eq!([0, 3, 520].map(ReorderBuffer::<u64>::bytes), [0, 3 * slot, 520 * slot]);
    }

    #[test]
    fn it_is_empty_when_all_is_taken() {
        let mut buffer = buffer(8, 8, 0);
        assert!(buffer.is_empty());
        buffer.put(HostId(1), header(0, 1), 1).unwrap();
        assert!(!buffer.is_empty());
        buffer.take(HostId(1), Cid(0), Seq(1)).unwrap();
        assert!(buffer.is_empty());
    }

    /// Without a packet in the cache, [`ReorderBuffer::take`] does not search it.
    #[test]
    fn packets_in_the_cache_are_counted() {
        let mut buffer = buffer(8, 1, 2);
        let cid = Cid(0);
        for round in 0..3 {
            (1..4).for_each(|seq| assert_eq!(buffer.put(HostId(1), header(0, seq), 0), Ok(())));
            assert_eq!(buffer.cached, 2, "{round}");
            (1..4).for_each(|seq| assert!(buffer.take(HostId(1), cid, Seq(seq)).is_some()));
            assert_eq!((buffer.cached, buffer.len()), (0, 0), "{round}");
        }
    }

    proptest! {
        /// Against a map: what was put in and not refused comes out, once; refusals only where they are allowed.
        #[test]
        fn it_is_a_map_of_bounded_size(
            steps in prop::collection::vec((any::<bool>(), 0_u32..3, 0_u16..3, 0_u16..12), 1..200),
            capacity in 1_u16..12,
            ring_bits in 0_u32..5,
            cache in 0_u16..4,
        ) {
            let mut buffer = buffer(capacity, 1 << ring_bits, cache);
            let mut map = BTreeMap::new();
            for (number, (put, from, cid, seq)) in steps.into_iter().enumerate() {
                let key = (from, cid, seq);
                if put {
                    match buffer.put(HostId(from), header(cid, seq), number as u32) {
                        Ok(()) => prop_assert!(map.insert(key, number as u32).is_none()),
                        Err(Refusal::Held) => prop_assert!(map.contains_key(&key)),
                        Err(Refusal::Overflow) => {
                            let room = map.len() < usize::from(capacity.min(cache + 1));
                            prop_assert!(!map.contains_key(&key) && !room);
                        }
                    }
                } else {
                    let found = buffer.take(HostId(from), Cid(cid), Seq(seq)).map(|found| found.1);
                    prop_assert_eq!(found, map.remove(&key));
                }
                prop_assert_eq!(usize::from(buffer.len()), map.len());
                prop_assert!(buffer.len() <= capacity);
            }
        }
    }
}
