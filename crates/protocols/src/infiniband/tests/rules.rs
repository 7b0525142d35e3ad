//! Rules that schedules at random seldom show, one by one.

use fabricsim_wire::headers::{NakCode, Operands, Operation, Syndrome};

use super::link::Link;
use super::{FIRST, MTU, at, requester_options, responder_options, work};
use crate::infiniband::{MAX_MESSAGE, Receive, RequesterOptions, ResponderOptions, Status, Verb};

fn link(requester: RequesterOptions, responder: ResponderOptions) -> Link {
    Link::new((requester, responder), FIRST, (0, 0), 1)
}

fn syndromes(link: &Link) -> Vec<Option<Syndrome>> {
    let of = |operands| match operands {
        Operands::Acknowledge(aeth) => Some(aeth.syndrome),
        _ => None,
    };
    link.responses.iter().map(|(headers, _)| of(headers.operands)).collect()
}

/// One retry is allowed, and each of five packets needs one: every acknowledgement gives it back.
#[test]
fn progress_gives_retries_back() {
    let options = RequesterOptions { retries: 1, ack_every: 1, ..requester_options() };
    let mut link = link(options, responder_options());
    link.post(work(1, Verb::Write(at(0)), 5 * MTU));
    for _ in 0..5 {
        assert!(link.send());
        link.requests.clear();
        link.requester.expire(&mut link.local);
        assert!(link.send());
        link.settle_answers();
    }
    assert_eq!(link.local.completions[0].status, Status::Success);
}

/// Numbers are compared by the sign of their distance in 24 bits, that of the packet after the last one included.
#[test]
fn packets_in_flight_take_less_than_half_of_the_numbers() {
    let mut link = link(requester_options(), responder_options());
    (1..=3).for_each(|id| link.post(work(id, Verb::Write(at(0)), MAX_MESSAGE)));
    let mut sent = 0;
    while link.requester.next_packet(&mut link.local).is_some() {
        sent += 1;
    }
    assert_eq!(sent, (1 << 23) - 2);
}

#[test]
fn no_more_reads_are_outstanding_than_agreed() {
    for reads in 1..4 {
        let options = RequesterOptions { reads, ..requester_options() };
        let mut link = link(options, ResponderOptions { reads, ..responder_options() });
        (1..=5).for_each(|id| link.post(work(id, Verb::Read(at(0)), 10)));
        while link.send() {}
        assert_eq!(link.requests.len(), usize::from(reads));
        link.settle();
        assert_eq!(link.local.completions.len(), 5);
    }
}

/// A responder that has promised fewer READs refuses the first one beyond.
#[test]
fn a_responder_refuses_more_reads_than_agreed() {
    let options = RequesterOptions { reads: 3, ..requester_options() };
    let mut link = link(options, responder_options());
    (1..=3).for_each(|id| link.post(work(id, Verb::Read(at(0)), 10)));
    while link.send() | link.arrive() {}
    assert!(link.responder.is_broken());
    link.settle();
    let statuses: Vec<Status> = link.local.completions.iter().map(|done| done.status).collect();
    assert_eq!(statuses, [Status::Success, Status::Success, Status::RemoteInvalidRequest]);
}

/// Of packets behind a missing one only the first is answered.
#[test]
fn a_gap_has_one_nak() {
    let mut link = link(requester_options(), responder_options());
    link.post(work(1, Verb::Write(at(0)), 5 * MTU));
    while link.send() {}
    link.requests.remove(1);
    while link.arrive() | link.answer() {}
    assert_eq!(syndromes(&link).len(), 1);
    while link.return_one() {}
    assert!(link.send());
    assert_eq!(link.requests[0].0.bth.psn.distance(FIRST), 1, "the first packet is acknowledged by the NAK");
}

