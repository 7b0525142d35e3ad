//! The packets of a capture file as values: headers, datagrams and whether checksums are right.

mod mad;
mod packet;

use serde::{Serialize, Serializer};

pub use mad::{ClassHeader, MadRecord};
pub use packet::{BthRecord, DissectedPacket, ExtensionsRecord, FIRST_BYTES, FcpRecord};

use crate::capture::{self, Capture, CaptureError, Captured, ErfRecord, ErfType, LinkType};
use crate::packet::Checksum;

/// Format in which a record has its packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Encapsulation {
    /// InfiniBand, from LRH to VCRC.
    Infiniband,
    /// A flow-control packet of InfiniBand.
    FlowControl,
    /// RoCE v1.
    RoceV1,
    /// RoCE v2.
    RoceV2,
    /// No packet of InfiniBand or RoCE.
    #[default]
    Other,
}

/// A checksum in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ChecksumRecord {
    /// The checksum in the packet, most significant digit first on the wire, for example `0x9625b75a`.
    #[serde(serialize_with = "as_hex")]
    pub value: Hex,
    /// True if it is right.
    pub ok: bool,
    /// The checksum that the packet should have.
    #[serde(serialize_with = "as_hex")]
    pub computed: Hex,
}

/// A number with its number of hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hex {
    /// The number.
    pub number: u32,
    /// Its digits.
    pub digits: usize,
}

fn as_hex<S: Serializer>(hex: &Hex, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("0x{:0digits$x}", hex.number, digits = hex.digits))
}

impl From<Checksum<u32>> for ChecksumRecord {
    fn from(checksum: Checksum<u32>) -> Self {
        let hex = |number| Hex { number, digits: 8 };
        Self { value: hex(checksum.found), ok: checksum.is_right(), computed: hex(checksum.computed) }
    }
}

impl From<Checksum<u16>> for ChecksumRecord {
    fn from(checksum: Checksum<u16>) -> Self {
        let hex = |number: u16| Hex { number: number.into(), digits: 4 };
        Self { value: hex(checksum.found), ok: checksum.is_right(), computed: hex(checksum.computed) }
    }
}

/// A record of a capture file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dissection {
    /// Number of the record, from 1.
    pub number: usize,
    /// Time since 1970 in nanoseconds.
    pub time_ns: u64,
    /// Name of the interface, if the file has one.
    pub interface: Option<String>,
    /// Comment, if the file has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// True if the tap found an error in the packet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub receive_error: bool,
    /// The packet.
    #[serde(flatten)]
    pub packet: DissectedPacket,
}

/// Dissects a capture file. Errors name `file` and the record. A packet that is malformed is no error: its record says
/// what is wrong.
pub fn dissect(bytes: &[u8], file: &str) -> Result<Vec<Dissection>, CaptureError> {
    let capture = capture::read(bytes, file)?;
    Ok(records(&capture).collect())
}

/// The records of a capture, dissected one after the other as they are requested.
pub fn records<'a>(capture: &'a Capture<'_>) -> impl ExactSizeIterator<Item = Dissection> + 'a {
    capture.records.iter().enumerate().map(|(index, captured)| {
        let interface = &capture.interfaces[captured.interface];
        let (packet, receive_error) = content(captured, interface.link);
        Dissection {
            number: index + 1,
            time_ns: captured.time_ns,
            interface: interface.name.clone(),
            comment: captured.comment.clone(),
            receive_error,
            packet,
        }
    })
}

/// The packet of a record, and whether it was received with an error.
fn content(captured: &Captured<'_>, link: LinkType) -> (DissectedPacket, bool) {
    let data = captured.data;
    match link {
        LinkType::INFINIBAND => (DissectedPacket::infiniband(data), false),
        LinkType::ETHERNET => (DissectedPacket::ethernet(data), false),
        LinkType::ERF => match ErfRecord::parse(data) {
            Ok((record, _)) => (erf(&record), record.is_error),
            Err(problem) => (DissectedPacket::malformed(format!("ERF record: {problem}")), false),
        },
        LinkType(other) => {
            let text = format!("link type {other}: must be 1 (Ethernet), 197 (ERF) or 247 (InfiniBand)");
            (DissectedPacket::malformed(text), false)
        }
    }
}

fn erf(record: &ErfRecord<'_>) -> DissectedPacket {
    match record.kind {
        ErfType::Infiniband => DissectedPacket::infiniband(record.content),
        ErfType::InfinibandLink => DissectedPacket::flow_control(record.content),
        ErfType::Ethernet => DissectedPacket::ethernet(record.content.get(2..).unwrap_or_default()),
        ErfType::Other(other) => {
            let text =
                format!("ERF type {other}: must be 2 (Ethernet), 21 (InfiniBand) or 25 (InfiniBand link)");
            DissectedPacket::malformed(text)
        }
    }
}
