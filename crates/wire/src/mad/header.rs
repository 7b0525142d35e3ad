//! The header that all management datagrams share (section 13.4.3).

use std::fmt;

use serde::Serialize;

use crate::field::{Field, get, put};
use crate::ids::{TransactionId, newtypes};
use crate::record::record;

newtypes! {
    /// Management class.
    MgmtClass(u8) hex 4;
    /// Method of a management class; bit 7 marks responses.
    Method(u8) hex 4;
    /// Identifier of an attribute within its management class.
    AttributeId(u16) hex 6;
}

impl MgmtClass {
    /// Subnet management, routed by LID.
    pub const SUBN_LID_ROUTED: Self = Self(0x01);
    /// Subnet management, by directed route.
    pub const SUBN_DIRECTED: Self = Self(0x81);
    /// Subnet administration.
    pub const SUBN_ADM: Self = Self(0x03);
    /// Performance management.
    pub const PERFORMANCE: Self = Self(0x04);
    /// Communication management.
    pub const COMMUNICATION: Self = Self(0x07);
    /// Congestion control.
    pub const CONGESTION_CONTROL: Self = Self(0x21);

    /// Class version of the specification: 1 for subnet and performance management, else 2.
    pub const fn version(self) -> u8 {
        match self {
            Self::SUBN_LID_ROUTED | Self::SUBN_DIRECTED | Self::PERFORMANCE => 1,
            _ => 2,
        }
    }

    /// Name of the specification; `None` for other classes.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::SUBN_LID_ROUTED => Some("SubnLID"),
            Self::SUBN_DIRECTED => Some("SubnDirected"),
            Self::SUBN_ADM => Some("SubnAdm"),
            Self::PERFORMANCE => Some("Perf"),
            Self::COMMUNICATION => Some("ComMgt"),
            Self::CONGESTION_CONTROL => Some("CongCtrl"),
            _ => None,
        }
    }
}

impl Method {
    /// Reads an attribute.
    pub const GET: Self = Self(0x01);
    /// Changes an attribute.
    pub const SET: Self = Self(0x02);
    /// Sends an attribute without a response.
    pub const SEND: Self = Self(0x03);
    /// Notifies a manager.
    pub const TRAP: Self = Self(0x05);
    /// Forwards a notice to a subscriber.
    pub const REPORT: Self = Self(0x06);
    /// Acknowledges a trap.
    pub const TRAP_REPRESS: Self = Self(0x07);
    /// Reads a table of records (subnet administration).
    pub const GET_TABLE: Self = Self(0x12);
    /// Reads records, some of which together form paths (subnet administration).
    pub const GET_MULTI: Self = Self(0x14);
    /// Deletes a record (subnet administration).
    pub const DELETE: Self = Self(0x15);
    /// Response to [`Method::GET`] and [`Method::SET`].
    pub const GET_RESP: Self = Self(0x81);
    /// Response to [`Method::REPORT`].
    pub const REPORT_RESP: Self = Self(0x86);
    /// Response to [`Method::GET_TABLE`].
    pub const GET_TABLE_RESP: Self = Self(0x92);
    /// Response to [`Method::GET_MULTI`].
    pub const GET_MULTI_RESP: Self = Self(0x94);
    /// Response to [`Method::DELETE`].
    pub const DELETE_RESP: Self = Self(0x95);

    /// True if the datagram answers another one.
    pub const fn is_response(self) -> bool {
        self.0 & 0x80 != 0 || self.0 == Self::TRAP_REPRESS.0
    }

    /// Name of the specification; `None` for other methods.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::GET => "Get",
            Self::SET => "Set",
            Self::SEND => "Send",
            Self::TRAP => "Trap",
            Self::REPORT => "Report",
            Self::TRAP_REPRESS => "TrapRepress",
            Self::GET_TABLE => "GetTable",
            Self::GET_MULTI => "GetMulti",
            Self::DELETE => "Delete",
            Self::GET_RESP => "GetResp",
            Self::REPORT_RESP => "ReportResp",
            Self::GET_TABLE_RESP => "GetTableResp",
            Self::GET_MULTI_RESP => "GetMultiResp",
            Self::DELETE_RESP => "DeleteResp",
            _ => return None,
        })
    }
}

record! {
    /// Header of a management datagram.
    MadHeader, MadHeaderView, 24 {
        /// Version of the header, 1.
        base_version: u8 = 0:0, 8;
        /// Management class.
        class: MgmtClass = 1:0, 8;
        /// Version of the class.
        class_version: u8 = 2:0, 8;
        /// Method.
        method: Method = 3:0, 8;
        /// Outcome of the request, 0 for success. Bit 15 is the direction of a directed route.
        status: u16 = 4:0, 16;
        /// For the class. Directed route: hop pointer and hop count.
        class_specific: u16 = 6:0, 16;
        /// Relates the response to its request.
        transaction: TransactionId = 8:0, 64;
        /// The attribute.
        attribute: AttributeId = 16:0, 16;
        /// Part of the attribute, for example a block of a table.
        modifier: u32 = 20:0, 32;
    }
}

impl MadHeader {
    /// Header of a request with the versions of the class.
    pub fn new(class: MgmtClass, method: Method, transaction: TransactionId) -> Self {
        Self {
            base_version: 1,
            class,
            class_version: class.version(),
            method,
            transaction,
            ..Self::default()
        }
    }

    /// Header of the response to this request.
    pub fn response(&self) -> Self {
        let method = match self.method {
            Method::GET | Method::SET => Method::GET_RESP,
            Method::TRAP => Method::TRAP_REPRESS,
            Method(other) => Method(other | 0x80),
        };
        Self { method, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_have_the_method_of_their_request() {
        let request = |method| MadHeader::new(MgmtClass::SUBN_ADM, method, TransactionId(7));
        assert_eq!(request(Method::GET).response().method, Method::GET_RESP);
        assert_eq!(request(Method::SET).response().method, Method::GET_RESP);
        assert_eq!(request(Method::TRAP).response().method, Method::TRAP_REPRESS);
        assert_eq!(request(Method::GET_TABLE).response().method, Method::GET_TABLE_RESP);
        assert!(Method::TRAP_REPRESS.is_response() && !Method::TRAP.is_response());
        assert_eq!((request(Method::GET).class_version, Method(0x44).name()), (2, None));
    }
}
