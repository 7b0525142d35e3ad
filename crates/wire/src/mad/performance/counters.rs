//! Counters of a port.

use crate::record::record;

record! {
    /// Counters of a port that stop at their largest value (table 219).
    PortCounters, PortCountersView, 44 {
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Symbols that could not be decoded.
        symbol_errors: u16 = 4:0, 16;
        /// Recoveries of the link.
        link_error_recoveries: u8 = 6:0, 8;
        /// Failed recoveries of the link.
        link_downed: u8 = 7:0, 8;
        /// Packets that arrived with errors.
        port_rcv_errors: u16 = 8:0, 16;
        /// Packets that arrived marked as bad.
        port_rcv_remote_physical_errors: u16 = 10:0, 16;
        /// Packets that a switch could not forward.
        port_rcv_switch_relay_errors: u16 = 12:0, 16;
        /// Packets that could not leave: the port is down, or their lifetime ended.
        port_xmit_discards: u16 = 14:0, 16;
        /// Packets that were not sent because of their partition or because they are raw.
        port_xmit_constraint_errors: u8 = 16:0, 8;
        /// Packets that were discarded on arrival because of their partition or because they are raw.
        port_rcv_constraint_errors: u8 = 17:0, 8;
        /// Further counters that a set request changes.
        counter_select2: u8 = 18:0, 8;
        /// Local physical errors above their threshold.
        local_link_integrity_errors: u8 = 19:0, 4;
        /// Buffer overruns above their threshold.
        excessive_buffer_overrun_errors: u8 = 19:4, 4;
        /// Packets for queue pair 1 that found no receive request.
        qp1_dropped: u16 = 20:0, 16;
        /// Packets of virtual lane 15 that found no buffer.
        vl15_dropped: u16 = 22:0, 16;
        /// Data sent, in units of 4 bytes.
        port_xmit_data: u32 = 24:0, 32;
        /// Data received, in units of 4 bytes.
        port_rcv_data: u32 = 28:0, 32;
        /// Packets sent.
        port_xmit_pkts: u32 = 32:0, 32;
        /// Packets received.
        port_rcv_pkts: u32 = 36:0, 32;
        /// Ticks in which there was data to send and none was sent.
        port_xmit_wait: u32 = 40:0, 32;
    }
}

record! {
    /// Counters of a port with 64 bits (section 16.1.4.11; those after `port_multicast_rcv_pkts` since release 1.3.1).
    PortCountersExtended, PortCountersExtendedView, 184 {
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Further counters that a set request changes.
        counter_select2: u32 = 4:0, 32;
        /// Data sent, in units of 4 bytes.
        port_xmit_data: u64 = 8:0, 64;
        /// Data received, in units of 4 bytes.
        port_rcv_data: u64 = 16:0, 64;
        /// Packets sent.
        port_xmit_pkts: u64 = 24:0, 64;
        /// Packets received.
        port_rcv_pkts: u64 = 32:0, 64;
        /// Unicast packets sent.
        port_unicast_xmit_pkts: u64 = 40:0, 64;
        /// Unicast packets received.
        port_unicast_rcv_pkts: u64 = 48:0, 64;
        /// Multicast packets sent.
        port_multicast_xmit_pkts: u64 = 56:0, 64;
        /// Multicast packets received.
        port_multicast_rcv_pkts: u64 = 64:0, 64;
        /// Symbols that could not be decoded.
        symbol_errors: u64 = 72:0, 64;
        /// Recoveries of the link.
        link_error_recoveries: u64 = 80:0, 64;
        /// Failed recoveries of the link.
        link_downed: u64 = 88:0, 64;
        /// Packets that arrived with errors.
        port_rcv_errors: u64 = 96:0, 64;
        /// Packets that arrived marked as bad.
        port_rcv_remote_physical_errors: u64 = 104:0, 64;
        /// Packets that a switch could not forward.
        port_rcv_switch_relay_errors: u64 = 112:0, 64;
        /// Packets that could not leave.
        port_xmit_discards: u64 = 120:0, 64;
        /// Packets that were not sent because of their partition or because they are raw.
        port_xmit_constraint_errors: u64 = 128:0, 64;
        /// Packets that were discarded on arrival for the same reasons.
        port_rcv_constraint_errors: u64 = 136:0, 64;
        /// Local physical errors above their threshold.
        local_link_integrity_errors: u64 = 144:0, 64;
        /// Buffer overruns above their threshold.
        excessive_buffer_overrun_errors: u64 = 152:0, 64;
        /// Packets of virtual lane 15 that found no buffer.
        vl15_dropped: u64 = 160:0, 64;
        /// Ticks in which there was data to send and none was sent.
        port_xmit_wait: u64 = 168:0, 64;
        /// Packets for queue pair 1 that found no receive request.
        qp1_dropped: u64 = 176:0, 64;
    }
}
