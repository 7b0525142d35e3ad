//! Communication management (chapter 12): messages that establish, redirect and release connections.

mod connect;
mod disconnect;
mod path;
mod sidr;

pub use connect::{
    Mra, MraView, Rej, RejReason, RejView, Rep, RepView, Req, ReqPath, ReqPathView, ReqView, Rtu, RtuView,
};
pub use disconnect::{Drep, DrepView, Dreq, DreqView};
pub use path::{Apr, AprView, Lap, LapView};
pub use sidr::{SidrRep, SidrRepView, SidrReq, SidrReqView};

use super::attribute::attributes;
use super::{ClassPortInfo, MadHeader, Method, MgmtClass};
use crate::WireError;
use crate::field::Octets;
use crate::ids::TransactionId;
use crate::record::record;

record! {
    /// Datagram of communication management (section 12.6).
    CmMad, CmMadView, 256 {
        /// Header; the attribute is the kind of the message.
        header: MadHeader = 0:0, 8;
        /// The message.
        data: Octets<232> = 24:0, 8;
    }
}

attributes! {
    /// Message of communication management (table 105).
    CmMessage {
        ClassPortInfo(ClassPortInfo) = 0x01;
        REQ(Req) = 0x10;
        MRA(Mra) = 0x11;
        REJ(Rej) = 0x12;
        REP(Rep) = 0x13;
        RTU(Rtu) = 0x14;
        DREQ(Dreq) = 0x15;
        DREP(Drep) = 0x16;
        SIDR_REQ(SidrReq) = 0x17;
        SIDR_REP(SidrRep) = 0x18;
        LAP(Lap) = 0x19;
        APR(Apr) = 0x1a;
    }
}

impl CmMad {
    /// A datagram with a message.
    pub fn new(transaction: TransactionId, message: &CmMessage) -> Result<Self, WireError> {
        let mut header = MadHeader::new(MgmtClass::COMMUNICATION, Method::SEND, transaction);
        header.attribute = message.id();
        let mut data = Octets::default();
        message.emit(&mut data.0)?;
        Ok(Self { header, data })
    }

    /// The message; `None` if its kind is not known.
    pub fn message(&self) -> Option<CmMessage> {
        CmMessage::parse(self.header.attribute, &self.data.0).ok().flatten()
    }
}
