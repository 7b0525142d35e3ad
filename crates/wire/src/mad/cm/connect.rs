//! Establishment of a connection.

use std::fmt;

use serde::Serialize;

use crate::field::{Field, Octets, get, put};
use crate::ids::{CommId, EeContext, Gid, Guid, Lid, PKey, QKey, Qpn, ServiceId, Sl, newtypes};
use crate::mad::smp::Mtu;
use crate::psn::Psn;
use crate::record::record;

newtypes! {
    /// Reason of a rejection (table 109).
    RejReason(u16);
}

impl RejReason {
    /// No queue pair available.
    pub const NO_QP: Self = Self(1);
    /// No resources available.
    pub const NO_RESOURCES: Self = Self(3);
    /// The other side did not answer in time.
    pub const TIMEOUT: Self = Self(4);
    /// The connection is not known, or not new.
    pub const STALE_CONNECTION: Self = Self(10);
    /// No one listens on the service.
    pub const INVALID_SERVICE_ID: Self = Self(8);
    /// The consumer rejects the connection; the reason is in its private data.
    pub const CONSUMER: Self = Self(28);
}

record! {
    /// A path in [`Req`].
    ReqPath, ReqPathView, 44 {
        /// LID of the requester.
        local_lid: Lid = 0:0, 16;
        /// LID of the peer.
        remote_lid: Lid = 2:0, 16;
        /// GID of the requester.
        local_gid: Gid = 4:0, 128;
        /// GID of the peer.
        remote_gid: Gid = 20:0, 128;
        /// Flow label, 20 bits.
        flow_label: u32 = 36:0, 20;
        /// Static rate.
        packet_rate: u8 = 39:2, 6;
        /// Traffic class.
        traffic_class: u8 = 40:0, 8;
        /// Hop limit.
        hop_limit: u8 = 41:0, 8;
        /// Service level.
        sl: Sl = 42:0, 4;
        /// True if the path stays in the subnet.
        subnet_local: bool = 42:4, 1;
        /// Time to an acknowledgement: 4.096 us * 2^n.
        local_ack_timeout: u8 = 43:0, 5;
    }
}

record! {
    /// Request for communication (table 106).
    Req, ReqView, 232 {
        /// Connection of the requester.
        local_comm_id: CommId = 0:0, 32;
        /// Service that is requested.
        service_id: ServiceId = 8:0, 64;
        /// Adapter of the requester.
        local_ca_guid: Guid = 16:0, 64;
        /// Queue key of a datagram service.
        local_q_key: QKey = 28:0, 32;
        /// Queue pair of the requester.
        local_qpn: Qpn = 32:0, 24;
        /// RDMA READ and ATOMIC requests that the requester can serve at a time.
        responder_resources: u8 = 35:0, 8;
        /// End-to-end context of the requester (Reliable Datagram).
        local_eecn: EeContext = 36:0, 24;
        /// RDMA READ and ATOMIC requests that the requester will have outstanding.
        initiator_depth: u8 = 39:0, 8;
        /// End-to-end context of the peer, if it is known.
        remote_eecn: EeContext = 40:0, 24;
        /// Time for an answer of the peer: 4.096 us * 2^n.
        remote_cm_response_timeout: u8 = 43:0, 5;
        /// 0 RC, 1 UC, 2 RD, 3 see `extended_transport_type`.
        transport_service_type: u8 = 43:5, 2;
        /// True if the requester uses end-to-end credits.
        end_to_end_flow_control: bool = 43:7, 1;
        /// First sequence number that the requester sends.
        starting_psn: Psn = 44:0, 24;
        /// Time for an answer of the requester: 4.096 us * 2^n.
        local_cm_response_timeout: u8 = 47:0, 5;
        /// Retries after a time-out or a sequence error, 0 to 7.
        retry_count: u8 = 47:5, 3;
        /// Partition.
        p_key: PKey = 48:0, 16;
        /// Payload of the path.
        path_mtu: Mtu = 50:0, 4;
        /// True if the peers have a Reliable Datagram channel.
        rdc_exists: bool = 50:4, 1;
        /// Retries after an RNR NAK, 7 for no limit.
        rnr_retry_count: u8 = 50:5, 3;
        /// Retransmissions of a message of communication management.
        max_cm_retries: u8 = 51:0, 4;
        /// True if the requester has a shared receive queue.
        srq: bool = 51:4, 1;
        /// 1 XRC.
        extended_transport_type: u8 = 51:5, 3;
        /// The path to use.
        primary: ReqPath = 52:0, 8;
        /// The path after a migration; zeros if there is none.
        alternate: ReqPath = 96:0, 8;
        /// Data of the consumer.
        private_data: Octets<92> = 140:0, 8;
    }
}

