//! Capture files of the next generation (draft-ietf-opsawg-pcapng).

use super::bytes::{Order, split};
use super::{Capture, CaptureProblem, Captured, Interface, LinkType, Located};

/// Type of the section header block, the first four bytes of a file.
pub(super) const MAGIC: u32 = 0x0a0d_0d0a;
/// First word of a section header's body in its byte order.
pub(super) const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Type of the interface description block.
pub(super) const INTERFACE: u32 = 1;
/// Type of the enhanced packet block.
pub(super) const ENHANCED_PACKET: u32 = 6;
/// Type of the packet block of older files.
const PACKET: u32 = 2;
/// Type of the simple packet block.
const SIMPLE_PACKET: u32 = 3;

/// Option of any block: text.
pub(super) const COMMENT: u16 = 1;
/// Option of an interface: its name.
pub(super) const IF_NAME: u16 = 2;
/// Option of an interface: unit of time.
pub(super) const IF_TSRESOL: u16 = 9;
/// Option of an interface: seconds to add to times.
const IF_TSOFFSET: u16 = 14;

/// Unit and origin of an interface's times.
#[derive(Clone, Copy, Debug)]
struct Clock {
    /// Units in a second; `None` if there are more than 2^128.
    per_second: Option<u128>,
    /// Seconds to add.
    offset: i64,
}

impl Clock {
    const DEFAULT: Self = Self { per_second: Some(1_000_000), offset: 0 };

    /// The unit that option `if_tsresol` says: a power of 2 or of 10.
    fn resolution(code: u8) -> Option<u128> {
        let base: u128 = if code & 0x80 == 0 { 10 } else { 2 };
        base.checked_pow(u32::from(code & 0x7f))
    }

    /// Nanoseconds since 1970, 0 to 2^64 - 1.
    fn nanoseconds(&self, units: u64) -> u64 {
        let units = u128::from(units);
        let since_offset = self.per_second.map_or(0, |per_second| {
            // Seconds and the rest apart: the product of a rest below 2^64 and 10^9 does not overflow.
            let (seconds, rest) = (units / per_second, units % per_second);
            seconds * 1_000_000_000 + rest * 1_000_000_000 / per_second
        });
        let time = since_offset as i128 + i128::from(self.offset) * 1_000_000_000;
        time.clamp(0, i128::from(u64::MAX)) as u64
    }
}

struct Reader<'a> {
    order: Order,
    /// First interface of the section.
    section: usize,
    clocks: Vec<Clock>,
    capture: Capture<'a>,
}

/// Reads a file.
pub(super) fn read(bytes: &[u8]) -> Result<Capture<'_>, Located> {
    let mut reader =
        Reader { order: Order::Big, section: 0, clocks: Vec::new(), capture: Capture::default() };
    let mut rest = bytes;
    while !rest.is_empty() {
        rest = reader.block(rest).map_err(|problem| (Some(reader.capture.records.len() + 1), problem))?;
    }
    Ok(reader.capture)
}

impl<'a> Reader<'a> {
    /// Reads the block at the start of `bytes` and returns the bytes after it.
    fn block(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], CaptureProblem> {
        let (header, _) = split(bytes, 12)?;
        if Order::Big.u32(header, 0) == MAGIC {
            self.order = if Order::Big.u32(header, 8) == BYTE_ORDER { Order::Big } else { Order::Little };
            let magic = self.order.u32(header, 8);
            if magic != BYTE_ORDER {
                let allowed = "1a2b3c4d in either byte order";
                return Err(CaptureProblem::Value { what: "byte-order magic", value: magic.into(), allowed });
            }
            self.section = self.capture.interfaces.len();
        }
        let (kind, len) = (self.order.u32(header, 0), self.order.u32(header, 4) as usize);
        if len < 12 || !len.is_multiple_of(4) {
            let allowed = "a multiple of 4, at least 12";
            return Err(CaptureProblem::Value { what: "block length", value: len as u64, allowed });
        }
        let (block, rest) = split(bytes, len)?;
        let body = &block[8..len - 4];
        match kind {
            INTERFACE => self.interface(body)?,
            ENHANCED_PACKET => {
                let id = self.order.u32(split(body, 20)?.0, 0);
                self.packet(id, body)?;
            }
            PACKET => {
                let id = self.order.u16(split(body, 20)?.0, 0);
                self.packet(id.into(), body)?;
            }
            SIMPLE_PACKET => self.simple_packet(body)?,
            _ => {}
        }
        Ok(rest)
    }

