//! Rules that schedules at random seldom show, one by one.

use fabricsim_wire::headers::{Operands, Syndrome};

use super::link::Link;
use super::{FIRST, MTU, at, requester_options, responder_options, work};
use crate::infiniband::{Receive, RequesterOptions, ResponderOptions, Status, Verb};

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
