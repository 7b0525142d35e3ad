use super::Opcode;
use crate::ids::{PKey, Qpn};
use crate::psn::Psn;
use crate::record::record;

record! {
    /// Base transport header (IBA volume 1, section 9.2). The pad count is not part of the meaning: it follows from the
    /// length of the payload.
    #[derive(fabricsim_state::Value)]
    Bth, BthView, 12 {
        /// Service and operation; they decide which headers follow.
        opcode: Opcode = 0:0, 8;
        /// Solicited event: the receiver raises an event for the completion.
        solicited: bool = 1:0, 1;
        /// Migration state: true in state migrated, false while a path migration is prepared.
        migrated: bool = 1:1, 1;
        /// Partition.
        p_key: PKey = 2:0, 16;
        /// Forward congestion notification: a switch marked the packet. ICRC does not cover it.
        fecn: bool = 4:0, 1;
        /// Backward congestion notification: packets in the opposite direction were marked. ICRC does not cover it.
        becn: bool = 4:1, 1;
        /// Destination.
        dest_qp: Qpn = 5:0, 24;
        /// Request for an acknowledgement.
        ack_request: bool = 8:0, 1;
        /// Packet sequence number.
        psn: Psn = 9:0, 24;
    }
    view only {
        /// Bytes after the payload that make it a multiple of 4, 0 to 3.
        pad_count: u8 = 1:2, 2 => 0_u8;
        /// Transport version, 0.
        version: u8 = 1:4, 4 => 0_u8;
    }
}
