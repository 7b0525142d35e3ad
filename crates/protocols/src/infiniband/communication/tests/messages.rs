//! Whole messages, and which connection an arriving one is about.

use fabricsim_wire::ids::TransactionId;
use fabricsim_wire::mad::cm::{Drep, Dreq, Mra, Rej, Rtu};

use super::*;

impl Two {
    /// The messages that an end has sent since, whose receiver is the other one. They are lost.
    fn messages(&mut self, end: usize) -> Vec<CmMessage> {
        let messages = self.outs[end].sent.drain(..);
        messages.map(|(_, mad)| mad.message().unwrap()).collect()
    }

    /// A request that has arrived: the connection's number at both ends.
    fn requested(&mut self) -> [CommId; 2] {
        let a = self.request(7);
        self.deliver();
        let [CmEvent::Requested(b, ..)] = self.events(1)[..] else { panic!("no request") };
        [a, b]
    }

    /// A reply that has arrived.
    fn replied(&mut self) -> [CommId; 2] {
        let [a, b] = self.requested();
        self.ends[1].accept(b, Rep { local_qpn: Qpn(9), ..Rep::default() }, &mut self.outs[1]).unwrap();
        self.deliver();
        self.events(0);
        [a, b]
    }

    /// An end receives a message from a port.
    fn receive(&mut self, end: usize, from: u16, message: &CmMessage) {
        let mad = CmMad::new(TransactionId(77), message).unwrap();
        self.ends[end].receive(Lid(from), &mad, &mut self.outs[end]);
    }

    /// The messages that an end has sent for a transaction since, with their receivers.
    fn answers(&mut self, end: usize) -> Vec<(Lid, TransactionId, CmMessage)> {
        let sent = self.outs[end].sent.drain(..);
        sent.map(|(to, mad)| (to, mad.header.transaction, mad.message().unwrap())).collect()
    }
}

const A: CommId = CommId(100);
const B: CommId = CommId(200);

/// Tables 106 to 113: every message names the connection at both ends, as far as it is known. A REQ states how long each end may take for an answer,
/// and how often it asks.
#[test]
fn messages_name_the_connection_at_both_ends() {
    let mut two = Two::new();
    two.request(7);
    let req = Req {
        local_comm_id: A,
        service_id: SERVICE,
        local_qpn: Qpn(7),
        local_cm_response_timeout: 5,
        remote_cm_response_timeout: 5,
        max_cm_retries: 2,
        ..Req::default()
    };
    assert_eq!(two.messages(0), [CmMessage::REQ(req)]);
    two.receive(1, 1, &CmMessage::REQ(req));
    two.ends[1].delay(B, 12, &mut two.outs[1]).unwrap();
    let mra = Mra { local_comm_id: B, remote_comm_id: A, message: 0, service_timeout: 12, ..Mra::default() };
    assert_eq!(two.messages(1), [CmMessage::MRA(mra)]);
    two.ends[1].accept(B, Rep { local_qpn: Qpn(9), ..Rep::default() }, &mut two.outs[1]).unwrap();
    let rep = Rep { local_comm_id: B, remote_comm_id: A, local_qpn: Qpn(9), ..Rep::default() };
    assert_eq!(two.messages(1), [CmMessage::REP(rep)]);
    two.receive(0, 2, &CmMessage::REP(rep));
    two.ends[0].delay(A, 13, &mut two.outs[0]).unwrap();
    let mra = Mra { local_comm_id: A, remote_comm_id: B, message: 1, service_timeout: 13, ..Mra::default() };
    assert_eq!(two.messages(0), [CmMessage::MRA(mra)]);
    let mut data = Octets::default();
    data.0[..3].copy_from_slice(b"yes");
    two.ends[0].confirm(A, data, &mut two.outs[0]).unwrap();
    let rtu = Rtu { local_comm_id: A, remote_comm_id: B, private_data: data };
    assert_eq!(two.messages(0), [CmMessage::RTU(rtu)]);
    two.ends[0].disconnect(A, &mut two.outs[0]).unwrap();
    let dreq = Dreq { local_comm_id: A, remote_comm_id: B, remote_qpn: Qpn(9), ..Dreq::default() };
    assert_eq!(two.messages(0), [CmMessage::DREQ(dreq)]);
    two.receive(1, 1, &CmMessage::DREQ(dreq));
    let drep = Drep { local_comm_id: B, remote_comm_id: A, ..Drep::default() };
    assert_eq!(two.messages(1), [CmMessage::DREP(drep)]);
}

