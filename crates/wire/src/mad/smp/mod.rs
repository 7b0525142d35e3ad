//! Subnet management (chapter 14): datagrams on virtual lane 15 between queue pairs 0.

mod node;
mod port_info;
mod switch_info;
mod tables;

pub use node::{
    GuidInfo, GuidInfoView, LedInfo, LedInfoView, NodeDescription, NodeDescriptionView, NodeInfo,
    NodeInfoView, NodeType, SmInfo, SmInfoView, SmState, VendorDiag, VendorDiagView,
};
pub use port_info::{Mtu, PortInfo, PortInfoView, PortPhysicalState, PortState};
pub use switch_info::{SwitchInfo, SwitchInfoView};
pub use tables::{
    LinearForwardingTable, LinearForwardingTableView, MulticastForwardingTable, MulticastForwardingTableView,
    PKeyTable, PKeyTableView, RandomForwardingTable, RandomForwardingTableView, RandomRoute, RandomRouteView,
    SlToVlMappingTable, SlToVlMappingTableView, VlArbitrationEntry, VlArbitrationEntryView,
    VlArbitrationTable, VlArbitrationTableView,
};

use super::attribute::attributes;
use super::{AttributeId, MadHeader, Method, MgmtClass, Notice};
use crate::WireError;
use crate::field::Octets;
use crate::ids::{Lid, MKey, TransactionId};
use crate::record::record;

record! {
    /// Subnet management datagram that is routed by LID (section 14.2.1.1).
    Smp, SmpView, 256 {
        /// Header.
        header: MadHeader = 0:0, 8;
        /// Management key.
        m_key: MKey = 24:0, 64;
        /// The attribute.
        data: Octets<64> = 64:0, 8;
    }
}

record! {
    /// Subnet management datagram that carries its route (section 14.2.1.2).
    DirectedSmp, DirectedSmpView, 256 {
        /// Version of the header, 1.
        base_version: u8 = 0:0, 8;
        /// [`MgmtClass::SUBN_DIRECTED`].
        class: MgmtClass = 1:0, 8;
        /// Version of the class, 1.
        class_version: u8 = 2:0, 8;
        /// Method.
        method: Method = 3:0, 8;
        /// Direction (D): true on the way back to the requester.
        is_returning: bool = 4:0, 1;
        /// Outcome of the request, 15 bits.
        status: u16 = 4:1, 15;
        /// Hop at which the datagram is.
        hop_pointer: u8 = 6:0, 8;
        /// Hops of the directed route.
        hop_count: u8 = 7:0, 8;
        /// Relates the response to its request.
        transaction: TransactionId = 8:0, 64;
        /// The attribute's identifier.
        attribute_id: AttributeId = 16:0, 16;
        /// Part of the attribute.
        modifier: u32 = 20:0, 32;
        /// Management key.
        m_key: MKey = 24:0, 64;
        /// Source of the directed part of the route; permissive if the route begins with it.
        dr_slid: Lid = 32:0, 16;
        /// Destination of the directed part of the route; permissive if the route ends with it.
        dr_dlid: Lid = 34:0, 16;
        /// The attribute.
        data: Octets<64> = 64:0, 8;
        /// Ports by which the datagram leaves, from hop 1 on.
        initial_path: Octets<64> = 128:0, 8;
        /// Ports on which the datagram arrived, from hop 1 on.
        return_path: Octets<64> = 192:0, 8;
    }
}

attributes! {
    /// Attribute of subnet management (table 126).
    SmpAttribute {
        Notice(Notice) = 0x02;
        NodeDescription(NodeDescription) = 0x10;
        NodeInfo(NodeInfo) = 0x11;
        SwitchInfo(SwitchInfo) = 0x12;
        GUIDInfo(GuidInfo) = 0x14;
        PortInfo(PortInfo) = 0x15;
        P_KeyTable(PKeyTable) = 0x16;
        SLtoVLMappingTable(SlToVlMappingTable) = 0x17;
        VLArbitrationTable(VlArbitrationTable) = 0x18;
        LinearForwardingTable(LinearForwardingTable) = 0x19;
        RandomForwardingTable(RandomForwardingTable) = 0x1a;
        MulticastForwardingTable(MulticastForwardingTable) = 0x1b;
        SMInfo(SmInfo) = 0x20;
        VendorDiag(VendorDiag) = 0x30;
        LedInfo(LedInfo) = 0x31;
    }
}

impl Smp {
    /// A request without data.
    pub fn new(method: Method, transaction: TransactionId) -> Self {
        let header = MadHeader::new(MgmtClass::SUBN_LID_ROUTED, method, transaction);
        Self { header, ..Self::default() }
    }

    /// The attribute; `None` if it is not known.
    pub fn attribute(&self) -> Option<SmpAttribute> {
        SmpAttribute::parse(self.header.attribute, &self.data.0).ok().flatten()
    }

    /// The datagram with an attribute and its modifier.
    pub fn with(mut self, attribute: &SmpAttribute, modifier: u32) -> Result<Self, WireError> {
        (self.header.attribute, self.header.modifier) = (attribute.id(), modifier);
        self.data = Octets::default();
        attribute.emit(&mut self.data.0)?;
        Ok(self)
    }
}

impl DirectedSmp {
    /// A request without data whose whole route is `path`, the ports by which it leaves the requester and each switch.
    /// Fails if there are more than 63.
    pub fn new(method: Method, transaction: TransactionId, path: &[u8]) -> Result<Self, WireError> {
        if path.len() > 63 {
            let value = path.len() as u64;
            return Err(WireError::Value { what: "hops of a directed route", value, allowed: "0 to 63" });
        }
        let mut initial_path = Octets::<64>::default();
        initial_path.0[1..=path.len()].copy_from_slice(path);
        Ok(Self {
            base_version: 1,
            class: MgmtClass::SUBN_DIRECTED,
            class_version: MgmtClass::SUBN_DIRECTED.version(),
            method,
            transaction,
            hop_count: path.len() as u8,
            dr_slid: Lid::PERMISSIVE,
            dr_dlid: Lid::PERMISSIVE,
            initial_path,
            ..Self::default()
        })
    }

    /// The header that all management datagrams share.
    pub fn header(&self) -> MadHeader {
        MadHeader {
            base_version: self.base_version,
            class: self.class,
            class_version: self.class_version,
            method: self.method,
            status: u16::from(self.is_returning) << 15 | self.status & 0x7fff,
            class_specific: u16::from(self.hop_pointer) << 8 | u16::from(self.hop_count),
            transaction: self.transaction,
            attribute: self.attribute_id,
            modifier: self.modifier,
        }
    }

    /// The attribute; `None` if it is not known.
    pub fn attribute(&self) -> Option<SmpAttribute> {
        SmpAttribute::parse(self.attribute_id, &self.data.0).ok().flatten()
    }

    /// The datagram with an attribute and its modifier.
    pub fn with(mut self, attribute: &SmpAttribute, modifier: u32) -> Result<Self, WireError> {
        (self.attribute_id, self.modifier) = (attribute.id(), modifier);
        self.data = Octets::default();
        attribute.emit(&mut self.data.0)?;
        Ok(self)
    }
}
