//! Whole packets, from LRH to VCRC.

mod emit;
mod view;

pub(crate) use emit::emit_transport;
pub use emit::{Packet, emit_raw, emit_zeros, pad_count};
pub use view::{Checksum, PacketView};
pub(crate) use view::{check_grh, parse_transport};

/// Length of ICRC in bytes.
pub const ICRC_LEN: usize = 4;
/// Length of VCRC in bytes.
pub const VCRC_LEN: usize = 2;
/// Reserved bytes, all 0, that follow BTH in a congestion notification packet in place of a payload.
pub const CNP_PAYLOAD: [u8; 16] = [0; 16];
