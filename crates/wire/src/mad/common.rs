//! Attributes that several classes share (section 13.4.8).

use super::Trap;
use crate::field::Octets;
use crate::ids::{Gid, Lid, PKey, QKey, Qpn, Sl};
use crate::record::record;

record! {
    /// Capabilities of a class at a port, and where to send its requests and traps (table 106).
    ClassPortInfo, ClassPortInfoView, 72 {
        /// Version of the header.
        base_version: u8 = 0:0, 8;
        /// Version of the class.
        class_version: u8 = 1:0, 8;
        /// Capabilities.
        capability_mask: u16 = 2:0, 16;
        /// Further capabilities, 27 bits.
        capability_mask2: u32 = 4:0, 27;
        /// Longest time to a response: 4.096 us * 2^n.
        response_time: u8 = 7:3, 5;
        /// Redirection of requests.
        redirect_gid: Gid = 8:0, 128;
        /// Traffic class of redirected requests.
        redirect_traffic_class: u8 = 24:0, 8;
        /// Service level of redirected requests.
        redirect_sl: Sl = 25:0, 4;
        /// Flow label of redirected requests.
        redirect_flow_label: u32 = 25:4, 20;
        /// LID for redirected requests.
        redirect_lid: Lid = 28:0, 16;
        /// Partition of redirected requests.
        redirect_p_key: PKey = 30:0, 16;
        /// Queue pair of redirected requests.
        redirect_qp: Qpn = 33:0, 24;
        /// Queue key of redirected requests.
        redirect_q_key: QKey = 36:0, 32;
        /// Destination of traps.
        trap_gid: Gid = 40:0, 128;
        /// Traffic class of traps.
        trap_traffic_class: u8 = 56:0, 8;
        /// Service level of traps.
        trap_sl: Sl = 57:0, 4;
        /// Flow label of traps.
        trap_flow_label: u32 = 57:4, 20;
        /// LID for traps.
        trap_lid: Lid = 60:0, 16;
        /// Partition of traps.
        trap_p_key: PKey = 62:0, 16;
        /// Hop limit of traps.
        trap_hop_limit: u8 = 64:0, 8;
        /// Queue pair of traps.
        trap_qp: Qpn = 65:0, 24;
        /// Queue key of traps.
        trap_q_key: QKey = 68:0, 32;
    }
}

record! {
    /// Event that an agent reports (table 107).
    Notice, NoticeView, 64 {
        /// True if producer and trap number are those of the specification, false if of a vendor.
        is_generic: bool = 0:0, 1;
        /// 0 fatal, 1 urgent, 2 security, 3 subnet management, 4 informational.
        kind: u8 = 0:1, 7;
        /// Generic: kind of node (1 adapter, 2 switch, 3 router, 4 manager). Else the vendor.
        producer: u32 = 1:0, 24;
        /// Generic: number of the trap. Else the device.
        trap_number: u16 = 4:0, 16;
        /// LID of the port that reports.
        issuer_lid: Lid = 6:0, 16;
        /// Changes with each notice.
        toggle: bool = 8:0, 1;
        /// Notices in the agent's queue.
        count: u16 = 8:1, 15;
        /// What the trap number requires: see [`Notice::trap`].
        details: Octets<54> = 10:0, 8;
    }
}

impl Notice {
    /// Details of a generic trap; `None` for others.
    pub fn trap(&self) -> Option<Trap> {
        if self.is_generic { Trap::parse(self.trap_number, &self.details.0) } else { None }
    }
}

record! {
    /// Subscription to notices (table 116).
    InformInfo, InformInfoView, 36 {
        /// Source of the notices, or 0 to use the range of LIDs.
        gid: Gid = 0:0, 128;
        /// First LID of the sources, 0xffff for all.
        lid_begin: Lid = 16:0, 16;
        /// Last LID of the sources.
        lid_end: Lid = 18:0, 16;
        /// 1 for generic traps, 0 for those of a vendor.
        is_generic: u8 = 22:0, 8;
        /// 1 subscribes, 0 unsubscribes.
        subscribe: u8 = 23:0, 8;
        /// Kind of notices, 0xffff for all.
        kind: u16 = 24:0, 16;
        /// Number of the trap, 0xffff for all.
        trap_number: u16 = 26:0, 16;
        /// Queue pair of the subscriber.
        qpn: Qpn = 28:0, 24;
        /// Longest time to a response of the subscriber: 4.096 us * 2^n.
        response_time: u8 = 31:3, 5;
        /// Kind of node, 0xffffff for all.
        producer: u32 = 33:0, 24;
    }
}
