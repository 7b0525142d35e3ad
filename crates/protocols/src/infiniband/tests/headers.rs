//! Whole headers of packets, by hand (IBA volume 1, tables 38 and 39).

use fabricsim_wire::headers::{
    Address, Aeth, Bth, CreditCode, Deth, Headers, Ieth, ImmDt, Opcode, Operands, Reth, Syndrome,
};
use fabricsim_wire::ids::{Msn, PKey, QKey, Qpn, RKey};

use super::link::{Link, Local};
use super::{FIRST, KEY, MTU, at, requester_options, responder_options, work};
use crate::infiniband::{
    DatagramAddress, Extra, Packet, Receive, RequesterOptions, UcOptions, UcRequester, UdOptions,
    UdRequester, Verb, Work,
};

/// BTH of the packet `number` with an opcode, to the queue pair 7.
fn bth(opcode: u8, number: u32) -> Bth {
    Bth {
        opcode: Opcode(opcode),
        solicited: false,
        migrated: true,
        p_key: PKey(0xffff),
        fecn: false,
        becn: false,
        dest_qp: Qpn(7),
        ack_request: false,
        psn: FIRST + number,
    }
}

fn headers(bth: Bth, operands: Operands) -> Headers {
    Headers { bth, address: Address::None, operands }
}

fn rdma(va: u64, dma_length: u32) -> Operands {
    Operands::Rdma(Reth { va, r_key: KEY, dma_length })
}

/// Requests of each kind: what a test posts, in order.
fn requests() -> [Work; 5] {
    [
        Work { solicited: true, ..work(1, Verb::Send, 2 * MTU + 1) },
        Work { extra: Extra::Invalidate(RKey(5)), ..work(2, Verb::Send, 8) },
        work(3, Verb::Write(at(100)), MTU + 1),
        Work { extra: Extra::Immediate(9), solicited: true, ..work(4, Verb::Write(at(7)), 0) },
        work(5, Verb::Read(at(50)), 2 * MTU),
    ]
}

#[test]
fn packets_of_a_reliable_connection_have_these_headers() {
    let mut link = Link::new((requester_options(), responder_options()), FIRST, (0, 0), 1);
    for work in requests() {
        link.post(work);
    }
    while link.send() {}
    let asks = |bth: Bth| Bth { ack_request: true, ..bth };
    let expected = [
        headers(bth(0x00, 0), Operands::None),
        headers(bth(0x01, 1), Operands::None),
        headers(Bth { solicited: true, ..asks(bth(0x02, 2)) }, Operands::None),
        headers(asks(bth(0x17, 3)), Operands::Invalidate(Ieth { r_key: RKey(5) })),
        headers(bth(0x06, 4), rdma(100, MTU + 1)),
        headers(asks(bth(0x08, 5)), Operands::None),
        headers(
            Bth { solicited: true, ..asks(bth(0x0b, 6)) },
            Operands::RdmaImmediate(Reth { va: 7, r_key: KEY, dma_length: 0 }, ImmDt { data: 9 }),
        ),
        headers(asks(bth(0x0c, 7)), rdma(50, 2 * MTU)),
    ];
    let sent: Vec<Headers> = link.requests.iter().map(|(headers, _)| *headers).collect();
    assert_eq!(sent, expected);
    // Their answers, to the queue pair 3: one acknowledgement, and the data of the READ.
    link.far.receives.extend((0..3).map(|id| Receive { id, length: 4096 }));
    while link.arrive() {}
    while link.answer() {}
    let answer = |opcode, number| Bth { dest_qp: Qpn(3), ..bth(opcode, number) };
    let aeth =
        |msn| Operands::Acknowledge(Aeth { syndrome: Syndrome::Ack(CreditCode::UNLIMITED), msn: Msn(msn) });
    let expected = [
        headers(answer(0x11, 6), aeth(4)),
        headers(answer(0x0d, 7), aeth(5)),
        headers(answer(0x0f, 8), aeth(5)),
    ];
    let answered: Vec<Headers> = link.responses.iter().map(|(headers, _)| *headers).collect();
    assert_eq!(answered, expected);
}

