//! Attributes of subnet management.

use super::Fields;

pub(crate) const NODE_DESCRIPTION: Fields = &[("text", "infiniband.nodedescription.nodestring")];

pub(crate) const NODE_INFO: Fields = &[
    ("base_version", "infiniband.nodeinfo.baseversion"),
    ("class_version", "infiniband.nodeinfo.classversion"),
    ("node_type", "infiniband.nodeinfo.nodetype"),
    ("num_ports", "infiniband.nodeinfo.numports"),
    ("system_image_guid", "infiniband.nodeinfo.systemimageguid"),
    ("node_guid", "infiniband.nodeinfo.nodeguid"),
    ("port_guid", "infiniband.nodeinfo.portguid"),
    ("partition_cap", "infiniband.nodeinfo.partitioncap"),
    ("device_id", "infiniband.nodeinfo.deviceid"),
    ("revision", "infiniband.nodeinfo.revision"),
    ("local_port_num", "infiniband.nodeinfo.localportnum"),
    ("vendor_id", "infiniband.nodeinfo.vendorid"),
];

pub(crate) const SWITCH_INFO: Fields = &[
    ("linear_fdb_cap", "infiniband.switchinfo.linearfdbcap"),
    ("random_fdb_cap", "infiniband.switchinfo.randomfdbcap"),
    ("multicast_fdb_cap", "infiniband.switchinfo.multicastfdbcap"),
    ("linear_fdb_top", "infiniband.switchinfo.linearfdbtop"),
    ("default_port", "infiniband.switchinfo.defaultport"),
    ("default_multicast_primary_port", "infiniband.switchinfo.defaultmulticastprimaryport"),
    ("default_multicast_not_primary_port", "infiniband.switchinfo.defaultmulticastnotprimaryport"),
    ("life_time_value", "infiniband.switchinfo.lifetimevalue"),
    ("port_state_change", "infiniband.switchinfo.portstatechange"),
    ("optimized_sl_to_vl_mapping", "infiniband.switchinfo.optimizedsltovlmappingprogramming"),
    ("lids_per_port", "infiniband.switchinfo.lidsperport"),
    ("partition_enforcement_cap", "infiniband.switchinfo.partitionenforcementcap"),
    ("inbound_enforcement_cap", "infiniband.switchinfo.inboundenforcementcap"),
    ("outbound_enforcement_cap", "infiniband.switchinfo.outboundenforcementcap"),
    ("filter_raw_inbound_cap", "infiniband.switchinfo.filterrawinboundcap"),
    ("filter_raw_outbound_cap", "infiniband.switchinfo.filterrawoutboundcap"),
    ("enhanced_port_0", "infiniband.switchinfo.enhancedportzero"),
];

pub(crate) const GUID_INFO: Fields = &[("guids", "infiniband.switchinfo.guid")];

