//! Unreliable datagrams.

use fabricsim_wire::Psn;
use fabricsim_wire::headers::{Address, Bth, Deth, Headers, Opcode};
use fabricsim_wire::ids::{PKey, QKey, Qpn};
use proptest::prelude::*;

use super::link::{Far, Local};
use super::{FIRST, MTU, at, work};
use crate::infiniband::{
    Completion, DatagramAddress, Extra, GRH_BYTES, Placement, Receive, ResponderOutbox, Status, UdOptions,
    UdRequester, UdResponder, UnreliableCounters, UnreliablePostError, Verb, Work,
};

const OPTIONS: UdOptions = UdOptions { mtu: MTU, number: Qpn(3), q_key: QKey(0x11), p_key: PKey::DEFAULT };
const THERE: UdOptions = UdOptions { number: Qpn(9), q_key: QKey(0x22), ..OPTIONS };
const TO: DatagramAddress = DatagramAddress { destination: Qpn(9), q_key: QKey(0x22) };

/// Receive requests, and where data was placed.
#[derive(Default)]
struct Memory {
    far: Far,
    placed: Vec<(Placement, u32)>,
}

impl ResponderOutbox for Memory {
    fn allows(&mut self, _: crate::infiniband::Remote, _: u32, _: crate::infiniband::Access) -> bool {
        false
    }
    fn take_receive(&mut self) -> Option<Receive> {
        self.far.take_receive()
    }
    fn receives_left(&mut self) -> u32 {
        self.far.receives_left()
    }
    fn place(&mut self, placement: Placement, length: u32) {
        self.placed.push((placement, length));
    }
    fn atomic(&mut self, _: crate::infiniband::Remote, _: crate::infiniband::Atomic) -> u64 {
        0
    }
    fn invalidate(&mut self, _: fabricsim_wire::ids::RKey) -> bool {
        false
    }
    fn complete(&mut self, _: crate::infiniband::Received) {}
}

fn memory(lengths: &[u32]) -> Memory {
    let receives = (0..).zip(lengths).map(|(id, &length)| Receive { id, length }).collect();
    Memory { far: Far { receives, ..Far::default() }, ..Memory::default() }
}

fn send(work: Work, to: DatagramAddress) -> Headers {
    let (mut requester, mut local) = (UdRequester::new(OPTIONS, FIRST), Local::default());
    requester.post(work, to, &mut local).unwrap();
    assert_eq!((requester.pending(), local.completions.len()), (1, 0));
    let (packet, address) = requester.next_packet(&mut local).unwrap();
    packet.headers.check().unwrap();
    let completion = Completion { id: work.id, status: Status::Success, original: 0 };
    assert_eq!((address, requester.pending(), &local.completions[..]), (to, 0, &[completion][..]));
    packet.headers
}

#[test]
fn a_datagram_is_a_packet_with_keys() {
    let headers = send(Work { extra: Extra::Immediate(5), ..work(1, Verb::Send, 100) }, TO);
    let deth = Deth { q_key: QKey(0x22), src_qp: Qpn(3) };
    assert_eq!(
        (headers.address, headers.bth.dest_qp, headers.bth.opcode),
        (Address::Datagram(deth), Qpn(9), Opcode(0x65))
    );
    let (mut responder, mut memory) = (UdResponder::new(THERE), memory(&[140, 300]));
    let end = responder.receive(&headers, 100, true, &mut memory).unwrap();
    let told = (end.received.id, end.received.length, end.received.extra, end.source, end.has_grh);
    assert_eq!(told, (0, 140, Extra::Immediate(5), Qpn(3), true));
    assert_eq!(memory.placed, [(Placement::Receive { id: 0, offset: GRH_BYTES }, 100)]);
    // It comes again: there is no memory of it.
    let end = responder.receive(&headers, 100, false, &mut memory).unwrap();
    assert_eq!((end.received.id, end.has_grh), (1, false));
    assert_eq!(responder.counters(), &UnreliableCounters { messages: 2, ..UnreliableCounters::default() });
}

#[test]
fn a_key_with_the_highest_bit_stands_for_the_senders_own() {
    let headers = send(work(1, Verb::Send, 0), DatagramAddress { q_key: QKey(0x8000_0000), ..TO });
    assert!(matches!(headers.address, Address::Datagram(deth) if deth.q_key == OPTIONS.q_key));
}