/// SEND and WRITE have the same headers there, with opcodes from 0x20, and without requests for acknowledgements.
#[test]
fn packets_of_an_unreliable_connection_have_these_headers() {
    let options = UcOptions { mtu: MTU, destination: Qpn(7), p_key: PKey(0xffff) };
    let (mut requester, mut local) = (UcRequester::new(options, FIRST), Local::default());
    assert!(!requester.is_broken() && requester.peek().is_none());
    let [send, _, write, immediate, _] = requests();
    let unsolicited = Work { solicited: false, ..send };
    let quiet = Work { solicited: true, ..write };
    for work in [send, quiet, immediate, Work { length: 1, ..unsolicited }] {
        requester.post(work, &mut local).unwrap();
    }
    let mut sent = Vec::new();
    while let Some(first) = requester.peek() {
        let packet = requester.next_packet(&mut local).unwrap();
        assert_eq!(first, packet, "it is the next packet that is looked at");
        sent.push(packet.headers);
    }
    let expected = [
        headers(bth(0x20, 0), Operands::None),
        headers(bth(0x21, 1), Operands::None),
        headers(Bth { solicited: true, ..bth(0x22, 2) }, Operands::None),
        headers(bth(0x26, 3), rdma(100, MTU + 1)),
        headers(bth(0x28, 4), Operands::None),
        headers(
            Bth { solicited: true, ..bth(0x2b, 5) },
            Operands::RdmaImmediate(Reth { va: 7, r_key: KEY, dma_length: 0 }, ImmDt { data: 9 }),
        ),
        headers(bth(0x24, 6), Operands::None),
    ];
    assert_eq!(sent, expected);
}

/// A datagram names both queue pairs; packets are numbered although no receiver looks.
#[test]
fn datagrams_have_these_headers() {
    let options = UdOptions { mtu: MTU, number: Qpn(3), q_key: QKey(1), p_key: PKey(0xffff) };
    let to = DatagramAddress { destination: Qpn(7), q_key: QKey(2) };
    let (mut requester, mut local) = (UdRequester::new(options, FIRST), Local::default());
    assert!(requester.peek().is_none());
    requester.post(Work { solicited: true, ..work(1, Verb::Send, MTU) }, to, &mut local).unwrap();
    let immediate = Extra::Immediate(9);
    requester.post(Work { extra: immediate, ..work(2, Verb::Send, 0) }, to, &mut local).unwrap();
    let address = Address::Datagram(Deth { q_key: QKey(2), src_qp: Qpn(3) });
    let packet = |bth, operands, message, length| {
        let headers = Headers { bth, address, operands };
        Packet { headers, message, offset: 0, length }
    };
    for expected in [
        packet(Bth { solicited: true, ..bth(0x64, 0) }, Operands::None, 1, MTU),
        packet(bth(0x65, 1), Operands::Immediate(ImmDt { data: 9 }), 2, 0),
    ] {
        assert_eq!(requester.peek(), Some((expected, to)));
        assert_eq!(requester.next_packet(&mut local), Some((expected, to)));
    }
}

/// An acknowledgement is requested with the last packet of each message, and with every n-th packet of it, n = `ack_every`, counted anew in each message.
#[test]
fn acknowledgements_are_requested_with_every_so_many_packets() {
    for (every, expected) in [
        (0, [false, false, false, false, true, false, false, true]),
        (1, [true; 8]),
        (2, [false, true, false, true, true, false, true, true]),
        (3, [false, false, true, false, true, false, false, true]),
        (9, [false, false, false, false, true, false, false, true]),
    ] {
        let options = RequesterOptions { ack_every: every, ..requester_options() };
        let mut link = Link::new((options, responder_options()), FIRST, (0, 0), 1);
        link.post(work(1, Verb::Write(at(0)), 5 * MTU));
        link.post(work(2, Verb::Send, 3 * MTU));
        while link.send() {}
        let asked: Vec<bool> = link.requests.iter().map(|(headers, _)| headers.bth.ack_request).collect();
        assert_eq!(asked, expected, "every {every}");
    }
}

/// Looked at, a packet of a READ is the one that is sent next, wherever in the message it is.
#[test]
fn the_response_that_is_looked_at_is_the_next() {
    let mut link = Link::new((requester_options(), responder_options()), FIRST, (0, 0), 1);
    link.post(work(1, Verb::Read(at(50)), 2 * MTU + 3));
    link.post(work(2, Verb::FetchAdd { remote: at(8), add: 1 }, 8));
    while link.send() | link.arrive() {}
    for number in [0, 1, 2, 3] {
        let looked_at = link.responder.peek().unwrap();
        assert_eq!(link.responder.peek_size(), Some(looked_at.size()));
        let (packet, place) = link.responder.next_packet().unwrap();
        assert_eq!((looked_at, packet.headers.bth.psn), (packet, FIRST + number));
        let va = if number < 3 { 50 + u64::from(number * MTU) } else { 0 };
        assert_eq!(place.va, va, "packet {number}");
    }
    assert!(link.responder.peek().is_none());
}
