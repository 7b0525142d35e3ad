//! Release of a connection.

use crate::field::Octets;
use crate::ids::{CommId, Qpn};
use crate::record::record;

record! {
    /// Request to release a connection (table 112).
    Dreq, DreqView, 232 {
        /// Connection of the sender.
        local_comm_id: CommId = 0:0, 32;
        /// Connection of the receiver.
        remote_comm_id: CommId = 4:0, 32;
        /// Queue pair of the receiver, or its end-to-end context.
        remote_qpn: Qpn = 8:0, 24;
        /// Data of the consumer.
        private_data: Octets<220> = 12:0, 8;
    }
}

record! {
    /// Reply to a request to release a connection (table 113).
    Drep, DrepView, 232 {
        /// Connection of the sender.
        local_comm_id: CommId = 0:0, 32;
        /// Connection of the receiver.
        remote_comm_id: CommId = 4:0, 32;
        /// Data of the consumer.
        private_data: Octets<224> = 8:0, 8;
    }
}
