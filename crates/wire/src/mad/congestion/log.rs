//! Events that a node logged.

use serde::Serialize;

use super::PortMask;
use crate::WireError;
use crate::field::Table;
use crate::ids::{Lid, Qpn, Sl};
use crate::record::{Record, record};

record! {
    /// A packet that a switch marked.
    SwitchCongestionEvent, SwitchCongestionEventView, 12 {
        /// Its source.
        slid: Lid = 0:0, 16;
        /// Its destination.
        dlid: Lid = 2:0, 16;
        /// Its service level.
        sl: Sl = 4:0, 4;
        /// Time in units of 1.024 us.
        time: u32 = 8:0, 32;
    }
}

record! {
    /// Log of a switch (annex A10.4.3.5).
    SwitchCongestionLog, SwitchCongestionLogView, 220 {
        /// 1.
        kind: u8 = 0:0, 8;
        /// Bit 0: the counter stopped at its largest value.
        flags: u8 = 1:0, 8;
        /// Events since the last read.
        event_counter: u16 = 2:0, 16;
        /// Time of the read, in units of 1.024 us.
        current_time: u32 = 4:0, 32;
        /// Ports on which there were events.
        port_map: PortMask = 8:0, 8;
        /// The latest events.
        events: Table<SwitchCongestionEvent, 15> = 40:0, 8;
    }
}

record! {
    /// An index above its threshold at an adapter. The places are those of libibmad's `fields.c`; OpenSM's `ib_types.h` has
    /// service level and service after the queue pair of the peer.
    CaCongestionEvent, CaCongestionEventView, 16 {
        /// Queue pair.
        local_qp: Qpn = 0:0, 24;
        /// Service level.
        sl: Sl = 3:0, 4;
        /// Transport service: 0 RC, 1 UC, 2 RD, 3 UD.
        service: u8 = 3:4, 4;
        /// Queue pair of the peer.
        remote_qp: Qpn = 4:0, 24;
        /// LID of the adapter.
        local_lid: Lid = 8:0, 16;
        /// The peer.
        remote_lid: Lid = 10:0, 16;
        /// Time in units of 1.024 us.
        time: u32 = 12:0, 32;
    }
}

record! {
    /// Log of an adapter (annex A10.4.3.5).
    CaCongestionLog, CaCongestionLogView, 220 {
        /// 2.
        kind: u8 = 0:0, 8;
        /// Bit 0: the counter stopped at its largest value.
        flags: u8 = 1:0, 8;
        /// Events since the last read.
        event_counter: u16 = 2:0, 16;
        /// Service levels with events, a bit each.
        event_map: u16 = 4:0, 16;
        /// Time of the read, in units of 1.024 us.
        current_time: u32 = 8:0, 32;
        /// The latest events.
        events: Table<CaCongestionEvent, 13> = 12:0, 8;
    }
}

/// Log of a node, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CongestionLog {
    /// Of a switch.
    Switch(SwitchCongestionLog),
    /// Of an adapter.
    Ca(CaCongestionLog),
}

impl Record for CongestionLog {
    const NAME: &'static str = "CongestionLog";
    const LEN: usize = 220;

    fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        match bytes.first() {
            Some(2) => Record::parse(bytes).map(Self::Ca),
            _ => Record::parse(bytes).map(Self::Switch),
        }
    }

    fn emit(&self, bytes: &mut [u8]) -> Result<(), WireError> {
        match self {
            Self::Switch(log) => log.emit(bytes),
            Self::Ca(log) => log.emit(bytes),
        }
    }
}
