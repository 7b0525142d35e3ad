//! Checksums of packets.
//!
//! A checksum is given as a number whose most significant byte is the first one on the wire, as the specification and
//! Wireshark print it.

use crc::{Algorithm, CRC_32_ISO_HDLC, Crc, Digest, Table};

use crate::headers::NextHeader;
use crate::zeros;

/// ICRC is Ethernet's CRC-32 (section 7.8.1).
static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);

/// x^16 + x^12 + x^3 + x + 1, least significant bit first (section 7.8.2).
const LINK: Algorithm<u16> = Algorithm {
    width: 16,
    poly: 0x100b,
    init: 0xffff,
    refin: true,
    refout: true,
    xorout: 0xffff,
    check: 0x0a3d,
    residue: 0,
};
static CRC16: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&LINK);

const LRH: usize = 8;
const GRH: usize = 40;
/// Byte of BTH with FECN, BECN and six reserved bits.
const BTH_MARKS: usize = 4;

/// Invariant checksum over `bytes`, from LRH to the last byte of padding: end to end, so fields that switches and routers
/// change count as ones (section 7.8.1). Returns `None` for a raw packet, which has no ICRC, and if the headers are not
/// complete.
pub fn icrc(bytes: &[u8]) -> Option<u32> {
    let &[first, second, ..] = bytes.first_chunk::<LRH>()?;
    let mut crc = CRC32.digest();
    match second & 3 {
        next if next == NextHeader::Local as u8 => {
            crc.update(&[first | 0xf0]);
            crc.update(bytes.get(1..LRH)?);
            transport(crc, bytes.get(LRH..)?)
        }
        next if next == NextHeader::Global as u8 => {
            crc.update(&[0xff; LRH]);
            global(crc, bytes.get(LRH..)?)
        }
        _ => None,
    }
}

/// [`icrc`] and [`vcrc`] of a packet with LRH and BTH whose `bytes` are followed by `words` words of 4 zero bytes and ICRC; at most
/// 2047. `None` as [`icrc`].
pub(crate) fn before_zeros(bytes: &[u8], words: usize) -> Option<(u32, u16)> {
    // ICRC's state without its last step, which inverts it.
    let state = !icrc(bytes)?.swap_bytes();
    let icrc = (!zeros::crc32_after(state, words)).swap_bytes();
    let state = zeros::crc16_after(!CRC16.checksum(bytes), words);
    let mut vcrc = CRC16.digest_with_initial(state.reverse_bits());
    vcrc.update(&icrc.to_be_bytes());
    Some((icrc, vcrc.finalize().swap_bytes()))
}

/// Invariant checksum of RoCE v1 over `bytes`, from GRH to the last byte of padding (annex A16).
pub fn icrc_roce_v1(bytes: &[u8]) -> Option<u32> {
    let mut crc = CRC32.digest();
    crc.update(&[0xff; LRH]);
    global(crc, bytes)
}

/// Invariant checksum of RoCE v2 (annex A17). `ip` is the IPv4 or IPv6 header, `udp` its payload from the UDP header to
/// the last byte of padding.
pub fn icrc_roce_v2(ip: &[u8], udp: &[u8]) -> Option<u32> {
    let mut crc = CRC32.digest();
    crc.update(&[0xff; LRH]);
    match ip.first()? >> 4 {
        4 => {
            // Type of service, time to live, header checksum.
            let mut header = *ip.first_chunk::<20>()?;
            for at in [1, 8, 10, 11] {
                header[at] = 0xff;
            }
            crc.update(&header);
            crc.update(&ip[20..]);
        }
        6 => {
            crc.update(&masked_route(ip.first_chunk::<GRH>()?));
            crc.update(&ip[GRH..]);
        }
        _ => return None,
    }
    let mut header = *udp.first_chunk::<8>()?;
    header[6..].fill(0xff);
    crc.update(&header);
    transport(crc, &udp[8..])
}

/// Traffic class, flow label and hop limit as ones.
fn masked_route(header: &[u8; GRH]) -> [u8; GRH] {
    let mut header = *header;
    header[0] |= 0x0f;
    header[1..4].fill(0xff);
    header[7] = 0xff;
    header
}

fn global(mut crc: Digest<'_, u32, Table<16>>, bytes: &[u8]) -> Option<u32> {
    crc.update(&masked_route(bytes.first_chunk::<GRH>()?));
    transport(crc, &bytes[GRH..])
}

/// Adds BTH and all after it.
fn transport(mut crc: Digest<'_, u32, Table<16>>, bytes: &[u8]) -> Option<u32> {
    let (before, after) = (bytes.get(..BTH_MARKS)?, bytes.get(BTH_MARKS + 1..)?);
    crc.update(before);
    crc.update(&[0xff]);
    crc.update(after);
    // Wire order: least significant byte first.
    Some(crc.finalize().swap_bytes())
}

/// Variant checksum over `bytes`, from LRH to the last byte before VCRC: link by link (section 7.8.2).
pub fn vcrc(bytes: &[u8]) -> u16 {
    CRC16.checksum(bytes).swap_bytes()
}

/// Link packet checksum over the first four bytes of a flow-control packet (section 7.9.4). The specification says that it
/// is computed as VCRC is; no packet with a known LPCRC is published.
pub fn lpcrc(bytes: [u8; 4]) -> u16 {
    vcrc(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values_of_both_polynomials() {
        assert_eq!(vcrc(b"123456789").swap_bytes(), LINK.check);
        assert_eq!(CRC32.checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn link_packets_have_the_checksum_of_links() {
        assert_eq!(lpcrc([0x10, 0, 0, 0x80]), 0x50d5);
        assert_eq!(lpcrc([0x00, 0x21, 0x00, 0xa1]), 0x1a7c);
        assert_eq!(lpcrc([0x0f, 0xff, 0x37, 0xff]), 0x8b2c);
    }

    #[test]
    fn headers_that_are_cut_have_no_icrc() {
        let packet = [0x00, 0x02, 0, 4, 0, 7, 0, 1, 0x11, 0x40, 0xff, 0xff, 0];
        assert_eq!(icrc(&packet[..12]), None);
        assert!(icrc(&packet).is_some());
        assert_eq!(icrc(&[0; 64]), None);
        assert_eq!(icrc_roce_v2(&[0x45; 19], &[0; 64]), None);
        assert_eq!(icrc_roce_v2(&[0x65; 40], &[0; 7]), None);
        assert_eq!(icrc_roce_v1(&[0x60; 39]), None);
    }
}
