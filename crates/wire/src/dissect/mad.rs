use serde::Serialize;

use crate::ids::{CcKey, Lid, MKey, SmKey};
use crate::mad::sa::{Rmpp, SaAttribute};
use crate::mad::smp::SmpAttribute;
use crate::mad::{Attribute, Mad, MadHeader, Trap};

/// Fields between the header of a datagram and its attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ClassHeader {
    /// Subnet management, routed by LID.
    Smp {
        /// Management key.
        m_key: MKey,
    },
    /// Subnet management, by directed route.
    DirectedSmp {
        /// Management key.
        m_key: MKey,
        /// True on the way back to the requester.
        is_returning: bool,
        /// Hop at which the datagram is.
        hop_pointer: u8,
        /// Hops of the directed route.
        hop_count: u8,
        /// Source of the directed part of the route.
        dr_slid: Lid,
        /// Destination of the directed part of the route.
        dr_dlid: Lid,
        /// Ports by which the datagram leaves, hops 1 to `hop_count`.
        initial_path: Vec<u8>,
        /// Ports on which it arrived, hops 1 to `hop_count`.
        return_path: Vec<u8>,
    },
    /// Subnet administration.
    Sa {
        /// Header of the reliable multi-packet protocol.
        rmpp: Rmpp,
        /// Key by which subnet managers trust each other.
        sm_key: SmKey,
        /// Distance of records in units of 8 bytes.
        attribute_offset: u16,
        /// Fields of the record that a query compares.
        component_mask: u64,
    },
    /// Congestion control.
    Congestion {
        /// Key of congestion control.
        cc_key: CcKey,
    },
    /// Classes without such fields.
    Other {},
}

/// A management datagram.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MadRecord {
    /// Header.
    #[serde(flatten)]
    pub header: MadHeader,
    /// Name of the class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_name: Option<&'static str>,
    /// Name of the method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method_name: Option<&'static str>,
    /// Name of the attribute, or of the message of communication management.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_name: Option<&'static str>,
    /// Fields of the class.
    #[serde(flatten)]
    pub class_header: ClassHeader,
    /// The attribute, by name.
    pub data: Option<Box<Attribute>>,
    /// Details of a generic notice, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trap: Option<Trap>,
}

impl MadRecord {
    /// The datagram in a few words, for example `SubnGet(NodeInfo)`.
    pub fn summary(&self) -> String {
        let header = &self.header;
        let attribute = self.attribute_name.map_or_else(|| header.attribute.to_string(), str::to_owned);
        let method = self.method_name.map_or_else(|| header.method.to_string(), str::to_owned);
        let class = self.class_name.map_or_else(|| header.class.to_string(), str::to_owned);
        match self.data.as_deref() {
            Some(Attribute::Cm(_)) => format!("{class} {attribute}"),
            _ => format!("{class}{method}({attribute})"),
        }
    }
}

impl From<&Mad> for MadRecord {
    fn from(mad: &Mad) -> Self {
        let (header, data) = (mad.header(), mad.attribute());
        let notice = match &data {
            Some(Attribute::Smp(SmpAttribute::Notice(notice))) => Some(*notice),
            Some(Attribute::Sa(SaAttribute::Notice(record))) => Some(record.notice),
            _ => None,
        };
        Self {
            header,
            class_name: header.class.name(),
            method_name: header.method.name(),
            attribute_name: data.as_ref().map(Attribute::name),
            class_header: class_header(mad),
            data: data.map(Box::new),
            trap: notice.and_then(|notice| notice.trap()),
        }
    }
}

fn class_header(mad: &Mad) -> ClassHeader {
    match mad {
        Mad::Smp(smp) => ClassHeader::Smp { m_key: smp.m_key },
        Mad::DirectedSmp(smp) => {
            let hops = |path: &[u8; 64]| path[1..=usize::from(smp.hop_count).min(63)].to_vec();
            ClassHeader::DirectedSmp {
                m_key: smp.m_key,
                is_returning: smp.is_returning,
                hop_pointer: smp.hop_pointer,
                hop_count: smp.hop_count,
                dr_slid: smp.dr_slid,
                dr_dlid: smp.dr_dlid,
                initial_path: hops(&smp.initial_path.0),
                return_path: hops(&smp.return_path.0),
            }
        }
        Mad::Sa(sa) => ClassHeader::Sa {
            rmpp: sa.rmpp,
            sm_key: sa.sm_key,
            attribute_offset: sa.attribute_offset,
            component_mask: sa.component_mask,
        },
        Mad::Congestion(mad) => ClassHeader::Congestion { cc_key: mad.cc_key },
        Mad::Cm(_) | Mad::Performance(_) | Mad::Other(_) => ClassHeader::Other {},
    }
}