/// Table 108: a REJ names the connection at both ends, and its message: 0 for a REQ, 1 for a REP.
#[test]
fn rejections_name_the_connection_at_both_ends() {
    let reason = RejReason::CONSUMER;
    let mut two = Two::new();
    let [_, b] = two.requested();
    two.ends[1].reject(b, (reason, Octets::default()), &mut two.outs[1]).unwrap();
    let rej = Rej { local_comm_id: B, remote_comm_id: A, message: 0, reason, ..Rej::default() };
    assert_eq!(two.messages(1), [CmMessage::REJ(rej)]);
    let mut two = Two::new();
    let [a, _] = two.replied();
    two.ends[0].reject(a, (reason, Octets::default()), &mut two.outs[0]).unwrap();
    let rej = Rej { local_comm_id: A, remote_comm_id: B, message: 1, reason, ..Rej::default() };
    assert_eq!(two.messages(0), [CmMessage::REJ(rej)]);
}

/// Section 12.6.7, reason 4: who has had no answer to any copy says so. For a REQ the number at the peer is not known.
#[test]
fn who_has_had_no_answer_says_to_which_message() {
    let reason = RejReason::TIMEOUT;
    let mut two = Two::new();
    let a = two.request(7);
    (0..3).for_each(|_| two.ends[0].expire(a, &mut two.outs[0]));
    let rej = Rej { local_comm_id: A, remote_comm_id: CommId(0), message: 0, reason, ..Rej::default() };
    assert_eq!(two.messages(0).last(), Some(&CmMessage::REJ(rej)));
    let mut two = Two::new();
    let [_, b] = two.requested();
    two.ends[1].accept(b, Rep::default(), &mut two.outs[1]).unwrap();
    (0..3).for_each(|_| two.ends[1].expire(b, &mut two.outs[1]));
    let rej = Rej { local_comm_id: B, remote_comm_id: A, message: 1, reason, ..Rej::default() };
    assert_eq!(two.messages(1).last(), Some(&CmMessage::REJ(rej)));
    assert_eq!(two.events(1), [CmEvent::Unreachable(b)]);
    // No REP has arrived, so that the requester knows the connection by its own number alone.
    two.receive(0, 2, &CmMessage::REJ(rej));
    assert_eq!(two.events(0), [CmEvent::Rejected(A, reason, Octets::default())]);
    assert!(two.ends.iter().all(Manager::is_empty));
}

/// Section 12.6.1: all messages of a connection have the transaction of its REQ, and no other connection has it.
#[test]
fn connections_have_transactions_of_their_own() {
    let mut two = Two::new();
    (7..10).for_each(|qpn| {
        two.request(qpn);
    });
    let mut transactions: Vec<_> = two.outs[0].sent.iter().map(|(_, mad)| mad.header.transaction).collect();
    let first = transactions[0];
    transactions.dedup();
    assert_eq!(transactions.len(), 3);
    two.deliver();
    two.ends[1].accept(B, Rep::default(), &mut two.outs[1]).unwrap();
    assert_eq!(two.outs[1].sent[0].1.header.transaction, first);
}

/// Every event is about one connection.
#[test]
fn events_have_the_number_of_their_connection() {
    let id = CommId(5);
    for event in [
        CmEvent::Requested(id, Lid(1), Req::default()),
        CmEvent::Replied(id, Rep::default()),
        CmEvent::Established(id),
        CmEvent::Rejected(id, RejReason::TIMEOUT, Octets::default()),
        CmEvent::Unreachable(id),
        CmEvent::Disconnected(id),
        CmEvent::TimeWaitExit(id),
    ] {
        assert_eq!(event.id(), id, "{event:?}");
    }
}

/// A connection counts from the first message to the end of TimeWait.
#[test]
fn connections_are_counted() {
    let mut two = Two::new();
    assert_eq!((two.ends[0].len(), two.ends[0].is_empty()), (0, true));
    let [a, _] = two.connected();
    two.request(8);
    assert_eq!((two.ends[0].len(), two.ends[0].is_empty()), (2, false));
    two.ends[0].disconnect(a, &mut two.outs[0]).unwrap();
    two.deliver();
    assert_eq!((two.ends[0].len(), two.ends[1].len()), (2, 2));
    two.ends[0].expire(a, &mut two.outs[0]);
    assert_eq!((two.ends[0].len(), two.ends[0].state(a)), (1, None));
}

/// A late copy of a REQ, whose connection has ended and is remembered, is stale (section 12.9.8.3).
#[test]
fn a_request_that_comes_again_after_the_end_is_stale() {
    let mut two = Two::new();
    let [a, _] = two.connected();
    two.ends[0].disconnect(a, &mut two.outs[0]).unwrap();
    two.deliver();
    let req = Req { local_comm_id: a, service_id: SERVICE, local_qpn: Qpn(7), ..Req::default() };
    two.receive(1, 1, &CmMessage::REQ(req));
    let rej = Rej { remote_comm_id: a, reason: RejReason::STALE_CONNECTION, ..Rej::default() };
    assert_eq!(two.answers(1), [(Lid(1), TransactionId(77), CmMessage::REJ(rej))]);
}

