//! Copies of multicast packets that wait in a switch. They are one packet in its input buffer, which is free when the last copy has left.

use fabricsim_units::{Time, Vl};

use crate::NONE;

/// A packet in an input buffer of which copies wait for outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fabricsim_state::Value)]
pub struct SharedPacket {
    /// The port of the input buffer.
    pub port: u32,
    /// Virtual lane of that buffer.
    pub lane: Vl,
    /// Flow-control units that it occupies.
    pub blocks: u32,
    /// Copies that have not left.
    left: u16,
    /// Time at which the last byte of a copy that has left is read.
    read_until: Time,
}

/// The copies in the switches of a partition.
#[derive(Clone, Debug, Default, fabricsim_state::Value)]
pub struct Copies {
    /// Number of the shared packet by slot of the arena; [`NONE`] without one.
    of_slot: Vec<u32>,
    packets: Vec<SharedPacket>,
    free: Vec<u32>,
    /// Copies made, besides the packets that came in.
    pub made: u64,
    /// Links that the packets of these copies had passed before: each copy counts them.
    pub shared_links: u64,
}

impl Copies {
    /// Shares a packet in the input buffer of `port` among the copies in `slots`.
    pub fn share(&mut self, (port, lane): (u32, Vl), blocks: u32, slots: &[u32]) {
        let packet = SharedPacket { port, lane, blocks, left: slots.len() as u16, read_until: Time::ZERO };
        let number = if let Some(number) = self.free.pop() {
            self.packets[number as usize] = packet;
            number
        } else {
            self.packets.push(packet);
            self.packets.len() as u32 - 1
        };
        for &slot in slots {
            let slot = slot as usize;
            if self.of_slot.len() <= slot {
                self.of_slot.resize(slot + 1, NONE);
            }
            self.of_slot[slot] = number;
        }
    }

    /// True if the packet in `slot` is a copy that waits in a switch.
    #[inline]
    pub fn has(&self, slot: u32) -> bool {
        self.number(slot).is_some()
    }

    /// The number of the shared packet, if the packet in `slot` is a copy that waits in a switch.
    #[inline]
    pub fn number(&self, slot: u32) -> Option<usize> {
        self.of_slot.get(slot as usize).filter(|&&number| number != NONE).map(|&number| number as usize)
    }

    /// One more than the highest number of a shared packet.
    pub fn numbers(&self) -> usize {
        self.packets.len()
    }

    /// The copy in `slot` is read from now until `end`. If it is the last one, returns the time until which any copy is read; the buffer
    /// becomes free as it is read.
    pub fn leave(&mut self, slot: u32, end: Time) -> Option<Time> {
        let number = std::mem::replace(&mut self.of_slot[slot as usize], NONE);
        let packet = &mut self.packets[number as usize];
        packet.left -= 1;
        packet.read_until = packet.read_until.max(end);
        (packet.left == 0).then(|| {
            self.free.push(number);
            packet.read_until
        })
    }

    /// The packets of which copies wait.
    pub fn iter(&self) -> impl Iterator<Item = &SharedPacket> {
        self.packets.iter().filter(|packet| packet.left > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_shared_until_its_last_copy_has_left() {
        let mut copies = Copies::default();
        copies.share((3, Vl(1)), 5, &[7, 2]);
        copies.share((4, Vl(0)), 6, &[0]);
        assert_eq!((copies.has(7), copies.has(1), copies.has(9)), (true, false, false));
        assert_eq!(
            copies.iter().map(|packet| (packet.port, packet.blocks)).collect::<Vec<_>>(),
            [(3, 5), (4, 6)]
        );
        assert_eq!((copies.leave(7, Time(90)), copies.has(7)), (None, false));
        // The first copy left by a slower link.
        assert_eq!(copies.leave(2, Time(80)), Some(Time(90)));
        assert_eq!(copies.iter().count(), 1);
        copies.share((5, Vl(0)), 8, &[2, 7, 8]);
        assert_eq!(copies.iter().map(|packet| packet.port).collect::<Vec<_>>(), [5, 4]);
        assert_eq!(
            (copies.leave(8, Time(1)), copies.leave(7, Time(2)), copies.leave(2, Time(1))),
            (None, None, Some(Time(2)))
        );
    }
}
