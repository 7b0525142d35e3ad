use crate::field::{Field, get, put};
use crate::ids::newtypes;
use crate::record::record;
use serde::Serialize;
use std::fmt;

newtypes! {
    /// Memory that a FLUSH makes data durable or visible in (bit 0: global visibility, bit 1: persistence), 4 bits.
    PlacementType(u8);
    /// Extent of a FLUSH, 2 bits: 0 a range of a memory region, 1 the region.
    SelectivityLevel(u8);
}

record! {
    /// Flush extended transport header (IBA volume 1, release 1.5, section 9.3; bit positions as in Linux'
    /// `drivers/infiniband/sw/rxe/rxe_hdr.h`).
    #[derive(fabricsim_state::Value)]
    Feth, FethView, 4 {
        /// Extent of the flush.
        selectivity: SelectivityLevel = 3:2, 2;
        /// Kind of placement.
        placement: PlacementType = 3:4, 4;
    }
}
