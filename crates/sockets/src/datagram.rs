//! What is in a UDP datagram: who sends it and when, the protocol's header, and for a REQ which part of which stream it
//! carries. A datagram of a single byte has no header: it only says who is there.

use fabricsim_protocols::ordering::Header;

use crate::clock::Stamp;

/// The largest payload of a packet, in bytes.
pub(crate) const MAX_BYTES: usize = 1400;

const PREFIX: usize = 1 + 8 + Header::BYTES;
const NAME: usize = 6;

/// The largest datagram.
pub(crate) const MAX_DATAGRAM: usize = PREFIX + NAME + MAX_BYTES;

/// Who sends. The proxy sends what comes from one to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Role {
    Source = 0,
    Target = 1,
}

impl Role {
    /// Of the first byte of a datagram.
    pub(crate) fn of(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Source),
            1 => Some(Self::Target),
            _ => None,
        }
    }
}

/// A part of a stream, as it waits in the reorder buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Number of the stream, from 0.
    pub(crate) stream: u16,
    /// Number of the part in its stream, from 0.
    pub(crate) index: u32,
    len: u16,
    bytes: [u8; MAX_BYTES],
}

impl Part {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// A datagram with a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Datagram {
    pub(crate) role: Role,
    pub(crate) sent: Stamp,
    pub(crate) header: Header,
    pub(crate) part: Option<Part>,
}

/// Writes a datagram; `part` is stream, number and bytes.
pub(crate) fn write(
    buffer: &mut Vec<u8>,
    role: Role,
    sent: Stamp,
    header: &Header,
    part: Option<(u16, u32, &[u8])>,
) {
    buffer.clear();
    buffer.push(role as u8);
    buffer.extend_from_slice(&sent.0.to_be_bytes());
    buffer.extend_from_slice(&header.to_bytes());
    if let Some((stream, index, bytes)) = part {
        buffer.extend_from_slice(&stream.to_be_bytes());
        buffer.extend_from_slice(&index.to_be_bytes());
        buffer.extend_from_slice(bytes);
    }
}

/// Reads a datagram; `None` where it is none.
pub(crate) fn read(datagram: &[u8]) -> Option<Datagram> {
    let (prefix, rest) = datagram.split_at_checked(PREFIX)?;
    let role = Role::of(prefix[0])?;
    let (sent, header) = prefix[1..].split_at(8);
    let sent = Stamp(u64::from_be_bytes(sent.try_into().ok()?));
    let header = Header::from_bytes(header.try_into().ok()?)?;
    if rest.is_empty() {
        return Some(Datagram { role, sent, header, part: None });
    }
    let (name, content) = rest.split_at_checked(NAME)?;
    let mut bytes = [0; MAX_BYTES];
    bytes.get_mut(..content.len())?.copy_from_slice(content);
    let part = Part {
        stream: u16::from_be_bytes([name[0], name[1]]),
        index: u32::from_be_bytes([name[2], name[3], name[4], name[5]]),
        len: content.len() as u16,
        bytes,
    };
    Some(Datagram { role, sent, header, part: Some(part) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            sent: u64,
            stream: u16,
            index: u32,
            bytes in prop::collection::vec(any::<u8>(), 0..=MAX_BYTES),
        ) {
            let mut buffer = Vec::new();
            let header = Header { word: sent ^ 1, ..Header::default() };
            write(&mut buffer, Role::Source, Stamp(sent), &header, Some((stream, index, &bytes)));
            let read = read(&buffer).expect("it is one");
            prop_assert_eq!((read.role, read.sent, read.header), (Role::Source, Stamp(sent), header));
            let part = read.part.expect("there is one");
            prop_assert_eq!((part.stream, part.index, part.bytes()), (stream, index, &bytes[..]));
        }

        /// Anything may come in by a port.
        #[test]
        fn other_things_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..=MAX_DATAGRAM + 9)) {
            let _ = read(&bytes);
        }
    }
}
