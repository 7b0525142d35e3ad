//! Opcodes: service and operation, and the headers that follow from them (IBA volume 1, table 38).

use std::fmt;

use serde::{Serialize, Serializer};

use super::{Operation, Service};
use crate::field::{Field, get, put};

/// An extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Extension {
    /// [`super::Rdeth`].
    Rdeth,
    /// [`super::Xrceth`].
    Xrceth,
    /// [`super::Deth`].
    Deth,
    /// [`super::Feth`].
    Feth,
    /// [`super::Reth`].
    Reth,
    /// [`super::AtomicEth`].
    AtomicEth,
    /// [`super::Aeth`].
    Aeth,
    /// [`super::AtomicAckEth`].
    AtomicAckEth,
    /// [`super::ImmDt`].
    ImmDt,
    /// [`super::Ieth`].
    Ieth,
}

impl Extension {
    /// Every header, in the order in which they follow each other.
    pub const ALL: [Self; 10] = [
        Self::Rdeth,
        Self::Xrceth,
        Self::Deth,
        Self::Feth,
        Self::Reth,
        Self::AtomicEth,
        Self::Aeth,
        Self::AtomicAckEth,
        Self::ImmDt,
        Self::Ieth,
    ];

    /// Length in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Reth => 16,
            Self::AtomicEth => 28,
            Self::Deth | Self::AtomicAckEth => 8,
            Self::Rdeth | Self::Xrceth | Self::Feth | Self::Aeth | Self::ImmDt | Self::Ieth => 4,
        }
    }

    /// Abbreviation of the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rdeth => "RDETH",
            Self::Xrceth => "XRCETH",
            Self::Deth => "DETH",
            Self::Feth => "FETH",
            Self::Reth => "RETH",
            Self::AtomicEth => "AtomicETH",
            Self::Aeth => "AETH",
            Self::AtomicAckEth => "AtomicAckETH",
            Self::ImmDt => "ImmDt",
            Self::Ieth => "IETH",
        }
    }
}

/// Set of extended transport headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extensions(u16);

impl Extensions {
    /// No header.
    pub const NONE: Self = Self(0);

    /// The set of the given headers.
    pub const fn of(headers: &[Extension]) -> Self {
        let (mut set, mut index) = (0, 0);
        while index < headers.len() {
            set |= 1 << headers[index] as u16;
            index += 1;
        }
        Self(set)
    }

    /// The headers of either set.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if the header is in the set.
    pub const fn contains(self, header: Extension) -> bool {
        self.0 & 1 << header as u16 != 0
    }

    /// The headers, in the order in which they follow each other.
    pub fn iter(self) -> impl Iterator<Item = Extension> {
        Extension::ALL.into_iter().filter(move |&header| self.contains(header))
    }

    /// Length of all headers in bytes.
    pub const fn bytes(self) -> usize {
        let (mut bytes, mut index) = (0, 0);
        while index < Extension::ALL.len() {
            if self.contains(Extension::ALL[index]) {
                bytes += Extension::ALL[index].bytes();
            }
            index += 1;
        }
        bytes
    }
}

impl fmt::Display for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Extension::name).collect();
        f.write_str(if names.is_empty() { "no header" } else { "" })?;
        f.write_str(&names.join(", "))
    }
}

/// Kind of an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpcodeKind {
    /// An operation of a transport service.
    Transport(Service, Operation),
    /// Congestion notification packet.
    Cnp,
    /// For manufacturers, 0xc0 to 0xff.
    Manufacturer,
    /// Any other.
    Reserved,
}

/// Opcode of BTH. Each of the 256 values is one; [`Opcode::kind`] divides them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, fabricsim_state::Value)]
pub struct Opcode(pub u8);

impl Opcode {
    /// Congestion notification packet of InfiniBand.
    pub const CNP: Self = Self(0x80);
    /// Congestion notification packet of RoCE v2 (annex A17).
    pub const CNP_ROCE: Self = Self(0x81);

