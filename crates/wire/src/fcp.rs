//! Flow-control packets: credits of a virtual lane (section 7.9.4).

use fabricsim_units::Vl;
use serde::{Serialize, Serializer};

use crate::field::{Field, get, put};
use crate::packet::Checksum;
use crate::record::{Record, record};
use crate::{WireError, crc};

/// Kind of a flow-control packet. Each of the 16 values is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FcpOp {
    /// Sent while the link is armed or active.
    #[default]
    Normal,
    /// Sent while the link is initialised.
    Init,
    /// 2 to 15: the receiver discards the packet.
    Reserved(u8),
}

impl Field for FcpOp {
    fn read(bytes: &[u8], at: usize, width: usize) -> Self {
        match get(bytes, at, width) as u8 {
            0 => Self::Normal,
            1 => Self::Init,
            other => Self::Reserved(other),
        }
    }

    fn write(&self, bytes: &mut [u8], at: usize, width: usize) {
        let bits = match self {
            Self::Normal => 0,
            Self::Init => 1,
            Self::Reserved(other) => *other,
        };
        put(bytes, at, width, bits.into());
    }
}

impl Serialize for FcpOp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(match self {
            Self::Normal => 0,
            Self::Init => 1,
            Self::Reserved(other) => *other,
        })
    }
}

record! {
    /// Flow-control packet without its checksum.
    Fcp, FcpView, 4 {
        /// Kind.
        op: FcpOp = 0:0, 4;
        /// Blocks of 64 bytes that the sender has sent on the lane, modulo 4096 (FCTBS).
        total_blocks_sent: u16 = 0:4, 12;
        /// The lane.
        vl: Vl = 2:0, 4;
        /// Total of blocks that the receiver of this packet may have sent on the lane, modulo 4096 (FCCL).
        credit_limit: u16 = 2:4, 12;
    }
}

impl Fcp {
    /// Length on the wire with LPCRC, in bytes.
    pub const WIRE_LEN: usize = 6;

    /// Writes packet and LPCRC and returns their length.
    pub fn emit_packet(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        crate::error::need("FCP", Self::WIRE_LEN, buffer.len())?;
        let bytes: [u8; 4] = self.to_bytes()?;
        buffer[..4].copy_from_slice(&bytes);
        buffer[4..Self::WIRE_LEN].copy_from_slice(&crc::lpcrc(bytes).to_be_bytes());
        Ok(Self::WIRE_LEN)
    }

    /// Reads packet and LPCRC.
    pub fn parse_packet(bytes: &[u8]) -> Result<(Self, Checksum<u16>), WireError> {
        crate::error::need("FCP", Self::WIRE_LEN, bytes.len())?;
        let found = u16::from_be_bytes([bytes[4], bytes[5]]);
        let computed = crc::lpcrc([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Ok((Self::parse(bytes)?, Checksum { found, computed }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_of_an_idle_lane() {
        let fcp = Fcp { op: FcpOp::Init, total_blocks_sent: 0, vl: Vl(0), credit_limit: 128 };
        let mut bytes = [0; 6];
        assert_eq!(fcp.emit_packet(&mut bytes), Ok(6));
        assert_eq!(bytes, [0x10, 0, 0, 0x80, 0x50, 0xd5]);
        assert_eq!(Fcp::parse_packet(&bytes), Ok((fcp, Checksum { found: 0x50d5, computed: 0x50d5 })));
        bytes[3] ^= 1;
        assert!(!Fcp::parse_packet(&bytes).unwrap().1.is_right());
        assert!(Fcp::parse_packet(&bytes[..5]).is_err() && fcp.emit_packet(&mut bytes[..5]).is_err());
    }
}
