//! Unreliable connections over links that lose packets.

use fabricsim_wire::headers::{Bth, Headers, Opcode, Operands, Operation, Service};
use fabricsim_wire::ids::{PKey, Qpn, RKey};
use proptest::prelude::*;

use super::link::{Far, Local};
use super::{FIRST, MTU, at, byte, work};
use crate::infiniband::{
    Extra, MAX_MESSAGE, Receive, Status, UcOptions, UcRequester, UcResponder, UnreliableCounters,
    UnreliablePostError, Verb, Work,
};

const OPTIONS: UcOptions = UcOptions { mtu: MTU, destination: Qpn(7), p_key: PKey::DEFAULT };

struct Ends {
    requester: UcRequester,
    responder: UcResponder,
    local: Local,
    far: Far,
}

impl Ends {
    fn new(receives: u64) -> Self {
        let receives = (0..receives).map(|id| Receive { id, length: 1500 }).collect();
        let region = vec![0; 4096];
        Self {
            requester: UcRequester::new(OPTIONS, FIRST),
            responder: UcResponder::new(OPTIONS, FIRST),
            local: Local::default(),
            far: Far { region, receives, ..Far::default() },
        }
    }

    fn post(&mut self, work: Work) {
        self.requester.post(work, &mut self.local).unwrap();
    }

    /// The next packet, with its payload.
    fn send(&mut self) -> Option<(Headers, Vec<u8>)> {
        let packet = self.requester.next_packet(&mut self.local)?;
        packet.headers.check().unwrap();
        let payload = (packet.offset..packet.offset + packet.length).map(|at| byte(packet.message, at));
        Some((packet.headers, payload.collect()))
    }

    fn arrive(&mut self, headers: &Headers, payload: Vec<u8>) {
        let length = payload.len() as u32;
        // A message that does not end leaves its receive request to the next one, which begins at its first byte.
        if Some(headers.bth.opcode.operation())
            .is_some_and(|operation| operation.is_some_and(Operation::starts_message))
        {
            let taken = self.far.received.last().map_or(0, |received| received.id + 1);
            self.far.buffers.remove(&taken);
        }
        self.far.payload = payload;
        self.responder.receive(headers, length, &mut self.far);
    }

    /// Sends everything, but loses the packets with these numbers.
    fn run(&mut self, lost: &[usize]) {
        let mut number = 0;
        while let Some((headers, payload)) = self.send() {
            if !lost.contains(&number) {
                self.arrive(&headers, payload);
            }
            number += 1;
        }
    }

    fn received(&self) -> Vec<(u64, u32, Extra)> {
        self.far.received.iter().map(|done| (done.id, done.length, done.extra)).collect()
    }
}

#[test]
fn a_message_completes_when_it_is_sent() {
    let mut ends = Ends::new(3);
    ends.post(work(1, Verb::Send, 2 * MTU + 5));
    ends.post(Work { extra: Extra::Immediate(9), ..work(2, Verb::Write(at(100)), MTU) });
    ends.post(Work { signaled: false, ..work(3, Verb::Write(at(1000)), 0) });
    ends.post(Work { extra: Extra::Immediate(4), ..work(4, Verb::Send, 0) });
    ends.send();
    ends.send();
    assert!(ends.local.completions.is_empty());
    ends.send();
    assert_eq!((ends.local.completions[0].id, ends.requester.pending()), (1, 3));
    let mut ends = Ends::new(3);
    ends.post(work(1, Verb::Send, 2 * MTU + 5));
    ends.post(Work { extra: Extra::Immediate(9), ..work(2, Verb::Write(at(100)), MTU) });
    ends.post(Work { signaled: false, ..work(3, Verb::Write(at(1000)), 0) });
    ends.post(Work { extra: Extra::Immediate(4), ..work(4, Verb::Send, 0) });
    ends.run(&[]);
    let ids: Vec<u64> = ends.local.completions.iter().map(|done| done.id).collect();
    assert_eq!(ids, [1, 2, 4]);
    let expected = [(0, 517, Extra::None), (1, 256, Extra::Immediate(9)), (2, 0, Extra::Immediate(4))];
    assert_eq!(ends.received(), expected);
    assert!((0..MTU).all(|offset| ends.far.region[100 + offset as usize] == byte(2, offset)));
    assert_eq!(
        ends.responder.counters(),
        &UnreliableCounters { messages: 4, ..UnreliableCounters::default() }
    );
}

/// A lost packet drops its message, whichever it is; the receive request serves the next one.
#[test]
fn a_lost_packet_drops_its_message() {
    for lost in 0..3 {
        let mut ends = Ends::new(2);
        ends.post(work(1, Verb::Send, 3 * MTU));
        ends.post(work(2, Verb::Send, MTU + 1));
        ends.run(&[lost]);
        assert_eq!(ends.received(), [(0, MTU + 1, Extra::None)], "{lost}");
        assert_eq!(ends.far.receives.len(), 1, "{lost}");
        assert_eq!(ends.far.buffers[&0].len(), MTU as usize + 1);
        let UnreliableCounters { messages, aborted, gaps, orphans, .. } = *ends.responder.counters();
        assert_eq!((messages, gaps), (1, 1), "{lost}");
        assert_eq!((aborted, orphans), [(0, 2), (1, 1), (1, 0)][lost], "{lost}");
    }
}

