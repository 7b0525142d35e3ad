//! Alternate paths: LAP and APR.

use fabricsim_wire::ids::Sl;
use fabricsim_wire::mad::cm::{Apr, Lap, Mra};

use super::*;

fn lap() -> Lap {
    Lap { local_lid: Lid(3), remote_lid: Lid(4), sl: Sl(2), local_ack_timeout: 9, ..Lap::default() }
}

#[test]
fn an_alternate_path_is_offered_and_answered() {
    for status in [0, 7] {
        let mut two = Two::new();
        let [a, b] = two.connected();
        two.ends[0].load_path(a, lap(), &mut two.outs[0]).unwrap();
        assert_eq!(two.outs[0].timers.last(), Some(&(a, Some(5))));
        let error = two.ends[0].load_path(a, lap(), &mut two.outs[0]).unwrap_err();
        assert_eq!(error.to_string(), "connection 100: a LAP waits for its answer");
        assert_eq!(two.deliver(), ["LAP"]);
        let offered = Lap {
            local_comm_id: a,
            remote_comm_id: b,
            remote_qpn: Qpn(9),
            remote_cm_response_timeout: 5,
            ..lap()
        };
        assert_eq!(two.events(1), [CmEvent::PathRequested(b, offered)]);
        two.ends[1].answer_path(b, Apr { status, ..Apr::default() }, &mut two.outs[1]).unwrap();
        assert_eq!(two.deliver(), ["APR"]);
        let answer = Apr { local_comm_id: b, remote_comm_id: a, status, ..Apr::default() };
        assert_eq!(two.events(0), [CmEvent::PathAnswered(a, answer)]);
        assert_eq!(two.outs[0].timers.last(), Some(&(a, None)));
        let error = two.ends[1].answer_path(b, Apr::default(), &mut two.outs[1]).unwrap_err();
        assert_eq!(error.to_string(), "connection 200: there is no LAP to answer");
        // The next one.
        two.ends[0].load_path(a, lap(), &mut two.outs[0]).unwrap();
        two.deliver();
        assert_eq!(two.events(1), [CmEvent::PathRequested(b, offered)]);
    }
}

/// Only the end that has requested the connection sends LAPs (section 12.6.9).
#[test]
fn the_end_that_was_requested_offers_no_path() {
    let mut two = Two::new();
    let [_, b] = two.connected();
    let error = two.ends[1].load_path(b, lap(), &mut two.outs[1]).unwrap_err();
    assert_eq!(error, CmError::Passive(200));
    assert_eq!(
        error.to_string(),
        "connection 200 was requested by the peer: only the end that requests a connection loads alternate paths"
    );
}

/// A LAP is retransmitted; copies have the same answer, and are reported once. An MRA gives more time. Without an answer that is reported, and the
/// connection stays.
#[test]
fn a_lap_without_answer_is_sent_again() {
    let mut two = Two::new();
    let [a, b] = two.connected();
    two.ends[0].load_path(a, lap(), &mut two.outs[0]).unwrap();
    two.ends[0].expire(a, &mut two.outs[0]);
    assert_eq!(two.deliver(), ["LAP", "LAP"]);
    assert_eq!(two.events(1).len(), 1);
    two.ends[1].answer_path(b, Apr::default(), &mut two.outs[1]).unwrap();
    two.outs[1].sent.clear();
    two.ends[0].expire(a, &mut two.outs[0]);
    assert_eq!(two.deliver(), ["LAP", "APR"]);
    assert_eq!(two.events(0).len(), 1);
    two.ends[0].load_path(a, lap(), &mut two.outs[0]).unwrap();
    let mra = Mra { local_comm_id: b, remote_comm_id: a, message: 2, service_timeout: 11, ..Mra::default() };
    let mad = CmMad::new(fabricsim_wire::ids::TransactionId(1), &CmMessage::MRA(mra)).unwrap();
    two.ends[0].receive(Lid(2), &mad, &mut two.outs[0]);
    assert_eq!(two.outs[0].timers.last(), Some(&(a, Some(11))));
    for _ in 0..3 {
        two.ends[0].expire(a, &mut two.outs[0]);
    }
    assert_eq!(two.events(0), [CmEvent::PathUnanswered(a)]);
    assert_eq!(two.ends[0].state(a), Some(CmState::Established));
    two.ends[0].expire(a, &mut two.outs[0]);
    assert_eq!(two.events(0), []);
}

/// The sender of a LAP is established: so is its receiver, although the RTU is lost.
#[test]
fn a_lap_establishes_a_connection() {
    let mut two = Two::new();
    let a = two.request(7);
    two.deliver();
    let [CmEvent::Requested(b, ..)] = two.events(1)[..] else { panic!("no request") };
    two.ends[1].accept(b, Rep::default(), &mut two.outs[1]).unwrap();
    two.deliver();
    two.ends[0].confirm(a, Octets::default(), &mut two.outs[0]).unwrap();
    two.outs[0].sent.clear();
    two.ends[0].load_path(a, lap(), &mut two.outs[0]).unwrap();
    two.deliver();
    assert!(matches!(two.events(1)[..], [CmEvent::Established(_), CmEvent::PathRequested(..)]));
}
