//! InfiniBand's transport in Ethernet frames: RoCE v1 (annex A16) and v2 (annex A17).

mod emit;

pub use emit::{FRAME_HEADERS, Ipv4Frame};

use serde::Serialize;

use crate::crc;
use crate::error::{WireError, need};
use crate::headers::{Grh, GrhView, Headers};
use crate::ids::Gid;
use crate::packet::{Checksum, ICRC_LEN, check_grh, parse_transport};
use crate::record::{Record, record};

/// Ethertype of RoCE v1.
pub const ETHERTYPE_ROCE: u16 = 0x8915;
/// UDP destination port of RoCE v2.
pub const UDP_PORT: u16 = 4791;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// Tags of virtual LANs, customer and service.
const ETHERTYPES_VLAN: [u16; 2] = [0x8100, 0x88a8];
const PROTOCOL_UDP: u8 = 17;
/// Tags of a frame that are read at most.
const MAX_TAGS: usize = 4;

record! {
    /// The fields of an IPv4 header that RoCE needs (RFC 791).
    Ipv4, Ipv4View, 20 {
        /// IP version.
        version: u8 = 0:0, 4;
        /// Length of the header in words of 4 bytes.
        header_words: u8 = 0:4, 4;
        /// Type of service: DSCP and ECN.
        traffic_class: u8 = 1:0, 8;
        /// Length with header in bytes.
        total_length: u16 = 2:0, 16;
        /// Identification.
        identification: u16 = 4:0, 16;
        /// Flags and fragment offset.
        fragment: u16 = 6:0, 16;
        /// Time to live.
        hop_limit: u8 = 8:0, 8;
        /// Protocol of the payload.
        protocol: u8 = 9:0, 8;
        /// Checksum of the header.
        checksum: u16 = 10:0, 16;
        /// Source.
        source: u32 = 12:0, 32;
        /// Destination.
        destination: u32 = 16:0, 32;
    }
}

record! {
    /// UDP header (RFC 768).
    Udp, UdpView, 8 {
        /// Source port; chosen per flow to spread flows over paths.
        source_port: u16 = 0:0, 16;
        /// Destination port: [`UDP_PORT`].
        destination_port: u16 = 2:0, 16;
        /// Length with header in bytes.
        length: u16 = 4:0, 16;
        /// Checksum; 0 for none.
        checksum: u16 = 6:0, 16;
    }
}

/// Ethernet header without the preamble.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ethernet {
    /// Destination, as hexadecimal digits.
    pub destination: String,
    /// Source, as hexadecimal digits.
    pub source: String,
    /// Tags of virtual LANs, outermost first: priority, drop eligibility and identifier.
    pub vlans: Vec<u16>,
    /// Protocol of the payload.
    pub ethertype: u16,
}

/// Network header of a RoCE packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// RoCE v1.
    V1(Grh),
    /// RoCE v2 over IPv4.
    V2Ipv4(Ipv4, Udp),
    /// RoCE v2 over IPv6, whose header has the format of GRH.
    V2Ipv6(Grh, Udp),
}

impl Network {
    /// Source and destination. IPv4 addresses are mapped to IPv6, as GIDs of RoCE are.
    pub fn gids(&self) -> (Gid, Gid) {
        let mapped = |address: u32| Gid::from(0xffff_0000_0000 | u128::from(address));
        match self {
            Self::V1(grh) | Self::V2Ipv6(grh, _) => (grh.sgid, grh.dgid),
            Self::V2Ipv4(ip, _) => (mapped(ip.source), mapped(ip.destination)),
        }
    }
}

/// View of a RoCE packet in an Ethernet frame.
#[derive(Clone, Debug)]
pub struct RoceView<'a> {
    /// Ethernet header.
    pub ethernet: Ethernet,
    /// Network header.
    pub network: Network,
    /// Invariant checksum.
    pub icrc: Checksum<u32>,
    /// From BTH to the last byte of padding.
    content: &'a [u8],
}

impl<'a> RoceView<'a> {
    /// Views an Ethernet frame without its check sequence; `None` if it is not RoCE. Fails if it is RoCE and a length is
    /// not that of the frame, or a header is cut.
    pub fn new(frame: &'a [u8]) -> Result<Option<Self>, WireError> {
        let Some((ethernet, payload)) = ethernet(frame) else { return Ok(None) };
        let found = match ethernet.ethertype {
            ETHERTYPE_ROCE => Some(v1(payload)?),
            ETHERTYPE_IPV4 => v2_ipv4(payload)?,
            ETHERTYPE_IPV6 => v2_ipv6(payload)?,
            _ => None,
        };
        Ok(found.map(|(network, icrc, content)| Self { ethernet, network, icrc, content }))
    }

    /// Transport headers and payload without padding.
    pub fn transport(&self) -> Result<(Headers, &'a [u8]), WireError> {
        parse_transport(self.content)
    }
}

