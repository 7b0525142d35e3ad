//! Counters of a run, and its fingerprint.

use fabricsim_model::{LossCause, Packet};

use crate::losses::LostPackets;

/// Counters of a partition. All are sums, so that those of several partitions add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub struct Totals {
    /// Packets that left a host.
    pub injected: u64,
    /// Copies of packets for multicast groups that switches made, besides the packets themselves.
    pub replicated: u64,
    /// Packets that were accepted by a host.
    pub delivered: u64,
    /// Of these, copies of packets for multicast groups that came back to their source.
    pub returned: u64,
    /// Bytes of those packets.
    pub delivered_bytes: u64,
    /// Packets lost on purpose.
    pub lost: LostPackets,
    /// Links on the routes of the delivered and the lost packets.
    pub packet_hops: u64,
    /// Links on the routes of copies before they were made, on which they were one packet with another copy.
    pub shared_links: u64,
    /// Sum of a hash over every delivered or lost packet, its times and its path length.
    pub fingerprint: u64,
    /// Packets within the fabric.
    pub in_flight: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Self) {
        self.injected += other.injected;
        self.replicated += other.replicated;
        self.delivered += other.delivered;
        self.returned += other.returned;
        self.delivered_bytes += other.delivered_bytes;
        self.lost.add(&other.lost);
        self.packet_hops += other.packet_hops;
        self.shared_links += other.shared_links;
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
        self.in_flight += other.in_flight;
    }

    /// A packet that reached a host, and was counted as delivered, is lost there.
    pub(crate) fn lose(&mut self, packet: &Packet, cause: LossCause) {
        self.delivered -= 1;
        self.delivered_bytes -= u64::from(packet.bytes);
        self.lost.count(cause);
    }

    /// Links that the delivered and the lost packets crossed, each copy of a packet from where it was made.
    pub const fn links_crossed(&self) -> u64 {
        self.packet_hops.saturating_sub(self.shared_links)
    }

    /// True if every packet that was injected, or made as a copy, is delivered, lost, or in the fabric.
    pub const fn is_balanced(&self) -> bool {
        self.injected + self.replicated == self.delivered + self.lost.total() + self.in_flight
    }
}

/// Hash of source, destination, delivery time and hop count (the finalizer of MurmurHash3).
#[inline]
pub(crate) fn fingerprint(packet: &Packet, delivered: u64) -> u64 {
    let identity = u64::from(packet.source.0) << 32 | u64::from(packet.sequence);
    let path = u64::from(packet.destination.0) << 16 | u64::from(packet.hops);
    let mut h = identity.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ path.rotate_left(24) ^ delivered;
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

#[cfg(test)]
mod tests {
    use fabricsim_model::PacketKind;
    use fabricsim_units::{HostId, Time};

    use super::*;

    fn totals() -> Totals {
        Totals {
            injected: 100,
            replicated: 20,
            delivered: 90,
            returned: 3,
            delivered_bytes: 9000,
            lost: LostPackets { vcrc: 7, ..LostPackets::default() },
            packet_hops: 400,
            shared_links: 30,
            fingerprint: u64::MAX,
            in_flight: 23,
        }
    }

    /// Counters of partitions add up; fingerprints wrap around.
    #[test]
    fn counters_of_partitions_add_up() {
        let mut sum = totals();
        sum.add(&totals());
        let expected = Totals {
            injected: 200,
            replicated: 40,
            delivered: 180,
            returned: 6,
            delivered_bytes: 18_000,
            lost: LostPackets { vcrc: 14, ..LostPackets::default() },
            packet_hops: 800,
            shared_links: 60,
            fingerprint: u64::MAX - 1,
            in_flight: 46,
        };
        assert_eq!(sum, expected);
    }

    /// What was injected or copied is delivered, lost, or in the fabric.
    #[test]
    fn a_packet_too_many_or_too_few_is_no_balance() {
        assert!(totals().is_balanced());
        let changes: [fn(&mut Totals); 5] = [
            |of| of.injected += 1,
            |of| of.replicated += 1,
            |of| of.delivered += 1,
            |of| of.lost.vcrc += 1,
            |of| of.in_flight += 1,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut changed = totals();
            change(&mut changed);
            assert!(!changed.is_balanced(), "change {number}");
        }
        let none = Totals::default();
        assert!(none.is_balanced());
        assert!(Totals { injected: 2, delivered: 1, in_flight: 1, ..none }.is_balanced());
        assert!(
            Totals { replicated: 2, lost: LostPackets { icrc: 2, ..LostPackets::default() }, ..none }
                .is_balanced()
        );
    }

    /// A packet that is lost as it is delivered counts as lost; links that copies share count once.
    #[test]
    fn a_delivered_packet_that_is_lost_is_not_delivered() {
        let mut found = totals();
        found.lose(&Packet::new(PacketKind::Data, (HostId(0), HostId(1)), 128, Time::ZERO), LossCause::Icrc);
        let lost = LostPackets { vcrc: 7, icrc: 1, ..LostPackets::default() };
        assert_eq!(found, Totals { delivered: 89, delivered_bytes: 8872, lost, ..totals() });
        assert!(found.is_balanced());
        assert_eq!(found.links_crossed(), 370);
    }

    /// Each bit of what is hashed counts: another source, destination, number of hops or time is another fingerprint.
    #[test]
    fn fingerprints_depend_on_every_bit() {
        let of = |source: u32, destination: u32, sequence: u32, hops: u16, delivered: u64| {
            let ends = (HostId(source), HostId(destination));
            let packet = Packet { sequence, hops, ..Packet::new(PacketKind::Data, ends, 1, Time::ZERO) };
            fingerprint(&packet, delivered)
        };
        for (number, id, hops, time) in
            [(0, 0, 0, 0), (u32::MAX, u32::MAX, u16::MAX, u64::MAX), (77, 1234, 5, 678_901_234)]
        {
            let plain = of(id, id, number, hops, time);
            for bit in 0..32 {
                assert_ne!(plain, of(id ^ 1 << bit, id, number, hops, time), "source, bit {bit}");
                assert_ne!(plain, of(id, id ^ 1 << bit, number, hops, time), "destination, bit {bit}");
                assert_ne!(plain, of(id, id, number ^ 1 << bit, hops, time), "sequence, bit {bit}");
            }
            for bit in 0..16 {
                assert_ne!(plain, of(id, id, number, hops ^ 1 << bit, time), "hops, bit {bit}");
            }
            for bit in 0..64 {
                assert_ne!(plain, of(id, id, number, hops, time ^ 1 << bit), "time, bit {bit}");
            }
        }
    }
}
