//! Transport services of InfiniBand.

use super::Operation;

/// Transport service: the upper 3 bits of an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, fabricsim_state::Value)]
#[repr(u8)]
pub enum Service {
    /// Reliable Connection.
    Rc = 0,
    /// Unreliable Connection.
    Uc = 1,
    /// Reliable Datagram.
    Rd = 2,
    /// Unreliable Datagram.
    Ud = 3,
    /// Extended Reliable Connection.
    Xrc = 5,
}

impl Service {
    /// Every service.
    pub const ALL: [Self; 5] = [Self::Rc, Self::Uc, Self::Rd, Self::Ud, Self::Xrc];

    /// Abbreviation of the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rc => "RC",
            Self::Uc => "UC",
            Self::Rd => "RD",
            Self::Ud => "UD",
            Self::Xrc => "XRC",
        }
    }

    /// True if the service has the operation.
    pub const fn has(self, operation: Operation) -> bool {
        let bits = operation as u8;
        match self {
            Self::Rc => !matches!(operation, Operation::Resync),
            Self::Uc => bits <= 0x0b,
            Self::Rd => bits <= 0x15 || matches!(operation, Operation::Flush),
            Self::Ud => matches!(operation, Operation::SendOnly | Operation::SendOnlyImm),
            Self::Xrc => bits <= 0x14 || matches!(bits, 0x16 | 0x17),
        }
    }
}
