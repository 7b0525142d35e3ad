use fabricsim_model::{
    ByteLine, CrossingContent, ExtensionHeaders, Hop, HopTelemetry, Label, Lanes, Packet, RouteState,
    TransportHeaders,
};
use fabricsim_units::{HostId, PortNo, Time, Vl};

use crate::{Columns, Copies, Sending, Table};

/// "No packet" in a link of a list.
pub const NONE: u32 = u32::MAX;

/// A packet within a partition, with its state at the current switch.
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
pub struct Slot {
    /// The packet.
    pub packet: Packet,
    /// Earliest time at which the switch may send it on.
    pub ready: Time,
    /// Time at which it could have been sent on without contention.
    pub arrived: Time,
    /// The next packet in the same queue.
    pub next: u32,
    /// Flow-control units that it occupies.
    pub blocks: u32,
    /// The port (of this partition) whose input buffer it occupies or is in flight to; [`NONE`] in a staging buffer.
    pub port: u32,
    /// Next hop, once routed.
    pub hop: Hop,
    /// Virtual lane of that buffer.
    pub lane: Vl,
    /// State that the routing keeps with it.
    pub route_state: RouteState,
}

/// The packets of a partition. Slots are used again, so nothing is allocated once the fabric is full.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub struct Arena {
    slots: Table<Slot>,
    /// Extension headers of packets.
    pub columns: Columns,
    /// Packets of which several copies wait in a switch.
    pub copies: Copies,
    free: u32,
    live: u32,
}

impl Default for Arena {
    fn default() -> Self {
        Self {
            slots: Table::new(Vec::new()),
            columns: Columns::default(),
            copies: Copies::default(),
            free: NONE,
            live: 0,
        }
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

    /// Frees the slot of a packet.
    #[inline]
    pub fn release(&mut self, index: u32) {
        let place = &mut self.slots[index as usize];
        place.next = self.free;
        place.blocks = 0;
        self.free = index;
        self.live -= 1;
    }

    /// Removes a packet and returns it.
    #[inline]
    pub fn remove(&mut self, index: u32) -> Slot {
        let slot = self.slots[index as usize];
        self.release(index);
        slot
    }

    /// Stores a packet with its extension headers, and returns its number.
    pub fn insert_with(&mut self, slot: Slot, extensions: ExtensionHeaders) -> u32 {
        let index = self.insert(slot);
        self.attach(index, extensions);
        index
    }

    /// Stores the extension headers of a packet.
    pub fn attach(&mut self, index: u32, extensions: ExtensionHeaders) {
        let sending = self[index].sending();
        self.columns.put(index, sending, extensions);
    }

    /// Stores the headers of a packet's protocol. Less work than [`Arena::attach`], since they go nowhere in between.
    #[inline(always)]
    pub fn attach_headers(
        &mut self,
        index: u32,
        label: Option<&Label>,
        transport: Option<&TransportHeaders>,
        content: Option<Box<[u8]>>,
    ) {
        let sending = self[index].sending();
        if let Some(label) = label {
            self.columns.labels.put_copy(index, sending, label);
        }
        if let Some(transport) = transport {
            self.columns.transports.put_copy(index, sending, transport);
        }
        if let Some(content) = content {
            self.columns.contents.put(index, sending, content);
        }
    }

    /// Stores a copy of the packet at `index`, with its headers and bytes of a queue pair, and returns its place.
    pub(crate) fn insert_copy(&mut self, index: u32, slot: Slot) -> u32 {
        let sending = slot.sending();
        let copy = self.insert(slot);
        self.columns.copy((index, copy), sending);
        copy
    }

    /// Removes and returns the extension headers of a packet.
    pub fn take_extensions(&mut self, index: u32) -> ExtensionHeaders {
        let sending = self[index].sending();
        self.columns.take(index, sending)
    }

    /// [`Arena::take_extensions`] in place of those of another packet, which were read.
    #[inline]
    pub fn take_extensions_into(&mut self, index: u32, extensions: &mut ExtensionHeaders) {
        let sending = self[index].sending();
        self.columns.take_into(index, sending, extensions);
    }

    /// [`Arena::take_extensions`] for a packet that moves to another partition; `None` if it has none.
    #[inline]
    pub fn take_boxed(&mut self, index: u32) -> Option<Box<ExtensionHeaders>> {
        if self.columns.are_unused() {
            return None;
        }
        let extensions = self.take_extensions(index);
        (!extensions.is_empty()).then(|| Box::new(extensions))
    }

    /// The headers of a queue pair that a packet has.
    pub fn transport(&self, index: u32) -> Option<&TransportHeaders> {
        self.columns.transports.get(index, self[index].sending())
    }

    /// A packet that begins to cross a link on a lane, to one of its destination's LIDs, for an observer that captures it.
    pub fn crossing(&self, index: u32, lane: Vl, path: u8) -> CrossingContent<'_> {
        let slot = &self[index];
        let of = slot.sending();
        CrossingContent::Packet {
            packet: &slot.packet,
            lane,
            path,
            label: self.columns.labels.get(index, of),
            transport: self.columns.transports.get(index, of),
            payload: self.columns.contents.get(index, of).map(|content| &**content),
            echo: self.columns.echoes.get(index, of),
        }
    }

