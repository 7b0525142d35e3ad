//! Globally unique identifiers (EUI-64) of nodes and ports.

use std::fmt;

use serde::{Serialize, Serializer};

/// EUI-64 of a node, a port or a system. 0 stands for an unknown one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Guid(pub u64);

impl Guid {
    /// True unless the GUID is 0.
    pub const fn is_known(self) -> bool {
        self.0 != 0
    }

    /// Returns OpenSM's sort key: its maps compare GUIDs as they lie in memory, in network byte order, on
    /// little-endian machines (`cl_map.c`, `osm_subnet.h`).
    pub const fn map_key(self) -> u64 {
        self.0.swap_bytes()
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:016x}", self.0)
    }
}

impl Serialize for Guid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_order_by_the_last_byte_first() {
        let mut guids = [Guid(0x200001), Guid(0x100001), Guid(0x200000)];
        guids.sort_by_key(|guid| guid.map_key());
        assert_eq!(guids, [Guid(0x200000), Guid(0x100001), Guid(0x200001)]);
        assert_eq!(Guid(0x2a).to_string(), "0x000000000000002a");
    }
}
