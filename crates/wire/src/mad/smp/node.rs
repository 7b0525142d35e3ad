//! Attributes of a node.

use std::fmt;

use serde::Serialize;

use crate::field::{Field, Octets, Table, Text, get, put};
use crate::ids::{Guid, SmKey, newtypes};
use crate::record::record;

newtypes! {
    /// Kind of a node.
    NodeType(u8);
    /// State of a subnet manager.
    SmState(u8);
}

impl NodeType {
    /// Channel adapter.
    pub const CHANNEL_ADAPTER: Self = Self(1);
    /// Switch.
    pub const SWITCH: Self = Self(2);
    /// Router.
    pub const ROUTER: Self = Self(3);
}

impl SmState {
    /// Does not take part.
    pub const NOT_ACTIVE: Self = Self(0);
    /// Looks for other managers.
    pub const DISCOVERING: Self = Self(1);
    /// Waits for the master to fail.
    pub const STANDBY: Self = Self(2);
    /// Configures the subnet.
    pub const MASTER: Self = Self(3);
}

record! {
    /// Name of a node (section 14.2.5.2).
    NodeDescription, NodeDescriptionView, 64 {
        /// UTF-8, filled with zeros.
        text: Text<64> = 0:0, 8;
    }
}

record! {
    /// Kind and identity of a node (table 129).
    NodeInfo, NodeInfoView, 40 {
        /// Version of the header of management datagrams, 1.
        base_version: u8 = 0:0, 8;
        /// Version of the class, 1.
        class_version: u8 = 1:0, 8;
        /// Kind.
        node_type: NodeType = 2:0, 8;
        /// Number of ports; without port 0 of a switch.
        num_ports: u8 = 3:0, 8;
        /// The system that the node is part of.
        system_image_guid: Guid = 4:0, 64;
        /// The node.
        node_guid: Guid = 12:0, 64;
        /// The port by which the request arrived; for a switch its port 0.
        port_guid: Guid = 20:0, 64;
        /// Entries of the table of partition keys.
        partition_cap: u16 = 28:0, 16;
        /// Device of the vendor.
        device_id: u16 = 30:0, 16;
        /// Revision of the device.
        revision: u32 = 32:0, 32;
        /// The port on which the request arrived.
        local_port_num: u8 = 36:0, 8;
        /// Vendor, 24 bits.
        vendor_id: u32 = 37:0, 24;
    }
}

record! {
    /// A block of a port's GUIDs (section 14.2.5.5).
    GuidInfo, GuidInfoView, 64 {
        /// Eight GUIDs; the first of block 0 is the one of manufacture.
        guids: Table<Guid, 8> = 0:0, 64;
    }
}

record! {
    /// State of a subnet manager (table 145).
    SmInfo, SmInfoView, 21 {
        /// Port of the manager.
        guid: Guid = 0:0, 64;
        /// Key by which managers trust each other.
        sm_key: SmKey = 8:0, 64;
        /// Counter that shows that the manager is alive.
        act_count: u32 = 16:0, 32;
        /// Priority, 0 to 15; the highest becomes master.
        priority: u8 = 20:0, 4;
        /// State.
        state: SmState = 20:4, 4;
    }
}

record! {
    /// Diagnostic data of a vendor (section 14.2.5.14).
    VendorDiag, VendorDiagView, 64 {
        /// Attribute modifier of the next block; 0 if this is the last.
        next_index: u16 = 0:0, 16;
        /// Data of the vendor.
        data: Octets<62> = 2:0, 8;
    }
}

record! {
    /// State of a port's light (section 14.2.5.15).
    LedInfo, LedInfoView, 4 {
        /// True if the light is on.
        is_on: bool = 0:0, 1;
    }
}