/// Each reason has its counter, and no receive request is used.
#[test]
fn what_does_not_fit_is_dropped_and_counted() {
    let good = send(work(1, Verb::Send, 100), TO);
    let with = |change: &dyn Fn(&mut Headers)| {
        let mut headers = good;
        change(&mut headers);
        headers
    };
    let other_key =
        with(&|headers| headers.address = Address::Datagram(Deth { q_key: QKey(1), src_qp: Qpn(3) }));
    let partition = with(&|headers| headers.bth.p_key = PKey(0x7ffe));
    let connected = with(&|headers| (headers.bth.opcode, headers.address) = (Opcode(0x24), Address::None));
    let none = UnreliableCounters::default();
    for (headers, length, receives, expected) in [
        (other_key, 100, &[300][..], UnreliableCounters { q_key: 1, ..none }),
        (partition, 100, &[300], UnreliableCounters { p_key: 1, ..none }),
        (connected, 100, &[300], UnreliableCounters { malformed: 1, ..none }),
        (good, 100, &[], UnreliableCounters { no_receive: 1, ..none }),
        (good, 100, &[139], UnreliableCounters { wrong_length: 1, ..none }),
        (good, MTU + 1, &[3000], UnreliableCounters { wrong_length: 1, ..none }),
    ] {
        let (mut responder, mut memory) = (UdResponder::new(THERE), memory(receives));
        assert_eq!(responder.receive(&headers, length, false, &mut memory), None);
        assert_eq!(responder.counters(), &expected);
        assert!(memory.placed.is_empty());
        let kept = memory.far.receives.len() + usize::from(responder.flush().is_some());
        assert_eq!(kept, receives.len());
    }
    // The longest datagram is as long as the MTU.
    let (mut responder, mut longest) = (UdResponder::new(THERE), memory(&[3000]));
    assert!(responder.receive(&good, MTU, false, &mut longest).is_some());
    // A receive request that was too short serves a shorter datagram.
    let (mut responder, mut memory) = (UdResponder::new(THERE), memory(&[139]));
    responder.receive(&good, 100, false, &mut memory);
    assert!(responder.receive(&good, 99, false, &mut memory).is_some());
}

#[test]
fn only_short_sends_are_posted() {
    let (mut requester, mut local) = (UdRequester::new(OPTIONS, Psn::new(0)), Local::default());
    let long = requester.post(work(1, Verb::Send, MTU + 1), TO, &mut local);
    assert_eq!(long, Err(UnreliablePostError::TooLong { length: MTU + 1, longest: MTU }));
    for verb in [Verb::Write(at(0)), Verb::Read(at(0)), Verb::FetchAdd { remote: at(0), add: 1 }] {
        let refused = requester.post(work(1, verb, 8), TO, &mut local);
        assert!(matches!(refused, Err(UnreliablePostError::NoOperation { .. })));
    }
    requester.post(work(2, Verb::Send, 1), TO, &mut local).unwrap();
    requester.flush(&mut local);
    requester.post(work(3, Verb::Send, 1), TO, &mut local).unwrap();
    let flushed: Vec<(u64, Status)> = local.completions.iter().map(|done| (done.id, done.status)).collect();
    assert_eq!(flushed, [(2, Status::Flushed), (3, Status::Flushed)]);
}

proptest! {
    #[test]
    fn any_packets_do_no_harm(
        packets in prop::collection::vec((any::<[u8; 52]>(), prop_oneof![Just(0x64_u8), Just(0x65), any::<u8>()], any::<u32>()), 1..60),
    ) {
        let (mut responder, mut memory) = (UdResponder::new(THERE), memory(&[300; 9]));
        for (mut bytes, opcode, length) in packets {
            bytes[0] = opcode;
            let Ok(mut headers) = Headers::parse(&bytes) else { continue };
            headers.bth = Bth { p_key: PKey::DEFAULT, ..headers.bth };
            if let Address::Datagram(deth) = &mut headers.address {
                deth.q_key = THERE.q_key;
            }
            responder.receive(&headers, length % (2 * MTU), false, &mut memory);
        }
        let whole = memory.placed.iter().all(|(placement, length)| {
            matches!(placement, Placement::Receive { offset: GRH_BYTES, .. }) && *length <= MTU
        });
        prop_assert!(whole);
    }
}
