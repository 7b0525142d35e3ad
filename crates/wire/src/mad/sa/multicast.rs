use crate::ids::{Gid, Lid, PKey, QKey, Sl};
use crate::mad::smp::Mtu;
use crate::record::record;

record! {
    /// Membership of a multicast group (section 15.2.5.17). Selectors are those of [`super::PathRecord`].
    McMemberRecord, McMemberRecordView, 52 {
        /// The group.
        mgid: Gid = 0:0, 128;
        /// The member.
        port_gid: Gid = 16:0, 128;
        /// Queue key of the group.
        q_key: QKey = 32:0, 32;
        /// LID of the group.
        mlid: Lid = 36:0, 16;
        /// Comparison of `mtu`.
        mtu_selector: u8 = 38:0, 2;
        /// Payload.
        mtu: Mtu = 38:2, 6;
        /// Traffic class.
        traffic_class: u8 = 39:0, 8;
        /// Partition.
        p_key: PKey = 40:0, 16;
        /// Comparison of `rate`.
        rate_selector: u8 = 42:0, 2;
        /// Static rate.
        rate: u8 = 42:2, 6;
        /// Comparison of `packet_lifetime`.
        packet_lifetime_selector: u8 = 43:0, 2;
        /// Longest time on the path: 4.096 us * 2^n.
        packet_lifetime: u8 = 43:2, 6;
        /// Service level.
        sl: Sl = 44:0, 4;
        /// Flow label, 20 bits.
        flow_label: u32 = 44:4, 20;
        /// Hop limit.
        hop_limit: u8 = 47:0, 8;
        /// Scope of the group's address.
        scope: u8 = 48:0, 4;
        /// Membership: 1 full, 2 non-member, 4 send only, 8 full send only.
        join_state: u8 = 48:4, 4;
        /// True if another port joined on behalf of the member.
        proxy_join: bool = 49:0, 1;
    }
}
