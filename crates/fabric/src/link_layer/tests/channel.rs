//! Two ends of a link and the channel between them: a micropacket leaves each end in every slot, takes a whole number
//! of slots of propagation, and some of its bits may flip.

use std::collections::VecDeque;

use fabricsim_model::Random;
use fabricsim_units::Time;

use super::super::{Data, LinkEnd, WIRE_BITS, WIRE_BYTES, Window};

pub(super) const SLOT: u64 = 4375;

/// Failures of a direction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Noise {
    /// This share of the micropackets gets one to three errors, or a burst of up to 12 bits.
    Micropackets(f64),
    /// The same of the micropackets with data, and never the others.
    Data(f64),
    /// Every bit flips with this chance.
    Bits(f64),
}

impl Noise {
    /// Flips bits, perhaps.
    fn disturb(self, wire: &mut [u8; WIRE_BYTES], random: &mut Random) {
        match self {
            Self::Micropackets(share) => {
                if random.unit() <= share {
                    fail(wire, random);
                }
            }
            Self::Data(share) => {
                if wire[0] >> 7 == 1 && random.unit() <= share {
                    fail(wire, random);
                }
            }
            Self::Bits(rate) => {
                (0..WIRE_BITS).filter(|_| random.unit() <= rate).for_each(|bit| flip(wire, bit));
            }
        }
    }
}

pub(super) fn flip(wire: &mut [u8; WIRE_BYTES], bit: usize) {
    wire[bit / 8] ^= 0x80 >> (bit % 8);
}

/// An error of a kind that the CRC always detects.
fn fail(wire: &mut [u8; WIRE_BYTES], random: &mut Random) {
    let bits = WIRE_BITS as u64;
    if random.below(2) == 0 {
        let first = random.below(bits - 12) as usize;
        let burst = random.bits() | 1;
        (0..12).filter(|i| burst >> i & 1 == 1).for_each(|i| flip(wire, first + i));
    } else {
        let first = random.below(bits) as usize;
        flip(wire, first);
        for _ in 0..random.below(3) {
            let other = random.below(bits) as usize;
            if other != first {
                flip(wire, other);
            }
        }
    }
}

/// The n-th data of a direction: different for every n.
pub(super) fn data(n: u64) -> Data {
    let mut bytes = [0; 17];
    bytes[9..].copy_from_slice(&n.to_be_bytes());
    bytes[0] = (n % 61) as u8;
    Data::new(bytes).unwrap()
}

/// A link of two ends with all that is on the way between them.
pub(super) struct Link {
    pub(super) ends: [LinkEnd; 2],
    /// Micropackets in flight from each end.
    flying: [VecDeque<[u8; WIRE_BYTES]>; 2],
    pub(super) noise: [Noise; 2],
    random: Random,
    slot: u64,
    /// Data handed to each end, and data in order out of the other.
    pub(super) offered: [u64; 2],
    pub(super) delivered: [u64; 2],
}

impl Link {
    /// A link whose micropackets are `delay` slots on the way after their own, so that a round trip is `2 * delay + 2`.
    pub(super) fn new(window: Window, timeout: u64, delay: usize, noise: [Noise; 2], seed: u64) -> Self {
        let end = LinkEnd::new(window, Time(timeout * SLOT));
        let idle: VecDeque<_> = (0..delay).map(|_| end.clone().next(Time::ZERO)).collect();
        Self {
            ends: [end.clone(), end],
            flying: [idle.clone(), idle],
            noise,
            random: Random::new(seed, 3, 0),
            slot: 0,
            offered: [0; 2],
            delivered: [0; 2],
        }
    }

    /// A slot: both ends take what has arrived, are offered what they have room for, up to `limit`, and send.
    pub(super) fn step(&mut self, limit: [u64; 2]) {
        let now = Time(self.slot * SLOT);
        for from in 0..2 {
            if self.slot > 0 {
                let mut wire = self.flying[from].pop_front().unwrap();
                self.noise[from].disturb(&mut wire, &mut self.random);
                if let Some(taken) = self.ends[1 - from].arrived(now, &wire) {
                    assert_eq!(
                        taken,
                        data(self.delivered[from]),
                        "out of order, twice, or not what was sent"
                    );
                    self.delivered[from] += 1;
                }
            }
        }
        for (from, most) in limit.into_iter().enumerate() {
            while self.offered[from] < most && self.ends[from].offer(data(self.offered[from])).is_ok() {
                self.offered[from] += 1;
            }
            let wire = self.ends[from].next(now);
            self.flying[from].push_back(wire);
        }
        self.slot += 1;
    }
}