pub(crate) const PORT_INFO: Fields = &[
    ("m_key", "infiniband.portinfo.m_key"),
    ("gid_prefix", "infiniband.portinfo.guid"),
    ("lid", "infiniband.portinfo.lid"),
    ("master_sm_lid", "infiniband.portinfo.mastersmlid"),
    ("capability_mask", "infiniband.portinfo.capabilitymask"),
    ("diag_code", "infiniband.portinfo.diagcode"),
    ("m_key_lease_period", "infiniband.portinfo.m_keyleaseperiod"),
    ("local_port_num", "infiniband.portinfo.localportnum"),
    ("link_width_enabled", "infiniband.portinfo.linkwidthenabled"),
    ("link_width_supported", "infiniband.portinfo.linkwidthsupported"),
    ("link_width_active", "infiniband.portinfo.linkwidthactive"),
    ("link_speed_supported", "infiniband.portinfo.linkspeedsupported"),
    ("port_state", "infiniband.portinfo.portstate"),
    ("port_physical_state", "infiniband.portinfo.portphysicalstate"),
    ("link_down_default_state", "infiniband.portinfo.linkdowndefaultstate"),
    ("m_key_protect_bits", "infiniband.portinfo.m_keyprotectbits"),
    ("lmc", "infiniband.portinfo.lmc"),
    ("link_speed_active", "infiniband.portinfo.linkspeedactive"),
    ("link_speed_enabled", "infiniband.portinfo.linkspeedenabled"),
    ("neighbor_mtu", "infiniband.portinfo.neighbormtu"),
    ("master_sm_sl", "infiniband.portinfo.mastersmsl"),
    ("vl_cap", "infiniband.portinfo.vlcap"),
    ("init_type", "infiniband.portinfo.inittype"),
    ("vl_high_limit", "infiniband.portinfo.vlhighlimit"),
    ("vl_arbitration_high_cap", "infiniband.portinfo.vlarbitrationhighcap"),
    ("vl_arbitration_low_cap", "infiniband.portinfo.vlarbitrationlowcap"),
    ("init_type_reply", "infiniband.portinfo.inittypereply"),
    ("mtu_cap", "infiniband.portinfo.mtucap"),
    ("vl_stall_count", "infiniband.portinfo.vlstallcount"),
    ("hoq_life", "infiniband.portinfo.hoqlife"),
    ("operational_vls", "infiniband.portinfo.operationalvls"),
    ("partition_enforcement_inbound", "infiniband.portinfo.partitionenforcementinbound"),
    ("partition_enforcement_outbound", "infiniband.portinfo.partitionenforcementoutbound"),
    ("filter_raw_inbound", "infiniband.portinfo.filterrawinbound"),
    ("filter_raw_outbound", "infiniband.portinfo.filterrawoutbound"),
    ("m_key_violations", "infiniband.portinfo.m_keyviolations"),
    ("p_key_violations", "infiniband.portinfo.p_keyviolations"),
    ("q_key_violations", "infiniband.portinfo.q_keyviolations"),
    ("guid_cap", "infiniband.portinfo.guidcap"),
    ("client_reregister", "infiniband.portinfo.clientreregister"),
    ("subnet_timeout", "infiniband.portinfo.subnettimeout"),
    ("response_time", "infiniband.portinfo.resptimevalue"),
    ("local_phy_errors", "infiniband.portinfo.localphyerrors"),
    ("overrun_errors", "infiniband.portinfo.overrunerrors"),
    ("max_credit_hint", "infiniband.portinfo.maxcredithint"),
    ("link_round_trip_latency", "infiniband.portinfo.linkroundtriplatency"),
];

pub(crate) const SM_INFO: Fields = &[
    ("guid", "infiniband.sminfo.guid"),
    ("sm_key", "infiniband.sminfo.sm_key"),
    ("act_count", "infiniband.sminfo.actcount"),
    ("priority", "infiniband.sminfo.priority"),
    ("state", "infiniband.sminfo.smstate"),
];

pub(crate) const VL_ARBITRATION: Fields = &[
    ("entries.*.vl", "infiniband.vlarbitrationtable.vl"),
    ("entries.*.weight", "infiniband.vlarbitrationtable.weight"),
];

pub(crate) const LFT: Fields = &[("ports", "infiniband.linearforwardingtable.port")];

pub(crate) const RFT: Fields = &[
    ("entries.*.lid", "infiniband.randomforwardingtable.lid"),
    ("entries.*.is_valid", "infiniband.randomforwardingtable.valid"),
    ("entries.*.lmc", "infiniband.randomforwardingtable.lmc"),
    ("entries.*.port", "infiniband.randomforwardingtable.port"),
];

/// tshark 4.0 reads 16 of the 32 entries.
pub(crate) const MFT: Fields = &[("port_masks.*16", "infiniband.multicastforwardingtable.portmask")];

pub(crate) const VENDOR_DIAG: Fields =
    &[("next_index", "infiniband.vendordiag.nextindex"), ("data", "infiniband.vendordiag.diagdata")];

