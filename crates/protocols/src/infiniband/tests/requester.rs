//! What a requester takes as an answer, and what it reports.

use fabricsim_wire::headers::{
    Aeth, AtomicAckEth, Bth, CreditCode, Headers, NakCode, Opcode, Operands, Operation, Service, Syndrome,
};
use fabricsim_wire::ids::Msn;

use super::link::Link;
use super::{FIRST, MTU, at, requester_options, responder_options, work};
use crate::infiniband::{Completion, RequesterOptions, Status, Verb};

fn link() -> Link {
    Link::new((requester_options(), responder_options()), FIRST, (0, 0), 1)
}

/// A response with the number `number` of the connection, which counts as many bytes as `length`.
fn respond(link: &mut Link, operation: Operation, number: u32, length: u32) {
    let aeth = Aeth { syndrome: Syndrome::Ack(CreditCode::UNLIMITED), msn: Msn(0) };
    let operands = match operation {
        Operation::AtomicAcknowledge => Operands::AtomicAcknowledge(aeth, AtomicAckEth { original: 0 }),
        Operation::ReadResponseMiddle | Operation::SendOnly | Operation::WriteLast => Operands::None,
        _ => Operands::Acknowledge(aeth),
    };
    let opcode = Opcode::new(Service::Rc, operation).unwrap();
    let bth = Bth { opcode, p_key: requester_options().p_key, psn: FIRST + number, ..Bth::default() };
    link.local.payload = vec![0; length as usize];
    link.requester.receive(&Headers { bth, operands, ..Headers::default() }, length, &mut link.local);
}

fn statuses(link: &Link) -> Vec<Status> {
    link.local.completions.iter().map(|done| done.status).collect()
}

/// Section 9.7.5.2.8: each code of a NAK has its status.
#[test]
fn a_nak_says_why_the_request_has_failed() {
    for (code, status) in [
        (NakCode::InvalidRequest, Status::RemoteInvalidRequest),
        (NakCode::RemoteAccessError, Status::RemoteAccess),
        (NakCode::RemoteOperationalError, Status::RemoteOperation),
        (NakCode::InvalidRdRequest, Status::BadResponse),
        (NakCode::Reserved(7), Status::BadResponse),
    ] {
        let mut link = link();
        link.post(work(1, Verb::Write(at(0)), 8));
        link.post(work(2, Verb::Write(at(0)), 8));
        while link.send() {}
        let opcode = Opcode::new(Service::Rc, Operation::Acknowledge).unwrap();
        let bth = Bth { opcode, p_key: requester_options().p_key, psn: FIRST, ..Bth::default() };
        let operands = Operands::Acknowledge(Aeth { syndrome: Syndrome::Nak(code), msn: Msn(0) });
        link.requester.receive(&Headers { bth, operands, ..Headers::default() }, 0, &mut link.local);
        assert_eq!(statuses(&link), [status, Status::Flushed], "{code:?}");
        assert!(link.requester.is_broken() && !link.local.timer_runs);
    }
}

/// A READ of 522 bytes has three responses: two full ones, and one of 10 bytes that is the last. Anything else is a bad response.
#[test]
fn a_response_fits_its_place_in_the_read() {
    use Operation::{
        AtomicAcknowledge, ReadResponseFirst, ReadResponseLast, ReadResponseMiddle, ReadResponseOnly,
    };
    let right = [(ReadResponseFirst, MTU), (ReadResponseMiddle, MTU), (ReadResponseLast, 10)];
    for (number, operation, length, fits) in [
        (0, ReadResponseFirst, MTU, true),
        (0, ReadResponseFirst, MTU - 1, false),
        (0, ReadResponseFirst, 0, false),
        (0, ReadResponseLast, MTU, false),
        (0, ReadResponseOnly, MTU, false),
        (0, ReadResponseOnly, 10, false),
        (0, AtomicAcknowledge, MTU, false),
        (1, ReadResponseMiddle, MTU, true),
        (1, ReadResponseMiddle, 10, false),
        (1, ReadResponseLast, MTU, false),
        // A READ that is restarted there begins anew.
        (1, ReadResponseFirst, MTU, true),
        (2, ReadResponseLast, 10, true),
        (2, ReadResponseOnly, 10, true),
        (2, ReadResponseLast, MTU, false),
        (2, ReadResponseLast, 9, false),
        (2, ReadResponseMiddle, 10, false),
        (2, ReadResponseMiddle, MTU, false),
        (2, AtomicAcknowledge, 10, false),
    ] {
        let mut link = link();
        link.post(work(1, Verb::Read(at(0)), 2 * MTU + 10));
        while link.send() {}
        (0..number).for_each(|before| respond(&mut link, right[before].0, before as u32, right[before].1));
        respond(&mut link, operation, number as u32, length);
        let expected: &[Status] = match (fits, number) {
            (false, _) => &[Status::BadResponse],
            (true, 2) => &[Status::Success],
            (true, _) => &[],
        };
        assert_eq!(statuses(&link), expected, "{operation:?} of {length} B as response {number}");
    }
}

