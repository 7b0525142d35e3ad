//! Capture files of libpcap (draft-ietf-opsawg-pcap).

use super::bytes::{Order, split};
use super::{Capture, CaptureProblem, Captured, Interface, LinkType, Located};

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// Byte order and unit of time, which the first four bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    order: Order,
    /// Nanoseconds in a unit of time.
    unit: u64,
}

impl Format {
    /// The format that the first four bytes say, read as a big-endian number.
    pub(super) fn of(magic: u32) -> Option<Self> {
        let (order, unit) = match magic {
            0xa1b2_c3d4 => (Order::Big, 1000),
            0xd4c3_b2a1 => (Order::Little, 1000),
            0xa1b2_3c4d => (Order::Big, 1),
            0x4d3c_b2a1 => (Order::Little, 1),
            _ => return None,
        };
        Some(Self { order, unit })
    }
}

/// Reads a file.
pub(super) fn read(bytes: &[u8]) -> Result<Capture<'_>, Located> {
    let in_file = |problem| (None, problem);
    let (header, mut rest) = split(bytes, FILE_HEADER).map_err(in_file)?;
    let magic = Order::Big.u32(header, 0);
    let Format { order, unit } = Format::of(magic).ok_or((None, CaptureProblem::Format))?;
    let major = order.u16(header, 4);
    if major != 2 {
        let value = major.into();
        return Err((None, CaptureProblem::Value { what: "version of pcap", value, allowed: "2" }));
    }
    // The upper half says whether frames have a check sequence.
    let link = LinkType(order.u32(header, 20) as u16);
    let mut capture = Capture { interfaces: vec![Interface { name: None, link }], ..Capture::default() };
    while !rest.is_empty() {
        let number = capture.records.len() + 1;
        let located = |problem| (Some(number), problem);
        let (header, after) = split(rest, RECORD_HEADER).map_err(located)?;
        let captured = order.u32(header, 8) as usize;
        let (data, after) = after.split_at_checked(captured).ok_or_else(|| {
            located(CaptureProblem::Truncated {
                need: RECORD_HEADER.saturating_add(captured),
                have: rest.len(),
            })
        })?;
        let (seconds, fraction) = (u64::from(order.u32(header, 0)), u64::from(order.u32(header, 4)));
        let time_ns = seconds * 1_000_000_000 + fraction * unit;
        let original_len = order.u32(header, 12) as usize;
        capture.records.push(Captured { time_ns, interface: 0, data, original_len, comment: None });
        rest = after;
    }
    Ok(capture)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(order: Order, magic: u32) -> Vec<u8> {
        let words = [magic, 0x0002_0004, 0, 0, 65535, 197, 7, 9, 3, 100];
        let mut bytes: Vec<u8> = match order {
            Order::Big => words.iter().flat_map(|word| word.to_be_bytes()).collect(),
            Order::Little => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        };
        if order == Order::Little {
            bytes[4..8].copy_from_slice(&[2, 0, 4, 0]);
        }
        bytes.extend_from_slice(b"abc");
        bytes
    }

    #[test]
    fn both_byte_orders_and_both_units() {
        for (order, magic, time_ns) in [
            (Order::Big, 0xa1b2_c3d4, 7_000_009_000),
            (Order::Little, 0xa1b2_c3d4, 7_000_009_000),
            (Order::Big, 0xa1b2_3c4d, 7_000_000_009),
            (Order::Little, 0xa1b2_3c4d, 7_000_000_009),
        ] {
            let bytes = file(order, magic);
            let capture = super::super::read(&bytes, "f").unwrap();
            assert_eq!(capture.interfaces, [Interface { name: None, link: LinkType::ERF }]);
            let record = &capture.records[0];
            assert_eq!((record.time_ns, record.data, record.original_len), (time_ns, &b"abc"[..], 100));
        }
    }

    #[test]
    fn errors_name_file_and_record() {
        let mut bytes = file(Order::Big, 0xa1b2_c3d4);
        bytes.extend_from_slice(&[0; 5]);
        let error = super::super::read(&bytes, "f.pcap").unwrap_err();
        assert_eq!(error.to_string(), "f.pcap: record 2: ends after 5 of 16 bytes");
        let error = super::super::read(&bytes[..42], "f.pcap").unwrap_err();
        assert_eq!(error.to_string(), "f.pcap: record 1: ends after 18 of 19 bytes");
        bytes[5] = 3;
        let error = super::super::read(&bytes, "f.pcap").unwrap_err();
        assert_eq!(error.to_string(), "f.pcap: version of pcap = 3: must be 2");
        let error = super::super::read(b"GIF89a, not a capture file", "f.gif").unwrap_err();
        assert_eq!(error.to_string(), "f.gif: not a capture file: must be pcap, pcapng or ERF");
    }
}
