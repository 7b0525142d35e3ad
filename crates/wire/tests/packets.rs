//! Whole packets: round trips, RoCE, and no panic on any bytes.

mod common;

use common::{crc_by_bits, scrambled};
use fabricsim_wire::WireError;
use fabricsim_wire::capture::{self, InterfaceKind, Writer};
use fabricsim_wire::dissect::dissect;
use fabricsim_wire::headers::{Grh, Headers, Lrh, NextHeader, Opcode};
use fabricsim_wire::packet::{CNP_PAYLOAD, Packet, PacketView, emit_raw};
use fabricsim_wire::roce::RoceView;
use fabricsim_wire::{Record, crc, fcp::Fcp};
use proptest::prelude::*;

fn headers(opcode: Opcode, seed: u64) -> Headers {
    let mut bytes = scrambled::<64>(seed);
    (bytes[0], bytes[1]) = (opcode.0, bytes[1] & 0xc0);
    Headers::parse(&bytes).unwrap()
}

proptest! {
    #[test]
    fn packets_of_every_opcode_are_read_as_they_were_written(
        opcode: u8, seed: u64, payload in prop::collection::vec(any::<u8>(), 0..4097), global: bool,
    ) {
        let grh = global.then(|| Grh::parse(&scrambled::<40>(seed)).unwrap());
        let lrh = Lrh::parse(&scrambled::<8>(!seed)).unwrap();
        let packet = Packet { lrh, grh, transport: headers(Opcode(opcode), seed), payload: &payload };
        let mut bytes = vec![0xee; packet.wire_len() + 3];
        let len = packet.emit(&mut bytes).unwrap();
        prop_assert_eq!(len, packet.wire_len());
        prop_assert_eq!(&bytes[len..], &[0xee; 3][..]);
        let view = PacketView::new(&bytes).unwrap();
        prop_assert!(view.icrc().unwrap().is_right() && view.vcrc().is_right());
        let read = view.packet().unwrap();
        prop_assert_eq!((read.transport, read.payload), (packet.transport, packet.payload));
        prop_assert_eq!(usize::from(read.lrh.packet_length) * 4 + 2, len);
        let lnh = if global { NextHeader::Global } else { NextHeader::Local };
        prop_assert_eq!(read.lrh, Lrh { lnh, packet_length: read.lrh.packet_length, ..lrh });
        prop_assert_eq!(read.grh.map(|grh| usize::from(grh.payload_length) + 50), global.then_some(len));
        prop_assert!(PacketView::new(&bytes[..len - 1]).is_err());
        prop_assert!(packet.emit(&mut bytes[..len - 1]).is_err());
    }

    #[test]
    fn no_bytes_lead_to_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), lnh in 0..4_u8, words: u8) {
        let mut bytes = bytes;
        for tidy in [false, true] {
            if tidy && bytes.len() > 52 {
                // Headers that lead further into the packet.
                (bytes[0], bytes[1]) = (bytes[0] & 0xf0, bytes[1] & 0xfc | lnh);
                (bytes[4], bytes[5]) = (0, words % 100);
                (bytes[8], bytes[14]) = (0x60 | bytes[8] & 0xf, 0x1b);
            }
            if let Ok(view) = PacketView::new(&bytes) {
                let _ = (view.packet(), view.icrc(), view.vcrc(), view.content());
            }
            let _ = (Headers::parse(&bytes), Fcp::parse_packet(&bytes), RoceView::new(&bytes));
            let _ = (crc::icrc(&bytes), crc::icrc_roce_v1(&bytes), crc::icrc_roce_v2(&bytes, &bytes));
            let _ = dissect(&bytes, "f");
        }
    }

    /// A file of every format with some bytes changed, and its end cut off.
    #[test]
    fn damaged_files_are_errors_or_read(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        end in any::<prop::sample::Index>(), which in 0..3_usize,
    ) {
        let mut bytes = files()[which].clone();
        for (index, value) in edits {
            let index = index.index(bytes.len());
            bytes[index] = value;
        }
        bytes.truncate(end.index(2 * bytes.len()));
        match dissect(&bytes, "damaged") {
            Ok(records) => drop(serde_json::to_string(&records).unwrap()),
            Err(error) => prop_assert!(error.to_string().starts_with("damaged: ")),
        }
    }

    #[test]
    fn frames_of_both_versions_are_read(
        opcode: u8, seed: u64, payload in prop::collection::vec(any::<u8>(), 0..300), tags in 0..3_usize, filled: bool,
    ) {
        let transport = headers(Opcode(opcode), seed);
        for network in [RoceKind::V1, RoceKind::Ipv4, RoceKind::Ipv6] {
            let mut frame = roce(network, &transport, &payload, tags, seed);
            if filled {
                frame.resize(frame.len() + 7, 0);
            }
            let view = RoceView::new(&frame).unwrap().unwrap();
            prop_assert!(view.icrc.is_right(), "{:?} {:?}", network, view.icrc);
            prop_assert_eq!(view.transport(), Ok((transport, &payload[..])));
            prop_assert_eq!(view.ethernet.vlans.len(), tags);
            let cut = frame.len() - if filled { 8 } else { 1 };
            prop_assert!(RoceView::new(&frame[..cut]).is_err());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum RoceKind {
    V1,
    Ipv4,
    Ipv6,
}

/// A frame with its checksum, computed from the rule bit by bit.
fn roce(kind: RoceKind, transport: &Headers, payload: &[u8], tags: usize, seed: u64) -> Vec<u8> {
    let mut content = vec![0; transport.len()];
    transport.emit(&mut content).unwrap();
    let pad = payload.len().wrapping_neg() & 3;
    content[1] |= (pad as u8) << 4;
    content.extend_from_slice(payload);
    content.extend_from_slice(&vec![0; pad]);
    let mut udp = scrambled::<8>(seed);
    udp[2..4].copy_from_slice(&4791_u16.to_be_bytes());
    udp[4..6].copy_from_slice(&(content.len() as u16 + 12).to_be_bytes());
    let with_udp = if kind == RoceKind::V1 { content.clone() } else { [&udp[..], &content].concat() };
    let (ethertype, ip) = match kind {
        RoceKind::Ipv4 => {
            let mut ip = scrambled::<20>(seed);
            (ip[0], ip[6], ip[9]) = (0x45, 0x40, 17);
            ip[7] = 0;
            ip[2..4].copy_from_slice(&(with_udp.len() as u16 + 24).to_be_bytes());
            (0x0800_u16, ip.to_vec())
        }
        RoceKind::V1 | RoceKind::Ipv6 => {
            let mut ip = scrambled::<40>(seed);
            ip[0] = 0x60 | ip[0] & 0xf;
            ip[4..6].copy_from_slice(&(with_udp.len() as u16 + 4).to_be_bytes());
            ip[6] = if kind == RoceKind::V1 { 0x1b } else { 17 };
            (if kind == RoceKind::V1 { 0x8915 } else { 0x86dd }, ip.to_vec())
        }
    };
    let mut covered = [&[0xff; 8][..], &ip, &with_udp].concat();
    let ones: &[usize] = match kind {
        RoceKind::V1 => &[9, 10, 11, 15, 52],
        RoceKind::Ipv4 => &[9, 16, 18, 19, 34, 35, 40],
        RoceKind::Ipv6 => &[9, 10, 11, 15, 54, 55, 60],
    };
    for &at in ones {
        covered[at] = 0xff;
    }
    if kind != RoceKind::Ipv4 {
        covered[8] |= 0xf;
    }
    let icrc = crc_by_bits(0xedb8_8320, 32, &covered).to_le_bytes();
    let tag = [0x81, 0, 0x60, 7];
    [&scrambled::<12>(seed)[..], &tag.repeat(tags), &ethertype.to_be_bytes(), &ip, &with_udp, &icrc].concat()
}

/// A file of each format: pcapng with both kinds of interfaces, pcap with RoCE, ERF.
fn files() -> [Vec<u8>; 3] {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let data = writer.add_interface("sw0/p1", InterfaceKind::Data).unwrap();
    let credits = writer.add_interface("sw0/p1 credits", InterfaceKind::FlowControl).unwrap();
    let mut pcap =
        [0xa1b2_3c4d_u32, 0x0002_0004, 0, 0, 65535, 1].iter().fold(Vec::new(), |mut bytes, word| {
            bytes.extend_from_slice(&word.to_be_bytes());
            bytes
        });
    let mut buffer = [0; 400];
    for (index, opcode) in [0x04, 0x0a, 0x51, 0x64, 0x80, 0xb3].into_iter().enumerate() {
        let transport = headers(Opcode(opcode), index as u64);
        let packet = Packet { lrh: Lrh::default(), grh: None, transport, payload: &CNP_PAYLOAD };
        let len = packet.emit(&mut buffer).unwrap();
        writer.write(data, index as u64, &buffer[..len], false, Some("a comment")).unwrap();
        let kind = [RoceKind::V1, RoceKind::Ipv4, RoceKind::Ipv6][index % 3];
        let frame = roce(kind, &transport, b"payload", index % 2, 5);
        let words = [1, index as u32, frame.len() as u32, frame.len() as u32];
        for word in words {
            pcap.extend_from_slice(&word.to_be_bytes());
        }
        pcap.extend_from_slice(&frame);
    }
    let len = Fcp::default().emit_packet(&mut buffer).unwrap();
    writer.write(credits, 9, &buffer[..len], false, None).unwrap();
    let pcapng = writer.finish().unwrap();
    let records = capture::read(&pcapng, "f").unwrap().records;
    let erf = records.iter().flat_map(|record| record.data.iter().copied()).collect();
    [pcapng, pcap, erf]
}

#[test]
fn every_format_is_read_whole() {
    let [pcapng, pcap, erf] = files();
    for (bytes, count) in [(&pcapng, 7), (&pcap, 6), (&erf, 7)] {
        let records = dissect(bytes, "f").unwrap();
        assert_eq!(records.len(), count);
        for record in &records {
            let packet = &record.packet;
            assert_eq!(packet.problem, None, "{record:?}");
            assert!(packet.icrc.is_some_and(|icrc| icrc.ok) || packet.fcp.is_some_and(|fcp| fcp.lpcrc.ok));
        }
    }
    let json = serde_json::to_value(dissect(&pcapng, "f").unwrap()).unwrap();
    let first = &json[0];
    assert_eq!(
        (&first["number"], &first["time_ns"], &first["interface"]),
        (&1.into(), &0.into(), &"sw0/p1".into())
    );
    assert_eq!(
        (&first["bth"]["opcode"], &first["lrh"]["lnh"], &first["icrc"]["ok"]),
        (&4.into(), &2.into(), &true.into())
    );
    assert_eq!(first["icrc"]["value"].as_str().map(str::len), Some(10));
    assert!(first["grh"].is_null() && first["mad"].is_null() && first.get("deth").is_none());
    assert_eq!((&json[6]["fcp"]["op"], &json[6]["encapsulation"]), (&0.into(), &"flow_control".into()));
}

/// The congestion notification packet of a ConnectX-4 Lx that Scapy's tests have (`test/contrib/roce.uts`).
#[test]
fn notification_of_an_adapter() {
    let ip = common::unhex("45c2003c718c400040119161 0a001101 0a001201");
    let udp = common::unhex("000012b700280000 8100ffff4000011800000000");
    assert_eq!(crc::icrc_roce_v2(&ip, &[&udp[..], &CNP_PAYLOAD].concat()), Some(0x82fd_002a));
}

#[test]
fn lengths_and_versions_are_checked() {
    let transport = headers(Opcode(0x04), 1);
    let mut packet = Packet { lrh: Lrh::default(), grh: Some(Grh::default()), transport, payload: &[1; 30] };
    let mut bytes = [0; 200];
    let len = packet.emit(&mut bytes).unwrap();
    let changed = |at: usize, value: u8| {
        let mut bytes = bytes;
        bytes[at] = value;
        PacketView::new(&bytes[..len]).and_then(|view| view.packet().map(drop)).unwrap_err().to_string()
    };
    assert_eq!(changed(0, 1), "LRH.LVer = 1: must be 0");
    assert_eq!(changed(5, 1), "LRH.PktLen: 4 bytes, must be at least 8");
    assert_eq!(changed(5, 99), "LRH.PktLen with VCRC = 398 bytes, but there are 98");
    assert_eq!(changed(8, 0x40), "GRH.IPVer = 4: must be 6");
    assert_eq!(changed(13, 1), "GRH.PayLen = 1 bytes, but there are 48");
    assert_eq!(changed(14, 17), "GRH.NxtHdr = 17: must be 27 (BTH)");
    assert_eq!(changed(49, 3), "BTH.TVer = 3: must be 0");
    assert_eq!(changed(1, 1), "packet has next header 1: must be 2 (local) or 3 (global)");
    let long = [0; 8200];
    packet.payload = &long;
    assert!(matches!(packet.emit(&mut [0; 9000]), Err(WireError::Value { what: "LRH.PktLen", .. })));
}

#[test]
fn raw_packets_have_a_vcrc_only() {
    let lrh = Lrh { lnh: NextHeader::Raw, ..Lrh::default() };
    let mut bytes = [0; 64];
    let len = emit_raw(&lrh, &[0, 0, 8, 0, 1, 2, 3, 4], &mut bytes).unwrap();
    let view = PacketView::new(&bytes[..len]).unwrap();
    assert_eq!((len, view.content(), view.icrc()), (18, &[0, 0, 8, 0, 1, 2, 3, 4][..], None));
    assert!(view.vcrc().is_right());
    assert_eq!(view.transport(), Err(WireError::Raw { next: 0 }));
    assert!(
        emit_raw(&lrh, &[0; 7], &mut bytes).is_err() && emit_raw(&Lrh::default(), &[], &mut bytes).is_err()
    );
}
