use std::fmt;

use serde::Serialize;

use crate::field::{Field, get, put};
use crate::ids::{Lid, MKey, Sl, newtypes};
use crate::record::record;

newtypes! {
    /// Logical state of a port, 0 to 15.
    PortState(u8);
    /// Physical state of a port, 0 to 15.
    PortPhysicalState(u8);
    /// Code of a path MTU.
    Mtu(u8);
}

impl PortState {
    /// In a set request: no change.
    pub const NO_CHANGE: Self = Self(0);
    /// No packets.
    pub const DOWN: Self = Self(1);
    /// Flow-control packets and subnet management only.
    pub const INIT: Self = Self(2);
    /// Data packets are accepted and not sent.
    pub const ARMED: Self = Self(3);
    /// All packets.
    pub const ACTIVE: Self = Self(4);
}

impl PortPhysicalState {
    /// Waits to be polled.
    pub const SLEEP: Self = Self(1);
    /// Looks for a peer.
    pub const POLLING: Self = Self(2);
    /// Switched off.
    pub const DISABLED: Self = Self(3);
    /// The link is being trained.
    pub const TRAINING: Self = Self(4);
    /// The link is up.
    pub const LINK_UP: Self = Self(5);
    /// The link recovers from errors.
    pub const ERROR_RECOVERY: Self = Self(6);
}

impl Mtu {
    /// The code of a payload of 256, 512, 1024, 2048 or 4096 bytes; `None` for any other.
    pub const fn from_bytes(bytes: usize) -> Option<Self> {
        match bytes {
            256 => Some(Self(1)),
            512 => Some(Self(2)),
            1024 => Some(Self(3)),
            2048 => Some(Self(4)),
            4096 => Some(Self(5)),
            _ => None,
        }
    }

    /// Bytes of payload; `None` for a reserved code.
    pub const fn bytes(self) -> Option<usize> {
        match self.0 {
            code @ 1..=5 => Some(128 << code),
            _ => None,
        }
    }
}

record! {
    /// State and configuration of a port (table 132).
    PortInfo, PortInfoView, 64 {
        /// Management key.
        m_key: MKey = 0:0, 64;
        /// Prefix of the port's GIDs.
        gid_prefix: u64 = 8:0, 64;
        /// Base LID of the port.
        lid: Lid = 16:0, 16;
        /// LID of the master subnet manager.
        master_sm_lid: Lid = 18:0, 16;
        /// Capabilities.
        capability_mask: u32 = 20:0, 32;
        /// Result of diagnostics.
        diag_code: u16 = 24:0, 16;
        /// Seconds for which a violated management key stays valid.
        m_key_lease_period: u16 = 26:0, 16;
        /// The port on which the request arrived.
        local_port_num: u8 = 28:0, 8;
        /// Widths that may be used: 1 1x, 2 4x, 4 8x, 8 12x, 16 2x.
        link_width_enabled: u8 = 29:0, 8;
        /// Widths that the port has.
        link_width_supported: u8 = 30:0, 8;
        /// Width in use.
        link_width_active: u8 = 31:0, 8;
        /// Speeds that the port has: 1 SDR, 2 DDR, 4 QDR.
        link_speed_supported: u8 = 32:0, 4;
        /// Logical state.
        port_state: PortState = 32:4, 4;
        /// Physical state.
        port_physical_state: PortPhysicalState = 33:0, 4;
        /// Physical state after a failure: 1 sleep, 2 polling.
        link_down_default_state: u8 = 33:4, 4;
        /// Protection by the management key, 0 to 3.
        m_key_protect_bits: u8 = 34:0, 2;
        /// LID mask count: lower bits of a LID that the port ignores.
        lmc: u8 = 34:5, 3;
        /// Speed in use.
        link_speed_active: u8 = 35:0, 4;
        /// Speeds that may be used.
        link_speed_enabled: u8 = 35:4, 4;
        /// Largest payload to the neighbour.
        neighbor_mtu: Mtu = 36:0, 4;
        /// Service level to the master subnet manager.
        master_sm_sl: Sl = 36:4, 4;
        /// Virtual lanes that the port has: 1 1, 2 2, 3 4, 4 8, 5 15.
        vl_cap: u8 = 37:0, 4;
        /// Initialisation that a subnet manager is requested to do.
        init_type: u8 = 37:4, 4;
        /// 4096 bytes of high priority before one packet of low priority; 255 for no limit.
        vl_high_limit: u8 = 38:0, 8;
        /// Entries of the arbitration table of high priority.
        vl_arbitration_high_cap: u8 = 39:0, 8;
        /// Entries of the arbitration table of low priority.
        vl_arbitration_low_cap: u8 = 40:0, 8;
        /// Initialisation that the subnet manager did.
        init_type_reply: u8 = 41:0, 4;
        /// Largest payload of the port.
        mtu_cap: Mtu = 41:4, 4;
        /// Dropped packets after which a lane stalls.
        vl_stall_count: u8 = 42:0, 3;
        /// Lifetime of the first packet of a queue: 4.096 us * 2^n, 20 and more infinite.
        hoq_life: u8 = 42:3, 5;
        /// Virtual lanes in use, coded as `vl_cap`.
        operational_vls: u8 = 43:0, 4;
        /// Partitions are enforced on packets that arrive.
        partition_enforcement_inbound: bool = 43:4, 1;
        /// Partitions are enforced on packets that leave.
        partition_enforcement_outbound: bool = 43:5, 1;
        /// Raw packets that arrive are discarded.
        filter_raw_inbound: bool = 43:6, 1;
        /// Raw packets that leave are discarded.
        filter_raw_outbound: bool = 43:7, 1;
        /// Packets with a wrong management key.
        m_key_violations: u16 = 44:0, 16;
        /// Packets with a wrong partition key.
        p_key_violations: u16 = 46:0, 16;
        /// Packets with a wrong queue key.
        q_key_violations: u16 = 48:0, 16;
        /// GUIDs of the port.
        guid_cap: u8 = 50:0, 8;
        /// Clients must register with subnet administration again.
        client_reregister: bool = 51:0, 1;
        /// Traps for multicast packets of a wrong partition are suppressed.
        multicast_p_key_trap_suppression: u8 = 51:1, 2;
        /// Longest time to cross the subnet: 4.096 us * 2^n.
        subnet_timeout: u8 = 51:3, 5;
        /// Longest time to a response: 4.096 us * 2^n.
        response_time: u8 = 52:3, 5;
        /// Threshold of local physical errors.
        local_phy_errors: u8 = 53:0, 4;
        /// Threshold of buffer overruns.
        overrun_errors: u8 = 53:4, 4;
        /// Credits that keep the link busy.
        max_credit_hint: u16 = 54:0, 16;
        /// Round trip of the link in units of 4 ns, 24 bits.
        link_round_trip_latency: u32 = 57:0, 24;
        /// Further capabilities.
        capability_mask2: u16 = 60:0, 16;
        /// Speed in use if above QDR: 1 FDR, 2 EDR, 4 HDR, 8 NDR.
        link_speed_ext_active: u8 = 62:0, 4;
        /// Speeds above QDR that the port has.
        link_speed_ext_supported: u8 = 62:4, 4;
        /// Speeds above QDR that may be used.
        link_speed_ext_enabled: u8 = 63:3, 5;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_path_mtus() {
        for bytes in [256, 512, 1024, 2048, 4096] {
            assert_eq!(Mtu::from_bytes(bytes).and_then(Mtu::bytes), Some(bytes));
        }
        assert_eq!((Mtu::from_bytes(1500), Mtu(0).bytes(), Mtu(6).bytes()), (None, None, None));
    }
}
