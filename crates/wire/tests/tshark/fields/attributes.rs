//! Tables of the attributes, by name.

use super::Fields;
use super::connections::*;
use super::services::*;
use super::subnet::*;

/// LID of a record.
pub(super) const LID: Fields = &[("lid", "infiniband.sa.lid")];
/// Block of a table, 16 bits.
pub(super) const BLOCK16: Fields = &[("block", "infiniband.sa.blocknum_sixteenbit")];
/// Block of a table, 8 bits.
pub(super) const BLOCK8: Fields = &[("block", "infiniband.sa.blocknum_eightbit")];
/// Position and block of a multicast table.
pub(super) const MULTICAST_BLOCK: Fields =
    &[("position", "infiniband.sa.position"), ("block", "infiniband.sa.blocknum_ninebit")];
/// Ports of a table of virtual lanes.
pub(super) const PORTS: Fields =
    &[("input_port", "infiniband.sa.inputportnum"), ("output_port", "infiniband.sa.outputportnum")];
/// Port of an arbitration table.
pub(super) const OUTPUT: Fields = &[("output_port", "infiniband.sa.outputportnum")];
/// Port of a record.
pub(super) const PORT: Fields = &[("port_num", "infiniband.sa.portnum")];
/// LID of a port's record.
pub(super) const END_PORT: Fields = &[("end_port_lid", "infiniband.sa.endportlid")];
/// Subscriber of a subscription.
pub(super) const SUBSCRIBER: Fields = &[
    ("subscriber_gid", "infiniband.informinforecord.subscribergid"),
    ("number", "infiniband.informinforecord.enum"),
];

/// Parts of an attribute: where each begins in our JSON, and its fields. Empty if tshark 4.0 does not decode the attribute.
pub(crate) type Parts = &'static [(&'static str, Fields)];

/// Parts of an attribute.
pub(crate) fn attribute(class: &str, name: &str) -> Parts {
    match class {
        "SubnLID" | "SubnDirected" => smp(name),
        "SubnAdm" => sa(name),
        "ComMgt" => cm(name),
        "Perf" => performance(name),
        _ => &[],
    }
}

fn smp(name: &str) -> Parts {
    match name {
        "NodeDescription" => &[("", NODE_DESCRIPTION)],
        "NodeInfo" => &[("", NODE_INFO)],
        "SwitchInfo" => &[("", SWITCH_INFO)],
        "GUIDInfo" => &[("", GUID_INFO)],
        "PortInfo" => &[("", PORT_INFO)],
        "SMInfo" => &[("", SM_INFO)],
        "VLArbitrationTable" => &[("", VL_ARBITRATION)],
        "LinearForwardingTable" => &[("", LFT)],
        "RandomForwardingTable" => &[("", RFT)],
        "MulticastForwardingTable" => &[("", MFT)],
        "P_KeyTable" => &[("", P_KEYS)],
        "SLtoVLMappingTable" => &[("", LANES)],
        "VendorDiag" => &[("", VENDOR_DIAG)],
        "LedInfo" => &[("", LED_INFO)],
        "Notice" => &[("", NOTICE)],
        _ => &[],
    }
}

fn sa(name: &str) -> Parts {
    match name {
        "ClassPortInfo" => &[("", CLASS_PORT_INFO)],
        "InformInfo" => &[("", INFORM_INFO)],
        "InformInfoRecord" => &[("", SUBSCRIBER), ("inform_info.", INFORM_INFO)],
        "NodeRecord" => &[("", LID), ("node_info.", NODE_INFO), ("node_description.", NODE_DESCRIPTION)],
        "PortInfoRecord" => &[("", END_PORT), ("", PORT), ("port_info.", PORT_INFO)],
        "SLtoVLMappingTableRecord" => &[("", LID), ("", PORTS), ("table.", LANES)],
        "SwitchInfoRecord" => &[("", LID), ("switch_info.", SWITCH_INFO)],
        "LinearForwardingTableRecord" => &[("", LID), ("", BLOCK16), ("table.", LFT)],
        "RandomForwardingTableRecord" => &[("", LID), ("", BLOCK16), ("table.", RFT)],
        "MulticastForwardingTableRecord" => &[("", LID), ("", MULTICAST_BLOCK), ("table.", MFT)],
        "SMInfoRecord" => &[("", LID), ("sm_info.", SM_INFO)],
        "LinkRecord" => &[("", LINK_RECORD)],
        "GUIDInfoRecord" => &[("", LID), ("", BLOCK8), ("guid_info.", GUID_INFO)],
        "ServiceRecord" => &[("", SERVICE_RECORD)],
        "P_KeyTableRecord" => &[("", LID), ("", BLOCK16), ("", PORT), ("table.", P_KEYS)],
        "PathRecord" => &[("", PATH_RECORD)],
        "VLArbitrationTableRecord" => &[("", LID), ("", OUTPUT), ("", BLOCK8), ("table.", VL_ARBITRATION)],
        "MCMemberRecord" => &[("", MC_MEMBER)],
        "TraceRecord" => &[("", TRACE_RECORD)],
        "MultiPathRecord" => &[("", MULTI_PATH)],
        "ServiceAssociationRecord" => &[("", SERVICE_ASSOCIATION)],
        "Notice" => &[("notice.", NOTICE)],
        _ => &[],
    }
}

fn cm(name: &str) -> Parts {
    match name {
        "REQ" => &[("", REQ)],
        "REP" => &[("", REP)],
        "RTU" => &[("", RTU)],
        "REJ" => &[("", REJ)],
        "DREQ" => &[("", DREQ)],
        "DREP" => &[("", DREP)],
        _ => &[],
    }
}

fn performance(name: &str) -> Parts {
    match name {
        "ClassPortInfo" => &[("", CLASS_PORT_INFO)],
        "PortCounters" => &[("", PORT_COUNTERS)],
        "PortCountersExtended" => &[("", PORT_COUNTERS_EXT)],
        _ => &[],
    }
}

/// Fields of a trap's details.
pub(crate) fn trap(name: &str) -> Fields {
    match name {
        "GidInService" | "GidOutOfService" | "MulticastGroupCreated" | "MulticastGroupDeleted" => TRAP_GID,
        "LinkStateChange" => TRAP_LID,
        "LocalLinkIntegrity" | "ExcessiveBufferOverrun" | "FlowControlUpdateExpired" => TRAP_PORT,
        "CapabilityChange" => TRAP_CAPABILITY,
        "SystemGuidChange" => TRAP_SYSTEM,
        "BadMKey" => TRAP_M_KEY,
        "BadPKey" | "BadQKey" => TRAP_KEY,
        "SwitchBadPKey" => TRAP_SWITCH,
        other => panic!("no table for trap {other}"),
    }
}
