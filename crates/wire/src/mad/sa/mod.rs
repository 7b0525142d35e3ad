//! Subnet administration (chapter 15): records about the subnet, in datagrams of the reliable multi-packet protocol.

mod multicast;
mod path;
mod rmpp;
mod service;
mod subnet;

pub use multicast::{McMemberRecord, McMemberRecordView};
pub use path::{
    MultiPathRecord, MultiPathRecordView, PathRecord, PathRecordView, TraceRecord, TraceRecordView,
};
pub use rmpp::{Rmpp, RmppView};
pub use service::{
    InformInfoRecord, InformInfoRecordView, NoticeRecord, NoticeRecordView, ServiceAssociationRecord,
    ServiceAssociationRecordView, ServiceRecord, ServiceRecordView,
};
pub use subnet::{
    GuidInfoRecord, GuidInfoRecordView, LinearForwardingTableRecord, LinearForwardingTableRecordView,
    LinkRecord, LinkRecordView, MulticastForwardingTableRecord, MulticastForwardingTableRecordView,
    NodeRecord, NodeRecordView, PKeyTableRecord, PKeyTableRecordView, PortInfoRecord, PortInfoRecordView,
    RandomForwardingTableRecord, RandomForwardingTableRecordView, SlToVlMappingTableRecord,
    SlToVlMappingTableRecordView, SmInfoRecord, SmInfoRecordView, SwitchInfoRecord, SwitchInfoRecordView,
    VlArbitrationTableRecord, VlArbitrationTableRecordView,
};

use super::attribute::attributes;
use super::{ClassPortInfo, InformInfo, MadHeader, Method, MgmtClass};
use crate::WireError;
use crate::field::Octets;
use crate::ids::{SmKey, TransactionId};
use crate::record::record;

record! {
    /// Datagram of subnet administration (section 15.2.1.1).
    SaMad, SaMadView, 256 {
        /// Header.
        header: MadHeader = 0:0, 8;
        /// Header of the reliable multi-packet protocol.
        rmpp: Rmpp = 24:0, 8;
        /// Key by which subnet managers trust each other.
        sm_key: SmKey = 36:0, 64;
        /// Distance of records in a table, in units of 8 bytes.
        attribute_offset: u16 = 44:0, 16;
        /// Fields of the record that a query compares, a bit each.
        component_mask: u64 = 48:0, 64;
        /// Records, or a part of them.
        data: Octets<200> = 56:0, 8;
    }
}

attributes! {
    /// Attribute of subnet administration (table 186).
    SaAttribute {
        ClassPortInfo(ClassPortInfo) = 0x01;
        Notice(NoticeRecord) = 0x02;
        InformInfo(InformInfo) = 0x03;
        NodeRecord(NodeRecord) = 0x11;
        PortInfoRecord(PortInfoRecord) = 0x12;
        SLtoVLMappingTableRecord(SlToVlMappingTableRecord) = 0x13;
        SwitchInfoRecord(SwitchInfoRecord) = 0x14;
        LinearForwardingTableRecord(LinearForwardingTableRecord) = 0x15;
        RandomForwardingTableRecord(RandomForwardingTableRecord) = 0x16;
        MulticastForwardingTableRecord(MulticastForwardingTableRecord) = 0x17;
        SMInfoRecord(SmInfoRecord) = 0x18;
        LinkRecord(LinkRecord) = 0x20;
        GUIDInfoRecord(GuidInfoRecord) = 0x30;
        ServiceRecord(ServiceRecord) = 0x31;
        P_KeyTableRecord(PKeyTableRecord) = 0x33;
        PathRecord(PathRecord) = 0x35;
        VLArbitrationTableRecord(VlArbitrationTableRecord) = 0x36;
        MCMemberRecord(McMemberRecord) = 0x38;
        TraceRecord(TraceRecord) = 0x39;
        MultiPathRecord(MultiPathRecord) = 0x3a;
        ServiceAssociationRecord(ServiceAssociationRecord) = 0x3b;
        InformInfoRecord(InformInfoRecord) = 0xf3;
    }
}

impl SaMad {
    /// A request without data. The reliable multi-packet protocol is not active.
    pub fn new(method: Method, transaction: TransactionId) -> Self {
        let header = MadHeader::new(MgmtClass::SUBN_ADM, method, transaction);
        Self { header, rmpp: Rmpp { version: 1, ..Rmpp::default() }, ..Self::default() }
    }

    /// The first record; `None` if the attribute is not known. In a segment after the first, records begin where the
    /// previous segment ended.
    pub fn attribute(&self) -> Option<SaAttribute> {
        SaAttribute::parse(self.header.attribute, &self.data.0).ok().flatten()
    }

    /// The datagram with a record and its component mask.
    pub fn with(mut self, attribute: &SaAttribute, component_mask: u64) -> Result<Self, WireError> {
        (self.header.attribute, self.component_mask) = (attribute.id(), component_mask);
        self.data = Octets::default();
        attribute.emit(&mut self.data.0)?;
        Ok(self)
    }
}
