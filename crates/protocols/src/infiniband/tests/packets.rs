//! Packets of single messages, by hand.

use fabricsim_wire::Psn;
use fabricsim_wire::headers::{NakCode, Operands, Operation, Syndrome};

use super::link::Link;
use super::{FIRST, MTU, at, requester_options, responder_options, work};
use crate::infiniband::{Extra, Receive, RequesterOptions, ResponderOptions, Status, Verb, Work};

fn link() -> Link {
    let mut link = Link::new((requester_options(), responder_options()), FIRST, (0, 0), 1);
    link.far.receives.extend((0..4).map(|id| Receive { id, length: 2048 }));
    link
}

/// Numbers and operations of packets in flight, relative to the first.
fn seen(
    queue: &std::collections::VecDeque<(fabricsim_wire::headers::Headers, Vec<u8>)>,
) -> Vec<(i32, Operation, usize)> {
    let of = |(headers, payload): &(fabricsim_wire::headers::Headers, Vec<u8>)| {
        (headers.bth.psn.distance(FIRST), headers.bth.opcode.operation().unwrap(), payload.len())
    };
    queue.iter().map(of).collect()
}

fn statuses(link: &Link) -> Vec<(u64, Status)> {
    link.local.completions.iter().map(|done| (done.id, done.status)).collect()
}

#[test]
fn a_read_takes_the_numbers_of_its_responses() {
    let mut link = link();
    link.post(work(1, Verb::Read(at(100)), 2 * MTU + 10));
    link.post(Work { extra: Extra::Immediate(9), ..work(2, Verb::Write(at(0)), MTU + 1) });
    while link.send() {}
    let expected =
        [(0, Operation::ReadRequest, 0), (3, Operation::WriteFirst, 256), (4, Operation::WriteLastImm, 1)];
    assert_eq!(seen(&link.requests), expected);
    while link.arrive() {}
    while link.answer() {}
    let expected = [
        (0, Operation::ReadResponseFirst, 256),
        (1, Operation::ReadResponseMiddle, 256),
        (2, Operation::ReadResponseLast, 10),
        (4, Operation::Acknowledge, 0),
    ];
    assert_eq!(seen(&link.responses), expected);
    let last = link.responses[3].0;
    assert!(matches!(last.operands, Operands::Acknowledge(aeth) if aeth.msn.0 == 2));
    while link.return_one() {}
    assert_eq!(statuses(&link), [(1, Status::Success), (2, Status::Success)]);
    assert!(!link.local.timer_runs);
}

/// The last packet of a message that takes a receive request carries the bit, and the completion there reports it.
#[test]
fn solicited_events_are_requested_by_last_packets() {
    let mut link = link();
    link.post(work(1, Verb::Send, MTU));
    for (id, verb, extra) in [
        (2, Verb::Send, Extra::None),
        (3, Verb::Write(at(0)), Extra::None),
        (4, Verb::Write(at(0)), Extra::Immediate(9)),
    ] {
        link.post(Work { extra, solicited: true, ..work(id, verb, MTU + 1) });
    }
    while link.send() {}
    let carried: Vec<_> = link.requests.iter().map(|(headers, _)| headers.bth.solicited).collect();
    assert_eq!(carried, [false, false, true, false, false, false, true]);
    link.settle();
    let reported: Vec<_> = link.far.received.iter().map(|done| (done.id, done.solicited)).collect();
    assert_eq!(reported, [(0, false), (1, true), (2, true)]);
}

/// The second response of a READ is lost: the rest is requested again, from the byte that is missing.
#[test]
fn a_read_is_restarted_in_the_middle() {
    let mut link = link();
    link.post(work(1, Verb::Read(at(100)), 3 * MTU));
    link.settle_requests();
    link.responses.remove(1);
    while link.return_one() {}
    assert_eq!(link.local.reads[&1].len(), 256);
    assert!(link.send() && !link.send());
    let (headers, _) = &link.requests[0];
    assert_eq!(headers.bth.psn.distance(FIRST), 1);
    assert!(matches!(headers.operands, Operands::Rdma(reth) if (reth.va, reth.dma_length) == (356, 512)));
    link.settle();
    assert_eq!((link.local.reads[&1].len(), statuses(&link)), (768, vec![(1, Status::Success)]));
}

/// Without receive requests the requester sends a message again after a time, as many times as it may; 7 is without limit.
#[test]
fn a_receiver_that_is_not_ready_is_tried_again() {
    for (rnr_retries, tries) in [(0, 1), (3, 4), (7, 50)] {
        let options = RequesterOptions { rnr_retries, ..requester_options() };
        let mut link = Link::new((options, responder_options()), FIRST, (0, 0), 1);
        link.post(work(1, Verb::Send, 10));
        link.post(work(2, Verb::Send, 10));
        let mut sent = 0;
        for _ in 0..50 {
            sent += usize::from(link.send());
            link.settle_responses();
            assert!(!link.send(), "it waits, or has failed");
            link.requester.ready(&mut link.local);
        }
        assert_eq!(sent, tries, "{rnr_retries}");
        let failed = [(1, Status::ReceiverNotReady), (2, Status::Flushed)];
        assert_eq!(statuses(&link), if rnr_retries < 7 { &failed[..] } else { &[] });
        link.far.receives.extend((0..2).map(|id| Receive { id, length: 10 }));
        link.settle();
        assert_eq!(statuses(&link).len(), 2);
        assert_eq!(link.far.received.len(), if rnr_retries < 7 { 0 } else { 2 });
    }
}