    /// The opcode of an operation; `None` if the service has no such operation.
    pub const fn new(service: Service, operation: Operation) -> Option<Self> {
        if service.has(operation) { Some(Self((service as u8) << 5 | operation as u8)) } else { None }
    }

    /// Every opcode of a transport service.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=u8::MAX).map(Self).filter(|opcode| opcode.service().is_some())
    }

    /// Kind of the opcode.
    #[inline]
    pub const fn kind(self) -> OpcodeKind {
        KINDS[self.0 as usize]
    }

    const fn classify(self) -> OpcodeKind {
        let service = match self.0 >> 5 {
            0 => Service::Rc,
            1 => Service::Uc,
            2 => Service::Rd,
            3 => Service::Ud,
            4 if matches!(self, Self::CNP | Self::CNP_ROCE) => return OpcodeKind::Cnp,
            4 => return OpcodeKind::Reserved,
            5 => Service::Xrc,
            _ => return OpcodeKind::Manufacturer,
        };
        match Operation::from_bits(self.0) {
            Some(operation) if service.has(operation) => OpcodeKind::Transport(service, operation),
            _ => OpcodeKind::Reserved,
        }
    }

    /// The transport service; `None` for opcodes of no service.
    #[inline]
    pub const fn service(self) -> Option<Service> {
        match self.kind() {
            OpcodeKind::Transport(service, _) => Some(service),
            _ => None,
        }
    }

    /// The operation; `None` for opcodes of no service.
    #[inline]
    pub const fn operation(self) -> Option<Operation> {
        match self.kind() {
            OpcodeKind::Transport(_, operation) => Some(operation),
            _ => None,
        }
    }

    /// The headers between BTH and payload. Opcodes of no service have none.
    pub const fn extensions(self) -> Extensions {
        match self.kind() {
            OpcodeKind::Transport(service, operation) => {
                address(service, operation).union(operands(operation))
            }
            _ => Extensions::NONE,
        }
    }
}

/// Kinds of all opcodes: the operation and the service of a packet are looked up several times.
static KINDS: [OpcodeKind; 256] = {
    let (mut kinds, mut code) = ([OpcodeKind::Reserved; 256], 0);
    while code < kinds.len() {
        kinds[code] = Opcode(code as u8).classify();
        code += 1;
    }
    kinds
};

/// Headers that name the receiver beside BTH.
const fn address(service: Service, operation: Operation) -> Extensions {
    match service {
        Service::Rc | Service::Uc => Extensions::NONE,
        Service::Ud => Extensions::of(&[Extension::Deth]),
        Service::Rd if operation.is_response() => Extensions::of(&[Extension::Rdeth]),
        Service::Rd => Extensions::of(&[Extension::Rdeth, Extension::Deth]),
        Service::Xrc if operation.is_response() => Extensions::NONE,
        Service::Xrc => Extensions::of(&[Extension::Xrceth]),
    }
}

/// Headers with the operation's arguments or results.
const fn operands(operation: Operation) -> Extensions {
    match operation {
        Operation::SendFirst
        | Operation::SendMiddle
        | Operation::SendLast
        | Operation::SendOnly
        | Operation::WriteMiddle
        | Operation::WriteLast
        | Operation::ReadResponseMiddle
        | Operation::Resync => Extensions::NONE,
        Operation::SendLastImm | Operation::SendOnlyImm | Operation::WriteLastImm => {
            Extensions::of(&[Extension::ImmDt])
        }
        Operation::WriteFirst | Operation::WriteOnly | Operation::ReadRequest | Operation::AtomicWrite => {
            Extensions::of(&[Extension::Reth])
        }
        Operation::WriteOnlyImm => Extensions::of(&[Extension::Reth, Extension::ImmDt]),
        Operation::ReadResponseFirst
        | Operation::ReadResponseLast
        | Operation::ReadResponseOnly
        | Operation::Acknowledge => Extensions::of(&[Extension::Aeth]),
        Operation::AtomicAcknowledge => Extensions::of(&[Extension::Aeth, Extension::AtomicAckEth]),
        Operation::CompareSwap | Operation::FetchAdd => Extensions::of(&[Extension::AtomicEth]),
        Operation::SendLastInvalidate | Operation::SendOnlyInvalidate => Extensions::of(&[Extension::Ieth]),
        Operation::Flush => Extensions::of(&[Extension::Feth, Extension::Reth]),
    }
}

