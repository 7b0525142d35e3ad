//! Checksums of packets from the specification and from hardware.

mod common;

use common::{crc_by_bits, reference, unhex};
use fabricsim_wire::capture;
use fabricsim_wire::crc;
use fabricsim_wire::dissect::dissect;
use fabricsim_wire::packet::PacketView;

/// The local packet of the specification's example (volume 1, section 7.8.1): RDMA WRITE Only of 14 bytes. The example
/// prints no VCRC.
#[test]
fn example_of_the_specification() {
    let mut packet = unhex(
        "7012375c000e17d2 0a2024870087b1b3000dec2a 01710a1c015d400238f27a050000000e \
         bb884d85fd5cfba4728bc0690ed40000",
    );
    assert_eq!(crc::icrc(&packet), Some(0x9625_b75a));
    packet.extend_from_slice(&[0x96, 0x25, 0xb7, 0x5a]);
    assert_eq!(crc::vcrc(&packet), 0x45fa);
    packet.extend_from_slice(&[0x45, 0xfa]);
    let view = PacketView::new(&packet).unwrap();
    assert!(view.icrc().unwrap().is_right() && view.vcrc().is_right());
    let packet_again = view.packet().unwrap();
    assert_eq!(packet_again.transport.bth.opcode.to_string(), "RC RDMA WRITE Only");
    assert_eq!(packet_again.payload.len(), 14);
    let mut emitted = [0; 128];
    let len = packet_again.emit(&mut emitted).unwrap();
    assert_eq!(&emitted[..len], packet);
}

/// Every bit of a packet changes VCRC; ICRC changes unless switches and routers may change the bit.
#[test]
fn fields_that_the_network_changes_are_not_covered() {
    let packet: Vec<u8> = (0..80_u8).map(|byte| byte.wrapping_mul(37)).collect();
    for lnh in [2_u8, 3] {
        let mut packet = packet.clone();
        (packet[1], packet[8]) = (packet[1] & 0xfc | lnh, 0x60);
        let (icrc, vcrc) = (crc::icrc(&packet), crc::vcrc(&packet));
        let mut changeable = 0;
        for bit in 0..packet.len() * 8 {
            let mut changed = packet.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(crc::vcrc(&changed), vcrc, "bit {bit}");
            // Another LNH is another format.
            changeable += usize::from(!(8..10).contains(&bit) && crc::icrc(&changed) == icrc);
        }
        // Local: VL, 8 bits of BTH. Global: LRH but for LNH, 8 + 20 + 8 bits of GRH, 8 bits of BTH.
        assert_eq!(changeable, if lnh == 2 { 12 } else { 62 + 36 + 8 });
    }
}

#[test]
fn checksums_are_those_of_their_definitions() {
    for len in [0, 1, 26, 300] {
        let bytes: Vec<u8> = (0..len).map(|index| (index * 89 + 5) as u8).collect();
        assert_eq!(u32::from(crc::vcrc(&bytes).swap_bytes()), crc_by_bits(0xd008, 16, &bytes));
    }
    let mut packet: Vec<u8> = (0..60_u8).collect();
    packet[1] = 2;
    let icrc = crc::icrc(&packet).unwrap();
    (packet[0], packet[12]) = (packet[0] | 0xf0, 0xff);
    assert_eq!(icrc.swap_bytes(), crc_by_bits(0xedb8_8320, 32, &packet));
}

/// Every packet of the reference: an example and the first 24 packets of a capture from hardware.
#[test]
fn packets_of_the_reference() {
    let Some(text) = reference("infiniband-crc-vectors.json") else { return };
    let vectors: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap();
    let mut with_vcrc = 0;
    for vector in &vectors {
        let field = |name: &str| vector[name].as_str().map(unhex);
        let mut packet = field("lrh_to_payload").unwrap();
        let icrc = field("icrc_wire").unwrap();
        assert_eq!(crc::icrc(&packet).unwrap().to_be_bytes()[..], icrc, "{}", vector["name"]);
        packet.extend_from_slice(&icrc);
        if let Some(vcrc) = field("vcrc_wire") {
            assert_eq!(crc::vcrc(&packet).to_be_bytes()[..], vcrc, "{}", vector["name"]);
            with_vcrc += 1;
            packet.extend_from_slice(&vcrc);
            // Nothing is lost: the meaning has all of the packet.
            let meaning = PacketView::new(&packet).unwrap().packet().unwrap();
            let mut emitted = vec![0; packet.len()];
            assert_eq!(meaning.emit(&mut emitted), Ok(packet.len()));
            assert_eq!(emitted, packet, "{}", vector["name"]);
        }
    }
    assert!(vectors.len() >= 25 && with_vcrc >= 24, "{} vectors, {with_vcrc} with VCRC", vectors.len());
}

/// A capture of native InfiniBand by an Endace tap.
#[test]
fn sample_capture_of_hardware() {
    let Some(bytes) = reference("captures/infiniband-sample.pcap") else { return };
    let records = dissect(&bytes, "infiniband-sample.pcap").unwrap();
    let right = |ok: fn(&fabricsim_wire::dissect::DissectedPacket) -> bool| {
        records.iter().filter(|record| ok(&record.packet)).count()
    };
    assert_eq!(records.len(), 24);
    assert_eq!(right(|packet| packet.icrc.is_some_and(|icrc| icrc.ok)), 24);
    assert_eq!(right(|packet| packet.vcrc.is_some_and(|vcrc| vcrc.ok)), 24);
    assert_eq!(right(|packet| packet.problem.is_none()), 24);
    let summary = |number: usize| records[number - 1].packet.summary.as_str();
    assert_eq!(
        [1, 2, 3, 7, 8, 9, 10, 11].map(summary),
        [
            "SubnDirectedGet(SMInfo)",
            "SubnDirectedGetResp(SMInfo)",
            "UD SEND Only",
            "ComMgt REQ",
            "ComMgt REP",
            "ComMgt RTU",
            "RC SEND Only",
            "RC Acknowledge"
        ]
    );
    assert!(records.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
    // The connection that REP agrees on is the one that RC packets use.
    let json = serde_json::to_value(&records).unwrap();
    let reply = &json[7]["mad"]["data"]["REP"];
    assert_eq!((&reply["local_qpn"], &reply["starting_psn"]), (&0xfc_0407.into(), &0xd4_0a55.into()));
    assert_eq!(
        (&json[9]["bth"]["dest_qp"], &json[10]["bth"]["psn"]),
        (&reply["local_qpn"], &reply["starting_psn"])
    );
    // A flipped bit is noticed, in the file as in the packet.
    let capture = capture::read(&bytes, "f").unwrap();
    let at = capture.records[9].data.as_ptr() as usize - bytes.as_ptr() as usize + 16 + 30;
    let mut damaged = bytes.clone();
    damaged[at] ^= 4;
    let damaged = &dissect(&damaged, "f").unwrap()[9].packet;
    assert!(!damaged.icrc.unwrap().ok && !damaged.vcrc.unwrap().ok);
}