/// Header and payload of a frame; `None` if it is cut or has more than four tags.
pub fn ethernet(frame: &[u8]) -> Option<(Ethernet, &[u8])> {
    let (addresses, mut rest) = frame.split_at_checked(12)?;
    let hex = crate::field::hex;
    let (destination, source) = (hex(&addresses[..6]), hex(&addresses[6..]));
    let mut vlans = Vec::new();
    loop {
        let (ethertype, after) = rest.split_first_chunk::<2>()?;
        let ethertype = u16::from_be_bytes(*ethertype);
        rest = after;
        if !ETHERTYPES_VLAN.contains(&ethertype) {
            return Some((Ethernet { destination, source, vlans, ethertype }, rest));
        }
        let (tag, after) = rest.split_first_chunk::<2>()?;
        vlans.push(u16::from_be_bytes(*tag));
        rest = after;
        if vlans.len() > MAX_TAGS {
            return None;
        }
    }
}

type Found<'a> = (Network, Checksum<u32>, &'a [u8]);

/// The content before ICRC, and ICRC.
fn split_icrc(bytes: &[u8]) -> Result<(&[u8], u32), WireError> {
    let (covered, icrc) = bytes.split_last_chunk::<ICRC_LEN>().ok_or(WireError::Truncated {
        what: "ICRC",
        need: ICRC_LEN,
        have: bytes.len(),
    })?;
    Ok((covered, u32::from_be_bytes(*icrc)))
}

/// The first `stated` bytes. Frames are filled to 60 bytes, so there may be more.
fn cut<'a>(what: &'static str, bytes: &'a [u8], stated: usize) -> Result<&'a [u8], WireError> {
    bytes.get(..stated).ok_or(WireError::Length { what, stated, have: bytes.len() })
}

fn computed(
    found: u32,
    computed: Option<u32>,
    what: &'static str,
    have: usize,
) -> Result<Checksum<u32>, WireError> {
    let computed = computed.ok_or(WireError::Truncated { what, need: 12, have })?;
    Ok(Checksum { found, computed })
}

fn v1(bytes: &[u8]) -> Result<Found<'_>, WireError> {
    let grh = check_grh(GrhView::new(bytes)?)?;
    let bytes = cut("GRH.PayLen with GRH", bytes, Grh::LEN + usize::from(grh.payload_length))?;
    let (covered, found) = split_icrc(bytes)?;
    need("GRH.PayLen", Grh::LEN, covered.len())?;
    let icrc = computed(found, crc::icrc_roce_v1(covered), "BTH", covered.len() - Grh::LEN)?;
    Ok((Network::V1(grh), icrc, &covered[Grh::LEN..]))
}

fn v2_ipv4(bytes: &[u8]) -> Result<Option<Found<'_>>, WireError> {
    let Ok(ip) = Ipv4::parse(bytes) else { return Ok(None) };
    // Neither UDP nor a whole packet: more fragments, or an offset.
    if ip.version != 4 || ip.protocol != PROTOCOL_UDP || ip.fragment & 0x3fff != 0 {
        return Ok(None);
    }
    let header = usize::from(ip.header_words) * 4;
    let (Some(ip_bytes), Some(payload)) = (bytes.get(..header), bytes.get(header..)) else { return Ok(None) };
    if header < Ipv4::LEN || !is_roce(payload) {
        return Ok(None);
    }
    let payload = cut("IPv4 total length", payload, usize::from(ip.total_length).saturating_sub(header))?;
    udp(ip_bytes, payload, |udp| Network::V2Ipv4(ip, udp)).map(Some)
}

fn v2_ipv6(bytes: &[u8]) -> Result<Option<Found<'_>>, WireError> {
    let Ok(view) = GrhView::new(bytes) else { return Ok(None) };
    let ip = view.meaning();
    let (header, payload) = bytes.split_at(Grh::LEN);
    if view.version() != 6 || ip.next_header != PROTOCOL_UDP || !is_roce(payload) {
        return Ok(None);
    }
    let payload = cut("IPv6 payload length", payload, usize::from(ip.payload_length))?;
    udp(header, payload, |udp| Network::V2Ipv6(ip, udp)).map(Some)
}

/// True for a UDP datagram to the port of RoCE v2.
fn is_roce(payload: &[u8]) -> bool {
    UdpView::new(payload).is_ok_and(|udp| udp.destination_port() == UDP_PORT)
}

fn udp<'a>(ip: &[u8], bytes: &'a [u8], network: impl FnOnce(Udp) -> Network) -> Result<Found<'a>, WireError> {
    let udp = Udp::parse(bytes)?;
    let bytes = cut("UDP length", bytes, usize::from(udp.length))?;
    let (covered, found) = split_icrc(bytes)?;
    need("UDP length", Udp::LEN, covered.len())?;
    let icrc = computed(found, crc::icrc_roce_v2(ip, covered), "BTH", covered.len() - Udp::LEN)?;
    Ok((network(udp), icrc, &covered[Udp::LEN..]))
}
