//! Capabilities and key of a node.

use crate::ids::CcKey;
use crate::record::record;

record! {
    /// Capabilities of a node (annex A10.4.3.3).
    CongestionInfo, CongestionInfoView, 4 {
        /// Switch, from bit 0: marks for missing credits; per port threshold, packet size, marking rate, threshold and
        /// delay for missing credits. Adapter, from bit 0: per queue pair, per service level.
        flags: u16 = 0:0, 16;
        /// Blocks of 64 entries of the congestion control table.
        control_table_cap: u8 = 2:0, 8;
    }
}

record! {
    /// Key of congestion control (annex A10.4.3.4).
    CongestionKeyInfo, CongestionKeyInfoView, 14 {
        /// Key.
        cc_key: CcKey = 0:0, 64;
        /// True if the key protects reads, too.
        protect: bool = 8:0, 1;
        /// Seconds for which a violated key stays valid.
        lease_period: u16 = 10:0, 16;
        /// Datagrams with a wrong key.
        violations: u16 = 12:0, 16;
    }
}

record! {
    /// Clock of a node (annex A10.4.3.10).
    TimeStamp, TimeStampView, 4 {
        /// Time in units of 1.024 us.
        time: u32 = 0:0, 32;
    }
}
