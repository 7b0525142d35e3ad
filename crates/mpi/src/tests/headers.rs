//! Headers: sizes and first bytes on the wire, and the decoder.

use fabricsim_wire::capture::{InterfaceKind, Writer};
use fabricsim_wire::dissect::dissect;
use fabricsim_wire::headers::{Bth, Headers, Lrh, Opcode, Operation, Service};
use fabricsim_wire::packet::Packet;
use proptest::prelude::*;

use crate::header::{DecodeError, Envelope, Header, Memory, decode, set_credits};

const ENVELOPE: Envelope = Envelope { context: 3, source: 0x0102_0304, tag: 77, sequence: 0xfffe };
const MEMORY: Memory = Memory { address: 0x1_0000_1000, key: 0x1234 };

fn all() -> [(Header, u8, usize); 9] {
    let (length, send, receive) = (1 << 40, 5, 6);
    [
        (Header::Match(ENVELOPE), 0x41, 18),
        (Header::Rndv { envelope: ENVELOPE, length, send, pinned: true }, 0x42, 36),
        (Header::Rget { envelope: ENVELOPE, length, send, memory: MEMORY }, 0x43, 60),
        (Header::Ack { send, receive, send_length: 9 }, 0x44, 44),
        (Header::Frag { offset: 1 << 33, send, receive }, 0x46, 36),
        (Header::Put { send, receive, offset: 8, length, memory: MEMORY }, 0x48, 68),
        (Header::Fin { request: 1 << 32, length }, 0x49, 28),
        (Header::Credits, 0x20, 8),
        (Header::Ring { memory: MEMORY }, 0x20, 20),
    ]
}

/// Sizes and first bytes as captured from the unmodified library; both types of a message are the same.
#[test]
fn sizes_and_types_are_those_of_open_mpi() {
    for (header, first, size) in all() {
        let bytes = header.encode(0);
        assert_eq!((bytes[0], bytes.len()), (first, size), "{header}");
        assert!(first == 0x20 || bytes[4] == first, "{header}");
    }
}

/// Figure 26: source at 8, tag at 12, sequence number at 16, behind the header of the BTL.
#[test]
fn an_envelope_has_its_fields_where_figure_26_has_them() {
    let bytes = Header::Match(ENVELOPE).encode(0);
    let expected = [0x41, 0, 0, 0, 0x41, 0, 3, 0, 4, 3, 2, 1, 77, 0, 0, 0, 0xfe, 0xff];
    assert_eq!(bytes, expected);
}

/// The packet of a capture that begins a message has the header, and the packets that follow have none.
#[test]
fn headers_are_in_the_records_of_a_capture() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.add_interface("H0:1 -> S0:1", InterfaceKind::Data).unwrap();
    for (header, _, size) in all() {
        for (operation, payload) in [
            (Operation::SendOnly, header.encode(0)),
            (Operation::SendFirst, [&header.encode(0)[..], &[7; 100]].concat()),
            (Operation::SendLast, header.encode(0)),
            (Operation::SendOnly, vec![0; size]),
        ] {
            let opcode = Opcode::new(Service::Rc, operation).unwrap();
            let transport = Headers { bth: Bth { opcode, ..Bth::default() }, ..Headers::default() };
            let mut packet = [0; 512];
            let packet_of = Packet { lrh: Lrh::default(), grh: None, transport, payload: &payload };
            let length = packet_of.emit(&mut packet).unwrap();
            writer.write(interface, 0, &packet[..length], false, None).unwrap();
        }
    }
    let records = dissect(&writer.finish().unwrap(), "ranks.pcapng").unwrap();
    assert_eq!(records.len(), 4 * all().len());
    let bytes = |text: &String| -> Vec<u8> {
        let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(digits).collect()
    };
    for (records, (header, _, size)) in records.chunks(4).zip(all()) {
        let first: Vec<_> = records.iter().map(|of| of.packet.first_bytes.as_ref().map(bytes)).collect();
        assert_eq!(first[0].as_ref().map(|bytes| decode(bytes).unwrap().header), Some(header));
        assert_eq!(
            first[1].as_ref().map(|bytes| (decode(bytes).unwrap().size, bytes.len())),
            Some((size, 72))
        );
        assert_eq!(first[2..], [None, None]);
    }
}

#[test]
fn what_is_encoded_is_decoded() {
    for (header, _, size) in all() {
        let mut bytes = header.encode(3);
        bytes.extend_from_slice(&[1, 2, 3]);
        set_credits(&mut bytes, (true, 12), 7);
        let decoded = decode(&bytes).unwrap();
        assert_eq!((decoded.header, decoded.size), (header, size));
        assert_eq!((decoded.credits, decoded.seen), ((true, 12), 7));
        for cut in 0..size {
            assert!(matches!(decode(&bytes[..cut]), Err(DecodeError::Short(found, _)) if found == cut));
        }
    }
}

#[test]
fn other_bytes_are_refused() {
    assert_eq!(decode(&[0x45; 80]), Err(DecodeError::Type(0x45)));
    assert_eq!(decode(&[0x41, 0, 0, 0, 0x42]), Err(DecodeError::Types(0x41, 0x42)));
    assert_eq!(decode(&[0x20, 0, 0, 0, 3]), Err(DecodeError::Control(3)));
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100), kind in 0_usize..9) {
        let _ = decode(&bytes).map(|decoded| decoded.header.to_string());
        // As well with the beginning of a header.
        let mut changed = all()[kind].0.encode(0)[..5].to_vec();
        changed.extend_from_slice(&bytes);
        if let Ok(decoded) = decode(&changed) {
            let again = decoded.header.encode(0);
            prop_assert_eq!(decode(&again).unwrap().header, decoded.header);
            prop_assert!(decoded.size <= changed.len());
        }
    }
}