#[test]
fn a_timer_ends_a_connection_after_its_retries() {
    for retries in [0, 2, 7] {
        let options = RequesterOptions { retries, ..requester_options() };
        let mut link = Link::new((options, responder_options()), FIRST, (0, 0), 1);
        link.post(work(1, Verb::Write(at(0)), 3 * MTU));
        let mut tries = 0;
        while link.send() {
            while link.send() {}
            tries += 1;
            assert_eq!(link.requests.len(), 3);
            link.requests.clear();
            link.requester.expire(&mut link.local);
        }
        assert_eq!((tries, statuses(&link)), (retries + 1, vec![(1, Status::RetriesExceeded)]));
        link.post(work(2, Verb::Send, 0));
        assert_eq!(statuses(&link)[1], (2, Status::Flushed));
    }
}

/// A responder without credits left gets one message beyond them, and nothing else that takes a receive request.
#[test]
fn credits_limit_messages() {
    let options = ResponderOptions { reports_credits: true, ..responder_options() };
    let requester = RequesterOptions { has_credits: true, ..requester_options() };
    let mut link = Link::new((requester, options), FIRST, (0, 0), 1);
    link.far.receives.extend((0..3).map(|id| Receive { id, length: 10 }));
    (1..=8).for_each(|id| link.post(work(id, Verb::Send, 10)));
    // The first is sent without credits; its acknowledgement tells of 2.
    let mut sent = Vec::new();
    for _ in 0..4 {
        let before = link.requests.len();
        while link.send() {}
        sent.push(link.requests.len() - before);
        link.settle_responses();
    }
    assert_eq!(sent, [1, 3, 0, 0], "two with credits and one beyond them");
    assert_eq!(link.far.received.len(), 3);
    assert!(link.local.waits);
}

/// A fence waits for READs, and nothing else does.
#[test]
fn a_fence_waits_for_reads() {
    let mut link = link();
    link.post(work(1, Verb::Read(at(0)), 10));
    link.post(work(2, Verb::Send, 10));
    link.post(Work { fence: true, ..work(3, Verb::Send, 10) });
    link.post(work(4, Verb::Write(at(0)), 10));
    while link.send() {}
    assert_eq!(link.requests.len(), 2, "what follows the fence waits as well");
    link.settle();
    assert_eq!((link.far.received.len(), statuses(&link).len()), (2, 4));
}

/// Of what is refused nothing is executed, both ends name the reason, and the rest is flushed.
#[test]
fn refused_requests_break_the_connection() {
    let short = Receive { id: 9, length: 100 };
    for (verb, length, status, code) in [
        (Verb::Write(at(4000)), 200, Status::RemoteAccess, NakCode::RemoteAccessError),
        (Verb::Read(at(4000)), 200, Status::RemoteAccess, NakCode::RemoteAccessError),
        (Verb::FetchAdd { remote: at(4), add: 1 }, 8, Status::RemoteInvalidRequest, NakCode::InvalidRequest),
        (Verb::FetchAdd { remote: at(8000), add: 1 }, 8, Status::RemoteAccess, NakCode::RemoteAccessError),
        (Verb::Send, 101, Status::RemoteInvalidRequest, NakCode::InvalidRequest),
    ] {
        let mut link = Link::new((requester_options(), responder_options()), FIRST, (0, 0), 1);
        link.far.receives.push_back(short);
        link.post(work(1, verb, length));
        link.post(work(2, Verb::Send, 10));
        let before = link.far.region.clone();
        link.settle_requests();
        let nak = link.responses.iter().find_map(|(headers, _)| match headers.operands {
            Operands::Acknowledge(aeth) => Some(aeth.syndrome),
            _ => None,
        });
        assert_eq!(nak, Some(Syndrome::Nak(code)), "{verb:?}");
        link.settle();
        assert_eq!(statuses(&link), [(1, status), (2, Status::Flushed)], "{verb:?}");
        assert!(link.requester.is_broken() && link.responder.is_broken());
        assert!(link.far.region == before && link.far.atomics == 0 && link.far.buffers.is_empty());
        let failed: Vec<Status> = link.far.received.iter().map(|done| done.status).collect();
        assert_eq!(failed, if verb == Verb::Send { vec![Status::LocalLength] } else { vec![] });
    }
}

/// The number of the first packet sent is that of the connection, and numbers wrap.
#[test]
fn numbers_wrap() {
    let mut link = link();
    link.post(work(1, Verb::Write(at(0)), 10 * MTU));
    while link.send() {}
    let numbers: Vec<u32> = link.requests.iter().map(|(headers, _)| headers.bth.psn.get()).collect();
    assert_eq!(
        numbers[..7],
        [0x00ff_fffa, 0x00ff_fffb, 0x00ff_fffc, 0x00ff_fffd, 0x00ff_fffe, 0x00ff_ffff, 0]
    );
    link.settle();
    assert_eq!(statuses(&link), [(1, Status::Success)]);
    assert_eq!(Psn::MODULUS, 1 << 24);
}

impl Link {
    /// All requests are sent, arrive, and are answered.
    fn settle_requests(&mut self) {
        while self.send() | self.arrive() | self.answer() {}
    }

    /// All that is in flight arrives, and its answers.
    fn settle_responses(&mut self) {
        while self.arrive() | self.answer() | self.return_one() {}
    }
}
