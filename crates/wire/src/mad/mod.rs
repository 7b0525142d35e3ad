//! Management datagrams: 256 bytes in the payload of an Unreliable Datagram (chapters 13 to 16, annex A10).
//!
//! A datagram of a class is a record with its data as bytes; `attribute` reads these, `with` writes them. So a datagram
//! whose attribute is not known is kept as it is.

mod attribute;
pub mod cm;
mod common;
pub mod congestion;
mod header;
pub mod performance;
pub mod sa;
pub mod smp;
mod traps;

use serde::Serialize;

pub use common::{ClassPortInfo, ClassPortInfoView, InformInfo, InformInfoView, Notice, NoticeView};
pub use header::{AttributeId, MadHeader, MadHeaderView, Method, MgmtClass};
pub use traps::{
    BadKeyTrap, BadKeyTrapView, CapabilityTrap, CapabilityTrapView, GidTrap, GidTrapView, LidTrap,
    LidTrapView, MKeyTrap, MKeyTrapView, PortTrap, PortTrapView, SwitchBadPKeyTrap, SwitchBadPKeyTrapView,
    SystemGuidTrap, SystemGuidTrapView, Trap,
};

use crate::WireError;
use crate::field::Octets;
use crate::record::{Record, record};

/// Length of a management datagram in bytes.
pub const MAD_LEN: usize = 256;

record! {
    /// Datagram of a class that is not known.
    OtherMad, OtherMadView, 256 {
        /// Header.
        header: MadHeader = 0:0, 8;
        /// All after the header.
        data: Octets<232> = 24:0, 8;
    }
}

/// A management datagram, by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mad {
    /// Subnet management, routed by LID.
    Smp(smp::Smp),
    /// Subnet management, by directed route.
    DirectedSmp(smp::DirectedSmp),
    /// Subnet administration.
    Sa(sa::SaMad),
    /// Communication management.
    Cm(cm::CmMad),
    /// Performance management.
    Performance(performance::PerformanceMad),
    /// Congestion control.
    Congestion(congestion::CongestionMad),
    /// Any other class.
    Other(OtherMad),
}

/// An attribute of any class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "an attribute is copied out of a datagram of 256 bytes")]
pub enum Attribute {
    /// Of subnet management.
    Smp(smp::SmpAttribute),
    /// Of subnet administration.
    Sa(sa::SaAttribute),
    /// Of communication management: a message.
    Cm(cm::CmMessage),
    /// Of performance management.
    Performance(performance::PerformanceAttribute),
    /// Of congestion control.
    Congestion(congestion::CongestionAttribute),
}

impl Attribute {
    /// Name of the attribute.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Smp(attribute) => attribute.name(),
            Self::Sa(attribute) => attribute.name(),
            Self::Cm(message) => message.name(),
            Self::Performance(attribute) => attribute.name(),
            Self::Congestion(attribute) => attribute.name(),
        }
    }
}

impl Mad {
    /// Reads a datagram of 256 bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        Ok(match MadHeaderView::new(bytes)?.class() {
            MgmtClass::SUBN_LID_ROUTED => Self::Smp(Record::parse(bytes)?),
            MgmtClass::SUBN_DIRECTED => Self::DirectedSmp(Record::parse(bytes)?),
            MgmtClass::SUBN_ADM => Self::Sa(Record::parse(bytes)?),
            MgmtClass::COMMUNICATION => Self::Cm(Record::parse(bytes)?),
            MgmtClass::PERFORMANCE => Self::Performance(Record::parse(bytes)?),
            MgmtClass::CONGESTION_CONTROL => Self::Congestion(Record::parse(bytes)?),
            _ => Self::Other(Record::parse(bytes)?),
        })
    }

    /// Writes the datagram's 256 bytes.
    pub fn emit(&self, bytes: &mut [u8]) -> Result<(), WireError> {
        match self {
            Self::Smp(mad) => mad.emit(bytes),
            Self::DirectedSmp(mad) => mad.emit(bytes),
            Self::Sa(mad) => mad.emit(bytes),
            Self::Cm(mad) => mad.emit(bytes),
            Self::Performance(mad) => mad.emit(bytes),
            Self::Congestion(mad) => mad.emit(bytes),
            Self::Other(mad) => mad.emit(bytes),
        }
    }

    /// The datagram's header.
    pub fn header(&self) -> MadHeader {
        match self {
            Self::Smp(mad) => mad.header,
            Self::DirectedSmp(mad) => mad.header(),
            Self::Sa(mad) => mad.header,
            Self::Cm(mad) => mad.header,
            Self::Performance(mad) => mad.header,
            Self::Congestion(mad) => mad.header,
            Self::Other(mad) => mad.header,
        }
    }

    /// The datagram's attribute; `None` if it is not known. Of a table of subnet administration, the first record.
    pub fn attribute(&self) -> Option<Attribute> {
        match self {
            Self::Smp(mad) => mad.attribute().map(Attribute::Smp),
            Self::DirectedSmp(mad) => mad.attribute().map(Attribute::Smp),
            Self::Sa(mad) => mad.attribute().map(Attribute::Sa),
            Self::Cm(mad) => mad.message().map(Attribute::Cm),
            Self::Performance(mad) => mad.attribute().map(Attribute::Performance),
            Self::Congestion(mad) => mad.attribute().map(Attribute::Congestion),
            Self::Other(_) => None,
        }
    }
}
