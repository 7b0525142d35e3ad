use crate::field::Table;
use crate::record::record;

record! {
    /// Entry of a congestion control table: an injection rate delay (annex A10.4.3.9).
    CctEntry, CctEntryView, 2 {
        /// Bits by which the delay is shifted right, 0 to 3.
        shift: u8 = 0:0, 2;
        /// Packet times that are shifted, 14 bits.
        multiplier: u16 = 0:2, 14;
    }
}

record! {
    /// A block of a congestion control table. Attribute modifier: number of the block.
    CongestionControlTable, CongestionControlTableView, 132 {
        /// The last entry in use.
        ccti_limit: u16 = 0:0, 16;
        /// Entries.
        entries: Table<CctEntry, 64> = 4:0, 8;
    }
}