/// A second gap has a NAK of its own, and so has one after the receiver was not ready.
#[test]
fn every_gap_has_a_nak() {
    let mut link = link(requester_options(), responder_options());
    link.post(work(1, Verb::Send, 5));
    link.post(work(2, Verb::Write(at(0)), 9 * MTU));
    while link.send() {}
    while link.arrive() | link.answer() {}
    assert!(matches!(syndromes(&link)[..], [Some(Syndrome::RnrNak(_))]), "what follows is dropped silently");
    link.far.receives.push_back(Receive { id: 0, length: 5 });
    for lost in [2, 3] {
        link.settle_answers();
        link.requester.ready(&mut link.local);
        while link.send() {}
        link.requests.remove(lost);
        while link.arrive() | link.answer() {}
        let nak = Some(Syndrome::Nak(NakCode::PsnSequenceError));
        assert_eq!(syndromes(&link).last(), Some(&nak), "{lost}");
    }
}

/// Responses to a READ are lost twice, and the timer ends: then a later acknowledgement shows the gap once more.
#[test]
fn a_gap_is_found_again_after_the_timer() {
    let mut link = link(requester_options(), responder_options());
    link.post(work(1, Verb::Read(at(0)), 10));
    link.post(work(2, Verb::Write(at(0)), 10));
    for (is_found, ends) in [(true, false), (false, true), (true, false)] {
        while link.send() | link.arrive() | link.answer() {}
        link.responses.retain(|(headers, _)| headers.bth.opcode.operation() == Some(Operation::Acknowledge));
        while link.return_one() {}
        if ends {
            assert!(!link.send());
            link.requester.expire(&mut link.local);
        }
        assert_eq!(link.send(), is_found || ends);
    }
}

/// Requests that come again while their responses wait are not answered twice, and others that look like them not at all.
#[test]
fn repeated_reads_are_answered_once() {
    let mut link = link(requester_options(), responder_options());
    link.post(work(1, Verb::Read(at(0)), 3 * MTU));
    link.post(work(2, Verb::FetchAdd { remote: at(0), add: 1 }, 8));
    while link.send() {}
    let (read, atomic) = (link.requests[0].clone(), link.requests[1].clone());
    let mut longer = read.clone();
    if let Operands::Rdma(reth) = &mut longer.0.operands {
        reth.dma_length += MTU;
    }
    link.requests.extend([read.clone(), atomic.clone(), longer.clone()]);
    while link.arrive() {}
    while link.answer() {}
    assert_eq!(link.responses.len(), 4);
    // Those that have been answered are answered once more.
    link.requests.extend([longer, read, atomic]);
    while link.arrive() {}
    while link.answer() {}
    let lengths: Vec<usize> = link.responses.iter().map(|(_, payload)| payload.len()).collect();
    assert_eq!(lengths, [256, 256, 256, 0, 256, 256, 256, 0]);
}

/// Two READs are outstanding, and the second can still be repeated after a third one was executed.
#[test]
fn results_are_kept_while_requests_may_come_again() {
    let mut link = link(requester_options(), responder_options());
    (1..=3).for_each(|id| link.post(work(id, Verb::Read(at(id)), 10)));
    while link.send() | link.arrive() | link.answer() {}
    // The first arrives, so that the third is sent; the second does not.
    link.return_one();
    link.responses.clear();
    while link.send() | link.arrive() | link.answer() {}
    link.responses.clear();
    link.requester.expire(&mut link.local);
    link.settle();
    assert_eq!(link.local.completions.len(), 3);
}

/// An acknowledgement is sent before the data of an older READ that has come again, not left out.
#[test]
fn acknowledgements_are_not_replaced_by_older_data() {
    let mut link = link(requester_options(), responder_options());
    link.post(work(1, Verb::Read(at(0)), 10));
    link.post(work(2, Verb::Write(at(0)), 10));
    while link.send() | link.arrive() | link.answer() {}
    link.responses.clear();
    link.requester.expire(&mut link.local);
    while link.send() {}
    link.requests.swap(0, 1);
    while link.arrive() {}
    while link.answer() {}
    assert_eq!(link.responses.len(), 2);
}

