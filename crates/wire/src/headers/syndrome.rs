use serde::{Serialize, Serializer};

use super::{CreditCode, RnrTimer};
use crate::field::{Field, get, put};

/// Reason of a negative acknowledgement (IBA volume 1, table 47).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub enum NakCode {
    /// A packet is missing.
    PsnSequenceError,
    /// The request is malformed, or the responder does not support it.
    InvalidRequest,
    /// Key, range or permission of the remote memory.
    RemoteAccessError,
    /// The responder cannot complete the request.
    RemoteOperationalError,
    /// The queue pair of a Reliable Datagram is not ready, or its key differs.
    InvalidRdRequest,
    /// A code from 5 to 31.
    Reserved(u8),
}

/// Outcome of a request in AETH (IBA volume 1, section 9.7.5.2). Each of the 256 values is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, fabricsim_state::Value)]
pub enum Syndrome {
    /// Acknowledgement with end-to-end credits.
    Ack(CreditCode),
    /// The receiver has no receive request: retransmit after a time.
    RnrNak(RnrTimer),
    /// Negative acknowledgement.
    Nak(NakCode),
    /// Any other value.
    Reserved(u8),
}

impl Default for Syndrome {
    fn default() -> Self {
        Self::Ack(CreditCode::UNLIMITED)
    }
}

impl From<u8> for Syndrome {
    fn from(bits: u8) -> Self {
        match (bits >> 5, bits & 0x1f) {
            (0, code) => Self::Ack(CreditCode::new(code)),
            (1, code) => Self::RnrNak(RnrTimer::new(code)),
            (3, code) => Self::Nak(match code {
                0 => NakCode::PsnSequenceError,
                1 => NakCode::InvalidRequest,
                2 => NakCode::RemoteAccessError,
                3 => NakCode::RemoteOperationalError,
                4 => NakCode::InvalidRdRequest,
                code => NakCode::Reserved(code),
            }),
            _ => Self::Reserved(bits),
        }
    }
}

impl From<Syndrome> for u8 {
    fn from(syndrome: Syndrome) -> Self {
        match syndrome {
            Syndrome::Ack(credits) => credits.code(),
            Syndrome::RnrNak(timer) => 0x20 | timer.code(),
            Syndrome::Nak(code) => {
                0x60 | match code {
                    NakCode::PsnSequenceError => 0,
                    NakCode::InvalidRequest => 1,
                    NakCode::RemoteAccessError => 2,
                    NakCode::RemoteOperationalError => 3,
                    NakCode::InvalidRdRequest => 4,
                    NakCode::Reserved(code) => code & 0x1f,
                }
            }
            Syndrome::Reserved(bits) => bits,
        }
    }
}

impl Field for Syndrome {
    fn read(bytes: &[u8], at: usize, width: usize) -> Self {
        (get(bytes, at, width) as u8).into()
    }

    fn write(&self, bytes: &mut [u8], at: usize, width: usize) {
        put(bytes, at, width, u8::from(*self).into());
    }
}

impl Serialize for Syndrome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8((*self).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_read_and_written() {
        for bits in 0..=u8::MAX {
            assert_eq!(u8::from(Syndrome::from(bits)), bits);
        }
        assert_eq!(Syndrome::from(0x1f), Syndrome::Ack(CreditCode::UNLIMITED));
        assert_eq!(Syndrome::from(0x2e), Syndrome::RnrNak(RnrTimer::new(14)));
        assert_eq!(Syndrome::from(0x62), Syndrome::Nak(NakCode::RemoteAccessError));
        assert_eq!(Syndrome::from(0x40), Syndrome::Reserved(0x40));
    }
}
