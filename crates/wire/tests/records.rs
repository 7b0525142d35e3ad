//! Every format: nothing of a value is lost, reserved bits are zero, and no bytes lead to a panic.

mod common;

use common::scrambled;
use fabricsim_wire::Record;
use fabricsim_wire::fcp::Fcp;
use fabricsim_wire::headers::*;
use fabricsim_wire::mad::{cm::*, congestion::*, performance::*, sa::*, smp::*, *};
use proptest::prelude::*;

/// Bytes of the longest record, and some more.
const BYTES: usize = 260;

/// Checks a record with some bytes. All bits are either kept or, if they are reserved, constant.
fn check<R: Record + PartialEq + std::fmt::Debug>(bytes: &[u8; BYTES]) {
    let emit = |bytes: &[u8]| {
        let record = R::parse(bytes).unwrap();
        let mut emitted = [0; BYTES];
        record.emit(&mut emitted).unwrap();
        assert_eq!(R::parse(&emitted), Ok(record), "{}", R::NAME);
        emitted
    };
    // A record of several kinds has its kind in the first byte.
    let kind = |bytes: &[u8; BYTES], fill: u8| {
        let mut filled = [fill; BYTES];
        if R::NAME == "CongestionLog" {
            filled[0] = bytes[0];
        }
        filled
    };
    let (zeros, ones, emitted) = (emit(&kind(bytes, 0)), emit(&kind(bytes, 0xff)), emit(bytes));
    for index in 0..BYTES {
        let kept = if R::NAME == "CongestionLog" && index == 0 { 0xff } else { zeros[index] ^ ones[index] };
        assert_eq!(emitted[index], bytes[index] & kept | zeros[index] & !kept, "{} byte {index}", R::NAME);
    }
    assert!(emitted[R::LEN..].iter().all(|&byte| byte == 0), "{} writes after its end", R::NAME);
    for len in [0, R::LEN / 2, R::LEN - 1] {
        let error = R::parse(&bytes[..len]).unwrap_err().to_string();
        assert!(error.contains(&format!("{len} bytes, must be at least {}", R::LEN)), "{error}");
        assert!(R::parse(bytes).unwrap().emit(&mut [0; BYTES][..len]).is_err());
    }
}

macro_rules! all {
    ($($record:ty),* $(,)?) => {
        const CHECKS: &[(&str, fn(&[u8; BYTES]))] = &[$((stringify!($record), check::<$record>)),*];
    };
}

all!(
    Lrh,
    Grh,
    Bth,
    RawHeader,
    Reth,
    AtomicEth,
    Aeth,
    AtomicAckEth,
    Deth,
    Rdeth,
    Xrceth,
    ImmDt,
    Ieth,
    Feth,
    Fcp,
    MadHeader,
    OtherMad,
    ClassPortInfo,
    Notice,
    InformInfo,
    GidTrap,
    LidTrap,
    PortTrap,
    CapabilityTrap,
    SystemGuidTrap,
    MKeyTrap,
    BadKeyTrap,
    SwitchBadPKeyTrap,
    Smp,
    DirectedSmp,
    NodeDescription,
    NodeInfo,
    GuidInfo,
    SmInfo,
    VendorDiag,
    LedInfo,
    PortInfo,
    SwitchInfo,
    PKeyTable,
    SlToVlMappingTable,
    VlArbitrationEntry,
    VlArbitrationTable,
    LinearForwardingTable,
    RandomRoute,
    RandomForwardingTable,
    MulticastForwardingTable,
    SaMad,
    Rmpp,
    PathRecord,
    MultiPathRecord,
    TraceRecord,
    McMemberRecord,
    ServiceRecord,
    ServiceAssociationRecord,
    InformInfoRecord,
    NoticeRecord,
    NodeRecord,
    PortInfoRecord,
    SlToVlMappingTableRecord,
    SwitchInfoRecord,
    LinearForwardingTableRecord,
    RandomForwardingTableRecord,
    MulticastForwardingTableRecord,
    SmInfoRecord,
    LinkRecord,
    GuidInfoRecord,
    PKeyTableRecord,
    VlArbitrationTableRecord,
    CmMad,
    Req,
    ReqPath,
    Mra,
    Rej,
    Rep,
    Rtu,
    Dreq,
    Drep,
    Lap,
    Apr,
    SidrReq,
    SidrRep,
    PerformanceMad,
    PortCounters,
    PortCountersExtended,
    PortRcvErrorDetails,
    PortXmitDiscardDetails,
    PortOpRcvCounters,
    PortFlowCtlCounters,
    PortVlOpPackets,
    PortVlOpData,
    PortVlXmitFlowCtlUpdateErrors,
    PortVlXmitWaitCounters,
    SwPortVlCongestion,
    PortRcvConCtrl,
    PortSlRcvFecn,
    PortSlRcvBecn,
    PortXmitConCtrl,
    PortVlXmitTimeCong,
    PortSamplesControl,
    PortSamplesResult,
    PortSamplesResultExtended,
    CongestionMad,
    CongestionInfo,
    CongestionKeyInfo,
    TimeStamp,
    CongestionLog,
    SwitchCongestionEvent,
    SwitchCongestionLog,
    CaCongestionEvent,
    CaCongestionLog,
    SwitchCongestionSetting,
    SwitchPortCongestion,
    SwitchPortCongestionSetting,
    CaCongestionEntry,
    CaCongestionSetting,
    CctEntry,
    CongestionControlTable,
);

