//! Details of the subnet manager's traps (section 14.2.5.1, tables 131 to 143).

use serde::Serialize;

use super::{AttributeId, Method};
use crate::Record;
use crate::field::Octets;
use crate::ids::{Gid, Guid, Lid, MKey, PKey, Qpn, Sl};
use crate::record::record;

record! {
    /// A port or multicast group, by GID.
    GidTrap, GidTrapView, 54 {
        /// The port or group.
        gid: Gid = 6:0, 128;
    }
}

record! {
    /// A node, by LID.
    LidTrap, LidTrapView, 54 {
        /// The node.
        lid: Lid = 0:0, 16;
    }
}

record! {
    /// A port of a node.
    PortTrap, PortTrapView, 54 {
        /// The node.
        lid: Lid = 2:0, 16;
        /// Its port.
        port: u8 = 4:0, 8;
    }
}

record! {
    /// Changed capabilities of a port.
    CapabilityTrap, CapabilityTrapView, 54 {
        /// The port.
        lid: Lid = 2:0, 16;
        /// True if one of the last three fields says what changed.
        other_local_changes: bool = 5:7, 1;
        /// PortInfo.CapabilityMask.
        capability_mask: u32 = 6:0, 32;
        /// PortInfo.LinkSpeedEnabled changed.
        link_speed_enabled_change: bool = 11:5, 1;
        /// PortInfo.LinkWidthEnabled changed.
        link_width_enabled_change: bool = 11:6, 1;
        /// NodeDescription changed.
        node_description_change: bool = 11:7, 1;
    }
}

record! {
    /// Changed GUID of a system.
    SystemGuidTrap, SystemGuidTrapView, 54 {
        /// The node.
        lid: Lid = 2:0, 16;
        /// New NodeInfo.SystemImageGUID.
        system_image_guid: Guid = 6:0, 64;
    }
}

record! {
    /// Violation of a management key.
    MKeyTrap, MKeyTrapView, 54 {
        /// The node whose key was violated.
        lid: Lid = 2:0, 16;
        /// Source of a directed-route datagram.
        dr_slid: Lid = 4:0, 16;
        /// Method of the datagram.
        method: Method = 6:0, 8;
        /// Its attribute.
        attribute: AttributeId = 8:0, 16;
        /// Its attribute modifier.
        modifier: u32 = 10:0, 32;
        /// Its key.
        m_key: MKey = 14:0, 64;
        /// True if the datagram was one of a directed route.
        is_directed: bool = 23:0, 1;
        /// True if the return path did not fit.
        is_path_truncated: bool = 23:1, 1;
        /// Length of the return path.
        hop_count: u8 = 23:2, 6;
        /// Ports of the return path.
        return_path: Octets<30> = 24:0, 8;
    }
}

record! {
    /// Violation of a partition or queue key.
    BadKeyTrap, BadKeyTrapView, 54 {
        /// Source of the packet.
        lid1: Lid = 2:0, 16;
        /// Destination of the packet.
        lid2: Lid = 4:0, 16;
        /// Its key: partition keys in the lower 16 bits.
        key: u32 = 6:0, 32;
        /// Its service level.
        sl: Sl = 10:0, 4;
        /// Queue pair of the source.
        qp1: Qpn = 11:0, 24;
        /// Queue pair of the destination.
        qp2: Qpn = 15:0, 24;
        /// GID of the source.
        gid1: Gid = 18:0, 128;
        /// GID of the destination.
        gid2: Gid = 34:0, 128;
    }
}

record! {
    /// Violation of a partition key that a switch found.
    SwitchBadPKeyTrap, SwitchBadPKeyTrapView, 54 {
        /// Which fields are valid.
        valid: u16 = 0:0, 16;
        /// Source of the packet.
        lid1: Lid = 2:0, 16;
        /// Destination of the packet.
        lid2: Lid = 4:0, 16;
        /// Its partition key.
        p_key: PKey = 6:0, 16;
        /// GID of the source.
        gid1: Gid = 8:0, 128;
        /// GID of the destination.
        gid2: Gid = 24:0, 128;
        /// The switch.
        switch_lid: Lid = 40:0, 16;
        /// Port on which the packet arrived.
        port: u8 = 42:0, 8;
    }
}

