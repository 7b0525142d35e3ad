//! Errors that a CRC of 12 bits detects in 168.

use fabricsim_model::Random;

use super::super::{Data, Micropacket, WIRE_BITS, WIRE_BYTES};
use super::channel::flip;

/// Remainder of each bit's error, by long division with 0x80F. A CRC is linear: an error of several bits goes
/// undetected if and only if their remainders add up to none.
fn remainders() -> Vec<u16> {
    let mut remainder = 1_u16;
    let mut remainders: Vec<u16> = (0..WIRE_BITS)
        .map(|_| {
            let this = remainder;
            remainder = remainder << 1 ^ if remainder >> 11 & 1 == 1 { 0x180f } else { 0 };
            this
        })
        .collect();
    remainders.reverse();
    remainders
}

fn some_micropacket(random: &mut Random) -> Micropacket {
    let mut bytes = [0; 17];
    for byte in &mut bytes {
        *byte = random.bits() as u8;
    }
    bytes[0] &= 0x3f;
    Micropacket {
        sequence: random.below(512) as u16,
        turn: random.below(2) == 1,
        data: Data::new(bytes),
        acknowledged: random.below(512) as u16,
        request: random.below(2) == 1,
    }
}

fn with_errors(wire: &[u8; WIRE_BYTES], bits: &[usize]) -> [u8; WIRE_BYTES] {
    let mut wrong = *wire;
    for &bit in bits {
        flip(&mut wrong, bit);
    }
    wrong
}

#[test]
fn what_is_encoded_is_decoded() {
    let mut random = Random::new(1, 4, 0);
    for _ in 0..10_000 {
        let micropacket = some_micropacket(&mut random);
        assert_eq!(Micropacket::decode(&micropacket.encode()), Some(micropacket));
        let idle = Micropacket { data: None, ..micropacket };
        assert_eq!(Micropacket::decode(&idle.encode()), Some(idle));
    }
    assert!(Data::new([0x40; 17]).is_none() && Data::new([0x3f; 17]).is_some());
}

/// The bits where the table of [`Micropacket`] has them, and a CRC computed by long division.
#[test]
fn a_micropacket_to_read() {
    let mut bytes = [0; 17];
    bytes[16] = 1;
    let data = Data::new(bytes);
    let micropacket = Micropacket { sequence: 3, turn: true, data, acknowledged: 0x1ff, request: false };
    let wire = micropacket.encode();
    // 1010 000000011 111111111 00...
    assert_eq!(wire[..4], [0b1010_0000, 0b0001_1111, 0b1111_1100, 0]);
    let set = (0..WIRE_BITS - 12).filter(|&bit| wire[bit / 8] >> (7 - bit % 8) & 1 == 1);
    let crc = set.fold(0, |crc, bit| crc ^ remainders()[bit]);
    assert_eq!(wire[18..], [0, 0x10 | (crc >> 8) as u8, crc as u8]);
}

#[test]
fn the_table_and_long_division_agree() {
    let (mut random, remainders) = (Random::new(2, 4, 0), remainders());
    for _ in 0..20_000 {
        let wire = some_micropacket(&mut random).encode();
        let bits: Vec<usize> =
            (0..random.below(20)).map(|_| random.below(WIRE_BITS as u64) as usize).collect();
        let remainder = bits.iter().fold(0, |sum, &bit| sum ^ remainders[bit]);
        assert_eq!(Micropacket::decode(&with_errors(&wire, &bits)).is_some(), remainder == 0, "{bits:?}");
    }
}

/// One and two errors with real micropackets; three, of which there are 776 216, by remainders.
#[test]
fn errors_of_one_two_and_three_bits_are_detected() {
    let wire = some_micropacket(&mut Random::new(3, 4, 0)).encode();
    let remainders = remainders();
    let mut three = 0;
    for a in 0..WIRE_BITS {
        assert_eq!(Micropacket::decode(&with_errors(&wire, &[a])), None);
        for b in 0..a {
            assert_eq!(Micropacket::decode(&with_errors(&wire, &[a, b])), None);
            for c in 0..b {
                assert_ne!(remainders[a] ^ remainders[b] ^ remainders[c], 0, "{a} {b} {c}");
                three += 1;
            }
        }
    }
    assert_eq!(three, 776_216);
}

#[test]
fn bursts_of_up_to_twelve_bits_are_detected() {
    let wire = some_micropacket(&mut Random::new(4, 4, 0)).encode();
    let mut bursts = 0;
    for first in 0..WIRE_BITS {
        // The first bit is wrong, and any of the eleven after it.
        for rest in 0..1_usize << 11.min(WIRE_BITS - 1 - first) {
            let mut wrong = with_errors(&wire, &[first]);
            (0..11).filter(|i| rest >> i & 1 == 1).for_each(|i| flip(&mut wrong, first + 1 + i));
            assert_eq!(Micropacket::decode(&wrong), None, "{first} {rest:b}");
            bursts += 1;
        }
    }
    assert_eq!(bursts, 157 * 2048 + 2047);
}

/// Not everything: of errors of four bits, which are even in number, a share of about 1 in 2048 goes unnoticed.
#[test]
fn some_errors_of_four_bits_are_not_detected() {
    let (mut random, remainders) = (Random::new(5, 4, 0), remainders());
    let unnoticed = (0..1_000_000).filter(|_| {
        let mut bits: [usize; 4] = std::array::from_fn(|_| random.below(WIRE_BITS as u64) as usize);
        bits.sort_unstable();
        bits.windows(2).all(|pair| pair[0] < pair[1])
            && bits.iter().fold(0, |sum, &bit| sum ^ remainders[bit]) == 0
    });
    let share = unnoticed.count() as f64 / 1e6 * 2048.0;
    assert!((0.7..1.3).contains(&share), "{share}");
}
