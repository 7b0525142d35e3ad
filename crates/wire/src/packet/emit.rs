use crate::crc;
use crate::error::{WireError, need};
use crate::headers::{Bth, Grh, Headers, Lrh, NEXT_HEADER_IBA, NextHeader};
use crate::packet::{ICRC_LEN, VCRC_LEN};
use crate::record::Record;

/// The largest LRH.PktLen: 11 bits, in words of 4 bytes.
const MAX_WORDS: usize = 0x7ff;

/// Bytes of padding after a payload of `len` bytes, 0 to 3.
#[inline]
pub const fn pad_count(len: usize) -> usize {
    len.wrapping_neg() & 3
}

/// A packet of InfiniBand's transport.
///
/// Lengths, LRH.LNH, GRH.NxtHdr, pad count and checksums follow from the other fields: emitting computes them and
/// ignores what these fields contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Route in the subnet.
    pub lrh: Lrh,
    /// Route between subnets, and of multicast.
    pub grh: Option<Grh>,
    /// Transport headers.
    pub transport: Headers,
    /// Payload without padding. Its bytes belong to the caller.
    pub payload: &'a [u8],
}

impl Packet<'_> {
    /// Length on the wire in bytes, from LRH to VCRC.
    pub fn wire_len(&self) -> usize {
        self.words() * 4 + VCRC_LEN
    }

    /// Words of 4 bytes from LRH to ICRC.
    fn words(&self) -> usize {
        let grh = if self.grh.is_some() { Grh::LEN } else { 0 };
        let payload = self.payload.len() + pad_count(self.payload.len());
        (Lrh::LEN + grh + self.transport.len() + payload + ICRC_LEN) / 4
    }

    /// Writes the packet with both checksums to the start of `buffer` and returns its length. Fails if the buffer is
    /// smaller, the packet is longer than LRH can express (8188 bytes), or the extensions are not those of the opcode.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let (words, len) = (self.words(), self.wire_len());
        if words > MAX_WORDS {
            let allowed = "0 to 2047 words of 4 bytes";
            return Err(WireError::Value { what: "LRH.PktLen", value: words as u64, allowed });
        }
        need("packet", len, buffer.len())?;
        let buffer = &mut buffer[..len];
        let lnh = if self.grh.is_some() { NextHeader::Global } else { NextHeader::Local };
        Lrh { lnh, packet_length: words as u16, ..self.lrh }.emit(buffer)?;
        let mut at = Lrh::LEN;
        if let Some(grh) = self.grh {
            let payload_length = (words * 4 - Lrh::LEN - Grh::LEN) as u16;
            Grh { payload_length, next_header: NEXT_HEADER_IBA, ..grh }.emit(&mut buffer[at..])?;
            at += Grh::LEN;
        }
        at += emit_transport(&self.transport, self.payload, &mut buffer[at..])?;
        let icrc = crc::icrc(&buffer[..at]).unwrap_or_default();
        buffer[at..at + ICRC_LEN].copy_from_slice(&icrc.to_be_bytes());
        close(buffer);
        Ok(len)
    }
}

/// Writes a packet without GRH whose payload is `words` words of 4 zero bytes: as [`Packet::emit`], in a time that hardly depends on the
/// payload's length.
pub fn emit_zeros(
    lrh: &Lrh,
    transport: &Headers,
    words: usize,
    buffer: &mut [u8],
) -> Result<usize, WireError> {
    let headers = Lrh::LEN + transport.len();
    let total = (headers + ICRC_LEN) / 4 + words;
    let len = total * 4 + VCRC_LEN;
    if total > MAX_WORDS {
        let allowed = "0 to 2047 words of 4 bytes";
        return Err(WireError::Value { what: "LRH.PktLen", value: total as u64, allowed });
    }
    need("packet", len, buffer.len())?;
    Lrh { lnh: NextHeader::Local, packet_length: total as u16, ..*lrh }.emit(buffer)?;
    transport.emit(&mut buffer[Lrh::LEN..])?;
    let (icrc, vcrc) = crc::before_zeros(&buffer[..headers], words).unwrap_or_default();
    let at = headers + 4 * words;
    buffer[headers..at].fill(0);
    buffer[at..at + ICRC_LEN].copy_from_slice(&icrc.to_be_bytes());
    buffer[at + ICRC_LEN..len].copy_from_slice(&vcrc.to_be_bytes());
    Ok(len)
}

