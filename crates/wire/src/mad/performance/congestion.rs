//! Counters of congestion control.

use crate::field::Table;
use crate::record::record;

record! {
    /// Packets that a switch marked, by virtual lane (annex A10).
    SwPortVlCongestion, SwPortVlCongestionView, 36 {
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Marked packets by virtual lane.
        marked: Table<u16, 16> = 4:0, 16;
    }
}

record! {
    /// Congestion notifications that a port received (annex A10).
    PortRcvConCtrl, PortRcvConCtrlView, 12 {
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Packets with FECN.
        fecn_pkts: u32 = 4:0, 32;
        /// Packets with BECN.
        becn_pkts: u32 = 8:0, 32;
    }
}

record! {
    /// Packets received with FECN (annex A10).
    PortSlRcvFecn, PortSlRcvFecnView, 68 {
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Packets by service level.
        packets: Table<u32, 16> = 4:0, 32;
    }
}

record! {
    /// Packets received with BECN (annex A10).
    PortSlRcvBecn, PortSlRcvBecnView, 68 {
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Packets by service level.
        packets: Table<u32, 16> = 4:0, 32;
    }
}

record! {
    /// Time for which congestion control delayed packets (annex A10).
    PortXmitConCtrl, PortXmitConCtrlView, 8 {
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Ticks.
        time: u32 = 4:0, 32;
    }
}

record! {
    /// Time for which lanes were congested (annex A10).
    PortVlXmitTimeCong, PortVlXmitTimeCongView, 68 {
        /// The port; 255 for all.
        port_select: u8 = 1:0, 8;
        /// Counters that a set request changes, a bit each.
        counter_select: u16 = 2:0, 16;
        /// Ticks by virtual lane.
        time: Table<u32, 16> = 4:0, 32;
    }
}
