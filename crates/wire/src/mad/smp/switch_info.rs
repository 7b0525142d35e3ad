use crate::ids::Lid;
use crate::record::record;

record! {
    /// Tables and capabilities of a switch (table 130).
    SwitchInfo, SwitchInfoView, 20 {
        /// Entries of the linear forwarding table.
        linear_fdb_cap: u16 = 0:0, 16;
        /// Entries of the random forwarding table.
        random_fdb_cap: u16 = 2:0, 16;
        /// Entries of the multicast forwarding table.
        multicast_fdb_cap: u16 = 4:0, 16;
        /// The highest LID in the linear forwarding table.
        linear_fdb_top: Lid = 6:0, 16;
        /// Port for LIDs that a random forwarding table does not have.
        default_port: u8 = 8:0, 8;
        /// Port for multicast packets without an entry.
        default_multicast_primary_port: u8 = 9:0, 8;
        /// The same, for packets that arrived on that port.
        default_multicast_not_primary_port: u8 = 10:0, 8;
        /// Lifetime of a packet in the switch: 4.096 us * 2^n, 20 and more infinite.
        life_time_value: u8 = 11:0, 5;
        /// A port changed its state; set to 1 to clear it.
        port_state_change: bool = 11:5, 1;
        /// Programming of one table of virtual lanes for several ports.
        optimized_sl_to_vl_mapping: u8 = 11:6, 2;
        /// LIDs of a port.
        lids_per_port: u16 = 12:0, 16;
        /// Entries of the ports' tables of partition keys.
        partition_enforcement_cap: u16 = 14:0, 16;
        /// The switch can enforce partitions on packets that arrive.
        inbound_enforcement_cap: bool = 16:0, 1;
        /// The switch can enforce partitions on packets that leave.
        outbound_enforcement_cap: bool = 16:1, 1;
        /// The switch can discard raw packets that arrive.
        filter_raw_inbound_cap: bool = 16:2, 1;
        /// The switch can discard raw packets that leave.
        filter_raw_outbound_cap: bool = 16:3, 1;
        /// Port 0 is a full port.
        enhanced_port_0: bool = 16:4, 1;
        /// The highest multicast LID in use.
        multicast_fdb_top: Lid = 18:0, 16;
    }
}
