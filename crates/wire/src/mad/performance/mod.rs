//! Performance management (section 16.1): counters of ports.

mod congestion;
mod counters;
mod details;
mod lanes;
mod samples;

pub use congestion::{
    PortRcvConCtrl, PortRcvConCtrlView, PortSlRcvBecn, PortSlRcvBecnView, PortSlRcvFecn, PortSlRcvFecnView,
    PortVlXmitTimeCong, PortVlXmitTimeCongView, PortXmitConCtrl, PortXmitConCtrlView, SwPortVlCongestion,
    SwPortVlCongestionView,
};
pub use counters::{PortCounters, PortCountersExtended, PortCountersExtendedView, PortCountersView};
pub use details::{
    PortRcvErrorDetails, PortRcvErrorDetailsView, PortXmitDiscardDetails, PortXmitDiscardDetailsView,
};
pub use lanes::{
    PortFlowCtlCounters, PortFlowCtlCountersView, PortOpRcvCounters, PortOpRcvCountersView, PortVlOpData,
    PortVlOpDataView, PortVlOpPackets, PortVlOpPacketsView, PortVlXmitFlowCtlUpdateErrors,
    PortVlXmitFlowCtlUpdateErrorsView, PortVlXmitWaitCounters, PortVlXmitWaitCountersView,
};
pub use samples::{
    PortSamplesControl, PortSamplesControlView, PortSamplesResult, PortSamplesResultExtended,
    PortSamplesResultExtendedView, PortSamplesResultView,
};

use super::attribute::attributes;
use super::{ClassPortInfo, MadHeader, Method, MgmtClass};
use crate::WireError;
use crate::field::Octets;
use crate::ids::TransactionId;
use crate::record::record;

record! {
    /// Datagram of performance management (section 16.1.1).
    PerformanceMad, PerformanceMadView, 256 {
        /// Header.
        header: MadHeader = 0:0, 8;
        /// The attribute.
        data: Octets<192> = 64:0, 8;
    }
}

attributes! {
    /// Attribute of performance management (table 213).
    PerformanceAttribute {
        ClassPortInfo(ClassPortInfo) = 0x01;
        PortSamplesControl(PortSamplesControl) = 0x10;
        PortSamplesResult(PortSamplesResult) = 0x11;
        PortCounters(PortCounters) = 0x12;
        PortRcvErrorDetails(PortRcvErrorDetails) = 0x15;
        PortXmitDiscardDetails(PortXmitDiscardDetails) = 0x16;
        PortOpRcvCounters(PortOpRcvCounters) = 0x17;
        PortFlowCtlCounters(PortFlowCtlCounters) = 0x18;
        PortVLOpPackets(PortVlOpPackets) = 0x19;
        PortVLOpData(PortVlOpData) = 0x1a;
        PortVLXmitFlowCtlUpdateErrors(PortVlXmitFlowCtlUpdateErrors) = 0x1b;
        PortVLXmitWaitCounters(PortVlXmitWaitCounters) = 0x1c;
        PortCountersExtended(PortCountersExtended) = 0x1d;
        PortSamplesResultExtended(PortSamplesResultExtended) = 0x1e;
        SwPortVLCongestion(SwPortVlCongestion) = 0x30;
        PortRcvConCtrl(PortRcvConCtrl) = 0x31;
        PortSLRcvFECN(PortSlRcvFecn) = 0x32;
        PortSLRcvBECN(PortSlRcvBecn) = 0x33;
        PortXmitConCtrl(PortXmitConCtrl) = 0x34;
        PortVLXmitTimeCong(PortVlXmitTimeCong) = 0x35;
    }
}

impl PerformanceMad {
    /// A request without data.
    pub fn new(method: Method, transaction: TransactionId) -> Self {
        let header = MadHeader::new(MgmtClass::PERFORMANCE, method, transaction);
        Self { header, ..Self::default() }
    }

    /// The attribute; `None` if it is not known.
    pub fn attribute(&self) -> Option<PerformanceAttribute> {
        PerformanceAttribute::parse(self.header.attribute, &self.data.0).ok().flatten()
    }

    /// The datagram with an attribute.
    pub fn with(mut self, attribute: &PerformanceAttribute) -> Result<Self, WireError> {
        self.header.attribute = attribute.id();
        self.data = Octets::default();
        attribute.emit(&mut self.data.0)?;
        Ok(self)
    }
}
