use fabricsim_units::Vl;
use serde::{Serialize, Serializer};

use crate::field::{Field, get, put};
use crate::ids::{Lid, Sl};
use crate::record::record;

/// The header after LRH (LNH, IBA volume 1, section 7.7.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum NextHeader {
    /// A raw header with an ethertype; no ICRC.
    Raw = 0,
    /// An IPv6 header of a packet that is not of InfiniBand's transport; no ICRC.
    Ipv6 = 1,
    /// BTH: the packet stays in its subnet.
    #[default]
    Local = 2,
    /// GRH, then BTH.
    Global = 3,
}

impl Field for NextHeader {
    #[inline]
    fn read(bytes: &[u8], at: usize, width: usize) -> Self {
        match get(bytes, at, width) & 3 {
            0 => Self::Raw,
            1 => Self::Ipv6,
            2 => Self::Local,
            _ => Self::Global,
        }
    }

    #[inline]
    fn write(&self, bytes: &mut [u8], at: usize, width: usize) {
        put(bytes, at, width, *self as u128);
    }
}

impl Serialize for NextHeader {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}

record! {
    /// Local route header: addresses in the subnet (IBA volume 1, section 7.7).
    Lrh, LrhView, 8 {
        /// Virtual lane. Switches change it; ICRC does not cover it.
        vl: Vl = 0:0, 4;
        /// Service level.
        sl: Sl = 1:0, 4;
        /// The header that follows.
        lnh: NextHeader = 1:6, 2;
        /// Destination.
        dlid: Lid = 2:0, 16;
        /// Words of 4 bytes from LRH to ICRC, both included.
        packet_length: u16 = 4:5, 11;
        /// Source.
        slid: Lid = 6:0, 16;
    }
    view only {
        /// Link version, 0.
        version: u8 = 0:4, 4 => 0_u8;
    }
}
