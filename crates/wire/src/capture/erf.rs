//! Records of Endace's format (ERF types reference guide).

use super::bytes::{Order, split};
use super::{Capture, CaptureProblem, Captured, Interface, LinkType, Located};

/// Kind of a record's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErfType {
    /// A packet, from LRH to VCRC (type 21).
    Infiniband,
    /// A flow-control packet (type 25).
    InfinibandLink,
    /// An Ethernet frame, after two bytes of padding (type 2).
    Ethernet,
    /// Any other type.
    Other(u8),
}

impl From<u8> for ErfType {
    fn from(code: u8) -> Self {
        match code & 0x7f {
            21 => Self::Infiniband,
            25 => Self::InfinibandLink,
            2 => Self::Ethernet,
            other => Self::Other(other),
        }
    }
}

impl From<ErfType> for u8 {
    fn from(kind: ErfType) -> Self {
        match kind {
            ErfType::Infiniband => 21,
            ErfType::InfinibandLink => 25,
            ErfType::Ethernet => 2,
            ErfType::Other(other) => other,
        }
    }
}

/// Length of the header in bytes.
pub(super) const HEADER: usize = 16;
/// Bit of the type: an extension header follows.
const MORE: u8 = 0x80;
/// Bit of the flags: the record was received with an error.
const RX_ERROR: u8 = 0x10;
/// Bit of the flags: records have different lengths.
const VARYING_LENGTH: u8 = 0x04;
/// Flow-control packets are filled with zeros to this length: Wireshark 4.0 reads them as if they had an LRH, too, and
/// takes shorter ones for malformed.
pub(super) const FLOW_CONTROL_LEN: usize = 48;

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErfRecord<'a> {
    /// Time since 1970 in units of 2^-32 s.
    pub time: u64,
    /// Kind of the content.
    pub kind: ErfType,
    /// True if the tap found an error in the packet.
    pub is_error: bool,
    /// Length on the wire in bytes.
    pub wire_len: usize,
    /// Captured bytes.
    pub content: &'a [u8],
}

impl<'a> ErfRecord<'a> {
    /// Reads the record at the start of `bytes`, and returns the bytes after it.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), CaptureProblem> {
        let (header, _) = split(bytes, HEADER)?;
        let record_len = usize::from(Order::Big.u16(header, 10));
        if record_len < HEADER {
            let allowed = "at least 16";
            return Err(CaptureProblem::Value {
                what: "ERF record length",
                value: record_len as u64,
                allowed,
            });
        }
        let (record, rest) = split(bytes, record_len)?;
        let wire_len = usize::from(Order::Big.u16(header, 14));
        let mut content = &record[HEADER..];
        let mut more = header[8] & MORE != 0;
        while more {
            let (extension, after) = split(content, 8)?;
            (more, content) = (extension[0] & MORE != 0, after);
        }
        let content = content.get(..wire_len).unwrap_or(content);
        let (time, is_error) = (Order::Little.u64(header, 0), header[9] & RX_ERROR != 0);
        Ok((Self { time, kind: header[8].into(), is_error, wire_len, content }, rest))
    }

    /// The time in nanoseconds since 1970.
    pub fn time_ns(&self) -> u64 {
        ((u128::from(self.time) * 1_000_000_000) >> 32) as u64
    }
}

/// Adds a record with `content` to `bytes`. `len` is its length on the wire. A flow-control packet is filled with zeros to
/// it; of other packets the rest counts as not captured.
pub(super) fn emit(
    bytes: &mut Vec<u8>,
    (time_ns, is_error): (u64, bool),
    kind: ErfType,
    content: &[u8],
    len: usize,
) {
    // Rounded up, so that the time is the same when it is read.
    let time = (u128::from(time_ns) << 32).div_ceil(1_000_000_000) as u64;
    let flags = VARYING_LENGTH | if is_error { RX_ERROR } else { 0 };
    let fill = if kind == ErfType::InfinibandLink { len.saturating_sub(content.len()) } else { 0 };
    bytes.extend_from_slice(&time.to_le_bytes());
    bytes.extend_from_slice(&[kind.into(), flags]);
    bytes.extend_from_slice(&((HEADER + content.len() + fill) as u16).to_be_bytes());
    bytes.extend_from_slice(&[0; 2]);
    bytes.extend_from_slice(&(len as u16).to_be_bytes());
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len() + fill, 0);
}

/// Reads a file of records without a header. Its records are kept whole, as in a pcap file of link type ERF.
pub(super) fn read(bytes: &[u8]) -> Result<Capture<'_>, Located> {
    let mut capture =
        Capture { interfaces: vec![Interface { name: None, link: LinkType::ERF }], ..Capture::default() };
    let mut rest = bytes;
    while !rest.is_empty() {
        let number = capture.records.len() + 1;
        let (record, after) = match ErfRecord::parse(rest) {
            Ok((ErfRecord { kind: ErfType::Other(_), .. }, _)) if number == 1 => {
                return Err((None, CaptureProblem::Format));
            }
            Ok(parsed) => parsed,
            // The bytes are those of no format at all if not even one record can be read.
            Err(_) if number == 1 => return Err((None, CaptureProblem::Format)),
            Err(problem) => return Err((Some(number), problem)),
        };
        let data = &rest[..rest.len() - after.len()];
        let (time_ns, original_len) = (record.time_ns(), data.len() - record.content.len() + record.wire_len);
        capture.records.push(Captured { time_ns, interface: 0, data, original_len, comment: None });
        rest = after;
    }
    Ok(capture)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn extension_headers_are_skipped() {
        let mut bytes = Vec::new();
        emit(&mut bytes, (5, true), ErfType::Infiniband, &[1, 2, 3], 3);
        bytes[8] |= MORE;
        bytes[11] += 16;
        bytes.splice(16..16, [[0x80_u8, 0, 0, 0, 0, 0, 0, 0], [0; 8]].concat());
        let (record, rest) = ErfRecord::parse(&bytes).unwrap();
        assert_eq!(
            (record.content, record.kind, record.is_error),
            (&[1, 2, 3][..], ErfType::Infiniband, true)
        );
        assert!(rest.is_empty());
        assert_eq!(ErfRecord::parse(&bytes[..30]), Err(CaptureProblem::Truncated { need: 35, have: 30 }));
    }

    proptest! {
        #[test]
        fn times_are_kept_to_the_nanosecond(time_ns in 0..4_000_000_000_000_000_000_u64) {
            let mut bytes = Vec::new();
            emit(&mut bytes, (time_ns, false), ErfType::InfinibandLink, &[9], FLOW_CONTROL_LEN);
            let (record, _) = ErfRecord::parse(&bytes).unwrap();
            prop_assert_eq!((record.time_ns(), record.content.len()), (time_ns, 48));
        }
    }
}