    fn interface(&mut self, body: &'a [u8]) -> Result<(), CaptureProblem> {
        let (fixed, options) = split(body, 8)?;
        let mut clock = Clock::DEFAULT;
        let mut name = None;
        for (code, value) in Options::new(self.order, options) {
            match code {
                IF_NAME => name = Some(text(value)),
                IF_TSRESOL => clock.per_second = Clock::resolution(value.first().copied().unwrap_or(6)),
                IF_TSOFFSET => clock.offset = self.order.u64(value, 0) as i64,
                _ => {}
            }
        }
        self.capture.interfaces.push(Interface { name, link: LinkType(self.order.u16(fixed, 0)) });
        self.clocks.push(clock);
        Ok(())
    }

    /// Place of an interface of the section among all interfaces.
    fn find(&self, id: u32) -> Result<usize, CaptureProblem> {
        let count = self.capture.interfaces.len() - self.section;
        if (id as usize) < count {
            Ok(self.section + id as usize)
        } else {
            Err(CaptureProblem::Interface { id, count })
        }
    }

    /// An enhanced packet block, or a packet block: they differ in the interface's number only.
    fn packet(&mut self, id: u32, body: &'a [u8]) -> Result<(), CaptureProblem> {
        let interface = self.find(id)?;
        let (fixed, rest) = split(body, 20)?;
        let word = |at| self.order.u32(fixed, at);
        let units = u64::from(word(4)) << 32 | u64::from(word(8));
        let (captured, original_len) = (word(12) as usize, word(16) as usize);
        let (data, _) = split(rest, captured)?;
        let options = rest.get(captured.next_multiple_of(4)..).unwrap_or_default();
        let mut options = Options::new(self.order, options);
        let comment = options.find(|&(code, _)| code == COMMENT).map(|(_, value)| text(value));
        let time_ns = self.clocks[interface].nanoseconds(units);
        self.capture.records.push(Captured { time_ns, interface, data, original_len, comment });
        Ok(())
    }

    /// A packet of the first interface without a time.
    fn simple_packet(&mut self, body: &'a [u8]) -> Result<(), CaptureProblem> {
        let interface = self.find(0)?;
        let (fixed, rest) = split(body, 4)?;
        let original_len = self.order.u32(fixed, 0) as usize;
        let data = rest.get(..original_len).unwrap_or(rest);
        self.capture.records.push(Captured { time_ns: 0, interface, data, original_len, comment: None });
        Ok(())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Options of a block: code and value. An option that is cut ends them.
struct Options<'a> {
    order: Order,
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    const fn new(order: Order, rest: &'a [u8]) -> Self {
        Self { order, rest }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (header, rest) = self.rest.split_at_checked(4)?;
        let (code, len) = (self.order.u16(header, 0), usize::from(self.order.u16(header, 2)));
        if code == 0 {
            return None;
        }
        let value = rest.get(..len)?;
        self.rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_any_unit() {
        let clock = |code, offset| Clock { per_second: Clock::resolution(code), offset };
        assert_eq!(Clock::DEFAULT.nanoseconds(1_500_000), 1_500_000_000);
        assert_eq!(clock(9, 0).nanoseconds(7), 7);
        assert_eq!(clock(12, 0).nanoseconds(7_999), 7);
        assert_eq!(clock(0x80 | 32, 0).nanoseconds(3 << 31), 1_500_000_000);
        assert_eq!(clock(0, 2).nanoseconds(1), 3_000_000_000);
        assert_eq!(clock(0, -2).nanoseconds(1), 0);
        assert_eq!(clock(0, 0).nanoseconds(u64::MAX), u64::MAX);
        assert_eq!(clock(0x7f, 1).nanoseconds(u64::MAX), 1_000_000_000);
        assert_eq!(clock(0xff, 0).nanoseconds(u64::MAX), 0);
    }
}
