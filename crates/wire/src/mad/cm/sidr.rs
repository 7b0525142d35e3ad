//! Resolution of a service to a queue pair of Unreliable Datagram.

use crate::field::Octets;
use crate::ids::{CommId, PKey, QKey, Qpn, ServiceId};
use crate::record::record;

record! {
    /// Service identifier resolution request (table 119).
    SidrReq, SidrReqView, 232 {
        /// Number of the request.
        request_id: CommId = 0:0, 32;
        /// Partition.
        p_key: PKey = 4:0, 16;
        /// The service.
        service_id: ServiceId = 8:0, 64;
        /// Data of the consumer.
        private_data: Octets<216> = 16:0, 8;
    }
}

record! {
    /// Service identifier resolution response (table 120).
    SidrRep, SidrRepView, 232 {
        /// Number of the request.
        request_id: CommId = 0:0, 32;
        /// 0 valid, 1 service not supported, 2 rejected, 3 no queue pair, 4 redirection, 5 version not supported.
        status: u8 = 4:0, 8;
        /// Bytes of `additional_info` in use.
        info_length: u8 = 5:0, 8;
        /// Queue pair of the service.
        qpn: Qpn = 8:0, 24;
        /// The service.
        service_id: ServiceId = 12:0, 64;
        /// Queue key of the service.
        q_key: QKey = 20:0, 32;
        /// Redirection, for example.
        additional_info: Octets<72> = 24:0, 8;
        /// Data of the consumer.
        private_data: Octets<136> = 96:0, 8;
    }
}
