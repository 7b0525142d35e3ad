//! Attributes of subnet administration and performance management.

use super::Fields;

pub(crate) const INFORM_INFO: Fields = &[
    ("gid", "infiniband.informinfo.gid"),
    ("lid_begin", "infiniband.informinfo.lidrangebegin"),
    ("lid_end", "infiniband.informinfo.lidrangeend"),
    ("is_generic", "infiniband.informinfo.isgeneric"),
    ("subscribe", "infiniband.informinfo.subscribe"),
    ("kind", "infiniband.informinfo.type"),
    ("trap_number", "infiniband.informinfo.trapnumberdeviceid"),
    ("qpn", "infiniband.informinfo.qpn"),
    ("response_time", "infiniband.informinfo.resptimevalue"),
    ("producer", "infiniband.informinfo.producertypevendorid"),
];

pub(crate) const LINK_RECORD: Fields = &[
    ("from_lid", "infiniband.linkrecord.fromlid"),
    ("from_port", "infiniband.linkrecord.fromport"),
    ("to_port", "infiniband.linkrecord.toport"),
    ("to_lid", "infiniband.linkrecord.tolid"),
];

pub(crate) const SERVICE_RECORD: Fields = &[
    ("service_id", "infiniband.linkrecord.serviceid"),
    ("service_gid", "infiniband.linkrecord.servicegid"),
    ("p_key", "infiniband.linkrecord.servicep_key"),
    ("lease", "infiniband.linkrecord.servicelease"),
    ("key", "infiniband.linkrecord.servicekey"),
];

pub(crate) const PATH_RECORD: Fields = &[
    ("dgid", "infiniband.pathrecord.dgid"),
    ("sgid", "infiniband.pathrecord.sgid"),
    ("dlid", "infiniband.pathrecord.dlid"),
    ("slid", "infiniband.pathrecord.slid"),
    ("raw_traffic", "infiniband.pathrecord.rawtraffic"),
    ("flow_label", "infiniband.pathrecord.flowlabel"),
    ("hop_limit", "infiniband.pathrecord.hoplimit"),
    ("traffic_class", "infiniband.pathrecord.tclass"),
    ("reversible", "infiniband.pathrecord.reversible"),
    ("num_path", "infiniband.pathrecord.numbpath"),
    ("p_key", "infiniband.pathrecord.p_key"),
    ("sl", "infiniband.pathrecord.sl"),
    ("mtu_selector", "infiniband.pathrecord.mtuselector"),
    ("mtu", "infiniband.pathrecord.mtu"),
    ("rate_selector", "infiniband.pathrecord.rateselector"),
    ("rate", "infiniband.pathrecord.rate"),
    ("packet_lifetime_selector", "infiniband.pathrecord.packetlifetimeselector"),
    ("packet_lifetime", "infiniband.pathrecord.packetlifetime"),
    ("preference", "infiniband.pathrecord.preference"),
];

pub(crate) const MC_MEMBER: Fields = &[
    ("mgid", "infiniband.mcmemberrecord.mgid"),
    ("port_gid", "infiniband.mcmemberrecord.portgid"),
    ("q_key", "infiniband.mcmemberrecord.q_key"),
    ("mlid", "infiniband.mcmemberrecord.mlid"),
    ("mtu_selector", "infiniband.mcmemberrecord.mtuselector"),
    ("mtu", "infiniband.mcmemberrecord.mtu"),
    ("traffic_class", "infiniband.mcmemberrecord.tclass"),
    ("p_key", "infiniband.mcmemberrecord.p_key"),
    ("rate_selector", "infiniband.mcmemberrecord.rateselector"),
    ("rate", "infiniband.mcmemberrecord.rate"),
    ("packet_lifetime_selector", "infiniband.mcmemberrecord.packetlifetimeselector"),
    ("packet_lifetime", "infiniband.mcmemberrecord.packetlifetime"),
    ("sl", "infiniband.mcmemberrecord.sl"),
    ("flow_label", "infiniband.mcmemberrecord.flowlabel"),
    ("hop_limit", "infiniband.mcmemberrecord.hoplimit"),
    ("scope", "infiniband.mcmemberrecord.scope"),
    ("join_state", "infiniband.mcmemberrecord.joinstate"),
    ("proxy_join", "infiniband.mcmemberrecord.proxyjoin"),
];

pub(crate) const TRACE_RECORD: Fields = &[
    ("gid_prefix", "infiniband.tracerecord.gidprefix"),
    ("id_generation", "infiniband.tracerecord.idgeneration"),
    ("node_type", "infiniband.tracerecord.nodetype"),
    ("node", "infiniband.tracerecord.nodeid"),
    ("chassis", "infiniband.tracerecord.chassisid"),
    ("entry_port_id", "infiniband.tracerecord.entryportid"),
    ("exit_port_id", "infiniband.tracerecord.exitportid"),
    ("entry_port", "infiniband.tracerecord.entryport"),
    ("exit_port", "infiniband.tracerecord.exitport"),
];

