//! Change of a connection's alternate path.

use crate::field::Octets;
use crate::ids::{CommId, Gid, Lid, Qpn, Sl};
use crate::record::record;

record! {
    /// Load alternate path (table 115).
    Lap, LapView, 232 {
        /// Connection of the sender.
        local_comm_id: CommId = 0:0, 32;
        /// Connection of the receiver.
        remote_comm_id: CommId = 4:0, 32;
        /// Queue pair of the receiver, or its end-to-end context.
        remote_qpn: Qpn = 12:0, 24;
        /// Time for an answer of the receiver: 4.096 us * 2^n.
        remote_cm_response_timeout: u8 = 15:0, 5;
        /// LID of the sender.
        local_lid: Lid = 20:0, 16;
        /// LID of the receiver.
        remote_lid: Lid = 22:0, 16;
        /// GID of the sender.
        local_gid: Gid = 24:0, 128;
        /// GID of the receiver.
        remote_gid: Gid = 40:0, 128;
        /// Flow label, 20 bits.
        flow_label: u32 = 56:0, 20;
        /// Traffic class.
        traffic_class: u8 = 59:0, 8;
        /// Hop limit.
        hop_limit: u8 = 60:0, 8;
        /// Static rate.
        packet_rate: u8 = 61:2, 6;
        /// Service level.
        sl: Sl = 62:0, 4;
        /// True if the path stays in the subnet.
        subnet_local: bool = 62:4, 1;
        /// Time to an acknowledgement: 4.096 us * 2^n.
        local_ack_timeout: u8 = 63:0, 5;
        /// Data of the consumer.
        private_data: Octets<168> = 64:0, 8;
    }
}

record! {
    /// Alternate path response (table 116).
    Apr, AprView, 232 {
        /// Connection of the sender.
        local_comm_id: CommId = 0:0, 32;
        /// Connection of the receiver.
        remote_comm_id: CommId = 4:0, 32;
        /// Bytes of `additional_info` in use.
        info_length: u8 = 8:0, 8;
        /// 0 the path is loaded, else the reason why it is not.
        status: u8 = 9:0, 8;
        /// Acceptable values, for example.
        additional_info: Octets<72> = 12:0, 8;
        /// Data of the consumer.
        private_data: Octets<148> = 84:0, 8;
    }
}