proptest! {
    #[test]
    fn every_bit_is_kept_or_reserved(bytes in prop::array::uniform32(any::<u64>()), rest: u32) {
        let mut all = [0; BYTES];
        for (to, from) in all.chunks_exact_mut(8).zip(bytes) {
            to.copy_from_slice(&from.to_be_bytes());
        }
        all[256..].copy_from_slice(&rest.to_be_bytes());
        // The version of a record of several kinds.
        for (_, check) in CHECKS {
            check(&all);
        }
    }

    #[test]
    fn datagrams_of_every_class_and_attribute_keep_their_data(
        bytes in prop::collection::vec(any::<u8>(), 0..300), class: u8, attribute: u8,
    ) {
        let mut bytes = bytes;
        if bytes.len() > 17 {
            bytes[1] = [class, 1, 0x81, 3, 4, 7, 0x21][usize::from(class % 7)];
            (bytes[16], bytes[17]) = (0, attribute);
        }
        if let Ok(mad) = Mad::parse(&bytes) {
            let mut emitted = [0; MAD_LEN];
            mad.emit(&mut emitted).unwrap();
            prop_assert_eq!(Mad::parse(&emitted), Ok(mad));
            let _ = (mad.attribute(), serde_json::to_string(&mad.attribute()).unwrap());
        } else {
            prop_assert!(bytes.len() < MAD_LEN);
        }
    }
}

/// Reserved bits of formats with few of them, counted from the specification's tables.
#[test]
fn reserved_bits_of_headers() {
    fn reserved<R: Record>() -> u32 {
        let mut emitted = [[0; BYTES]; 2];
        for (fill, emitted) in [0, 0xff].into_iter().zip(&mut emitted) {
            R::parse(&[fill; BYTES]).unwrap().emit(emitted).unwrap();
        }
        let kept: u32 = (0..R::LEN).map(|index| (emitted[0][index] ^ emitted[1][index]).count_ones()).sum();
        R::LEN as u32 * 8 - kept
    }
    // Version 4 bits, 2 and 5 reserved.
    assert_eq!(reserved::<Lrh>(), 11);
    assert_eq!(reserved::<Grh>(), 4);
    // Pad count 2, version 4, reserved 6 and 7.
    assert_eq!(reserved::<Bth>(), 19);
    assert_eq!(reserved::<Deth>(), 8);
    assert_eq!(reserved::<AtomicEth>(), 0);
    assert_eq!(reserved::<MadHeader>(), 16);
    assert_eq!(reserved::<PortInfo>(), 3 + 3 + 8 + 3);
    assert_eq!(reserved::<PathRecord>(), 3 + 48);
    assert_eq!(reserved::<ClassPortInfo>(), 8);
    assert_eq!(reserved::<Smp>(), 16 + 32 * 8 + 128 * 8);
}

#[test]
fn requests_have_the_versions_of_their_class() {
    use fabricsim_wire::ids::{CcKey, TransactionId};
    let info = SmpAttribute::NodeInfo(NodeInfo { num_ports: 36, ..NodeInfo::default() });
    let smp = Smp::new(Method::GET, TransactionId(9)).with(&info, 0).unwrap();
    assert_eq!((smp.header.class_version, smp.attribute()), (1, Some(info)));
    let directed =
        DirectedSmp::new(Method::GET, TransactionId(9), &[1, 7, 3]).unwrap().with(&info, 0).unwrap();
    assert_eq!((directed.hop_count, &directed.initial_path.0[..5]), (3, &[0, 1, 7, 3, 0][..]));
    assert_eq!(directed.attribute(), Some(info));
    assert!(DirectedSmp::new(Method::GET, TransactionId(9), &[1; 64]).is_err());
    let log = CongestionAttribute::parse(AttributeId(0x13), &scrambled::<224>(3)).unwrap().unwrap();
    let mad = CongestionMad::new(Method::GET_RESP, TransactionId(9), CcKey(5)).with(&log, 0).unwrap();
    assert_eq!((mad.header.class_version, mad.attribute()), (2, Some(log)));
    let limit = CongestionControlTable { ccti_limit: 127, ..CongestionControlTable::default() };
    let table = CongestionAttribute::CongestionControlTable(limit);
    let mad = mad.with(&table, 1).unwrap();
    let mut bytes = [0; MAD_LEN];
    mad.emit(&mut bytes).unwrap();
    assert_eq!((bytes[23], &bytes[64..66]), (1, &[0, 127][..]));
    assert_eq!(Mad::parse(&bytes).unwrap().attribute(), Some(Attribute::Congestion(table)));
}