pub(crate) const MULTI_PATH: Fields = &[
    ("raw_traffic", "infiniband.multipathrecord.rawtraffic"),
    ("flow_label", "infiniband.multipathrecord.flowlabel"),
    ("hop_limit", "infiniband.multipathrecord.hoplimit"),
    ("traffic_class", "infiniband.multipathrecord.tclass"),
    ("reversible", "infiniband.multipathrecord.reversible"),
    ("num_path", "infiniband.multipathrecord.numbpath"),
    ("p_key", "infiniband.multipathrecord.p_key"),
    ("sl", "infiniband.multipathrecord.sl"),
    ("mtu_selector", "infiniband.multipathrecord.mtuselector"),
    ("mtu", "infiniband.multipathrecord.mtu"),
    ("rate_selector", "infiniband.multipathrecord.rateselector"),
    ("rate", "infiniband.multipathrecord.rate"),
    ("packet_lifetime_selector", "infiniband.multipathrecord.packetlifetimeselector"),
    ("packet_lifetime", "infiniband.multipathrecord.packetlifetime"),
    ("independence", "infiniband.multipathrecord.independenceselector"),
];

pub(crate) const CLASS_PORT_INFO: Fields = &[
    ("base_version", "infiniband.classportinfo.baseversion"),
    ("class_version", "infiniband.classportinfo.classversion"),
    ("capability_mask", "infiniband.classportinfo.capabilitymask"),
    ("capability_mask2", "infiniband.classportinfo.capabilitymask2"),
    ("response_time", "infiniband.classportinfo.resptimevalue"),
    ("redirect_gid", "infiniband.classportinfo.redirectgid"),
    ("redirect_traffic_class", "infiniband.classportinfo.redirecttc"),
    ("redirect_sl", "infiniband.classportinfo.redirectsl"),
    ("redirect_flow_label", "infiniband.classportinfo.redirectfl"),
    ("redirect_lid", "infiniband.classportinfo.redirectlid"),
    ("redirect_p_key", "infiniband.classportinfo.redirectpkey"),
    ("redirect_qp", "infiniband.classportinfo.redirectqp"),
    ("redirect_q_key", "infiniband.classportinfo.redirectqkey"),
    ("trap_gid", "infiniband.classportinfo.trapgid"),
    ("trap_traffic_class", "infiniband.classportinfo.traptc"),
    ("trap_sl", "infiniband.classportinfo.trapsl"),
    ("trap_flow_label", "infiniband.classportinfo.trapfl"),
    ("trap_lid", "infiniband.classportinfo.traplid"),
    ("trap_p_key", "infiniband.classportinfo.trappkey"),
    ("trap_qp", "infiniband.classportinfo.trapqp"),
    ("trap_q_key", "infiniband.classportinfo.trapqkey"),
];

pub(crate) const PORT_COUNTERS: Fields = &[
    ("port_select", "infiniband.portcounters.portselect"),
    ("counter_select", "infiniband.portcounters.counterselect"),
    ("symbol_errors", "infiniband.portcounters.symbolerrorcounter"),
    ("link_error_recoveries", "infiniband.portcounters.linkerrorrecoverycounter"),
    ("link_downed", "infiniband.portcounters.linkdownedcounter"),
    ("port_rcv_errors", "infiniband.portcounters.portrcverrors"),
    ("port_rcv_remote_physical_errors", "infiniband.portcounters.portrcvremotephysicalerrors"),
    ("port_rcv_switch_relay_errors", "infiniband.portcounters.portrcvswitchrelayerrors"),
    ("port_xmit_discards", "infiniband.portcounters.portxmitdiscards"),
    ("port_xmit_constraint_errors", "infiniband.portcounters.portxmitconstrainterrors"),
    ("port_rcv_constraint_errors", "infiniband.portcounters.portrcvconstrainterrors"),
    ("local_link_integrity_errors", "infiniband.portcounters.locallinkintegrityerrors"),
    ("excessive_buffer_overrun_errors", "infiniband.portcounters.excessivebufferoverrunerrors"),
    ("vl15_dropped", "infiniband.portcounters.vl15dropped"),
    ("port_xmit_data", "infiniband.portcounters.portxmitdata"),
    ("port_rcv_data", "infiniband.portcounters.portrcvdata"),
    ("port_xmit_pkts", "infiniband.portcounters.portxmitpkts"),
    ("port_rcv_pkts", "infiniband.portcounters.portrcvpkts"),
];

pub(crate) const PORT_COUNTERS_EXT: Fields = &[
    ("port_select", "infiniband.portcounters_ext.portselect"),
    ("counter_select", "infiniband.portcounters_ext.counterselect"),
    ("port_xmit_data", "infiniband.portcounters_ext.portxmitdata"),
    ("port_rcv_data", "infiniband.portcounters_ext.portrcvdata"),
    ("port_xmit_pkts", "infiniband.portcounters_ext.portxmitpkts"),
    ("port_rcv_pkts", "infiniband.portcounters_ext.portrcvpkts"),
    ("port_unicast_xmit_pkts", "infiniband.portcounters_ext.portunicastxmitpkts"),
    ("port_unicast_rcv_pkts", "infiniband.portcounters_ext.portunicastrcvpkts"),
    ("port_multicast_xmit_pkts", "infiniband.portcounters_ext.portmulticastxmitpkts"),
    ("port_multicast_rcv_pkts", "infiniband.portcounters_ext.portmulticastrcvpkts"),
];

pub(crate) const SERVICE_ASSOCIATION: Fields = &[("key", "infiniband.serviceassociationrecord.servicekey")];
