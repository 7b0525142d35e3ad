//! Congestion control (annex A10): thresholds of switches, tables of injection delays of adapters.

mod info;
mod log;
mod settings;
mod table;

pub use info::{
    CongestionInfo, CongestionInfoView, CongestionKeyInfo, CongestionKeyInfoView, TimeStamp, TimeStampView,
};
pub use log::{
    CaCongestionEvent, CaCongestionEventView, CaCongestionLog, CaCongestionLogView, CongestionLog,
    SwitchCongestionEvent, SwitchCongestionEventView, SwitchCongestionLog, SwitchCongestionLogView,
};
pub use settings::{
    CaCongestionEntry, CaCongestionEntryView, CaCongestionSetting, CaCongestionSettingView, PortMask,
    SwitchCongestionSetting, SwitchCongestionSettingView, SwitchPortCongestion, SwitchPortCongestionSetting,
    SwitchPortCongestionSettingView, SwitchPortCongestionView,
};
pub use table::{CctEntry, CctEntryView, CongestionControlTable, CongestionControlTableView};

use super::attribute::attributes;
use super::{AttributeId, ClassPortInfo, MadHeader, Method, MgmtClass, Notice};
use crate::WireError;
use crate::field::Octets;
use crate::ids::{CcKey, TransactionId};
use crate::record::record;

/// Start of attributes in [`CongestionMad::data`]: 64 bytes after the start of the datagram.
const DATA: usize = 32;

record! {
    /// Datagram of congestion control (annex A10.4.1).
    CongestionMad, CongestionMadView, 256 {
        /// Header.
        header: MadHeader = 0:0, 8;
        /// Key of congestion control.
        cc_key: CcKey = 24:0, 64;
        /// CongestionLog, or 32 bytes that are not used and another attribute.
        data: Octets<224> = 32:0, 8;
    }
}

attributes! {
    /// Attribute of congestion control (annex A10.4.3).
    CongestionAttribute {
        ClassPortInfo(ClassPortInfo) = 0x01;
        Notice(Notice) = 0x02;
        CongestionInfo(CongestionInfo) = 0x11;
        CongestionKeyInfo(CongestionKeyInfo) = 0x12;
        CongestionLog(CongestionLog) = 0x13;
        SwitchCongestionSetting(SwitchCongestionSetting) = 0x14;
        SwitchPortCongestionSetting(SwitchPortCongestionSetting) = 0x15;
        CACongestionSetting(CaCongestionSetting) = 0x16;
        CongestionControlTable(CongestionControlTable) = 0x17;
        TimeStamp(TimeStamp) = 0x18;
    }
}

/// [`CongestionLog`], the attribute that begins before the others.
const LOG: AttributeId = AttributeId(0x13);

impl CongestionMad {
    /// A request without data.
    pub fn new(method: Method, transaction: TransactionId, cc_key: CcKey) -> Self {
        let header = MadHeader::new(MgmtClass::CONGESTION_CONTROL, method, transaction);
        Self { header, cc_key, ..Self::default() }
    }

    /// The attribute; `None` if it is not known.
    pub fn attribute(&self) -> Option<CongestionAttribute> {
        let id = self.header.attribute;
        CongestionAttribute::parse(id, &self.data.0[start(id)..]).ok().flatten()
    }

    /// The datagram with an attribute and its modifier.
    pub fn with(mut self, attribute: &CongestionAttribute, modifier: u32) -> Result<Self, WireError> {
        (self.header.attribute, self.header.modifier) = (attribute.id(), modifier);
        self.data = Octets::default();
        attribute.emit(&mut self.data.0[start(attribute.id())..])?;
        Ok(self)
    }
}

/// Start of an attribute in [`CongestionMad::data`].
fn start(id: AttributeId) -> usize {
    if id == LOG { 0 } else { DATA }
}