/// Data is an answer to a READ, the value before to an atomic operation, and neither to a SEND or WRITE.
#[test]
fn a_response_is_of_the_kind_of_its_request() {
    let add = Verb::FetchAdd { remote: at(0), add: 1 };
    for (verb, operation, length, status) in [
        (add, Operation::AtomicAcknowledge, 0, Status::Success),
        (add, Operation::ReadResponseOnly, 8, Status::BadResponse),
        (Verb::Read(at(0)), Operation::ReadResponseOnly, 8, Status::Success),
        (Verb::Read(at(0)), Operation::AtomicAcknowledge, 8, Status::BadResponse),
        (Verb::Send, Operation::AtomicAcknowledge, 8, Status::BadResponse),
        (Verb::Write(at(0)), Operation::ReadResponseOnly, 8, Status::BadResponse),
    ] {
        let mut link = link();
        link.post(work(1, verb, 8));
        while link.send() {}
        respond(&mut link, operation, 0, length);
        assert_eq!(statuses(&link), [status], "{operation:?} to {verb:?}");
    }
}

/// A request is no response: it is for the responder of the queue pair.
#[test]
fn requests_are_no_responses() {
    for operation in [Operation::SendOnly, Operation::WriteLast] {
        let mut link = link();
        link.post(work(1, Verb::Read(at(0)), 8));
        while link.send() {}
        respond(&mut link, operation, 0, 8);
        assert_eq!((statuses(&link), link.requester.is_broken()), (vec![], false));
        link.settle();
        assert_eq!(statuses(&link), [Status::Success]);
    }
}

/// There is more to send while packets of a request are new, or are to be sent anew.
#[test]
fn what_is_not_sent_or_not_acknowledged_in_time_is_to_be_sent() {
    let mut link = link();
    assert!(!link.requester.has_more());
    link.post(work(1, Verb::Write(at(0)), 2 * MTU));
    link.post(work(2, Verb::Write(at(0)), 1));
    for more in [true, true, true, false] {
        assert_eq!(link.requester.has_more(), more);
        assert_eq!(link.send(), more);
    }
    link.requester.expire(&mut link.local);
    assert!(link.requester.has_more());
    while link.send() {}
    link.settle();
    assert!(!link.requester.has_more());
}

/// `ibv_modify_qp` to the error state: every request ends as flushed, in order, and no timer runs.
#[test]
fn a_flushed_queue_ends_in_order() {
    let mut link = link();
    (1..=3).for_each(|id| link.post(work(id, Verb::Write(at(0)), 8)));
    assert!(link.send() && link.local.timer_runs);
    link.requester.flush(&mut link.local);
    let flushed = |id| Completion { id, status: Status::Flushed, original: 0 };
    assert_eq!(link.local.completions, [flushed(1), flushed(2), flushed(3)]);
    assert!(!link.local.timer_runs && !link.send() && link.requester.is_broken());
    link.post(work(4, Verb::Send, 8));
    assert_eq!(link.local.completions[3], flushed(4));
}

/// The end of a wait that there was not starts no timer, and stops none.
#[test]
fn only_the_end_of_a_wait_sets_the_timer() {
    let mut link = link();
    link.post(work(1, Verb::Send, 8));
    assert!(link.send());
    link.local.timer_runs = false;
    link.requester.ready(&mut link.local);
    assert!(!link.local.timer_runs);
    while link.arrive() | link.answer() | link.return_one() {}
    assert!(link.local.waits, "an RNR NAK");
    link.requester.ready(&mut link.local);
    assert!(!link.local.timer_runs || link.requester.awaits_responses());
    assert!(link.send() && link.local.timer_runs);
}

/// Message numbers have 24 bits, and so have credits, which count WRITEs as messages.
#[test]
fn hundreds_of_messages_are_counted() {
    let options = RequesterOptions { has_credits: true, ..requester_options() };
    let mut link = Link::new((options, responder_options()), FIRST, (0, 0), 1);
    (1..=300).for_each(|id| link.post(work(id, Verb::Write(at(0)), 8)));
    (301..=302).for_each(|id| link.post(work(id, Verb::Send, 8)));
    while link.send() {}
    assert_eq!(link.requests.len(), 301, "all WRITEs, and one SEND as a probe");
}
