//! Counters by opcode and virtual lane.

use crate::field::Table;
use crate::record::record;

record! {
    /// Received packets of one opcode (section 16.1.4.5).
    PortOpRcvCounters, PortOpRcvCountersView, 12 {
        /// Operation code of the attribute.
        op_code: u8 = 0:0, 8;
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Packets.
        rcv_pkts: u32 = 4:0, 32;
        /// Data in units of 4 bytes.
        rcv_data: u32 = 8:0, 32;
    }
}

record! {
    /// Flow-control packets (section 16.1.4.6).
    PortFlowCtlCounters, PortFlowCtlCountersView, 12 {
        /// Operation code of the attribute.
        op_code: u8 = 0:0, 8;
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Packets sent.
        xmit_flow_pkts: u32 = 4:0, 32;
        /// Packets received.
        rcv_flow_pkts: u32 = 8:0, 32;
    }
}

record! {
    /// Received packets of one opcode by virtual lane (section 16.1.4.7).
    PortVlOpPackets, PortVlOpPacketsView, 36 {
        /// Operation code of the attribute.
        op_code: u8 = 0:0, 8;
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Packets by virtual lane.
        packets: Table<u16, 16> = 4:0, 16;
    }
}

record! {
    /// Received data of one opcode by virtual lane (section 16.1.4.8).
    PortVlOpData, PortVlOpDataView, 68 {
        /// Operation code of the attribute.
        op_code: u8 = 0:0, 8;
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Data by virtual lane, in units of 4 bytes.
        data: Table<u32, 16> = 4:0, 32;
    }
}

record! {
    /// Flow-control packets that were sent too late, by virtual lane (section 16.1.4.9).
    PortVlXmitFlowCtlUpdateErrors, PortVlXmitFlowCtlUpdateErrorsView, 8 {
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Errors by virtual lane, 0 to 3.
        errors: Table<u8, 16> = 4:0, 2;
    }
}

record! {
    /// Waits by virtual lane (section 16.1.4.10).
    PortVlXmitWaitCounters, PortVlXmitWaitCountersView, 36 {
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Ticks in which there was data to send and none was sent, by virtual lane.
        waits: Table<u16, 16> = 4:0, 16;
    }
}
