//! Transport headers of a packet as one value.

use super::{
    Aeth, AtomicAckEth, AtomicEth, Bth, BthView, Deth, Extension, Extensions, Feth, Ieth, ImmDt, Rdeth, Reth,
    Xrceth,
};
use crate::WireError;
use crate::ids::RKey;
use crate::record::Record;

/// Headers that name the receiver beside BTH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub enum Address {
    /// The queue pair in BTH is enough.
    #[default]
    None,
    /// Unreliable Datagram.
    Datagram(Deth),
    /// Request of Extended Reliable Connection.
    Xrc(Xrceth),
    /// Request of Reliable Datagram.
    RdRequest(Rdeth, Deth),
    /// Response of Reliable Datagram.
    RdResponse(Rdeth),
}

/// Headers with an operation's arguments or results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub enum Operands {
    /// The operation has none.
    #[default]
    None,
    /// RDMA WRITE, RDMA READ and ATOMIC WRITE.
    Rdma(Reth),
    /// RDMA WRITE Only with Immediate.
    RdmaImmediate(Reth, ImmDt),
    /// Compare & Swap and Fetch & Add: the fields of [`AtomicEth`], inline so that [`Headers`] takes 64 bytes.
    Atomic {
        /// [`AtomicEth::va`].
        va: u64,
        /// [`AtomicEth::r_key`].
        r_key: RKey,
        /// [`AtomicEth::swap_or_add`].
        swap_or_add: u64,
        /// [`AtomicEth::compare`].
        compare: u64,
    },
    /// Acknowledge, and RDMA READ responses.
    Acknowledge(Aeth),
    /// ATOMIC Acknowledge.
    AtomicAcknowledge(Aeth, AtomicAckEth),
    /// SEND and RDMA WRITE with immediate data.
    Immediate(ImmDt),
    /// SEND with invalidate.
    Invalidate(Ieth),
    /// FLUSH.
    Flush(Feth, Reth),
}

impl Address {
    /// Length in bytes.
    #[inline]
    const fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Datagram(_) => Extension::Deth.bytes(),
            Self::Xrc(_) => Extension::Xrceth.bytes(),
            Self::RdRequest(..) => Extension::Rdeth.bytes() + Extension::Deth.bytes(),
            Self::RdResponse(_) => Extension::Rdeth.bytes(),
        }
    }
}

impl Operands {
    /// Length in bytes.
    #[inline]
    const fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Rdma(_) => Extension::Reth.bytes(),
            Self::RdmaImmediate(..) => Extension::Reth.bytes() + Extension::ImmDt.bytes(),
            Self::Atomic { .. } => Extension::AtomicEth.bytes(),
            Self::Acknowledge(_) => Extension::Aeth.bytes(),
            Self::AtomicAcknowledge(..) => Extension::Aeth.bytes() + Extension::AtomicAckEth.bytes(),
            Self::Immediate(_) => Extension::ImmDt.bytes(),
            Self::Invalidate(_) => Extension::Ieth.bytes(),
            Self::Flush(..) => Extension::Feth.bytes() + Extension::Reth.bytes(),
        }
    }
}

impl From<AtomicEth> for Operands {
    fn from(AtomicEth { va, r_key, swap_or_add, compare }: AtomicEth) -> Self {
        Self::Atomic { va, r_key, swap_or_add, compare }
    }
}

/// Transport headers of a packet: BTH and the extensions of its opcode. 64 bytes, so that it travels with a simulated
/// packet by value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
pub struct Headers {
    /// Base transport header.
    pub bth: Bth,
    /// Receiver.
    pub address: Address,
    /// Arguments or results.
    pub operands: Operands,
}

const _: () = assert!(size_of::<Headers>() <= 64);

impl Headers {
    /// Length of the longest transport headers in bytes: a Reliable Datagram's atomic request.
    pub const MAX_LEN: usize = 12 + 4 + 8 + 28;

