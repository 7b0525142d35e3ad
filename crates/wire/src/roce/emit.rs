//! Frames of RoCE v2 over IPv4, as a UDP socket of Linux sends them.

use std::net::Ipv4Addr;

use super::{ETHERTYPE_IPV4, Ipv4, PROTOCOL_UDP, UDP_PORT, Udp};
use crate::crc;
use crate::error::{WireError, need};
use crate::headers::Headers;
use crate::packet::{ICRC_LEN, emit_transport};
use crate::record::Record;

/// Bytes of a frame before BTH: Ethernet, IPv4 and UDP headers. What follows is the datagram that a socket sends and receives.
pub const FRAME_HEADERS: usize = ETHERNET + Ipv4::LEN + Udp::LEN;

const ETHERNET: usize = 14;

/// Flag of IPv4 headers: do not fragment.
const DONT_FRAGMENT: u16 = 0x4000;

/// Hops that a packet may make; no checksum covers them.
const HOP_LIMIT: u8 = 64;

/// Ends of a frame of RoCE v2 over IPv4. Both ports are [`UDP_PORT`], Ethernet addresses are 0 as on a loopback interface.
///
/// ICRC covers all but type of service, hops and checksums of the IPv4 and UDP headers, which a socket does not choose. A socket of Linux
/// that is not connected sends datagrams without options, with the flag "do not fragment", and with identification 0 if it never fragments
/// (`IP_MTU_DISCOVER` = `IP_PMTUDISC_DO`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Frame {
    /// Source.
    pub source: Ipv4Addr,
    /// Destination.
    pub destination: Ipv4Addr,
}

impl Ipv4Frame {
    /// Writes a frame with its ICRC to the start of `buffer` and returns its length; the datagram begins at [`FRAME_HEADERS`]. Fails if the
    /// buffer is smaller, the packet is longer than UDP can express, or the extensions are not those of the opcode.
    pub fn emit(&self, transport: &Headers, payload: &[u8], buffer: &mut [u8]) -> Result<usize, WireError> {
        need("RoCE frame", FRAME_HEADERS, buffer.len())?;
        let content = emit_transport(transport, payload, &mut buffer[FRAME_HEADERS..])?;
        let (at, len) = (FRAME_HEADERS + content, FRAME_HEADERS + content + ICRC_LEN);
        need("RoCE frame", len, buffer.len())?;
        self.write_headers(content + ICRC_LEN, buffer)?;
        let (ip, udp) = buffer[ETHERNET..at].split_at(Ipv4::LEN);
        let icrc = crc::icrc_roce_v2(ip, udp).unwrap_or_default();
        buffer[at..len].copy_from_slice(&icrc.to_be_bytes());
        Ok(len)
    }

    /// Writes the headers of a frame around a datagram of `length` bytes, which has been received to `buffer` from [`FRAME_HEADERS`] on. Then
    /// [`super::RoceView`] reads the frame as one of a capture.
    pub fn write_headers(&self, length: usize, buffer: &mut [u8]) -> Result<(), WireError> {
        need("RoCE frame", FRAME_HEADERS, buffer.len())?;
        let (udp_length, ip_length) = (Udp::LEN + length, Ipv4::LEN + Udp::LEN + length);
        let Ok(total_length) = u16::try_from(ip_length) else {
            return Err(WireError::Value {
                what: "IPv4 total length",
                value: ip_length as u64,
                allowed: "0 to 65535",
            });
        };
        buffer[..12].fill(0);
        buffer[12..ETHERNET].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
        let ip = Ipv4 {
            version: 4,
            header_words: (Ipv4::LEN / 4) as u8,
            traffic_class: 0,
            total_length,
            identification: 0,
            fragment: DONT_FRAGMENT,
            hop_limit: HOP_LIMIT,
            protocol: PROTOCOL_UDP,
            checksum: 0,
            source: self.source.into(),
            destination: self.destination.into(),
        };
        ip.emit(&mut buffer[ETHERNET..])?;
        let checksum = internet_checksum(&buffer[ETHERNET..ETHERNET + Ipv4::LEN]);
        Ipv4 { checksum, ..ip }.emit(&mut buffer[ETHERNET..])?;
        let (source_port, destination_port) = (UDP_PORT, UDP_PORT);
        let udp = Udp { source_port, destination_port, length: udp_length as u16, checksum: 0 };
        udp.emit(&mut buffer[ETHERNET + Ipv4::LEN..])
    }
}

/// Checksum of an IPv4 header whose checksum is 0 (RFC 791).
fn internet_checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::{Bth, Opcode};
    use crate::ids::Qpn;
    use crate::roce::{Network, RoceView};

    const FRAME: Ipv4Frame =
        Ipv4Frame { source: Ipv4Addr::LOCALHOST, destination: Ipv4Addr::new(127, 9, 8, 7) };

    fn headers() -> Headers {
        let bth = Bth { opcode: Opcode(0x04), dest_qp: Qpn(17), ..Bth::default() };
        Headers { bth, ..Headers::default() }
    }

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        for payload in [&b""[..], b"1", b"12345678"] {
            let mut buffer = [0xaa; 200];
            let len = FRAME.emit(&headers(), payload, &mut buffer).unwrap();
            let view = RoceView::new(&buffer[..len]).unwrap().unwrap();
            assert!(view.icrc.is_right());
            assert_eq!(view.transport().unwrap(), (headers(), payload));
            let Network::V2Ipv4(ip, udp) = view.network else { panic!("{:?}", view.network) };
            assert_eq!((usize::from(ip.total_length), usize::from(udp.length)), (len - 14, len - 34));
            assert_eq!(
                (ip.identification, ip.fragment),
                (0, 0x4000),
                "as Linux sends them, and ICRC covers them"
            );
            // The sum over a header with its checksum is 0.
            assert_eq!(internet_checksum(&buffer[14..34]), 0);
            // What a socket received is read in the same way.
            let mut received = [0; 200];
            received[FRAME_HEADERS..len].copy_from_slice(&buffer[FRAME_HEADERS..len]);
            FRAME.write_headers(len - FRAME_HEADERS, &mut received).unwrap();
            assert_eq!(received[..len], buffer[..len]);
            assert!(FRAME.emit(&headers(), payload, &mut buffer[..len - 1]).is_err());
        }
    }

    /// The example of RFC 1071, section 3, and a header from <https://en.wikipedia.org/wiki/Internet_checksum>.
    #[test]
    fn checksums_are_those_of_published_examples() {
        assert_eq!(internet_checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0xc0, 0xa8, 0x00, 0x01,
            0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(internet_checksum(&header), 0xb861);
    }

    #[test]
    fn a_packet_that_udp_cannot_express_is_refused() {
        let error = FRAME.write_headers(65535, &mut [0; 100]).unwrap_err();
        assert_eq!(error.to_string(), "IPv4 total length = 65563: must be 0 to 65535");
    }
}
