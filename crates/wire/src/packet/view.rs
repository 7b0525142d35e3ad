use crate::crc;
use crate::error::{WireError, need};
use crate::headers::{BthView, Grh, GrhView, Headers, Lrh, LrhView, NEXT_HEADER_IBA, NextHeader};
use crate::packet::{ICRC_LEN, Packet, VCRC_LEN};
use crate::record::Record;

/// A checksum of a packet, compared with the one that its bytes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum<T> {
    /// The checksum in the packet.
    pub found: T,
    /// The checksum that the packet should have.
    pub computed: T,
}

impl<T: PartialEq> Checksum<T> {
    /// True if the packet has the checksum that it should have.
    pub fn is_right(&self) -> bool {
        self.found == self.computed
    }
}

/// View of a packet, from LRH to VCRC. Reads nothing outside the length that LRH states.
#[derive(Clone, Copy, Debug)]
pub struct PacketView<'a> {
    bytes: &'a [u8],
}

impl<'a> PacketView<'a> {
    /// Views the packet at the start of `bytes`; bytes after it are ignored. Fails if there are fewer than LRH states, or
    /// the link version is not 0.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        let lrh = LrhView::new(bytes)?;
        if lrh.version() != 0 {
            return Err(WireError::Value { what: "LRH.LVer", value: lrh.version().into(), allowed: "0" });
        }
        let stated = usize::from(lrh.packet_length()) * 4 + VCRC_LEN;
        need("LRH.PktLen", Lrh::LEN, stated.saturating_sub(VCRC_LEN))?;
        match bytes.get(..stated) {
            Some(bytes) => Ok(Self { bytes }),
            None => Err(WireError::Length { what: "LRH.PktLen with VCRC", stated, have: bytes.len() }),
        }
    }

    /// All bytes of the packet.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Local route header.
    pub fn lrh(&self) -> Lrh {
        // `new` has checked the length.
        LrhView::new(self.bytes).map(|view| view.meaning()).unwrap_or_default()
    }

    /// Bytes between LRH and the checksums. ICRC is part of a raw packet's content, which has none.
    pub fn content(&self) -> &'a [u8] {
        let icrc = if self.is_raw() { 0 } else { ICRC_LEN };
        let end = self.bytes.len() - VCRC_LEN;
        self.bytes.get(Lrh::LEN..end.saturating_sub(icrc)).unwrap_or_default()
    }

    /// True if the packet is not of InfiniBand's transport.
    pub fn is_raw(&self) -> bool {
        matches!(self.lrh().lnh, NextHeader::Raw | NextHeader::Ipv6)
    }

    /// Global route header, if LRH says that there is one. Fails if it is cut, its version is not 6, its next header is
    /// not BTH or its length is not that of the packet.
    pub fn grh(&self) -> Result<Option<Grh>, WireError> {
        if self.lrh().lnh != NextHeader::Global {
            return Ok(None);
        }
        let content = self.content();
        let grh = check_grh(GrhView::new(content)?)?;
        let (stated, have) = (usize::from(grh.payload_length), content.len() - Grh::LEN + ICRC_LEN);
        if stated != have {
            return Err(WireError::Length { what: "GRH.PayLen", stated, have });
        }
        Ok(Some(grh))
    }

    /// Transport headers and payload without padding.
    pub fn transport(&self) -> Result<(Headers, &'a [u8]), WireError> {
        let lnh = self.lrh().lnh;
        let content = match lnh {
            NextHeader::Raw | NextHeader::Ipv6 => return Err(WireError::Raw { next: lnh as u8 }),
            NextHeader::Local => self.content(),
            NextHeader::Global => self.content().get(Grh::LEN..).unwrap_or_default(),
        };
        parse_transport(content)
    }

    /// The packet's meaning.
    pub fn packet(&self) -> Result<Packet<'a>, WireError> {
        let grh = self.grh()?;
        let (transport, payload) = self.transport()?;
        Ok(Packet { lrh: self.lrh(), grh, transport, payload })
    }

    /// Invariant checksum. `None` for a raw packet, which has none, and if headers are cut.
    pub fn icrc(&self) -> Option<Checksum<u32>> {
        let (covered, after) = self.bytes.split_at_checked(self.bytes.len() - VCRC_LEN - ICRC_LEN)?;
        let computed = crc::icrc(covered)?;
        Some(Checksum { found: u32::from_be_bytes(*after.first_chunk()?), computed })
    }

    /// Variant checksum.
    pub fn vcrc(&self) -> Checksum<u16> {
        let (covered, after) = self.bytes.split_at(self.bytes.len() - VCRC_LEN);
        Checksum { found: u16::from_be_bytes([after[0], after[1]]), computed: crc::vcrc(covered) }
    }
}

/// The meaning of a GRH. Fails if its version is not 6 or its next header is not BTH.
pub(crate) fn check_grh(view: GrhView<&[u8]>) -> Result<Grh, WireError> {
    if view.version() != 6 {
        return Err(WireError::Value { what: "GRH.IPVer", value: view.version().into(), allowed: "6" });
    }
    let grh = view.meaning();
    if grh.next_header != NEXT_HEADER_IBA {
        let value = grh.next_header.into();
        return Err(WireError::Value { what: "GRH.NxtHdr", value, allowed: "27 (BTH)" });
    }
    Ok(grh)
}

/// Reads transport headers, and the payload without padding, from BTH to the last byte of padding.
pub(crate) fn parse_transport(content: &[u8]) -> Result<(Headers, &[u8]), WireError> {
    let headers = Headers::parse(content)?;
    let pad = usize::from(BthView::new(content)?.pad_count());
    let payload = &content[headers.len()..];
    match payload.split_at_checked(payload.len().wrapping_sub(pad)) {
        Some((payload, _)) => Ok((headers, payload)),
        None => Err(WireError::Length { what: "BTH.PadCnt", stated: pad, have: payload.len() }),
    }
}