    /// The states of the outputs that a packet left by.
    pub fn telemetry(&mut self, index: u32) -> &mut Vec<HopTelemetry> {
        let sending = self[index].sending();
        self.columns.telemetry(index, sending)
    }

    /// The times at which the bytes of a packet arrive at its switch; empty if they do as the link carries them, or have been left there by
    /// another packet.
    pub(crate) fn arrivals(&mut self, index: u32) -> &mut Vec<ByteLine> {
        let arrived = self[index].arrived;
        let lines = self.lines(index);
        // The copies of a packet have the same identity. The first line is the link's own, from the arrival of the head on.
        if lines.first().is_some_and(|line| line.from != arrived) {
            lines.clear();
        }
        lines
    }

    /// The lines that are kept with a packet.
    pub(crate) fn lines(&mut self, index: u32) -> &mut Vec<ByteLine> {
        let sending = self[index].sending();
        self.columns.arrivals.list(index, sending)
    }

    /// Number of packets.
    pub fn live(&self) -> u32 {
        self.live
    }

    /// The packets in buffers and on links to them: port, lane, and blocks. Copies of a packet in an input buffer are one.
    pub fn occupancies(&self) -> impl Iterator<Item = (u32, Vl, u32)> {
        let alone = self.iter().filter(|&(index, _)| !self.copies.has(index));
        let alone = alone.map(|(_, slot)| (slot.port, slot.lane, slot.blocks));
        alone.chain(self.copies.iter().map(|packet| (packet.port, packet.lane, packet.blocks)))
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
    #[inline(always)]
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
            route_state: RouteState::default(),
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
        let ends = (HostId(source), HostId(9));
        let packet = Packet::new(PacketKind::Data, ends, 64, Time(injected));
        Slot::new(packet, 1)
    }

    /// Both are copied and read for every hop. The age of a packet and the state of its routing fill what alignment would leave empty.
    #[test]
    fn packets_and_slots_are_small() {
        assert_eq!((size_of::<Packet>(), size_of::<Slot>()), (48, 88));
        assert!(
            size_of::<Packet>() - size_of::<u16>() > 40 && size_of::<Slot>() - size_of::<RouteState>() > 80
        );
    }

    #[test]
    fn a_packet_has_its_own_label_or_none() {
        let label = Some(Label { number: 7, ..Label::default() });
        let labelled = || ExtensionHeaders { label, ..ExtensionHeaders::default() };
        let mut arena = Arena::default();
        let plain = arena.insert(slot(0, 0));
        let first = arena.insert_with(slot(1, 10), labelled());
        assert_eq!((arena.take_extensions(plain).label, arena.take_extensions(first).label), (None, label));
        // The places are used again, by packets of the same senders, with the first packet's label still there.
        arena.release(first);
        assert_eq!(arena.insert_with(slot(1, 20), labelled()), first);
        arena.release(first);
        assert_eq!(arena.insert(slot(1, 30)), first);
        assert_eq!(arena.take_extensions(first), ExtensionHeaders::default());
        arena.release(first);
        assert_eq!(arena.insert(slot(2, 20)), first);
        assert_eq!(arena.take_extensions(first), ExtensionHeaders::default());
    }
}
