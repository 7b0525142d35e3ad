//! Blocks of the tables of a node.

use fabricsim_units::Vl;

use crate::field::Table;
use crate::ids::{Lid, PKey};
use crate::record::record;

record! {
    /// A block of 32 partition keys of a port (section 14.2.5.7). Attribute modifier: port of a switch << 16 | block.
    PKeyTable, PKeyTableView, 64 {
        /// Partition keys; 0 for none.
        p_keys: Table<PKey, 32> = 0:0, 16;
    }
}

record! {
    /// Virtual lane of each service level (section 14.2.5.8). Attribute modifier: input port << 8 | output port.
    SlToVlMappingTable, SlToVlMappingTableView, 8 {
        /// Virtual lanes by service level; packets of a level with lane 15 are discarded.
        vls: Table<Vl, 16> = 0:0, 4;
    }
}

record! {
    /// An entry of an arbitration table.
    VlArbitrationEntry, VlArbitrationEntryView, 2 {
        /// Virtual lane.
        vl: Vl = 0:4, 4;
        /// Weight in units of 64 bytes; 0 skips the entry.
        weight: u8 = 1:0, 8;
    }
}

record! {
    /// Half of an arbitration table (section 14.2.5.9). Attribute modifier: half << 16 | port, with halves 1 and 2 of low,
    /// 3 and 4 of high priority.
    VlArbitrationTable, VlArbitrationTableView, 64 {
        /// Entries.
        entries: Table<VlArbitrationEntry, 32> = 0:0, 8;
    }
}

record! {
    /// Ports of 64 LIDs (section 14.2.5.10). Attribute modifier: LID of the first entry / 64.
    LinearForwardingTable, LinearForwardingTableView, 64 {
        /// Ports by LID; 255 for none.
        ports: Table<u8, 64> = 0:0, 8;
    }
}

record! {
    /// An entry of a random forwarding table.
    RandomRoute, RandomRouteView, 4 {
        /// Base LID.
        lid: Lid = 0:0, 16;
        /// True if the entry is in use.
        is_valid: bool = 2:0, 1;
        /// LID mask count.
        lmc: u8 = 2:1, 3;
        /// Port.
        port: u8 = 3:0, 8;
    }
}

record! {
    /// 16 entries of a random forwarding table (section 14.2.5.11).
    RandomForwardingTable, RandomForwardingTableView, 64 {
        /// Entries.
        entries: Table<RandomRoute, 16> = 0:0, 8;
    }
}

record! {
    /// Ports of 32 multicast LIDs (section 14.2.5.12). Attribute modifier: ports / 16 << 28 | (LID - 0xc000) / 32.
    MulticastForwardingTable, MulticastForwardingTableView, 64 {
        /// Sets of 16 ports by multicast LID; bit 0 is the first port of the position.
        port_masks: Table<u16, 32> = 0:0, 16;
    }
}