/// A queue pair is known by its port and its number together: neither another one of the same port nor one with the same number elsewhere is stale.
#[test]
fn only_a_queue_pair_of_the_same_port_and_number_is_stale() {
    let mut two = Two::new();
    let [_, b] = two.connected();
    for (from, qpn, is_stale) in [(1, 8, false), (3, 7, false), (1, 7, true)] {
        let req = Req {
            local_comm_id: CommId(900 + qpn),
            service_id: SERVICE,
            local_qpn: Qpn(qpn),
            ..Req::default()
        };
        two.receive(1, from, &CmMessage::REQ(req));
        let requested = two.events(1).iter().any(|event| matches!(event, CmEvent::Requested(..)));
        assert_eq!(requested, !is_stale, "queue pair {qpn} of port {from}");
    }
    assert_eq!(two.ends[1].state(b), Some(CmState::DreqSent));
}

/// Table 107: an MRA delays the timer of the message that it names, and of no other.
#[test]
fn an_mra_is_about_one_message() {
    let mra =
        |message| CmMessage::MRA(Mra { remote_comm_id: B, message, service_timeout: 14, ..Mra::default() });
    let mut two = Two::new();
    let [a, b] = two.requested();
    two.ends[1].accept(b, Rep::default(), &mut two.outs[1]).unwrap();
    for message in [0, 2] {
        two.receive(1, 1, &mra(message));
        assert_eq!(two.outs[1].timers, [(b, Some(5))], "message {message}");
    }
    // The REP has been sent twice, and may be sent twice anew.
    (0..2).for_each(|_| two.ends[1].expire(b, &mut two.outs[1]));
    two.receive(1, 1, &mra(1));
    assert_eq!(two.outs[1].timers.last(), Some(&(b, Some(14))));
    (0..2).for_each(|_| two.ends[1].expire(b, &mut two.outs[1]));
    assert_eq!(two.ends[1].state(b), Some(CmState::RepSent));
    let req = Mra { remote_comm_id: a, message: 0, service_timeout: 3, ..Mra::default() };
    two.receive(0, 2, &CmMessage::MRA(req));
    assert_eq!(two.outs[0].timers.last(), Some(&(a, Some(3))));
    two.receive(0, 2, &CmMessage::MRA(Mra { message: 1, service_timeout: 4, ..req }));
    assert_eq!(two.outs[0].timers.last(), Some(&(a, Some(3))));
}

/// A peer without any answer knows its own number alone, and this end knows the peer's number and its port.
#[test]
fn a_timed_out_request_is_known_by_its_port_and_number() {
    let mut two = Two::new();
    for (from, number) in [(1, 41), (1, 42), (3, 41)] {
        let qpn = Qpn(u32::from(from) * 100 + number);
        let req =
            Req { local_comm_id: CommId(number), service_id: SERVICE, local_qpn: qpn, ..Req::default() };
        two.receive(1, from, &CmMessage::REQ(req));
    }
    two.events(1);
    for (from, number, ends) in [(3, 42, None), (3, 41, Some(202)), (1, 42, Some(201)), (1, 41, Some(200))] {
        let rej = Rej { local_comm_id: CommId(number), reason: RejReason::TIMEOUT, ..Rej::default() };
        two.receive(1, from, &CmMessage::REJ(rej));
        let ended: Vec<_> = two.events(1).iter().map(|event| event.id().0).collect();
        assert_eq!(ended, ends.into_iter().collect::<Vec<_>>(), "{number} of port {from}");
    }
}

/// With any other reason it is this end's number that counts.
#[test]
fn a_rejection_is_about_the_number_of_its_receiver() {
    let mut two = Two::new();
    let [_, b] = two.requested();
    let rej = Rej { local_comm_id: A, reason: RejReason::CONSUMER, ..Rej::default() };
    two.receive(1, 1, &CmMessage::REJ(rej));
    assert_eq!(two.events(1), []);
    two.receive(1, 1, &CmMessage::REJ(Rej { remote_comm_id: b, ..rej }));
    assert_eq!(two.events(1), [CmEvent::Rejected(b, RejReason::CONSUMER, Octets::default())]);
}

/// A peer that rejects an established connection does not know it any more: it is released, and remembered.
#[test]
fn a_rejected_connection_that_was_established_is_released() {
    for asked in [false, true] {
        let mut two = Two::new();
        let [a, b] = two.connected();
        if asked {
            two.ends[0].disconnect(a, &mut two.outs[0]).unwrap();
        }
        let rej = Rej {
            local_comm_id: b,
            remote_comm_id: a,
            reason: RejReason::STALE_CONNECTION,
            ..Rej::default()
        };
        two.receive(0, 2, &CmMessage::REJ(rej));
        assert_eq!(two.events(0), [CmEvent::Disconnected(a)]);
        assert_eq!(two.ends[0].state(a), Some(CmState::TimeWait));
        assert_eq!(two.outs[0].timers.last(), Some(&(a, Some(7))));
    }
}
