//! Records of the attributes of subnet management, with the port that they belong to.

use crate::ids::Lid;
use crate::mad::smp::{
    GuidInfo, LinearForwardingTable, MulticastForwardingTable, NodeDescription, NodeInfo, PKeyTable,
    PortInfo, RandomForwardingTable, SlToVlMappingTable, SmInfo, SwitchInfo, VlArbitrationTable,
};
use crate::record::record;

record! {
    /// A node (section 15.2.5.2).
    NodeRecord, NodeRecordView, 108 {
        /// LID of the port.
        lid: Lid = 0:0, 16;
        /// Kind and identity.
        node_info: NodeInfo = 4:0, 8;
        /// Name.
        node_description: NodeDescription = 44:0, 8;
    }
}

record! {
    /// A port (section 15.2.5.3).
    PortInfoRecord, PortInfoRecordView, 68 {
        /// LID of the end port.
        end_port_lid: Lid = 0:0, 16;
        /// Number of the port.
        port_num: u8 = 2:0, 8;
        /// Options of the query.
        options: u8 = 3:0, 8;
        /// State and configuration.
        port_info: PortInfo = 4:0, 8;
    }
}

record! {
    /// Virtual lanes by service level (section 15.2.5.4).
    SlToVlMappingTableRecord, SlToVlMappingTableRecordView, 16 {
        /// LID of the end port.
        lid: Lid = 0:0, 16;
        /// Port on which packets arrive.
        input_port: u8 = 2:0, 8;
        /// Port by which packets leave.
        output_port: u8 = 3:0, 8;
        /// The table.
        table: SlToVlMappingTable = 8:0, 8;
    }
}

record! {
    /// A switch (section 15.2.5.5).
    SwitchInfoRecord, SwitchInfoRecordView, 24 {
        /// LID of the switch.
        lid: Lid = 0:0, 16;
        /// Tables and capabilities.
        switch_info: SwitchInfo = 4:0, 8;
    }
}

record! {
    /// A block of a linear forwarding table (section 15.2.5.6).
    LinearForwardingTableRecord, LinearForwardingTableRecordView, 72 {
        /// LID of the switch.
        lid: Lid = 0:0, 16;
        /// Number of the block of 64 LIDs.
        block: u16 = 2:0, 16;
        /// The block.
        table: LinearForwardingTable = 8:0, 8;
    }
}

record! {
    /// A block of a random forwarding table (section 15.2.5.7).
    RandomForwardingTableRecord, RandomForwardingTableRecordView, 72 {
        /// LID of the switch.
        lid: Lid = 0:0, 16;
        /// Number of the block of 16 entries.
        block: u16 = 2:0, 16;
        /// The block.
        table: RandomForwardingTable = 8:0, 8;
    }
}

record! {
    /// A block of a multicast forwarding table (section 15.2.5.8).
    MulticastForwardingTableRecord, MulticastForwardingTableRecordView, 72 {
        /// LID of the switch.
        lid: Lid = 0:0, 16;
        /// Group of 16 ports, 0 to 15.
        position: u8 = 2:0, 4;
        /// Number of the block of 32 LIDs, 9 bits.
        block: u16 = 2:7, 9;
        /// The block.
        table: MulticastForwardingTable = 8:0, 8;
    }
}

record! {
    /// A subnet manager (section 15.2.5.10).
    SmInfoRecord, SmInfoRecordView, 25 {
        /// LID of its port.
        lid: Lid = 0:0, 16;
        /// State.
        sm_info: SmInfo = 4:0, 8;
    }
}

record! {
    /// A link (section 15.2.5.13).
    LinkRecord, LinkRecordView, 6 {
        /// One end.
        from_lid: Lid = 0:0, 16;
        /// Its port.
        from_port: u8 = 2:0, 8;
        /// Port of the other end.
        to_port: u8 = 3:0, 8;
        /// The other end.
        to_lid: Lid = 4:0, 16;
    }
}

record! {
    /// A block of a port's GUIDs.
    GuidInfoRecord, GuidInfoRecordView, 72 {
        /// LID of the port.
        lid: Lid = 0:0, 16;
        /// Number of the block of 8 GUIDs.
        block: u8 = 2:0, 8;
        /// The block.
        guid_info: GuidInfo = 8:0, 8;
    }
}

record! {
    /// A block of a port's partition keys (section 15.2.5.11).
    PKeyTableRecord, PKeyTableRecordView, 72 {
        /// LID of the end port.
        lid: Lid = 0:0, 16;
        /// Number of the block of 32 keys.
        block: u16 = 2:0, 16;
        /// Number of the port.
        port_num: u8 = 4:0, 8;
        /// The block.
        table: PKeyTable = 8:0, 8;
    }
}

record! {
    /// Half of an arbitration table (section 15.2.5.9).
    VlArbitrationTableRecord, VlArbitrationTableRecordView, 72 {
        /// LID of the end port.
        lid: Lid = 0:0, 16;
        /// Port by which packets leave.
        output_port: u8 = 2:0, 8;
        /// Half of the table: 1 and 2 low, 3 and 4 high priority.
        block: u8 = 3:0, 8;
        /// The half.
        table: VlArbitrationTable = 8:0, 8;
    }
}
