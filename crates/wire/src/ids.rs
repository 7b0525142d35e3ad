//! Identifiers and keys of InfiniBand, each a type of its own.

use std::fmt;
use std::net::Ipv6Addr;

use serde::{Serialize, Serializer};

use crate::field::{Field, get, put};

/// Defines newtypes over integers. `hex N` prints and serialises as N hexadecimal digits, else the number.
macro_rules! newtypes {
    ($($(#[$meta:meta])* $name:ident($integer:ty) $(hex $digits:literal)?;)*) => {
        $($(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, fabricsim_state::Value)]
        #[serde(transparent)]
        pub struct $name(pub $integer);

        impl Field for $name {
            #[inline]
            fn read(bytes: &[u8], at: usize, width: usize) -> Self {
                Self(get(bytes, at, width) as $integer)
            }

            #[inline]
            fn write(&self, bytes: &mut [u8], at: usize, width: usize) {
                put(bytes, at, width, u128::from(self.0));
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                newtypes!(@show self, f $(, $digits)?)
            }
        })*
    };
    (@show $value:ident, $f:ident) => { $value.0.fmt($f) };
    (@show $value:ident, $f:ident, $digits:literal) => {
        write!($f, concat!("{:#0", $digits, "x}"), $value.0)
    };
}

pub(crate) use newtypes;

newtypes! {
    /// Local identifier: address of a port in its subnet. 0 is reserved.
    Lid(u16);
    /// Service level, 0 to 15.
    Sl(u8);
    /// Queue pair number, 24 bits. 0 is subnet management, 1 general services, 0xffffff multicast.
    Qpn(u32);
    /// Number of an XRC shared receive queue, 24 bits.
    Srqn(u32);
    /// End-to-end context of Reliable Datagram, 24 bits.
    EeContext(u32);
    /// Message sequence number, 24 bits.
    Msn(u32);
    /// Partition key.
    PKey(u16) hex 6;
    /// Queue key of datagram services.
    QKey(u32) hex 10;
    /// Remote key of a memory region or window.
    RKey(u32) hex 10;
    /// Management key of a port.
    MKey(u64) hex 18;
    /// Key of subnet managers.
    SmKey(u64) hex 18;
    /// Key of congestion control agents.
    CcKey(u64) hex 18;
    /// Identifier of a service at a communication manager.
    ServiceId(u64) hex 18;
    /// Number that relates a response to its request.
    TransactionId(u64) hex 18;
    /// Number of a connection at one of its communication managers.
    CommId(u32) hex 10;
}

impl Lid {
    /// Destination of directed-route packets: any port accepts it.
    pub const PERMISSIVE: Self = Self(0xffff);

    /// True for LIDs of ports, 0x0001 to 0xbfff.
    pub const fn is_unicast(self) -> bool {
        self.0 >= 1 && self.0 < 0xc000
    }

    /// True for LIDs of multicast groups, 0xc000 to 0xfffe.
    pub const fn is_multicast(self) -> bool {
        self.0 >= 0xc000 && self.0 < 0xffff
    }
}

impl Qpn {
    /// Subnet management packets.
    pub const SUBNET_MANAGEMENT: Self = Self(0);
    /// General service packets.
    pub const GENERAL_SERVICES: Self = Self(1);
    /// Destination of multicast packets.
    pub const MULTICAST: Self = Self(0xff_ffff);
}

impl Msn {
    /// The number after this one, modulo 2^24.
    pub const fn next(self) -> Self {
        Self((self.0 + 1) & 0xff_ffff)
    }
}

impl QKey {
    /// Queue key of general services ([`Qpn::GENERAL_SERVICES`]).
    pub const GENERAL_SERVICES: Self = Self(0x8001_0000);
}

impl PKey {
    /// Full member of the default partition.
    pub const DEFAULT: Self = Self(0xffff);

    /// True if the key is of a full member.
    pub const fn is_full_member(self) -> bool {
        self.0 & 0x8000 != 0
    }

    /// True if packets with this key are accepted by a port that has `other`: equal partitions, at least one full
    /// member.
    pub const fn matches(self, other: Self) -> bool {
        self.0 & 0x7fff == other.0 & 0x7fff && (self.is_full_member() || other.is_full_member())
    }
}

/// EUI-64 of a port, node or system. Serialised as `0x` and 16 digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(pub u64);

impl Field for Guid {
    fn read(bytes: &[u8], at: usize, width: usize) -> Self {
        Self(u64::read(bytes, at, width))
    }

    fn write(&self, bytes: &mut [u8], at: usize, width: usize) {
        self.0.write(bytes, at, width);
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl Serialize for Guid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Global identifier: subnet prefix and GUID, or a multicast address. Printed and serialised as an IPv6 address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gid(u64, u64);

impl Gid {
    /// Subnet prefix of a subnet that no one has configured.
    pub const DEFAULT_PREFIX: u64 = 0xfe80_0000_0000_0000;

    /// The GID of a port.
    pub const fn new(prefix: u64, guid: Guid) -> Self {
        Self(prefix, guid.0)
    }

    /// The upper 64 bits.
    pub const fn prefix(self) -> u64 {
        self.0
    }

    /// The lower 64 bits.
    pub const fn guid(self) -> Guid {
        Guid(self.1)
    }

    /// True for multicast groups: the first byte is 0xff.
    pub const fn is_multicast(self) -> bool {
        self.0 >> 56 == 0xff
    }
}

impl From<u128> for Gid {
    fn from(bits: u128) -> Self {
        Self((bits >> 64) as u64, bits as u64)
    }
}

impl From<Gid> for u128 {
    fn from(gid: Gid) -> Self {
        Self::from(gid.0) << 64 | Self::from(gid.1)
    }
}

impl Field for Gid {
    fn read(bytes: &[u8], at: usize, width: usize) -> Self {
        get(bytes, at, width).into()
    }

    fn write(&self, bytes: &mut [u8], at: usize, width: usize) {
        put(bytes, at, width, (*self).into());
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv6Addr::from(u128::from(*self)).fmt(f)
    }
}

impl Serialize for Gid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_match_with_one_full_member() {
        assert!(PKey(0xffff).matches(PKey(0x7fff)) && PKey(0x7fff).matches(PKey(0xffff)));
        assert!(!PKey(0x7fff).matches(PKey(0x7fff)) && !PKey(0xffff).matches(PKey(0xfffe)));
    }

    #[test]
    fn addresses_print_as_the_field_writes_them() {
        let guid = Guid(0x2_c902_0024_f636);
        assert_eq!(guid.to_string(), "0x0002c9020024f636");
        assert_eq!(Gid::new(Gid::DEFAULT_PREFIX, guid).to_string(), "fe80::2:c902:24:f636");
        assert_eq!(PKey(0x7fff).to_string(), "0x7fff");
        assert_eq!(Lid(0xc000).to_string(), "49152");
    }

    #[test]
    fn message_numbers_wrap_at_24_bits() {
        assert_eq!((Msn(7).next(), Msn(0xff_ffff).next()), (Msn(8), Msn(0)));
    }

    #[test]
    fn kinds_of_lids_do_not_overlap() {
        let kinds = |lid: u16| (Lid(lid).is_unicast(), Lid(lid).is_multicast());
        assert_eq!(
            [0, 1, 0xbfff, 0xc000, 0xfffe, 0xffff].map(kinds),
            [(false, false), (true, false), (true, false), (false, true), (false, true), (false, false)]
        );
    }
}