record! {
    /// Message receipt acknowledgement: the answer takes longer (table 107).
    Mra, MraView, 232 {
        /// Connection of the sender.
        local_comm_id: CommId = 0:0, 32;
        /// Connection of the receiver.
        remote_comm_id: CommId = 4:0, 32;
        /// The message: 0 REQ, 1 REP, 2 LAP.
        message: u8 = 8:0, 2;
        /// Time to the answer: 4.096 us * 2^n.
        service_timeout: u8 = 9:0, 5;
        /// Data of the consumer.
        private_data: Octets<222> = 10:0, 8;
    }
}

record! {
    /// Rejection (table 108).
    Rej, RejView, 232 {
        /// Connection of the sender.
        local_comm_id: CommId = 0:0, 32;
        /// Connection of the receiver.
        remote_comm_id: CommId = 4:0, 32;
        /// The message: 0 REQ, 1 REP, 2 other.
        message: u8 = 8:0, 2;
        /// Bytes of `additional_info` in use, 7 bits.
        info_length: u8 = 9:0, 7;
        /// Reason.
        reason: RejReason = 10:0, 16;
        /// Acceptable values, for example.
        additional_info: Octets<72> = 12:0, 8;
        /// Data of the consumer.
        private_data: Octets<148> = 84:0, 8;
    }
}

record! {
    /// Reply to a request: the connection is accepted (table 110).
    Rep, RepView, 232 {
        /// Connection of the sender.
        local_comm_id: CommId = 0:0, 32;
        /// Connection of the receiver.
        remote_comm_id: CommId = 4:0, 32;
        /// Queue key of a datagram service.
        local_q_key: QKey = 8:0, 32;
        /// Queue pair of the sender.
        local_qpn: Qpn = 12:0, 24;
        /// End-to-end context of the sender (Reliable Datagram).
        local_eecn: EeContext = 16:0, 24;
        /// First sequence number that the sender sends.
        starting_psn: Psn = 20:0, 24;
        /// RDMA READ and ATOMIC requests that the sender can serve at a time.
        responder_resources: u8 = 24:0, 8;
        /// RDMA READ and ATOMIC requests that the sender will have outstanding.
        initiator_depth: u8 = 25:0, 8;
        /// Longest time to an acknowledgement: 4.096 us * 2^n.
        target_ack_delay: u8 = 26:0, 5;
        /// 0 the alternate path is accepted, 1 not supported, 2 rejected.
        failover_accepted: u8 = 26:5, 2;
        /// True if the sender uses end-to-end credits.
        end_to_end_flow_control: bool = 26:7, 1;
        /// Retries after an RNR NAK, 7 for no limit.
        rnr_retry_count: u8 = 27:0, 3;
        /// True if the sender has a shared receive queue.
        srq: bool = 27:3, 1;
        /// Adapter of the sender.
        local_ca_guid: Guid = 28:0, 64;
        /// Data of the consumer.
        private_data: Octets<196> = 36:0, 8;
    }
}

record! {
    /// Ready to use: the reply arrived (table 111).
    Rtu, RtuView, 232 {
        /// Connection of the sender.
        local_comm_id: CommId = 0:0, 32;
        /// Connection of the receiver.
        remote_comm_id: CommId = 4:0, 32;
        /// Data of the consumer.
        private_data: Octets<224> = 8:0, 8;
    }
}
