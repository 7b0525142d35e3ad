//! Services, and subscriptions to notices.

use crate::field::{Octets, Table, Text};
use crate::ids::{Gid, PKey, ServiceId};
use crate::mad::{InformInfo, Notice};
use crate::record::record;

record! {
    /// A service that a port offers (section 15.2.5.14).
    ServiceRecord, ServiceRecordView, 176 {
        /// The service.
        service_id: ServiceId = 0:0, 64;
        /// The port.
        service_gid: Gid = 8:0, 128;
        /// Partition.
        p_key: PKey = 24:0, 16;
        /// Seconds for which the record is valid; 0xffffffff for ever.
        lease: u32 = 28:0, 32;
        /// Key that a change of the record must have.
        key: Octets<16> = 32:0, 8;
        /// Name.
        name: Text<64> = 48:0, 8;
        /// Data of the service, as bytes.
        data8: Octets<16> = 112:0, 8;
        /// Data of the service, in units of 16 bits.
        data16: Table<u16, 8> = 128:0, 16;
        /// Data of the service, in units of 32 bits.
        data32: Table<u32, 4> = 144:0, 32;
        /// Data of the service, in units of 64 bits.
        data64: Table<u64, 2> = 160:0, 64;
    }
}

record! {
    /// A service's key and name (section 15.2.5.19).
    ServiceAssociationRecord, ServiceAssociationRecordView, 80 {
        /// Key.
        key: Octets<16> = 0:0, 8;
        /// Name.
        name: Text<64> = 16:0, 8;
    }
}

record! {
    /// A subscription (section 15.2.5.12).
    InformInfoRecord, InformInfoRecordView, 60 {
        /// The subscriber.
        subscriber_gid: Gid = 0:0, 128;
        /// Number of the subscription.
        number: u16 = 16:0, 16;
        /// Its content.
        inform_info: InformInfo = 24:0, 8;
    }
}

record! {
    /// A notice and the GID of its issuer (section 13.4.8.2).
    NoticeRecord, NoticeRecordView, 80 {
        /// The notice.
        notice: Notice = 0:0, 8;
        /// The port that reported it.
        issuer_gid: Gid = 64:0, 128;
    }
}
