//! Capture files for Wireshark.

use std::io::{self, Write};

use super::LinkType;
use super::erf::{self, ErfType, FLOW_CONTROL_LEN};
use super::pcapng::{BYTE_ORDER, COMMENT, ENHANCED_PACKET, IF_NAME, IF_TSRESOL, INTERFACE, MAGIC};

/// Packets that an interface has. Flow-control packets have an interface of their own, since their records are of another
/// type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterfaceKind {
    /// Packets, from LRH to VCRC.
    Data,
    /// Flow-control packets.
    FlowControl,
}

/// An interface of a [`Writer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceId(u32);

/// A record for a [`Writer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingRecord<'a> {
    /// Time in nanoseconds after 1970.
    pub time_ns: u64,
    /// Captured bytes: all of the packet, or its start.
    pub bytes: &'a [u8],
    /// Length of the whole packet in bytes. Wireshark shows it as the frame's length.
    pub packet_len: usize,
    /// Bytes that the packet occupied on its link. The original length of the block states them; Wireshark does not show it.
    pub link_len: usize,
    /// True for a packet that was received with an error.
    pub is_error: bool,
    /// Text for the reader.
    pub comment: Option<&'a str>,
}

/// Writes a capture file in the format pcapng with records of type ERF, times in nanoseconds.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    interfaces: Vec<InterfaceKind>,
    /// Body of the last record, kept for its memory.
    body: Vec<u8>,
}

/// Length of the fixed part of an enhanced packet block; captured and original length are its last two words.
const FIXED: usize = 20;

/// The largest record: ERF has 16 bits for its length.
const MAX_CONTENT: usize = 0xffff - erf::HEADER;

impl<W: Write> Writer<W> {
    /// Begins a file.
    pub fn new(output: W) -> io::Result<Self> {
        let mut writer = Self { output, interfaces: Vec::new(), body: Vec::new() };
        let mut body = BYTE_ORDER.to_le_bytes().to_vec();
        body.extend_from_slice(&[1, 0, 0, 0]);
        // The section's length is not known yet.
        body.extend_from_slice(&[0xff; 8]);
        writer.block(MAGIC, &body)?;
        Ok(writer)
    }

    /// Adds an interface. Names may be equal.
    pub fn add_interface(&mut self, name: &str, kind: InterfaceKind) -> io::Result<InterfaceId> {
        let mut body = vec![LinkType::ERF.0 as u8, 0, 0, 0, 0, 0, 0, 0];
        option(&mut body, IF_NAME, name.as_bytes());
        option(&mut body, IF_TSRESOL, &[9]);
        body.extend_from_slice(&[0; 4]);
        self.block(INTERFACE, &body)?;
        self.interfaces.push(kind);
        Ok(InterfaceId(self.interfaces.len() as u32 - 1))
    }

    /// Writes a whole packet, `time_ns` nanoseconds after 1970. `is_error` marks a packet that was received with an error.
    /// Fails as [`Writer::write_record`] does.
    pub fn write(
        &mut self,
        interface: InterfaceId,
        time_ns: u64,
        packet: &[u8],
        is_error: bool,
        comment: Option<&str>,
    ) -> io::Result<()> {
        let len = packet.len();
        let record =
            OutgoingRecord { time_ns, bytes: packet, packet_len: len, link_len: len, is_error, comment };
        self.write_record(interface, &record)
    }

