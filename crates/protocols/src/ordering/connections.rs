//! The connections of a target, found by {source, CID}.

use std::hash::{Hash, Hasher};

use fabricsim_units::HostId;

use super::replay_buffer::ReplayList;
use super::tally::Tally;
use super::{Cid, Seq, Transfer};

/// A connection at its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub(crate) struct Connection {
    pub(crate) from: HostId,
    pub(crate) cid: Cid,
    pub(crate) transfer: Transfer,
    /// True if the start of the sequence is known.
    pub(crate) started: bool,
    /// In sequence: the next to be delivered. Otherwise: the first that has not arrived.
    pub(crate) expected: Seq,
    /// Not in sequence: bit i is set if the packet i after `expected` has arrived.
    pub(crate) arrived: u128,
    /// Operations delivered and not yet visible.
    pub(crate) executing: u16,
    /// Data operations of a synchronized transfer that are visible.
    pub(crate) counted: u64,
    /// The synchronization operation that waits in the reorder buffer, and its CNT.
    pub(crate) held_operation: Option<(Seq, u64)>,
    /// Its packets in the reorder buffer.
    pub(crate) held: u16,
    /// Go-back-N: this gap has been reported.
    pub(crate) reported: bool,
    pub(crate) replay: ReplayList,
}

const EMPTY: u32 = u32::MAX;

/// Connections that are open. The index is open addressing with linear probing; it grows when a connection is opened,
/// never for a packet.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(crate) struct Connections {
    slots: Vec<Option<Connection>>,
    free: Vec<u32>,
    index: Vec<u32>,
    #[state(fixed)]
    limit: u32,
    open: u32,
    most: Tally,
}

impl Connections {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            index: vec![EMPTY; 8],
            limit,
            open: 0,
            most: Tally::default(),
        }
    }

    #[inline]
    fn home(&self, from: HostId, cid: Cid) -> usize {
        let key = u64::from(from.0) << 16 | u64::from(cid.0);
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.index.len() - 1)
    }

    #[inline]
    fn is(&self, place: usize, from: HostId, cid: Cid) -> bool {
        let slot = self.slots[self.index[place] as usize].as_ref();
        slot.is_some_and(|connection| connection.from == from && connection.cid == cid)
    }

    #[inline]
    fn place(&self, from: HostId, cid: Cid) -> Option<usize> {
        let mut place = self.home(from, cid);
        while self.index[place] != EMPTY {
            if self.is(place, from, cid) {
                return Some(place);
            }
            place = (place + 1) & (self.index.len() - 1);
        }
        None
    }

    /// The slot of {source, CID}.
    #[inline]
    pub(crate) fn find(&self, from: HostId, cid: Cid) -> Option<u32> {
        self.place(from, cid).map(|place| self.index[place])
    }

    /// True if there is room for another one.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.open < self.limit
    }

    /// Opens a connection, which is not there yet; `None` while all are in use.
    pub(crate) fn open(&mut self, connection: Connection) -> Option<u32> {
        if !self.has_room() {
            return None;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(connection);
        self.open += 1;
        self.most.raise(u64::from(self.open));
        if 2 * self.open as usize > self.index.len() {
            self.grow();
        } else {
            self.enter(slot);
        }
        Some(slot)
    }

    fn enter(&mut self, slot: u32) {
        let Some(connection) = &self.slots[slot as usize] else { return };
        let mut place = self.home(connection.from, connection.cid);
        while self.index[place] != EMPTY {
            place = (place + 1) & (self.index.len() - 1);
        }
        self.index[place] = slot;
    }

    fn grow(&mut self) {
        self.index = vec![EMPTY; 2 * self.index.len()];
        (0..self.slots.len() as u32).for_each(|slot| self.enter(slot));
    }

    /// Closes a connection.
    pub(crate) fn close(&mut self, slot: u32) {
        let Some(connection) = self.slots[slot as usize] else { return };
        let Some(mut hole) = self.place(connection.from, connection.cid) else { return };
        self.slots[slot as usize] = None;
        self.free.push(slot);
        self.open -= 1;
        // Entries after the hole that are not in their home slot move up, so that no search ends too early.
        let mask = self.index.len() - 1;
        let mut place = (hole + 1) & mask;
        while let Some(Some(other)) = self.slots.get(self.index[place] as usize) {
            let from_home = place.wrapping_sub(self.home(other.from, other.cid)) & mask;
            if from_home >= (place.wrapping_sub(hole) & mask) {
                self.index[hole] = self.index[place];
                hole = place;
            }
            place = (place + 1) & mask;
        }
        self.index[hole] = EMPTY;
    }

    /// The connection in a slot that is in use.
    #[inline]
    pub(crate) fn get(&mut self, slot: u32) -> Option<&mut Connection> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// Connections that are open.
    pub(crate) fn open_now(&self) -> u32 {
        self.open
    }

    /// The largest number that was open at a time.
    pub(crate) fn most(&self) -> u64 {
        self.most.get()
    }
}