pub(crate) const LED_INFO: Fields = &[("is_on", "infiniband.ledinfo.ledmask")];

pub(crate) const NOTICE: Fields = &[
    ("is_generic", "infiniband.notice.isgeneric"),
    ("kind", "infiniband.notice.type"),
    ("producer", "infiniband.notice.producertypevendorid"),
    ("trap_number", "infiniband.notice.trapnumberdeviceid"),
    ("issuer_lid", "infiniband.notice.issuerlid"),
    ("toggle", "infiniband.notice.noticetoggle"),
    ("count", "infiniband.notice.noticecount"),
];

pub(crate) const TRAP_GID: Fields = &[("gid", "infiniband.trap.gidaddr")];

pub(crate) const TRAP_LID: Fields = &[("lid", "infiniband.trap.lidaddr")];

pub(crate) const TRAP_PORT: Fields =
    &[("lid", "infiniband.trap.lidaddr"), ("port", "infiniband.trap.portno")];

pub(crate) const TRAP_CAPABILITY: Fields = &[
    ("lid", "infiniband.trap.lidaddr"),
    ("other_local_changes", "infiniband.trap.otherlocalchanges"),
    ("capability_mask", "infiniband.trap.capabilitymask"),
    ("link_speed_enabled_change", "infiniband.trap.linkspeecenabledchange"),
    ("link_width_enabled_change", "infiniband.trap.linkwidthenabledchange"),
    ("node_description_change", "infiniband.trap.nodedescriptionchange"),
];

pub(crate) const TRAP_SYSTEM: Fields =
    &[("lid", "infiniband.trap.lidaddr"), ("system_image_guid", "infiniband.trap.systemimageguid")];

pub(crate) const TRAP_M_KEY: Fields = &[
    ("lid", "infiniband.trap.lidaddr"),
    ("dr_slid", "infiniband.trap.drslid"),
    ("method", "infiniband.trap.method"),
    ("attribute", "infiniband.trap.attributeid"),
    ("modifier", "infiniband.trap.attributemodifier"),
    ("m_key", "infiniband.trap.mkey"),
    ("is_directed", "infiniband.trap.drnotice"),
    ("is_path_truncated", "infiniband.trap.drpathtruncated"),
    ("hop_count", "infiniband.trap.drhopcount"),
    ("return_path", "infiniband.trap.drnoticereturnpath"),
];

pub(crate) const TRAP_KEY: Fields = &[
    ("lid1", "infiniband.trap.lidaddr1"),
    ("lid2", "infiniband.trap.lidaddr2"),
    ("key", "infiniband.trap.key"),
    ("sl", "infiniband.trap.sl"),
    ("qp1", "infiniband.trap.qp1"),
    ("qp2", "infiniband.trap.qp2"),
    ("gid1", "infiniband.trap.gidaddr1"),
    ("gid2", "infiniband.trap.gidaddr2"),
];

pub(crate) const TRAP_SWITCH: Fields = &[
    ("lid1", "infiniband.trap.lidaddr1"),
    ("lid2", "infiniband.trap.lidaddr2"),
    ("p_key", "infiniband.trap.pkey"),
    ("gid1", "infiniband.trap.gidaddr1"),
    ("gid2", "infiniband.trap.gidaddr2"),
    ("port", "infiniband.trap.portno"),
];

/// As [`super::super::compare::with_parts`] splits the keys.
pub(crate) const P_KEYS: Fields =
    &[("memberships", "infiniband.p_keytable.membershiptype"), ("bases", "infiniband.p_keytable.p_keybase")];

/// As [`super::super::compare::with_parts`] splits the lanes.
pub(crate) const LANES: Fields = &[
    ("even", "infiniband.sltovlmappingtable.sltovlhighbits"),
    ("odd", "infiniband.sltovlmappingtable.sltovllowbits"),
];
