//! Places of the fields that tshark does not decode, compared with those that others state: the performance and congestion
//! attributes of libibmad (rdma-core 44, `libibmad/fields.c`), the messages of Linux (`include/rdma/ibta_vol1_c12.h`).

mod common;

use common::scrambled;
use fabricsim_wire::mad::cm::CmMessage;
use fabricsim_wire::mad::congestion::CongestionAttribute;
use fabricsim_wire::mad::performance::PerformanceAttribute;
use fabricsim_wire::mad::{Attribute, AttributeId};
use serde_json::Value;

/// Path in JSON, first bit, width.
type Place = (&'static str, usize, usize);

/// Attributes of performance management.
const PERFORMANCE: &[(u16, &[Place])] = &[
    (
        0x10,
        &[
            ("op_code", 0, 8),
            ("port_select", 8, 8),
            ("tick", 16, 8),
            ("counter_width", 29, 3),
            ("counter_masks0_to_9.0", 34, 3),
            ("counter_masks0_to_9.9", 61, 3),
            ("counter_masks10_to_14.0", 65, 3),
            ("counter_masks10_to_14.4", 77, 3),
            ("sample_mechanisms", 80, 8),
            ("sample_status", 94, 2),
            ("option_mask", 96, 64),
            ("vendor_mask", 160, 64),
            ("sample_start", 224, 32),
            ("sample_interval", 256, 32),
            ("tag", 288, 16),
            ("counter_select.0", 304, 16),
            ("counter_select.14", 528, 16),
            ("samples_only_option_mask", 576, 64),
        ],
    ),
    (0x11, &[("tag", 0, 16), ("sample_status", 30, 2), ("counters.0", 32, 32), ("counters.14", 480, 32)]),
    (0x12, &[("qp1_dropped", 160, 16), ("port_xmit_wait", 320, 32)]),
    (
        0x15,
        &[
            ("port_select", 8, 8),
            ("counter_select", 16, 16),
            ("local_physical_errors", 32, 16),
            ("malformed_packet_errors", 48, 16),
            ("buffer_overrun_errors", 64, 16),
            ("dlid_mapping_errors", 80, 16),
            ("vl_mapping_errors", 96, 16),
            ("looping_errors", 112, 16),
        ],
    ),
    (
        0x16,
        &[
            ("inactive_discards", 32, 16),
            ("neighbor_mtu_discards", 48, 16),
            ("switch_lifetime_discards", 64, 16),
            ("switch_hoq_lifetime_discards", 80, 16),
        ],
    ),
    (0x17, &[("rcv_pkts", 32, 32), ("rcv_data", 64, 32)]),
    (0x18, &[("xmit_flow_pkts", 32, 32), ("rcv_flow_pkts", 64, 32)]),
    (0x19, &[("packets.0", 32, 16), ("packets.15", 272, 16)]),
    (0x1a, &[("data.0", 32, 32), ("data.15", 512, 32)]),
    (0x1b, &[("errors.0", 32, 2), ("errors.15", 62, 2)]),
    (0x1c, &[("waits.0", 32, 16), ("waits.15", 272, 16)]),
    (
        0x1d,
        &[
            ("counter_select2", 32, 32),
            ("symbol_errors", 576, 64),
            ("link_error_recoveries", 640, 64),
            ("link_downed", 704, 64),
            ("port_rcv_errors", 768, 64),
            ("port_rcv_remote_physical_errors", 832, 64),
            ("port_rcv_switch_relay_errors", 896, 64),
            ("port_xmit_discards", 960, 64),
            ("port_xmit_constraint_errors", 1024, 64),
            ("port_rcv_constraint_errors", 1088, 64),
            ("local_link_integrity_errors", 1152, 64),
            ("excessive_buffer_overrun_errors", 1216, 64),
            ("vl15_dropped", 1280, 64),
            ("port_xmit_wait", 1344, 64),
            ("qp1_dropped", 1408, 64),
        ],
    ),
    (0x30, &[("marked.0", 32, 16), ("marked.15", 272, 16)]),
    (0x31, &[("fecn_pkts", 32, 32), ("becn_pkts", 64, 32)]),
    (0x32, &[("packets.0", 32, 32), ("packets.15", 512, 32)]),
    (0x33, &[("packets.0", 32, 32), ("packets.15", 512, 32)]),
    (0x34, &[("time", 32, 32)]),
    (0x35, &[("time.0", 32, 32), ("time.14", 480, 32)]),
];

/// Attributes of congestion control.
const CONGESTION: &[(u16, &[Place])] = &[
    (0x11, &[("flags", 0, 16), ("control_table_cap", 16, 8)]),
    (0x12, &[("cc_key", 0, 64), ("protect", 64, 1), ("lease_period", 80, 16), ("violations", 96, 16)]),
    (
        0x14,
        &[
            ("control_map", 0, 32),
            ("threshold", 544, 4),
            ("packet_size", 552, 8),
            ("cs_threshold", 560, 4),
            ("cs_return_delay", 576, 16),
            ("marking_rate", 592, 16),
        ],
    ),
    (
        0x15,
        &[
            ("ports.0.is_valid", 0, 1),
            ("ports.0.is_credit_starvation", 1, 1),
            ("ports.0.threshold", 4, 4),
            ("ports.31.packet_size", 31 * 32 + 8, 8),
            ("ports.31.parameter", 31 * 32 + 16, 16),
        ],
    ),
    (
        0x16,
        &[
            ("port_control", 0, 16),
            ("control_map", 16, 16),
            ("entries.0.ccti_timer", 32, 16),
            ("entries.0.ccti_increase", 48, 8),
            ("entries.15.trigger_threshold", 32 + 15 * 64 + 24, 8),
            ("entries.15.ccti_min", 32 + 15 * 64 + 32, 8),
        ],
    ),
    (
        0x17,
        &[
            ("ccti_limit", 0, 16),
            ("entries.0.shift", 32, 2),
            ("entries.0.multiplier", 34, 14),
            ("entries.63.multiplier", 32 + 63 * 16 + 2, 14),
        ],
    ),
    (0x18, &[("time", 0, 32)]),
];

/// Logs, by the kind in their first byte.
const LOGS: &[(u8, &[Place])] = &[
    (
        1,
        &[
            ("flags", 8, 8),
            ("event_counter", 16, 16),
            ("current_time", 32, 32),
            ("events.0.slid", 320, 16),
            ("events.0.dlid", 336, 16),
            ("events.14.sl", 320 + 14 * 96 + 32, 4),
            ("events.14.time", 320 + 14 * 96 + 64, 32),
        ],
    ),
    (
        2,
        &[
            ("event_counter", 16, 16),
            ("event_map", 32, 16),
            ("current_time", 64, 32),
            ("events.0.local_qp", 96, 24),
            ("events.0.sl", 120, 4),
            ("events.0.service", 124, 4),
            ("events.12.remote_qp", 96 + 12 * 128 + 32, 24),
            ("events.12.local_lid", 96 + 12 * 128 + 64, 16),
            ("events.12.remote_lid", 96 + 12 * 128 + 80, 16),
            ("events.12.time", 96 + 12 * 128 + 96, 32),
        ],
    ),
];

/// Messages of communication management that tshark does not decode, and what it shows wrong of REQ.
const MESSAGES: &[(u16, &[Place])] = &[
    (
        0x10,
        &[
            ("primary.flow_label", 88 * 8, 20),
            ("primary.packet_rate", 91 * 8 + 2, 6),
            ("alternate.flow_label", 132 * 8, 20),
            ("alternate.packet_rate", 135 * 8 + 2, 6),
        ],
    ),
    (
        0x11,
        &[
            ("local_comm_id", 0, 32),
            ("remote_comm_id", 32, 32),
            ("message", 64, 2),
            ("service_timeout", 72, 5),
        ],
    ),
    (0x17, &[("request_id", 0, 32), ("p_key", 32, 16), ("service_id", 64, 64)]),
    (
        0x18,
        &[
            ("request_id", 0, 32),
            ("status", 32, 8),
            ("info_length", 40, 8),
            ("qpn", 64, 24),
            ("service_id", 96, 64),
            ("q_key", 160, 32),
        ],
    ),
    (
        0x19,
        &[
            ("local_comm_id", 0, 32),
            ("remote_comm_id", 32, 32),
            ("remote_qpn", 96, 24),
            ("remote_cm_response_timeout", 120, 5),
            ("local_lid", 160, 16),
            ("remote_lid", 176, 16),
            ("flow_label", 448, 20),
            ("traffic_class", 472, 8),
            ("hop_limit", 480, 8),
            ("packet_rate", 490, 6),
            ("sl", 496, 4),
            ("subnet_local", 500, 1),
            ("local_ack_timeout", 504, 5),
        ],
    ),
    (
        0x1a,
        &[("local_comm_id", 0, 32), ("remote_comm_id", 32, 32), ("info_length", 64, 8), ("status", 72, 8)],
    ),
];

/// The number in bits of bytes, the first bit the most significant one.
fn bits(bytes: &[u8], first: usize, width: usize) -> u64 {
    (first..first + width).fold(0, |value, bit| value << 1 | u64::from(bytes[bit / 8] >> (7 - bit % 8) & 1))
}

/// Compares the fields of an attribute with the bits at their places.
fn check(attribute: &Attribute, bytes: &[u8], places: &[Place]) {
    let name = attribute.name();
    let json = serde_json::to_value(attribute).unwrap();
    for (path, first, width) in places {
        let found = path.split('.').fold(&json[name], |value, key| match value {
            Value::Array(elements) => &elements[key.parse::<usize>().unwrap()],
            value => &value[key],
        });
        let found = found.as_u64().or(found.as_bool().map(u64::from));
        assert_eq!(found, Some(bits(bytes, *first, *width)), "{name}.{path}");
    }
}

#[test]
fn performance_attributes() {
    for (id, places) in PERFORMANCE {
        let bytes = scrambled::<192>(u64::from(*id));
        let attribute = PerformanceAttribute::parse(AttributeId(*id), &bytes).unwrap().unwrap();
        check(&Attribute::Performance(attribute), &bytes, places);
    }
}

#[test]
fn congestion_attributes() {
    for (id, places) in CONGESTION {
        let bytes = scrambled::<224>(u64::from(*id));
        let attribute = CongestionAttribute::parse(AttributeId(*id), &bytes).unwrap().unwrap();
        check(&Attribute::Congestion(attribute), &bytes, places);
    }
    for (kind, places) in LOGS {
        let mut bytes = scrambled::<224>(9);
        bytes[0] = *kind;
        let log = CongestionAttribute::parse(AttributeId(0x13), &bytes).unwrap().unwrap();
        check(&Attribute::Congestion(log), &bytes, places);
    }
}

#[test]
fn messages_of_communication_management() {
    for (id, places) in MESSAGES {
        let bytes = scrambled::<232>(u64::from(*id));
        let message = CmMessage::parse(AttributeId(*id), &bytes).unwrap().unwrap();
        check(&Attribute::Cm(message), &bytes, places);
    }
}