    /// Length in bytes: BTH and extensions.
    #[inline]
    pub const fn len(&self) -> usize {
        Bth::LEN + self.address.len() + self.operands.len()
    }

    /// False: there is always a BTH.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The extension headers that are present.
    pub const fn extensions(&self) -> Extensions {
        let address = match self.address {
            Address::None => Extensions::NONE,
            Address::Datagram(_) => Extensions::of(&[Extension::Deth]),
            Address::Xrc(_) => Extensions::of(&[Extension::Xrceth]),
            Address::RdRequest(..) => Extensions::of(&[Extension::Rdeth, Extension::Deth]),
            Address::RdResponse(_) => Extensions::of(&[Extension::Rdeth]),
        };
        let operands = match self.operands {
            Operands::None => Extensions::NONE,
            Operands::Rdma(_) => Extensions::of(&[Extension::Reth]),
            Operands::RdmaImmediate(..) => Extensions::of(&[Extension::Reth, Extension::ImmDt]),
            Operands::Atomic { .. } => Extensions::of(&[Extension::AtomicEth]),
            Operands::Acknowledge(_) => Extensions::of(&[Extension::Aeth]),
            Operands::AtomicAcknowledge(..) => Extensions::of(&[Extension::Aeth, Extension::AtomicAckEth]),
            Operands::Immediate(_) => Extensions::of(&[Extension::ImmDt]),
            Operands::Invalidate(_) => Extensions::of(&[Extension::Ieth]),
            Operands::Flush(..) => Extensions::of(&[Extension::Feth, Extension::Reth]),
        };
        address.union(operands)
    }

    /// Fails unless the extensions are those of the opcode.
    pub fn check(&self) -> Result<(), WireError> {
        let (expected, given) = (self.bth.opcode.extensions(), self.extensions());
        if expected == given {
            return Ok(());
        }
        Err(WireError::Extensions {
            opcode: self.bth.opcode.0,
            expected: expected.to_string(),
            given: given.to_string(),
        })
    }

    /// Reads BTH and the extensions of its opcode from the start of `bytes`. [`Headers::len`] bytes are read. Fails if
    /// the transport version is not 0.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let view = BthView::new(bytes)?;
        if view.version() != 0 {
            return Err(WireError::Value { what: "BTH.TVer", value: view.version().into(), allowed: "0" });
        }
        let bth = view.meaning();
        let extensions = bth.opcode.extensions();
        let mut reader = Reader { bytes: &bytes[Bth::LEN..], extensions };
        let address = Address::read(&mut reader)?;
        Ok(Self { bth, address, operands: Operands::read(&mut reader)? })
    }

    /// Writes all headers with pad count 0 and returns their length. Fails if the extensions are not those of the
    /// opcode.
    pub fn emit(&self, bytes: &mut [u8]) -> Result<usize, WireError> {
        self.check()?;
        crate::error::need("transport headers", self.len(), bytes.len())?;
        self.bth.emit(bytes)?;
        let mut writer = Writer { bytes, at: Bth::LEN };
        match self.address {
            Address::None => {}
            Address::Datagram(deth) => writer.put(&deth)?,
            Address::Xrc(xrceth) => writer.put(&xrceth)?,
            Address::RdRequest(rdeth, deth) => writer.put(&rdeth).and_then(|()| writer.put(&deth))?,
            Address::RdResponse(rdeth) => writer.put(&rdeth)?,
        }
        self.operands.write(&mut writer)?;
        Ok(writer.at)
    }
}

impl Address {
    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let has = |header| reader.extensions.contains(header);
        Ok(match (has(Extension::Rdeth), has(Extension::Deth), has(Extension::Xrceth)) {
            (true, true, _) => Self::RdRequest(reader.take()?, reader.take()?),
            (true, false, _) => Self::RdResponse(reader.take()?),
            (false, true, _) => Self::Datagram(reader.take()?),
            (false, false, true) => Self::Xrc(reader.take()?),
            (false, false, false) => Self::None,
        })
    }
}

