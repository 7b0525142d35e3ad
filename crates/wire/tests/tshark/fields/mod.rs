//! Names of our fields, as paths in JSON, and of tshark's.

mod attributes;
mod connections;
mod headers;
mod services;
mod subnet;

use serde_json::Value;

use attributes::{BLOCK8, BLOCK16, END_PORT, LID, MULTICAST_BLOCK, OUTPUT, PORT, PORTS, SUBSCRIBER};
pub(crate) use attributes::{attribute, trap};
use connections::*;
pub(crate) use headers::*;
use services::*;
pub(crate) use subnet::NOTICE;
use subnet::*;

/// Pairs of a path in our JSON and a field of tshark.
pub(crate) type Fields = &'static [(&'static str, &'static str)];

/// Tables of all fields.
const ALL: &[Fields] = &[
    P_KEYS,
    LANES,
    SERVICE_ASSOCIATION,
    LID,
    BLOCK16,
    BLOCK8,
    MULTICAST_BLOCK,
    PORTS,
    OUTPUT,
    PORT,
    END_PORT,
    SUBSCRIBER,
    LRH,
    GRH,
    BTH,
    DETH,
    EXTENSIONS,
    CHECKSUMS,
    FCP,
    MAD,
    SMP,
    DIRECTED,
    SA,
    NODE_DESCRIPTION,
    NODE_INFO,
    SWITCH_INFO,
    GUID_INFO,
    PORT_INFO,
    SM_INFO,
    VL_ARBITRATION,
    LFT,
    RFT,
    MFT,
    VENDOR_DIAG,
    LED_INFO,
    NOTICE,
    INFORM_INFO,
    LINK_RECORD,
    SERVICE_RECORD,
    PATH_RECORD,
    MC_MEMBER,
    TRACE_RECORD,
    MULTI_PATH,
    CLASS_PORT_INFO,
    PORT_COUNTERS,
    PORT_COUNTERS_EXT,
    REQ,
    REP,
    RTU,
    REJ,
    DREQ,
    DREP,
    TRAP_GID,
    TRAP_LID,
    TRAP_PORT,
    TRAP_CAPABILITY,
    TRAP_SYSTEM,
    TRAP_M_KEY,
    TRAP_KEY,
    TRAP_SWITCH,
];

/// Datagrams of which tshark 4.0 decodes the common header only.
pub(crate) const NOT_DECODED: &[&str] = &[
    "ComMgt ClassPortInfo",
    "ComMgt MRA",
    "ComMgt SIDR_REQ",
    "ComMgt SIDR_REP",
    "ComMgt LAP",
    "ComMgt APR",
    "Perf PortSamplesControl",
    "Perf PortSamplesResult",
    "Perf PortRcvErrorDetails",
    "Perf PortXmitDiscardDetails",
    "Perf PortOpRcvCounters",
    "Perf PortFlowCtlCounters",
    "Perf PortVLOpPackets",
    "Perf PortVLOpData",
    "Perf PortVLXmitFlowCtlUpdateErrors",
    "Perf PortVLXmitWaitCounters",
    "Perf PortSamplesResultExtended",
    "Perf SwPortVLCongestion",
    "Perf PortRcvConCtrl",
    "Perf PortSLRcvFECN",
    "Perf PortSLRcvBECN",
    "Perf PortXmitConCtrl",
    "Perf PortVLXmitTimeCong",
    "CongCtrl ClassPortInfo",
    "CongCtrl Notice",
    "CongCtrl CongestionInfo",
    "CongCtrl CongestionKeyInfo",
    "CongCtrl CongestionLog",
    "CongCtrl SwitchCongestionSetting",
    "CongCtrl SwitchPortCongestionSetting",
    "CongCtrl CACongestionSetting",
    "CongCtrl CongestionControlTable",
    "CongCtrl TimeStamp",
];

/// Fields that every test reads.
const FRAME: [&str; 4] = ["_ws.malformed", "frame.interface_name", "frame.comment", "frame.time_epoch"];

/// Fields of syndromes by kind.
const ACK: Fields = &[("aeth.syndrome", "infiniband.aeth.syndrome.credit_count")];

/// Every field of tshark that is compared, each once.
pub(crate) fn all() -> Vec<&'static str> {
    let tables = ALL.iter().chain([&ACK]).flat_map(|fields| fields.iter().map(|(_, field)| *field));
    let mut all: Vec<&str> = FRAME.into_iter().chain(tables).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// True if tshark 4.0 decodes the headers after BTH: not those of RD, XRC, FLUSH, ATOMIC WRITE and CNP.
pub(crate) fn has_headers(opcode: u8) -> bool {
    !matches!(opcode, 0x1c | 0x1d | 0x40..=0x5f | 0x80 | 0xa0..)
}

/// True for opcodes of Reliable Datagram: tshark 4.0 takes them for those of Dynamically Connected, a service of Mellanox
/// with a header of 8 bytes before RDETH, so that it looks for more bytes than there are.
pub(crate) fn is_dynamically_connected(ours: &Value) -> bool {
    matches!(ours["bth"]["opcode"].as_u64(), Some(0x40..=0x5f))
}

/// The code in the lower 5 bits of an acknowledgement's syndrome.
pub(crate) fn syndrome(ours: &Value) -> Fields {
    match ours["aeth"]["syndrome"].as_u64() {
        Some(0..0x20) => ACK,
        _ => &[],
    }
}

/// Checksums of a datagram, if tshark 4.0 finds them: it does not know where the data of other classes end.
pub(crate) fn checksums(mad: &Value) -> Fields {
    match mad["class_name"].as_str() {
        Some("SubnLID" | "SubnDirected") => CHECKSUMS,
        _ => &[],
    }
}

/// Fields between a datagram's header and its attribute.
pub(crate) fn class(mad: &Value) -> Fields {
    match mad["class_name"].as_str() {
        Some("SubnLID") => SMP,
        Some("SubnDirected") => DIRECTED,
        Some("SubnAdm") => SA,
        _ => &[],
    }
}