    /// Writes a record. Fails if the packet is longer than 65519 bytes or the interface is not of this file.
    pub fn write_record(&mut self, interface: InterfaceId, record: &OutgoingRecord<'_>) -> io::Result<()> {
        let &OutgoingRecord { time_ns, bytes, packet_len, link_len, is_error, comment } = record;
        let Some(kind) = self.interfaces.get(interface.0 as usize) else {
            return Err(invalid(format!("interface {} is not of this file", interface.0)));
        };
        let packet_len = packet_len.max(bytes.len());
        if packet_len > MAX_CONTENT {
            return Err(invalid(format!("packet of {packet_len} bytes: must be at most {MAX_CONTENT}")));
        }
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        for word in [interface.0, (time_ns >> 32) as u32, time_ns as u32, 0, 0] {
            body.extend_from_slice(&word.to_le_bytes());
        }
        let (kind, len) = match kind {
            InterfaceKind::Data => (ErfType::Infiniband, packet_len),
            InterfaceKind::FlowControl => (ErfType::InfinibandLink, packet_len.max(FLOW_CONTROL_LEN)),
        };
        erf::emit(&mut body, (time_ns, is_error), kind, bytes, len);
        let captured = body.len() - FIXED;
        let filled = captured - erf::HEADER - bytes.len();
        body[FIXED - 8..FIXED - 4].copy_from_slice(&(captured as u32).to_le_bytes());
        body[FIXED - 4..FIXED].copy_from_slice(&((erf::HEADER + link_len + filled) as u32).to_le_bytes());
        body.resize(body.len().next_multiple_of(4), 0);
        if let Some(comment) = comment {
            option(&mut body, COMMENT, comment.as_bytes());
            body.extend_from_slice(&[0; 4]);
        }
        let written = self.block(ENHANCED_PACKET, &body);
        self.body = body;
        written
    }

    /// Writes what is buffered and returns the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.flush()?;
        Ok(self.output)
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let len = (body.len() as u32 + 12).to_le_bytes();
        self.output.write_all(&kind.to_le_bytes())?;
        self.output.write_all(&len)?;
        self.output.write_all(body)?;
        self.output.write_all(&len)
    }
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// Adds an option to a block; a value of more than 65535 bytes is cut.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = value.get(..0xffff).unwrap_or(value);
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{self, ErfRecord};

    #[test]
    fn a_packet_that_is_cut_keeps_its_lengths() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let data = writer.add_interface("sw0/p1", InterfaceKind::Data).unwrap();
        let record = OutgoingRecord {
            time_ns: 5,
            bytes: &[7; 9],
            packet_len: 26,
            link_len: 12,
            is_error: false,
            comment: None,
        };
        writer.write_record(data, &record).unwrap();
        let bytes = writer.finish().unwrap();
        let capture = capture::read(&bytes, "f").unwrap();
        assert_eq!((capture.records[0].data.len(), capture.records[0].original_len), (16 + 9, 16 + 12));
        let (record, _) = ErfRecord::parse(capture.records[0].data).unwrap();
        assert_eq!((record.content, record.wire_len), (&[7; 9][..], 26));
    }

    #[test]
    fn files_are_read_as_they_were_written() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let data = writer.add_interface("sw0/p1", InterfaceKind::Data).unwrap();
        let credits = writer.add_interface("sw0/p1 credits", InterfaceKind::FlowControl).unwrap();
        let time = 1_700_000_000_123_456_789;
        writer.write(data, time, &[7; 30], true, Some("lost: no buffer")).unwrap();
        writer.write(credits, time + 1, &[8; 6], false, None).unwrap();
        assert!(writer.write(InterfaceId(2), 0, &[], false, None).is_err());
        assert!(writer.write(data, 0, &vec![0; 0x10000], false, None).is_err());
        let bytes = writer.finish().unwrap();
        let capture = capture::read(&bytes, "f").unwrap();
        let names: Vec<_> = capture.interfaces.iter().map(|interface| interface.name.as_deref()).collect();
        assert_eq!(names, [Some("sw0/p1"), Some("sw0/p1 credits")]);
        let [first, second] = &capture.records[..] else { panic!("{capture:?}") };
        assert_eq!(
            (first.time_ns, first.interface, first.comment.as_deref()),
            (time, 0, Some("lost: no buffer"))
        );
        assert_eq!((second.time_ns, second.interface, second.comment.as_deref()), (time + 1, 1, None));
        let (first, _) = ErfRecord::parse(first.data).unwrap();
        assert_eq!((first.kind, first.content, first.is_error), (ErfType::Infiniband, &[7; 30][..], true));
        let (second, _) = ErfRecord::parse(second.data).unwrap();
        assert_eq!((second.kind, second.content.len()), (ErfType::InfinibandLink, 48));
        assert_eq!((first.time_ns(), second.time_ns()), (time, time + 1));
    }
}