/// Details of a generic trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Trap {
    /// Trap 64.
    GidInService(GidTrap),
    /// Trap 65.
    GidOutOfService(GidTrap),
    /// Trap 66.
    MulticastGroupCreated(GidTrap),
    /// Trap 67.
    MulticastGroupDeleted(GidTrap),
    /// Trap 128: a port of the node changed its link state.
    LinkStateChange(LidTrap),
    /// Trap 129.
    LocalLinkIntegrity(PortTrap),
    /// Trap 130.
    ExcessiveBufferOverrun(PortTrap),
    /// Trap 131.
    FlowControlUpdateExpired(PortTrap),
    /// Trap 144.
    CapabilityChange(CapabilityTrap),
    /// Trap 145.
    SystemGuidChange(SystemGuidTrap),
    /// Trap 256.
    BadMKey(MKeyTrap),
    /// Trap 257.
    BadPKey(BadKeyTrap),
    /// Trap 258.
    BadQKey(BadKeyTrap),
    /// Trap 259.
    SwitchBadPKey(SwitchBadPKeyTrap),
}

impl Trap {
    /// Reads the details of a trap; `None` if the number is not known or there are fewer than 54 bytes.
    pub fn parse(number: u16, details: &[u8]) -> Option<Self> {
        Some(match number {
            64 => Self::GidInService(Record::parse(details).ok()?),
            65 => Self::GidOutOfService(Record::parse(details).ok()?),
            66 => Self::MulticastGroupCreated(Record::parse(details).ok()?),
            67 => Self::MulticastGroupDeleted(Record::parse(details).ok()?),
            128 => Self::LinkStateChange(Record::parse(details).ok()?),
            129 => Self::LocalLinkIntegrity(Record::parse(details).ok()?),
            130 => Self::ExcessiveBufferOverrun(Record::parse(details).ok()?),
            131 => Self::FlowControlUpdateExpired(Record::parse(details).ok()?),
            144 => Self::CapabilityChange(Record::parse(details).ok()?),
            145 => Self::SystemGuidChange(Record::parse(details).ok()?),
            256 => Self::BadMKey(Record::parse(details).ok()?),
            257 => Self::BadPKey(Record::parse(details).ok()?),
            258 => Self::BadQKey(Record::parse(details).ok()?),
            259 => Self::SwitchBadPKey(Record::parse(details).ok()?),
            _ => return None,
        })
    }

    /// Number of the trap.
    pub const fn number(&self) -> u16 {
        match self {
            Self::GidInService(_) => 64,
            Self::GidOutOfService(_) => 65,
            Self::MulticastGroupCreated(_) => 66,
            Self::MulticastGroupDeleted(_) => 67,
            Self::LinkStateChange(_) => 128,
            Self::LocalLinkIntegrity(_) => 129,
            Self::ExcessiveBufferOverrun(_) => 130,
            Self::FlowControlUpdateExpired(_) => 131,
            Self::CapabilityChange(_) => 144,
            Self::SystemGuidChange(_) => 145,
            Self::BadMKey(_) => 256,
            Self::BadPKey(_) => 257,
            Self::BadQKey(_) => 258,
            Self::SwitchBadPKey(_) => 259,
        }
    }

    /// [`super::Notice::details`] of the trap.
    pub fn details(&self) -> Octets<54> {
        let mut bytes = [0; 54];
        let emitted = match self {
            Self::GidInService(trap)
            | Self::GidOutOfService(trap)
            | Self::MulticastGroupCreated(trap)
            | Self::MulticastGroupDeleted(trap) => trap.emit(&mut bytes),
            Self::LinkStateChange(trap) => trap.emit(&mut bytes),
            Self::LocalLinkIntegrity(trap)
            | Self::ExcessiveBufferOverrun(trap)
            | Self::FlowControlUpdateExpired(trap) => trap.emit(&mut bytes),
            Self::CapabilityChange(trap) => trap.emit(&mut bytes),
            Self::SystemGuidChange(trap) => trap.emit(&mut bytes),
            Self::BadMKey(trap) => trap.emit(&mut bytes),
            Self::BadPKey(trap) | Self::BadQKey(trap) => trap.emit(&mut bytes),
            Self::SwitchBadPKey(trap) => trap.emit(&mut bytes),
        };
        debug_assert_eq!(emitted, Ok(()), "the buffer has the length of the details");
        Octets(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn traps_are_read_and_written(number in 0..300_u16, details in any::<[[u8; 27]; 2]>()) {
            let known = [64, 65, 66, 67, 128, 129, 130, 131, 144, 145, 256, 257, 258, 259];
            let trap = Trap::parse(number, details.as_flattened());
            prop_assert_eq!(trap.is_some(), known.contains(&number));
            if let Some(trap) = trap {
                prop_assert_eq!(trap.number(), number);
                prop_assert_eq!(Trap::parse(number, &trap.details().0), Some(trap));
            }
            prop_assert_eq!(Trap::parse(64, &details[0]), None);
        }
    }
}
