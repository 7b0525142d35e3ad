use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, fabricsim_state::Value)]
        #[serde(transparent)]
        pub struct $name(pub $repr);

        impl $name {
            /// The identifier as an index into a table of its kind.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

identifier!(
    /// A switch of the fabric: its place in the graph's list of switches.
    SwitchId(u32)
);
identifier!(
    /// An endpoint (InfiniBand: an HCA port): its place in the graph's list of hosts.
    HostId(u32)
);
identifier!(
    /// A full-duplex link (a cable): its place in the graph's list of links.
    LinkId(u32)
);
identifier!(
    /// A stream of packets that is accounted for on its own.
    FlowId(u32)
);
identifier!(
    /// A port of a switch, counted from 0. A host has port 0 only.
    PortNo(u16)
);
identifier!(
    /// A virtual lane (InfiniBand) or virtual channel, counted from 0.
    Vl(u8)
);

impl HostId {
    /// From this number on an identifier stands for a multicast group.
    const GROUPS: u32 = 1 << 31;

    /// The destination of packets for a multicast group, by the group's number.
    pub const fn of_group(number: u16) -> Self {
        Self(Self::GROUPS | number as u32)
    }

    /// The number of the multicast group that this destination stands for; `None` if it is a host.
    #[inline]
    pub const fn group(self) -> Option<u16> {
        if self.0 & Self::GROUPS == 0 { None } else { Some(self.0 as u16) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_a_host_or_a_group() {
        assert_eq!((HostId(7).group(), HostId((1 << 31) - 1).group()), (None, None));
        assert_eq!(
            (HostId::of_group(0).group(), HostId::of_group(u16::MAX).group()),
            (Some(0), Some(u16::MAX))
        );
    }
}
