//! The format of UDP datagrams: the sender's role, the session's token, time, the protocol's header, and in a REQ the
//! part of a stream that it carries. A datagram that ends after the token has no header: it announces its sender.

use fabricsim_protocols::ordering::Header;

use crate::clock::Timestamp;
use crate::token::Token;

/// The largest payload of a packet, in bytes.
pub(crate) const MAX_BYTES: usize = 1400;

/// Length of an announcement, and of the start of every datagram.
pub(crate) const PREFIX: usize = 1 + Token::BYTES;
const HEAD: usize = 8 + Header::BYTES;
const NAME: usize = 6;

/// The largest datagram.
pub(crate) const MAX_DATAGRAM: usize = PREFIX + HEAD + NAME + MAX_BYTES;

/// Buffer for a received datagram. One byte longer than the largest, so that a longer datagram is recognised.
pub(crate) type Buffer = [u8; MAX_DATAGRAM + 1];

/// The sender's role. The proxy forwards datagrams between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Role {
    Source = 0,
    Target = 1,
}

impl Role {
    fn of(byte: u8) -> Option<Self> {
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
    pub(crate) sent: Timestamp,
    pub(crate) header: Header,
    pub(crate) part: Option<Part>,
}

/// The announcement of a sender.
pub(crate) fn announcement(role: Role, token: &Token) -> [u8; PREFIX] {
    let mut bytes = [role as u8; PREFIX];
    bytes[1..].copy_from_slice(token.bytes());
    bytes
}

/// Writes a datagram; `part` is stream, number and bytes.
pub(crate) fn write(
    buffer: &mut Vec<u8>,
    role: Role,
    token: &Token,
    sent: Timestamp,
    header: &Header,
    part: Option<(u16, u32, &[u8])>,
) {
    buffer.clear();
    buffer.extend_from_slice(&announcement(role, token));
    buffer.extend_from_slice(&sent.0.to_be_bytes());
    buffer.extend_from_slice(&header.to_bytes());
    if let Some((stream, index, bytes)) = part {
        buffer.extend_from_slice(&stream.to_be_bytes());
        buffer.extend_from_slice(&index.to_be_bytes());
        buffer.extend_from_slice(bytes);
    }
}

/// The sender of a datagram of this session and the bytes after the token; `None` for any other datagram.
pub(crate) fn open<'a>(datagram: &'a [u8], token: &Token) -> Option<(Role, &'a [u8])> {
    let (prefix, rest) = datagram.split_at_checked(PREFIX)?;
    let role = Role::of(prefix[0])?;
    (datagram.len() <= MAX_DATAGRAM && token.is(&prefix[1..])).then_some((role, rest))
}

/// Reads the part after the token; `None` if it has another format.
pub(crate) fn read(rest: &[u8]) -> Option<Datagram> {
    let (head, rest) = rest.split_at_checked(HEAD)?;
    let (sent, header) = head.split_at(8);
    let sent = Timestamp(u64::from_be_bytes(sent.try_into().ok()?));
    let header = Header::from_bytes(header.try_into().ok()?)?;
    if rest.is_empty() {
        return Some(Datagram { sent, header, part: None });
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
    Some(Datagram { sent, header, part: Some(part) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn token() -> Token {
        Token::from_hex("00112233445566778899aabbccddeeff").expect("32 digits")
    }

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
            write(&mut buffer, Role::Source, &token(), Timestamp(sent), &header, Some((stream, index, &bytes)));
            let (role, rest) = open(&buffer, &token()).expect("it has the token");
            prop_assert_eq!(role, Role::Source);
            let read = read(rest).expect("it was written");
            prop_assert_eq!((read.sent, read.header), (Timestamp(sent), header));
            let part = read.part.expect("it has one");
            prop_assert_eq!((part.stream, part.index, part.bytes()), (stream, index, &bytes[..]));
        }

        /// A port may receive any datagram.
        #[test]
        fn any_bytes_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..=MAX_DATAGRAM + 9)) {
            prop_assert!(open(&bytes, &token()).is_none());
            let _ = read(&bytes);
        }
    }

    #[test]
    fn a_datagram_that_is_too_long_is_refused() {
        let mut bytes = vec![0; MAX_DATAGRAM + 1];
        bytes[..PREFIX].copy_from_slice(&announcement(Role::Target, &token()));
        assert!(open(&bytes, &token()).is_none());
        assert!(open(&bytes[..MAX_DATAGRAM], &token()).is_some());
    }
}
