//! Messages of communication management.

use super::Fields;

/// Not the flow labels, which tshark 4.0 shifts by 8 bits.
pub(crate) const REQ: Fields = &[
    ("local_comm_id", "infiniband.cm.req"),
    ("service_id", "infiniband.cm.req.serviceid"),
    ("local_ca_guid", "infiniband.cm.req.localcaguid"),
    ("local_q_key", "infiniband.cm.req.localqkey"),
    ("local_qpn", "infiniband.cm.req.localqpn"),
    ("responder_resources", "infiniband.cm.req.responderres"),
    ("local_eecn", "infiniband.cm.req.localeecn"),
    ("initiator_depth", "infiniband.cm.req.initdepth"),
    ("remote_eecn", "infiniband.cm.req.remoteeecn"),
    ("remote_cm_response_timeout", "infiniband.cm.req.remoteresptout"),
    ("transport_service_type", "infiniband.cm.req.transpsvctype"),
    ("end_to_end_flow_control", "infiniband.cm.req.e2eflowctrl"),
    ("starting_psn", "infiniband.cm.req.startpsn"),
    ("local_cm_response_timeout", "infiniband.cm.req.localresptout"),
    ("retry_count", "infiniband.cm.req.retrcount"),
    ("p_key", "infiniband.cm.req.pkey"),
    ("path_mtu", "infiniband.cm.req.pppmtu"),
    ("rdc_exists", "infiniband.cm.req.rdcexist"),
    ("rnr_retry_count", "infiniband.cm.req.rnrretrcount"),
    ("max_cm_retries", "infiniband.cm.req.maxcmretr"),
    ("srq", "infiniband.cm.req.srq"),
    ("extended_transport_type", "infiniband.cm.req.ext_transport"),
    ("primary.local_lid", "infiniband.cm.req.prim_locallid"),
    ("primary.remote_lid", "infiniband.cm.req.prim_remotelid"),
    ("primary.local_gid", "infiniband.cm.req.prim_localgid"),
    ("primary.remote_gid", "infiniband.cm.req.prim_remotegid"),
    ("primary.traffic_class", "infiniband.cm.req.prim_tfcclass"),
    ("primary.hop_limit", "infiniband.cm.req.prim_hoplim"),
    ("primary.sl", "infiniband.cm.req.prim_sl"),
    ("primary.subnet_local", "infiniband.cm.req.prim_subnetlocal"),
    ("primary.local_ack_timeout", "infiniband.cm.req.prim_localacktout"),
    ("alternate.local_lid", "infiniband.cm.req.alt_locallid"),
    ("alternate.remote_lid", "infiniband.cm.req.alt_remotelid"),
    ("alternate.local_gid", "infiniband.cm.req.alt_localgid"),
    ("alternate.remote_gid", "infiniband.cm.req.alt_remotegid"),
    ("alternate.traffic_class", "infiniband.cm.req.alt_tfcclass"),
    ("alternate.hop_limit", "infiniband.cm.req.alt_hoplim"),
    ("alternate.sl", "infiniband.cm.req.alt_sl"),
    ("alternate.subnet_local", "infiniband.cm.req.alt_subnetlocal"),
    ("alternate.local_ack_timeout", "infiniband.cm.req.alt_localacktout"),
    ("private_data", "infiniband.cm.req.private"),
];

pub(crate) const REP: Fields = &[
    ("local_comm_id", "infiniband.cm.rep"),
    ("remote_comm_id", "infiniband.cm.rep.remotecommid"),
    ("local_q_key", "infiniband.cm.rep.localqkey"),
    ("local_qpn", "infiniband.cm.rep.localqpn"),
    ("local_eecn", "infiniband.cm.rep.localeecn"),
    ("starting_psn", "infiniband.cm.rep.startpsn"),
    ("responder_resources", "infiniband.cm.rep.respres"),
    ("initiator_depth", "infiniband.cm.rep.initdepth"),
    ("target_ack_delay", "infiniband.cm.rep.tgtackdelay"),
    ("failover_accepted", "infiniband.cm.rep.failoveracc"),
    ("end_to_end_flow_control", "infiniband.cm.rep.e2eflowctrl"),
    ("rnr_retry_count", "infiniband.cm.rep.rnrretrcount"),
    ("srq", "infiniband.cm.rep.srq"),
    ("local_ca_guid", "infiniband.cm.rep.localcaguid"),
    ("private_data", "infiniband.cm.rep.private"),
];

pub(crate) const RTU: Fields = &[
    ("local_comm_id", "infiniband.cm.rtu.localcommid"),
    ("remote_comm_id", "infiniband.cm.rtu.remotecommid"),
    ("private_data", "infiniband.cm.rtu.private"),
];

pub(crate) const REJ: Fields = &[
    ("local_comm_id", "infiniband.cm.rej.localcommid"),
    ("remote_comm_id", "infiniband.cm.rej.remotecommid"),
    ("message", "infiniband.cm.rej.msgrej"),
    ("info_length", "infiniband.cm.rej.rejinfolen"),
    ("reason", "infiniband.cm.rej.reason"),
    ("additional_info", "infiniband.cm.rej.ari"),
    ("private_data", "infiniband.cm.rej.private"),
];

pub(crate) const DREQ: Fields = &[
    ("local_comm_id", "infiniband.cm.dreq.localcommid"),
    ("remote_comm_id", "infiniband.cm.dreq.remotecommid"),
    ("remote_qpn", "infiniband.cm.req.remoteqpneecn"),
    ("private_data", "infiniband.cm.dreq.private"),
];

pub(crate) const DREP: Fields = &[
    ("local_comm_id", "infiniband.cm.drsp.localcommid"),
    ("remote_comm_id", "infiniband.cm.drsp.remotecommid"),
    ("private_data", "infiniband.cm.drsp.private"),
];