/// An acknowledgement from before others, that comes late, takes no credits back.
#[test]
fn old_acknowledgements_take_no_credits() {
    let options = RequesterOptions { has_credits: true, ..requester_options() };
    let mut link = link(options, ResponderOptions { reports_credits: true, ..responder_options() });
    link.far.receives.extend((0..2).map(|id| Receive { id, length: 10 }));
    (1..=9).for_each(|id| link.post(work(id, Verb::Send, 10)));
    assert!(link.send() && link.arrive() && link.answer());
    let old = link.responses[0].clone();
    link.far.receives.extend((2..7).map(|id| Receive { id, length: 10 }));
    while link.return_one() {}
    assert!(link.send() && link.arrive());
    link.settle_answers();
    link.responses.push_back(old);
    link.return_one();
    let mut sent = 0;
    while link.send() {
        sent += 1;
    }
    assert_eq!(sent, 5, "4 credits, which is the largest code up to 5, and the probe");
}

/// A WRITE counts as a message, and needs no credit: so it must not use up those of SENDs.
#[test]
fn writes_need_no_credits() {
    let options = RequesterOptions { has_credits: true, ..requester_options() };
    let mut link = link(options, ResponderOptions { reports_credits: true, ..responder_options() });
    (1..=4).for_each(|id| link.post(work(id, Verb::Write(at(0)), 10)));
    (5..=7).for_each(|id| link.post(work(id, Verb::Send, 10)));
    while link.send() {}
    assert_eq!(link.requests.len(), 5, "four WRITEs and one SEND as a probe");
}

#[test]
fn an_atomic_operation_that_comes_again_has_its_first_result() {
    let mut link = link(requester_options(), responder_options());
    link.far.region[..8].fill(0);
    link.post(work(1, Verb::FetchAdd { remote: at(0), add: 5 }, 8));
    link.post(work(2, Verb::CompareSwap { remote: at(0), compare: 5, swap: 9 }, 8));
    for _ in 0..3 {
        while link.send() | link.arrive() | link.answer() {}
        link.responses.clear();
        link.requester.expire(&mut link.local);
    }
    link.settle();
    let results: Vec<u64> = link.local.completions.iter().map(|done| done.original).collect();
    assert_eq!((results, link.far.atomics, link.far.region[0]), (vec![0, 5], 2, 9));
}

/// Packets of a length that does not fit their place in the message, or the length of the message.
#[test]
fn lengths_are_checked() {
    for (verb, packet, bytes) in
        [(Verb::Send, 0, MTU - 4), (Verb::Send, 1, MTU - 1), (Verb::Send, 2, 0), (Verb::Send, 0, MTU + 4)]
    {
        let mut link = link(requester_options(), responder_options());
        link.far.receives.push_back(Receive { id: 0, length: 4096 });
        link.post(work(1, verb, 3 * MTU));
        while link.send() {}
        link.requests[packet].1.resize(bytes as usize, 0);
        link.settle();
        assert_eq!(link.local.completions[0].status, Status::RemoteInvalidRequest, "{packet} {bytes}");
        // The first packet takes the receive request, if it is right.
        let flushed: Vec<Status> = link.far.received.iter().map(|done| done.status).collect();
        assert_eq!(flushed, if packet == 0 { vec![] } else { vec![Status::Flushed] }, "{packet} {bytes}");
    }
    for (length, packet, bytes) in [
        (3 * MTU, 0, MTU - 1),
        (3 * MTU, 1, MTU - 4),
        (3 * MTU, 2, 0),
        (3 * MTU, 2, MTU - 1),
        (2 * MTU + 8, 2, 9),
        (8, 0, 9),
        (8, 0, 7),
    ] {
        let mut link = link(requester_options(), responder_options());
        link.post(work(1, Verb::Write(at(0)), length));
        while link.send() {}
        link.requests[packet].1.resize(bytes as usize, 0);
        link.settle();
        let status = link.local.completions[0].status;
        assert_eq!(status, Status::RemoteInvalidRequest, "{length} {packet} {bytes}");
        assert!(link.responder.is_broken());
    }
}

impl Link {
    /// All that is in flight arrives, and its answers.
    fn settle_answers(&mut self) {
        while self.arrive() | self.answer() | self.return_one() {}
    }
}
