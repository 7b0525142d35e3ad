//! Paths between ports.

use crate::field::Table;
use crate::ids::{Gid, Guid, Lid, PKey, ServiceId, Sl};
use crate::mad::smp::{Mtu, NodeType};
use crate::record::record;

record! {
    /// A path from one port to another (section 15.2.5.16). Selectors of a query: 0 greater than, 1 less than, 2 equal,
    /// 3 the largest.
    PathRecord, PathRecordView, 64 {
        /// Service that the path is for.
        service_id: ServiceId = 0:0, 64;
        /// Destination.
        dgid: Gid = 8:0, 128;
        /// Source.
        sgid: Gid = 24:0, 128;
        /// LID of the destination.
        dlid: Lid = 40:0, 16;
        /// LID of the source.
        slid: Lid = 42:0, 16;
        /// True for a path of raw packets.
        raw_traffic: bool = 44:0, 1;
        /// Flow label, 20 bits.
        flow_label: u32 = 44:4, 20;
        /// Hop limit.
        hop_limit: u8 = 47:0, 8;
        /// Traffic class.
        traffic_class: u8 = 48:0, 8;
        /// True if the same path leads back.
        reversible: bool = 49:0, 1;
        /// Largest number of paths to return, 7 bits.
        num_path: u8 = 49:1, 7;
        /// Partition.
        p_key: PKey = 50:0, 16;
        /// Class of quality of service, 12 bits.
        qos_class: u16 = 52:0, 12;
        /// Service level.
        sl: Sl = 53:4, 4;
        /// Comparison of `mtu`.
        mtu_selector: u8 = 54:0, 2;
        /// Payload.
        mtu: Mtu = 54:2, 6;
        /// Comparison of `rate`.
        rate_selector: u8 = 55:0, 2;
        /// Static rate: 2 2.5 Gb/s, 3 10, 4 30, 5 5, 6 20, 7 40, 8 60, 9 80, 10 120, 11 14, 12 56, 13 112, 14 168, 15 25,
        /// 16 100, 17 200, 18 300.
        rate: u8 = 55:2, 6;
        /// Comparison of `packet_lifetime`.
        packet_lifetime_selector: u8 = 56:0, 2;
        /// Longest time on the path: 4.096 us * 2^n.
        packet_lifetime: u8 = 56:2, 6;
        /// Order of preference, 0 first.
        preference: u8 = 57:0, 8;
    }
}

record! {
    /// Query for paths between two groups of ports (section 15.2.5.18): at most 11 GIDs in one datagram.
    MultiPathRecord, MultiPathRecordView, 200 {
        /// True for paths of raw packets.
        raw_traffic: bool = 0:0, 1;
        /// Flow label, 20 bits.
        flow_label: u32 = 0:4, 20;
        /// Hop limit.
        hop_limit: u8 = 3:0, 8;
        /// Traffic class.
        traffic_class: u8 = 4:0, 8;
        /// True if the same path leads back.
        reversible: bool = 5:0, 1;
        /// Largest number of paths to return, 7 bits.
        num_path: u8 = 5:1, 7;
        /// Partition.
        p_key: PKey = 6:0, 16;
        /// Class of quality of service, 12 bits.
        qos_class: u16 = 8:0, 12;
        /// Service level.
        sl: Sl = 9:4, 4;
        /// Comparison of `mtu`.
        mtu_selector: u8 = 10:0, 2;
        /// Payload.
        mtu: Mtu = 10:2, 6;
        /// Comparison of `rate`.
        rate_selector: u8 = 11:0, 2;
        /// Static rate.
        rate: u8 = 11:2, 6;
        /// Comparison of `packet_lifetime`.
        packet_lifetime_selector: u8 = 12:0, 2;
        /// Longest time on the path: 4.096 us * 2^n.
        packet_lifetime: u8 = 12:2, 6;
        /// Upper 8 bits of the service's identifier.
        service_id_high: u8 = 13:0, 8;
        /// Independence of the paths from each other: 1 no common fault.
        independence: u8 = 14:0, 2;
        /// Number of sources.
        source_count: u8 = 15:0, 8;
        /// Number of destinations.
        destination_count: u8 = 16:0, 8;
        /// Lower 56 bits of the service's identifier.
        service_id_low: u64 = 17:0, 56;
        /// Sources, then destinations.
        gids: Table<Gid, 11> = 24:0, 128;
    }
}

record! {
    /// A node on a path (section 15.2.5.20).
    TraceRecord, TraceRecordView, 46 {
        /// Prefix of the subnet.
        gid_prefix: u64 = 0:0, 64;
        /// Generation of the identifiers below.
        id_generation: u16 = 8:0, 16;
        /// Kind of the node.
        node_type: NodeType = 11:0, 8;
        /// The node.
        node: Guid = 12:0, 64;
        /// Its chassis.
        chassis: Guid = 20:0, 64;
        /// The port by which the path enters.
        entry_port_id: Guid = 28:0, 64;
        /// The port by which the path leaves.
        exit_port_id: Guid = 36:0, 64;
        /// Number of the entry port.
        entry_port: u8 = 44:0, 8;
        /// Number of the exit port.
        exit_port: u8 = 45:0, 8;
    }
}