// The index follows from the slots.
impl PartialEq for Connections {
    fn eq(&self, other: &Self) -> bool {
        self.slots == other.slots && self.free == other.free && self.limit == other.limit
    }
}

impl Eq for Connections {}

impl Hash for Connections {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.slots.hash(state);
        self.free.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn connections_are_found_until_they_are_closed(
            steps in prop::collection::vec((any::<bool>(), 0_u32..40, 0_u16..3), 1..300),
            limit in 1_u32..60,
        ) {
            let mut connections = Connections::new(limit);
            let mut map = BTreeMap::new();
            for (opens, from, cid) in steps {
                let (from, cid) = (HostId(from), Cid(cid));
                let found = connections.find(from, cid);
                prop_assert_eq!(found, map.get(&(from, cid)).copied());
                if opens && found.is_none() {
                    let slot = connections.open(Connection { from, cid, ..Connection::default() });
                    prop_assert_eq!(slot.is_some(), map.len() < limit as usize);
                    if let Some(slot) = slot {
                        map.insert((from, cid), slot);
                    }
                } else if let (false, Some(slot)) = (opens, found) {
                    connections.close(slot);
                    map.remove(&(from, cid));
                }
                prop_assert_eq!(connections.open_now() as usize, map.len());
                for (&(from, cid), &slot) in &map {
                    prop_assert_eq!(connections.find(from, cid), Some(slot));
                    prop_assert_eq!(connections.get(slot).map(|c| (c.from, c.cid)), Some((from, cid)));
                }
            }
        }
    }

    fn opened(count: u32) -> Connections {
        let mut connections = Connections::new(1 << 20);
        for number in 0..count {
            let (from, cid) = (HostId(number / 4), Cid((number % 4) as u16));
            connections.open(Connection { from, cid, ..Connection::default() }).unwrap();
        }
        connections
    }

    /// At most half of the index is used, so that searches are short, and it is no larger than that needs.
    #[test]
    fn the_index_is_twice_as_large_as_needed() {
        for (open, size) in
            [(0, 8), (1, 8), (4, 8), (5, 16), (8, 16), (9, 32), (16, 32), (17, 64), (257, 1024)]
        {
            assert_eq!(opened(open).index.len(), size, "{open} connections");
        }
    }

    /// Hosts and identifiers have consecutive numbers. Half of 256 connections at least have a place that is no other's home.
    #[test]
    fn connections_spread_over_the_index() {
        let connections = opened(256);
        let homes: std::collections::BTreeSet<usize> =
            (0..256).map(|number| connections.home(HostId(number / 4), Cid((number % 4) as u16))).collect();
        assert_eq!(connections.index.len(), 512);
        assert!(homes.len() >= 128, "{} places", homes.len());
    }

    /// The model checker merges states that are equal, and those alone.
    #[test]
    fn tables_with_the_same_connections_in_the_same_slots_are_equal() {
        let hash = |connections: &Connections| {
            let mut hasher = std::hash::DefaultHasher::new();
            connections.hash(&mut hasher);
            hasher.finish()
        };
        let (one, same) = (opened(2), opened(2));
        assert!(one == same && hash(&one) == hash(&same));
        let mut larger = Connections::new(1 << 20);
        (0..9).for_each(|cid| {
            larger.open(Connection { cid: Cid(100 + cid), ..Connection::default() });
        });
        let mut changed = opened(2);
        changed.get(1).unwrap().held = 1;
        let mut closed = opened(2);
        closed.close(1);
        let mut other_limit = opened(2);
        other_limit.limit = 2;
        for other in [&larger, &changed, &closed, &other_limit, &opened(3)] {
            assert!(one != *other);
        }
        for other in [&larger, &changed, &closed, &opened(3)] {
            assert_ne!(hash(&one), hash(other));
        }
        // The same connections, but the slot that is taken next is another one.
        let [mut first, mut second] = [opened(3), opened(3)];
        first.close(0);
        first.close(1);
        second.close(1);
        second.close(0);
        assert!(first != second && hash(&first) != hash(&second));
    }
}
