//! Causes of errors and discards.

use crate::record::record;

record! {
    /// Causes of `port_rcv_errors` and `port_rcv_switch_relay_errors` (table 222).
    PortRcvErrorDetails, PortRcvErrorDetailsView, 16 {
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Wrong checksum, or marked as bad.
        local_physical_errors: u16 = 4:0, 16;
        /// Wrong length, lane or header.
        malformed_packet_errors: u16 = 6:0, 16;
        /// No buffer.
        buffer_overrun_errors: u16 = 8:0, 16;
        /// No route to the destination.
        dlid_mapping_errors: u16 = 10:0, 16;
        /// No virtual lane for the service level.
        vl_mapping_errors: u16 = 12:0, 16;
        /// The output would be the input.
        looping_errors: u16 = 14:0, 16;
    }
}

record! {
    /// Causes of `port_xmit_discards` (table 223).
    PortXmitDiscardDetails, PortXmitDiscardDetailsView, 12 {
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// The port was not active.
        inactive_discards: u16 = 4:0, 16;
        /// The packet was longer than the neighbour accepts.
        neighbor_mtu_discards: u16 = 6:0, 16;
        /// The packet was in the switch for too long.
        switch_lifetime_discards: u16 = 8:0, 16;
        /// The packet was first in its queue for too long.
        switch_hoq_lifetime_discards: u16 = 10:0, 16;
    }
}