/// The end of a message and the start of the next are lost: what is left of the second does not complete the first.
#[test]
fn two_halves_make_no_message() {
    let mut ends = Ends::new(2);
    ends.post(work(1, Verb::Send, 2 * MTU));
    ends.post(work(2, Verb::Send, 2 * MTU));
    ends.post(work(3, Verb::Send, 2 * MTU));
    ends.run(&[1, 2]);
    assert_eq!(ends.received(), [(0, 2 * MTU, Extra::None)]);
    assert!((0..2 * MTU).all(|offset| ends.far.buffers[&0][offset as usize] == byte(3, offset)));
    // The kinds differ, and the numbers follow each other: a sender that has forgotten the rest.
    let mut ends = Ends::new(2);
    ends.post(work(1, Verb::Send, 2 * MTU));
    let (send, payload) = ends.send().unwrap();
    ends.arrive(&send, payload.clone());
    let opcode = Opcode::new(Service::Uc, Operation::WriteMiddle).unwrap();
    let middle = Headers { bth: Bth { opcode, psn: FIRST + 1, ..send.bth }, ..send };
    ends.arrive(&middle, payload.clone());
    ends.arrive(&Headers { bth: Bth { psn: FIRST + 2, ..send.bth }, ..send }, payload);
    assert_eq!((ends.responder.counters().aborted, ends.responder.counters().orphans), (1, 1));
    ends.responder.flush(&mut ends.far);
    assert_eq!((ends.far.received.len(), ends.far.received[0].status), (1, Status::Flushed));
}

#[test]
fn what_does_not_fit_is_dropped_silently() {
    let mut ends = Ends::new(0);
    ends.post(work(1, Verb::Send, MTU + 1));
    ends.run(&[]);
    assert_eq!((ends.responder.counters().no_receive, ends.responder.counters().orphans), (1, 1));
    // Longer than the receive request, which serves the next message.
    ends.far.receives.push_back(Receive { id: 0, length: MTU });
    ends.post(work(2, Verb::Send, MTU + 1));
    ends.post(work(3, Verb::Send, MTU));
    ends.run(&[]);
    assert_eq!((ends.received().len(), ends.responder.counters().wrong_length), (1, 1));
    // Keys, and WRITEs with immediate data but no receive request: not a byte of the packet that needs it.
    for verb in [Verb::Write(at(4000)), Verb::Write(crate::infiniband::Remote { va: 0, r_key: RKey(1) })] {
        ends.post(work(4, verb, 200));
    }
    ends.post(Work { extra: Extra::Immediate(1), ..work(5, Verb::Write(at(0)), 20) });
    ends.run(&[]);
    let counters = *ends.responder.counters();
    assert_eq!((counters.refused, counters.no_receive, counters.aborted), (2, 2, 2));
    assert!(ends.far.region.iter().all(|byte| *byte == 0));
    // Another partition; a limited member does not accept another limited one.
    ends.post(work(6, Verb::Write(at(0)), 1));
    let (mut headers, payload) = ends.send().unwrap();
    headers.bth.p_key = PKey(0x8001);
    ends.arrive(&headers, payload);
    assert_eq!(ends.responder.counters().p_key, 1);
    assert!(ends.far.region.iter().all(|byte| *byte == 0));
}

/// They neither abort a message nor count as the expected packet: the message completes with its other packets.
#[test]
fn packets_of_other_services_and_operations_are_malformed() {
    let mut ends = Ends::new(1);
    ends.post(work(1, Verb::Send, 2 * MTU));
    let (first, payload) = ends.send().unwrap();
    let (last, rest) = ends.send().unwrap();
    ends.arrive(&first, payload.clone());
    for operation in [Operation::SendMiddle, Operation::SendLast, Operation::WriteLast] {
        let opcode = Opcode::new(Service::Rc, operation).unwrap();
        ends.arrive(&Headers { bth: Bth { opcode, ..last.bth }, ..last }, rest.clone());
    }
    ends.arrive(&last, rest);
    assert_eq!(ends.received(), [(0, 2 * MTU, Extra::None)]);
    assert_eq!(
        ends.responder.counters(),
        &UnreliableCounters { messages: 1, malformed: 3, ..UnreliableCounters::default() }
    );
}