impl Operands {
    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let has = |header| reader.extensions.contains(header);
        if has(Extension::Feth) {
            return Ok(Self::Flush(reader.take()?, reader.take()?));
        }
        if has(Extension::AtomicEth) {
            return Ok(reader.take::<AtomicEth>()?.into());
        }
        if has(Extension::Ieth) {
            return Ok(Self::Invalidate(reader.take()?));
        }
        Ok(match (has(Extension::Reth), has(Extension::Aeth), has(Extension::ImmDt)) {
            (true, _, true) => Self::RdmaImmediate(reader.take()?, reader.take()?),
            (true, _, false) => Self::Rdma(reader.take()?),
            (false, true, _) if has(Extension::AtomicAckEth) => {
                Self::AtomicAcknowledge(reader.take()?, reader.take()?)
            }
            (false, true, _) => Self::Acknowledge(reader.take()?),
            (false, false, true) => Self::Immediate(reader.take()?),
            (false, false, false) => Self::None,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), WireError> {
        match self {
            Self::None => Ok(()),
            Self::Rdma(reth) => writer.put(reth),
            Self::RdmaImmediate(reth, immediate) => writer.put(reth).and_then(|()| writer.put(immediate)),
            &Self::Atomic { va, r_key, swap_or_add, compare } => {
                writer.put(&AtomicEth { va, r_key, swap_or_add, compare })
            }
            Self::Acknowledge(aeth) => writer.put(aeth),
            Self::AtomicAcknowledge(aeth, result) => writer.put(aeth).and_then(|()| writer.put(result)),
            Self::Immediate(immediate) => writer.put(immediate),
            Self::Invalidate(ieth) => writer.put(ieth),
            Self::Flush(feth, reth) => writer.put(feth).and_then(|()| writer.put(reth)),
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    extensions: Extensions,
}

impl Reader<'_> {
    fn take<R: Record>(&mut self) -> Result<R, WireError> {
        let record = R::parse(self.bytes)?;
        self.bytes = &self.bytes[R::LEN..];
        Ok(record)
    }
}

struct Writer<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn put<R: Record>(&mut self, record: &R) -> Result<(), WireError> {
        record.emit(&mut self.bytes[self.at..])?;
        self.at += R::LEN;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::Opcode;
    use proptest::prelude::*;

    #[test]
    fn sizes_of_meanings() {
        assert_eq!(size_of::<Bth>(), 16);
        assert_eq!(size_of::<Headers>(), 64);
        // An enum around it needs no further byte.
        assert_eq!(size_of::<Option<Headers>>(), 64);
    }

    #[test]
    fn headers_of_another_opcode_are_refused() {
        let bth = Bth { opcode: Opcode(0x0c), ..Bth::default() };
        let headers = Headers { bth, operands: Operands::Immediate(ImmDt { data: 1 }), ..Headers::default() };
        let error = headers.emit(&mut [0; 64]).unwrap_err();
        assert_eq!(error.to_string(), "opcode 0x0c is followed by RETH, not by ImmDt");
    }

    proptest! {
        #[test]
        fn headers_of_every_opcode_are_read_and_written(mut bytes in any::<[u8; 64]>()) {
            bytes[1] &= 0xf0;
            for opcode in (0..=u8::MAX).map(Opcode) {
                bytes[0] = opcode.0;
                let headers = Headers::parse(&bytes).unwrap();
                prop_assert_eq!(headers.extensions(), opcode.extensions());
                let mut emitted = [0; 64];
                let len = headers.emit(&mut emitted).unwrap();
                prop_assert_eq!((len, Headers::parse(&emitted[..len])), (headers.len(), Ok(headers)));
                prop_assert!(len <= Headers::MAX_LEN);
                prop_assert!(Headers::parse(&emitted[..len - 1]).is_err());
                prop_assert!(headers.emit(&mut emitted[..len - 1]).is_err());
            }
        }
    }
}