/// Writes headers, payload and padding and returns their length. Also the content of RoCE packets.
pub(crate) fn emit_transport(
    headers: &Headers,
    payload: &[u8],
    buffer: &mut [u8],
) -> Result<usize, WireError> {
    let pad = pad_count(payload.len());
    let at = headers.emit(buffer)?;
    let end = at + payload.len() + pad;
    need("packet", end, buffer.len())?;
    // The pad count's place in BTH; the record has written 0 there.
    buffer[1] |= (pad as u8) << 4;
    buffer[at..at + payload.len()].copy_from_slice(payload);
    buffer[at + payload.len()..end].fill(0);
    debug_assert!(end >= Bth::LEN);
    Ok(end)
}

/// Writes VCRC over all bytes before it.
fn close(buffer: &mut [u8]) {
    let at = buffer.len() - VCRC_LEN;
    let vcrc = crc::vcrc(&buffer[..at]);
    buffer[at..].copy_from_slice(&vcrc.to_be_bytes());
}

/// Writes a raw packet, which has no ICRC: LRH, `content` and VCRC. The content is an IPv6 packet
/// ([`NextHeader::Ipv6`]) or begins with a [`crate::headers::RawHeader`]; its length must be a multiple of 4. Returns the
/// packet's length.
pub fn emit_raw(lrh: &Lrh, content: &[u8], buffer: &mut [u8]) -> Result<usize, WireError> {
    let words = (Lrh::LEN + content.len()) / 4;
    let len = words * 4 + VCRC_LEN;
    if !content.len().is_multiple_of(4) || words > MAX_WORDS {
        let allowed = "multiples of 4 up to 8180";
        return Err(WireError::Value { what: "bytes of a raw packet", value: content.len() as u64, allowed });
    }
    if !matches!(lrh.lnh, NextHeader::Raw | NextHeader::Ipv6) {
        return Err(WireError::Value {
            what: "LRH.LNH of a raw packet",
            value: lrh.lnh as u64,
            allowed: "0 or 1",
        });
    }
    need("packet", len, buffer.len())?;
    let buffer = &mut buffer[..len];
    Lrh { packet_length: words as u16, ..*lrh }.emit(buffer)?;
    buffer[Lrh::LEN..Lrh::LEN + content.len()].copy_from_slice(content);
    close(buffer);
    Ok(len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::{Aeth, Opcode, Operands};
    use crate::ids::{Lid, Qpn};

    /// Of every length that LRH can express.
    #[test]
    fn packets_of_zeros_are_those_of_any_payload() {
        let lrh = Lrh { dlid: Lid(0x1234), slid: Lid(77), ..Lrh::default() };
        let send = Bth { opcode: Opcode(0x04), dest_qp: Qpn(0xa5_0003), fecn: true, ..Bth::default() };
        let ack = Bth { opcode: Opcode(0x11), ..send };
        let acknowledge = Operands::Acknowledge(Aeth::default());
        for transport in [
            Headers { bth: send, ..Headers::default() },
            Headers { bth: ack, operands: acknowledge, ..Headers::default() },
        ] {
            let (mut one, mut other) = ([1; 9000], [1; 9000]);
            let most = MAX_WORDS - (Lrh::LEN + transport.len() + ICRC_LEN) / 4;
            for words in 0..=most {
                let payload = &[0; 8192][..4 * words];
                let len = Packet { lrh, grh: None, transport, payload }.emit(&mut one);
                assert_eq!(emit_zeros(&lrh, &transport, words, &mut other), len);
                assert_eq!(one, other, "{words}");
            }
            assert!(emit_zeros(&lrh, &transport, most + 1, &mut other).is_err());
            assert!(emit_zeros(&lrh, &transport, most, &mut other[..100]).is_err());
        }
    }
}