/// All but the last packet of a message are full, and those of a WRITE make up its length: else the message is dropped, and the next one comes.
#[test]
fn lengths_are_checked() {
    let write = Verb::Write(at(0));
    for (verb, packet, bytes) in [
        (Verb::Send, 0, MTU - 4),
        (Verb::Send, 1, MTU - 1),
        (Verb::Send, 1, MTU + 4),
        (Verb::Send, 2, 0),
        (write, 0, MTU - 1),
        (write, 1, MTU + 4),
        (write, 2, MTU - 1),
        (write, 2, 0),
    ] {
        let mut ends = Ends::new(1);
        ends.post(work(1, verb, 3 * MTU));
        ends.post(work(2, Verb::Send, 10));
        let mut number = 0;
        while let Some((headers, mut payload)) = ends.send() {
            if number == packet {
                payload.resize(bytes as usize, 0);
            }
            ends.arrive(&headers, payload);
            number += 1;
        }
        let counters = *ends.responder.counters();
        assert_eq!((counters.messages, counters.wrong_length), (1, 1), "{verb:?} {packet} {bytes}");
        assert_eq!(ends.received(), [(0, 10, Extra::None)], "{verb:?} {packet} {bytes}");
    }
}

/// A WRITE of the longest message is begun; of one that is a byte longer no packet is placed.
#[test]
fn a_write_is_at_most_the_longest_message() {
    for (longer, refused) in [(0, 0), (1, 1)] {
        let mut ends = Ends::new(0);
        ends.far.region = vec![0; MAX_MESSAGE as usize + 1];
        ends.post(work(1, Verb::Write(at(0)), MAX_MESSAGE));
        let (mut headers, payload) = ends.send().unwrap();
        let Operands::Rdma(reth) = &mut headers.operands else { panic!("no RETH") };
        reth.dma_length += longer;
        ends.arrive(&headers, payload);
        assert_eq!(ends.responder.counters().refused, refused, "{longer}");
        assert_eq!(ends.far.region[..MTU as usize].iter().any(|byte| *byte != 0), refused == 0);
    }
}

#[test]
fn only_its_operations_are_posted() {
    let mut ends = Ends::new(0);
    for (verb, extra) in [
        (Verb::Read(at(0)), Extra::None),
        (Verb::FetchAdd { remote: at(0), add: 1 }, Extra::None),
        (Verb::Send, Extra::Invalidate(RKey(1))),
    ] {
        let refused = ends.requester.post(Work { extra, ..work(1, verb, 8) }, &mut ends.local);
        assert!(matches!(refused, Err(UnreliablePostError::NoOperation { .. })), "{verb:?}");
    }
    ends.post(work(2, Verb::Send, 3 * MTU));
    ends.send();
    ends.requester.flush(&mut ends.local);
    ends.post(work(3, Verb::Send, 1));
    let flushed: Vec<(u64, Status)> =
        ends.local.completions.iter().map(|done| (done.id, done.status)).collect();
    assert_eq!(flushed, [(2, Status::Flushed), (3, Status::Flushed)]);
    assert!(ends.send().is_none() && ends.requester.is_broken());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Exactly those messages arrive of which no packet is lost, in order, with their data; no receive request is lost.
    #[test]
    fn whole_messages_arrive(
        lengths in prop::collection::vec((any::<bool>(), 0..=1500_u32), 1..12),
        lost in prop::collection::vec(0_usize..60, 0..12),
    ) {
        let mut ends = Ends::new(lengths.len() as u64);
        let (mut expected, mut number) = (Vec::new(), 0);
        for (id, &(is_write, length)) in (1..).zip(&lengths) {
            let (verb, extra) = if is_write { (Verb::Write(at(0)), Extra::Immediate(id as u32)) } else { (Verb::Send, Extra::None) };
            ends.post(Work { extra, ..work(id, verb, length) });
            let packets = crate::infiniband::packets(length, MTU) as usize;
            if !(number..number + packets).any(|packet| lost.contains(&packet)) {
                expected.push((expected.len() as u64, length, extra));
            }
            number += packets;
        }
        ends.run(&lost);
        prop_assert_eq!(ends.received(), expected.clone());
        let aborted_last = ends.far.receives.len() + expected.len() < lengths.len();
        prop_assert_eq!(ends.far.receives.len() + expected.len() + usize::from(aborted_last), lengths.len());
        ends.responder.flush(&mut ends.far);
        prop_assert_eq!(ends.far.receives.len() + ends.far.received.len(), lengths.len());
    }

    #[test]
    fn any_packets_do_no_harm(
        packets in prop::collection::vec((any::<[u8; 52]>(), 0x20_u8..0x2e, -1_i32..3, 0..=MTU), 1..60),
    ) {
        let mut ends = Ends::new(9);
        for (mut bytes, opcode, ahead, length) in packets {
            bytes[0] = opcode;
            let Ok(mut headers) = Headers::parse(&bytes) else { continue };
            headers.bth = Bth { psn: FIRST + ahead as u32, p_key: PKey::DEFAULT, ..headers.bth };
            ends.arrive(&headers, vec![7; length as usize]);
        }
        ends.responder.flush(&mut ends.far);
        prop_assert_eq!(ends.far.receives.len() + ends.far.received.len(), 9);
    }
}
