use crc::{CRC_12_DECT, Crc};

/// Bits of a micropacket on the wire: 12 lanes of 14.
pub const WIRE_BITS: usize = 168;
/// The same in bytes.
pub const WIRE_BYTES: usize = WIRE_BITS / 8;

const SEQUENCE_MASK: u16 = (1 << super::MAX_SEQUENCE_BITS) - 1;

/// CRC-12/DECT of the catalogue: polynomial 0x80F = x^12 + x^11 + x^3 + x^2 + x + 1, started at 0, nothing reflected or
/// inverted. The paper gives its width only. Over a micropacket it detects every error of one, two or three bits, of any
/// odd number of bits, and every burst of up to 12.
const CRC: Crc<u16> = Crc::<u16>::new(&CRC_12_DECT);

/// The data of a micropacket: 134 bits, right-aligned.
///
/// The paper has two flits of 68 bits in them, which are 136, and prints 134; with 34 bits of sideband that makes the
/// 168 bits that twelve lanes carry in 14 bit times, so 134 is what can be. The paper does not say which two bits are not sent; it does
/// not matter here: data are opaque.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data([u8; 17]);

impl Data {
    /// Data from 17 bytes; `None` if one of the two highest bits is set.
    pub fn new(bytes: [u8; 17]) -> Option<Self> {
        (bytes[0] < 1 << 6).then_some(Self(bytes))
    }

    /// The 134 bits in 17 bytes.
    pub fn bytes(&self) -> [u8; 17] {
        self.0
    }
}

/// Unit that travels over a link: data and sideband.
///
/// | bits, from the first | field |
/// |---|---|
/// | 1 | 1 if there are data (else idle) |
/// | 1 | `request` |
/// | 1 | `turn` |
/// | 1 | reserved, 0 |
/// | 9 | `sequence` |
/// | 9 | `acknowledged` |
/// | 134 | data, or 0 |
/// | 12 | CRC over all of these |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Micropacket {
    /// The number of the data; of idle micropackets the number that comes next.
    pub sequence: u16,
    /// The last request that its sender has followed.
    pub turn: bool,
    /// The data, if it is not idle.
    pub data: Option<Data>,
    /// The number of the last data that the sender of this one accepted in order.
    pub acknowledged: u16,
    /// If it changes, the data after that must be retransmitted.
    pub request: bool,
}

impl Micropacket {
    /// The bits on the wire.
    pub fn encode(&self) -> [u8; WIRE_BYTES] {
        let flags =
            u32::from(self.data.is_some()) << 3 | u32::from(self.request) << 2 | u32::from(self.turn) << 1;
        let numbers =
            u32::from(self.sequence & SEQUENCE_MASK) << 9 | u32::from(self.acknowledged & SEQUENCE_MASK);
        let data = self.data.unwrap_or_default().0;
        let head = (flags << 18 | numbers) << 6 | u32::from(data[0]);
        // 156 bits after four zeros, which change nothing for a CRC that starts at 0.
        let mut covered = [0; 20];
        covered[..4].copy_from_slice(&head.to_be_bytes());
        covered[4..].copy_from_slice(&data[1..]);
        let crc = CRC.checksum(&covered);
        let mut wire = [0; WIRE_BYTES];
        for (i, byte) in wire.iter_mut().take(19).enumerate() {
            *byte = covered[i] << 4 | covered[i + 1] >> 4;
        }
        wire[19] = covered[19] << 4 | (crc >> 8) as u8;
        wire[20] = crc as u8;
        wire
    }

    /// The micropacket of the bits on a wire; `None` if their CRC is wrong.
    pub fn decode(wire: &[u8; WIRE_BYTES]) -> Option<Self> {
        let mut covered = [0; 20];
        covered[0] = wire[0] >> 4;
        for (i, byte) in covered.iter_mut().enumerate().skip(1) {
            *byte = wire[i - 1] << 4 | wire[i] >> 4;
        }
        let crc = u16::from(wire[19] & 0xf) << 8 | u16::from(wire[20]);
        if CRC.checksum(&covered) != crc {
            return None;
        }
        let head = u32::from_be_bytes([covered[0], covered[1], covered[2], covered[3]]);
        let mut data = [0; 17];
        data[0] = (head & 0x3f) as u8;
        data[1..].copy_from_slice(&covered[4..]);
        let head = head >> 6;
        Some(Self {
            sequence: (head >> 9) as u16 & SEQUENCE_MASK,
            turn: head >> 19 & 1 == 1,
            data: (head >> 21 & 1 == 1).then_some(Data(data)),
            acknowledged: head as u16 & SEQUENCE_MASK,
            request: head >> 20 & 1 == 1,
        })
    }
}