impl Field for Opcode {
    #[inline]
    fn read(bytes: &[u8], at: usize, width: usize) -> Self {
        Self(get(bytes, at, width) as u8)
    }

    #[inline]
    fn write(&self, bytes: &mut [u8], at: usize, width: usize) {
        put(bytes, at, width, u128::from(self.0));
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            OpcodeKind::Transport(service, operation) => write!(f, "{} {}", service.name(), operation.name()),
            OpcodeKind::Cnp => f.write_str("CNP"),
            OpcodeKind::Manufacturer => write!(f, "manufacturer {:#04x}", self.0),
            OpcodeKind::Reserved => write!(f, "reserved {:#04x}", self.0),
        }
    }
}

impl Serialize for Opcode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_are_service_and_operation() {
        for opcode in (0..=u8::MAX).map(Opcode) {
            if let OpcodeKind::Transport(service, operation) = opcode.kind() {
                assert_eq!(Opcode::new(service, operation), Some(opcode));
            }
        }
        let count = |service| Opcode::all().filter(|opcode| opcode.service() == Some(service)).count();
        assert_eq!(Service::ALL.map(count), [25, 12, 23, 2, 23]);
        assert_eq!(Opcode::new(Service::Ud, Operation::ReadRequest), None);
        assert_eq!(
            [0x80, 0x81, 0x82, 0xc0, 0x18].map(|code| Opcode(code).kind()),
            [
                OpcodeKind::Cnp,
                OpcodeKind::Cnp,
                OpcodeKind::Reserved,
                OpcodeKind::Manufacturer,
                OpcodeKind::Reserved
            ]
        );
    }

    /// Header stacks of table 38, one for each form.
    #[test]
    fn headers_follow_from_the_opcode() {
        let stacks = [
            (0x04, "no header"),
            (0x05, "ImmDt"),
            (0x0b, "RETH, ImmDt"),
            (0x0e, "no header"),
            (0x0f, "AETH"),
            (0x12, "AETH, AtomicAckETH"),
            (0x13, "AtomicETH"),
            (0x17, "IETH"),
            (0x1c, "FETH, RETH"),
            (0x1d, "RETH"),
            (0x26, "RETH"),
            (0x4b, "RDETH, DETH, RETH, ImmDt"),
            (0x4e, "RDETH"),
            (0x51, "RDETH, AETH"),
            (0x55, "RDETH, DETH"),
            (0x64, "DETH"),
            (0x65, "DETH, ImmDt"),
            (0x80, "no header"),
            (0xae, "no header"),
            (0xb1, "AETH"),
            (0xb4, "XRCETH, AtomicETH"),
            (0xb7, "XRCETH, IETH"),
        ];
        for (code, stack) in stacks {
            assert_eq!(Opcode(code).extensions().to_string(), stack, "{code:#04x}");
        }
        assert_eq!(Opcode(0x4b).extensions().bytes(), 32);
    }

    #[test]
    fn messages_begin_and_end() {
        let starts = Operation::ALL.iter().filter(|operation| operation.starts_message()).count();
        let ends = Operation::ALL.iter().filter(|operation| operation.ends_message()).count();
        assert_eq!((starts, ends), (17, 20));
        assert_eq!(Operation::ALL.iter().filter(|operation| operation.has_payload()).count(), 19);
        for operation in Operation::ALL {
            assert_eq!(Operation::from_bits(operation as u8), Some(operation));
        }
        assert_eq!(Operation::from_bits(0x18), None);
    }
}
