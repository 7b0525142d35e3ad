use fabricsim_model::{Hop, Label, Lanes, Packet, Trail};
use fabricsim_units::{HostId, PortNo, Time, Vl};

use crate::Table;

/// "No packet" in a link of a list.
pub const NONE: u32 = u32::MAX;

/// A packet within a partition, with what its present switch knows of it.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The packet.
    pub packet: Packet,
    /// Earliest time at which the switch may send it on.
    pub ready: Time,
    /// Time at which it could have been sent on if nothing had been in its way.
    pub arrived: Time,
    /// The next packet in the same queue.
    pub next: u32,
    /// Flow-control units that it occupies.
    pub blocks: u32,
    /// The port (of this partition) whose input buffer it is in or on its way to; [`NONE`] in a staging buffer.
    pub port: u32,
    /// Next hop, once routed.
    pub hop: Hop,
    /// Virtual lane of that buffer.
    pub lane: Vl,
    /// State that the routing keeps with it.
    pub trail: Trail,
}

/// The packets of a partition. Slots are used again, so nothing is allocated once the fabric is full.
#[derive(Clone, Debug)]
pub struct Arena {
    slots: Table<Slot>,
    /// Labels that transports put on packets, by slot; as long as needed. With it, the packet that it was put on.
    labels: Vec<(Sending, Label)>,
    free: u32,
    live: u32,
}

/// Identity of a packet of a run: its sender, and the time at which that began to send it.
type Sending = (HostId, Time);

/// Of no packet.
const NO_SENDING: Sending = (HostId(u32::MAX), Time::MAX);

impl Default for Arena {
    fn default() -> Self {
        Self { slots: Table::new(Vec::new()), labels: Vec::new(), free: NONE, live: 0 }
    }
}

impl Arena {
    /// Stores a packet and returns its number.
    #[inline]
    pub fn insert(&mut self, slot: Slot) -> u32 {
        self.live += 1;
        if self.free == NONE {
            self.slots.push(slot);
            return self.slots.len() as u32 - 1;
        }
        let index = self.free;
        self.free = self.slots[index as usize].next;
        self.slots[index as usize] = slot;
        index
    }

    /// Takes a packet out that is not needed any more.
    #[inline]
    pub fn release(&mut self, index: u32) {
        let place = &mut self.slots[index as usize];
        place.next = self.free;
        place.blocks = 0;
        self.free = index;
        self.live -= 1;
    }

    /// Takes a packet out.
    #[inline]
    pub fn remove(&mut self, index: u32) -> Slot {
        let slot = self.slots[index as usize];
        self.release(index);
        slot
    }

    /// Stores a packet with a label and returns its number.
    pub fn insert_labelled(&mut self, slot: Slot, label: Label) -> u32 {
        let sending = slot.sending();
        let index = self.insert(slot);
        if self.labels.len() <= index as usize {
            self.labels.resize(index as usize + 1, (NO_SENDING, Label::default()));
        }
        self.labels[index as usize] = (sending, label);
        index
    }

    /// The label that a packet was stored with. A label of an earlier packet in the same place does not count: it is of
    /// another sender or another time, and a sender sends one packet at a time.
    pub fn label(&self, index: u32) -> Option<Label> {
        let (sending, label) = self.labels.get(index as usize)?;
        (*sending == self[index].sending()).then_some(*label)
    }

    /// Number of packets.
    pub fn live(&self) -> u32 {
        self.live
    }

    /// The packets with their numbers, in order of number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Slot)> {
        // A packet occupies at least one block, a free slot none.
        self.slots.iter().enumerate().filter(|(_, slot)| slot.blocks > 0).map(|(i, slot)| (i as u32, slot))
    }
}

impl std::ops::Index<u32> for Arena {
    type Output = Slot;
    #[inline]
    fn index(&self, index: u32) -> &Slot {
        &self.slots[index as usize]
    }
}

impl std::ops::IndexMut<u32> for Arena {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Slot {
        &mut self.slots[index as usize]
    }
}

impl Slot {
    /// A packet that its host is about to send.
    pub fn new(packet: Packet, blocks: u32) -> Self {
        Self {
            packet,
            ready: Time::ZERO,
            arrived: Time::ZERO,
            next: NONE,
            blocks,
            port: NONE,
            hop: Hop { port: PortNo(0), lanes: Lanes::new(0, 1) },
            lane: Vl(0),
            trail: Trail::default(),
        }
    }

    /// A number for its source and destination, to distinguish flows.
    #[inline]
    pub fn flow(&self) -> u32 {
        self.packet.source.0.wrapping_mul(31).wrapping_add(self.packet.destination.0)
    }

    /// Identifies the packet.
    fn sending(&self) -> Sending {
        (self.packet.source, self.packet.injected)
    }

    /// Receiver of the packet.
    #[inline]
    pub fn destination(&self) -> HostId {
        self.packet.destination
    }
}

#[cfg(test)]
mod tests {
    use fabricsim_model::PacketKind;

    use super::*;

    fn slot(source: u32, injected: u64) -> Slot {
        let packet = Packet {
            source: HostId(source),
            destination: HostId(9),
            created: Time::ZERO,
            injected: Time(injected),
            bytes: 64,
            sequence: 0,
            stream: 0,
            hops: 0,
            tag: 0,
            age: 0,
            kind: PacketKind::Data,
            fecn: false,
            becn: false,
            last: true,
        };
        Slot::new(packet, 1)
    }

    #[test]
    fn a_packet_has_its_own_label_or_none() {
        let label = Label { number: 7, ..Label::default() };
        let mut arena = Arena::default();
        let plain = arena.insert(slot(0, 0));
        assert_eq!(arena.label(plain), None);
        let labelled = arena.insert_labelled(slot(1, 10), label);
        assert_eq!((arena.label(plain), arena.label(labelled)), (None, Some(label)));
        // The places of both are used again, by packets of the same senders.
        arena.release(labelled);
        assert_eq!(arena.insert(slot(1, 20)), labelled);
        assert_eq!(arena.label(labelled), None);
        arena.release(labelled);
        assert_eq!(arena.insert(slot(2, 10)), labelled);
        assert_eq!(arena.label(labelled), None);
    }
}
