//! One exchange after the other, with the messages that cross the wire.

mod alternate;
mod messages;

use std::collections::VecDeque;

use fabricsim_wire::field::Octets;
use fabricsim_wire::ids::{CommId, Lid, QKey, Qpn, ServiceId};
use fabricsim_wire::mad::cm::{CmMad, CmMessage, RejReason, Rep, Req, SidrRep, SidrReq};

use super::{CmError, CmEvent, CmOutbox, CmState, Manager, ManagerOptions, SIDR_REJECTED, SIDR_UNSUPPORTED};

const SERVICE: ServiceId = ServiceId(0x0106_1234);

#[derive(Default)]
struct Out {
    sent: VecDeque<(Lid, CmMad)>,
    timers: Vec<(CommId, Option<u8>)>,
    events: Vec<CmEvent>,
}

impl CmOutbox for Out {
    fn send(&mut self, to: Lid, mad: CmMad) {
        self.sent.push_back((to, mad));
    }

    fn timer(&mut self, id: CommId, code: Option<u8>) {
        self.timers.push((id, code));
    }

    fn event(&mut self, event: CmEvent) {
        self.events.push(event);
    }
}

/// The ports with the LIDs 1 and 2.
struct Two {
    ends: [Manager; 2],
    outs: [Out; 2],
}

impl Two {
    fn new() -> Self {
        let options = ManagerOptions { response_timeout: 5, retries: 2, time_wait: 7 };
        let mut ends = [Manager::new(options, 100), Manager::new(options, 200)];
        ends[1].listen(SERVICE).unwrap();
        Self { ends, outs: [Out::default(), Out::default()] }
    }

    fn request(&mut self, qpn: u32) -> CommId {
        let req = Req { service_id: SERVICE, local_qpn: Qpn(qpn), ..Req::default() };
        self.ends[0].request(Lid(2), req, &mut self.outs[0])
    }

    /// Delivers everything; returns the names of the messages.
    fn deliver(&mut self) -> Vec<&'static str> {
        let mut names = Vec::new();
        loop {
            let from = usize::from(self.outs[0].sent.is_empty());
            let Some((to, mad)) = self.outs[from].sent.pop_front() else { return names };
            assert_eq!(to, Lid(2 - from as u16));
            names.push(name(&mad));
            let other = 1 - from;
            self.ends[other].receive(Lid(from as u16 + 1), &mad, &mut self.outs[other]);
        }
    }

    fn events(&mut self, end: usize) -> Vec<CmEvent> {
        std::mem::take(&mut self.outs[end].events)
    }

    fn connected(&mut self) -> [CommId; 2] {
        let a = self.request(7);
        self.deliver();
        let [CmEvent::Requested(b, Lid(1), _)] = self.events(1)[..] else { panic!("no request") };
        let rep = Rep { local_qpn: Qpn(9), ..Rep::default() };
        self.ends[1].accept(b, rep, &mut self.outs[1]).unwrap();
        self.deliver();
        assert!(
            matches!(self.events(0)[..], [CmEvent::Replied(id, rep)] if id == a && rep.local_qpn == Qpn(9))
        );
        self.ends[0].confirm(a, Octets::default(), &mut self.outs[0]).unwrap();
        self.deliver();
        assert_eq!(self.events(0), [CmEvent::Established(a)]);
        assert_eq!(self.events(1), [CmEvent::Established(b)]);
        [a, b]
    }
}

fn name(mad: &CmMad) -> &'static str {
    match mad.message() {
        Some(CmMessage::REQ(_)) => "REQ",
        Some(CmMessage::REP(_)) => "REP",
        Some(CmMessage::RTU(_)) => "RTU",
        Some(CmMessage::REJ(_)) => "REJ",
        Some(CmMessage::MRA(_)) => "MRA",
        Some(CmMessage::DREQ(_)) => "DREQ",
        Some(CmMessage::DREP(_)) => "DREP",
        Some(CmMessage::LAP(_)) => "LAP",
        Some(CmMessage::APR(_)) => "APR",
        Some(CmMessage::SIDR_REQ(_)) => "SIDR_REQ",
        Some(CmMessage::SIDR_REP(_)) => "SIDR_REP",
        _ => "other",
    }
}

#[test]
fn a_connection_is_established_and_released() {
    let mut two = Two::new();
    let [a, b] = two.connected();
    two.ends[0].disconnect(a, &mut two.outs[0]).unwrap();
    assert_eq!(two.deliver(), ["DREQ", "DREP"]);
    assert_eq!(
        (two.events(0), two.events(1)),
        (vec![CmEvent::Disconnected(a)], vec![CmEvent::Disconnected(b)])
    );
    assert_eq!(two.outs[0].timers.last(), Some(&(a, Some(7))));
    two.ends[0].expire(a, &mut two.outs[0]);
    two.ends[1].expire(b, &mut two.outs[1]);
    assert_eq!(
        (two.events(0), two.events(1)),
        (vec![CmEvent::TimeWaitExit(a)], vec![CmEvent::TimeWaitExit(b)])
    );
    assert!(two.ends.iter().all(Manager::is_empty));
}

/// The passive end waits for the RTU as long as the REQ says, and retransmits its REP as often, whatever its own settings.
#[test]
fn the_request_says_how_long_the_passive_end_waits() {
    let mut two = Two::new();
    let own = ManagerOptions { response_timeout: 9, retries: 6, time_wait: 7 };
    two.ends[1] = Manager::new(own, 200);
    two.ends[1].listen(SERVICE).unwrap();
    two.request(7);
    two.deliver();
    let [CmEvent::Requested(b, ..)] = two.events(1)[..] else { panic!("no request") };
    two.ends[1].accept(b, Rep { local_qpn: Qpn(9), ..Rep::default() }, &mut two.outs[1]).unwrap();
    for _ in 0..3 {
        two.ends[1].expire(b, &mut two.outs[1]);
    }
    let names: Vec<_> = two.outs[1].sent.iter().map(|(_, mad)| name(mad)).collect();
    assert_eq!(names, ["REP", "REP", "REP", "REJ"]);
    let timers: Vec<_> = two.outs[1].timers.iter().map(|&(_, code)| code).collect();
    assert_eq!(timers, [Some(5), Some(5), Some(5), None, None]);
    assert_eq!(two.events(1), [CmEvent::Unreachable(b)]);
}

#[test]
fn requests_are_refused_with_a_reason() {
    let mut two = Two::new();
    two.ends[1].unlisten(SERVICE);
    let a = two.request(7);
    assert_eq!(two.deliver(), ["REQ", "REJ"]);
    assert_eq!(two.events(0), [CmEvent::Rejected(a, RejReason::INVALID_SERVICE_ID, Octets::default())]);
    two.ends[1].listen(SERVICE).unwrap();
    assert_eq!(two.ends[1].listen(SERVICE), Err(CmError::Busy(SERVICE)));
    let a = two.request(7);
    two.deliver();
    let [CmEvent::Requested(b, ..)] = two.events(1)[..] else { panic!("no request") };
    let mut data = Octets::default();
    data.0[..2].copy_from_slice(b"no");
    two.ends[1].reject(b, (RejReason::CONSUMER, data), &mut two.outs[1]).unwrap();
    assert_eq!(two.deliver(), ["REJ"]);
    assert_eq!(two.events(0), [CmEvent::Rejected(a, RejReason::CONSUMER, data)]);
    assert!(two.ends.iter().all(Manager::is_empty));
}

/// MsgREJected (IBA volume 1, section 12.6.7): 0 for a REQ, 1 for a REP.
#[test]
fn a_rejection_names_the_message_that_is_rejected() {
    let reason = || (RejReason::CONSUMER, Octets::default());
    let rejected = |out: &Out| match out.sent.back().map(|(_, mad)| mad.message()) {
        Some(Some(CmMessage::REJ(rej))) => rej.message,
        other => panic!("no REJ: {other:?}"),
    };
    let mut two = Two::new();
    two.request(7);
    two.deliver();
    let [CmEvent::Requested(b, ..)] = two.events(1)[..] else { panic!("no request") };
    two.ends[1].reject(b, reason(), &mut two.outs[1]).unwrap();
    assert_eq!(rejected(&two.outs[1]), 0);
    let mut two = Two::new();
    let a = two.request(7);
    two.deliver();
    let [CmEvent::Requested(b, ..)] = two.events(1)[..] else { panic!("no request") };
    two.ends[1].accept(b, Rep { local_qpn: Qpn(9), ..Rep::default() }, &mut two.outs[1]).unwrap();
    two.deliver();
    two.ends[0].reject(a, reason(), &mut two.outs[0]).unwrap();
    assert_eq!(rejected(&two.outs[0]), 1);
}

#[test]
fn a_message_without_answer_is_sent_as_often_as_allowed() {
    let mut two = Two::new();
    let a = two.request(7);
    for _ in 0..2 {
        two.ends[0].expire(a, &mut two.outs[0]);
    }
    assert_eq!(two.outs[0].sent.iter().map(|(_, mad)| name(mad)).collect::<Vec<_>>(), ["REQ"; 3]);
    two.ends[0].expire(a, &mut two.outs[0]);
    assert_eq!(two.events(0), [CmEvent::Unreachable(a)]);
    assert!(two.ends[0].is_empty());
    // The peer sees one request, and its end.
    assert_eq!(two.deliver(), ["REQ", "REQ", "REQ", "REJ"]);
    let events = two.events(1);
    assert!(matches!(events[..], [CmEvent::Requested(..), CmEvent::Rejected(_, RejReason::TIMEOUT, _)]));
}

#[test]
fn a_peer_may_need_more_time() {
    let mut two = Two::new();
    let a = two.request(7);
    two.deliver();
    let [CmEvent::Requested(b, ..)] = two.events(1)[..] else { panic!("no request") };
    two.ends[1].delay(b, 12, &mut two.outs[1]).unwrap();
    assert_eq!(two.deliver(), ["MRA"]);
    assert_eq!(two.outs[0].timers.last(), Some(&(a, Some(12))));
    // A request that comes again has the same answer.
    two.ends[0].expire(a, &mut two.outs[0]);
    assert_eq!(two.deliver(), ["REQ", "MRA"]);
}

/// A host that has begun anew uses a queue pair of which the other end knows a connection: that one is released, and the next request is accepted.
#[test]
fn a_stale_connection_is_released() {
    let mut two = Two::new();
    let [_, b] = two.connected();
    two.ends[0] = Manager::new(two.ends[0].options, 500);
    let a = two.request(7);
    assert_eq!(two.deliver(), ["REQ", "REJ", "DREQ", "DREP"]);
    assert_eq!(two.events(0), [CmEvent::Rejected(a, RejReason::STALE_CONNECTION, Octets::default())]);
    assert_eq!(two.events(1), [CmEvent::Disconnected(b)]);
    two.ends[1].expire(b, &mut two.outs[1]);
    two.events(1);
    two.connected();
}

#[test]
fn calls_need_their_state() {
    let mut two = Two::new();
    let [a, _] = two.connected();
    let error = two.ends[0].accept(a, Rep::default(), &mut two.outs[0]).unwrap_err();
    assert_eq!(error, CmError::State(a.0, CmState::Established, "REQ Rcvd"));
    assert_eq!(error.to_string(), "connection 100 is in the state Established: must be REQ Rcvd");
    let error = two.ends[0].disconnect(CommId(5), &mut two.outs[0]).unwrap_err();
    assert_eq!(error.to_string(), "there is no connection 5");
}

/// A manager that does not heed an MRA gives up too early: the defect is seen by its timer.
#[test]
fn a_manager_that_ignores_an_mra_is_found() {
    let mut two = Two::new();
    two.ends[0].mutate(Some(super::mutation::Mutation::IgnoreMra));
    let a = two.request(7);
    two.deliver();
    let [CmEvent::Requested(b, ..)] = two.events(1)[..] else { panic!("no request") };
    two.ends[1].delay(b, 12, &mut two.outs[1]).unwrap();
    two.deliver();
    assert_ne!(two.outs[0].timers.last(), Some(&(a, Some(12))));
}

/// SIDR (section 12.11): the reply has the queue pair and the key of the service, and the number of the request.
#[test]
fn a_service_is_resolved_to_a_queue_pair() {
    let mut two = Two::new();
    let mut private_data = Octets::default();
    private_data.0[..3].copy_from_slice(b"who");
    let request = SidrReq { service_id: SERVICE, private_data, ..SidrReq::default() };
    let a = two.ends[0].resolve(Lid(2), request, &mut two.outs[0]);
    assert_eq!(two.outs[0].timers, [(a, Some(5))]);
    assert_eq!(two.deliver(), ["SIDR_REQ"]);
    let [CmEvent::Resolving(b, Lid(1), got)] = two.events(1)[..] else { panic!("no request") };
    assert_eq!(got, SidrReq { request_id: a, ..request });
    assert!(two.ends[0].knows(a) && two.ends[1].knows(b));
    assert_eq!([two.ends[0].len(), two.ends[1].len()], [1, 1]);
    let reply = SidrRep { qpn: Qpn(9), q_key: QKey(7), ..SidrRep::default() };
    two.ends[1].answer(b, reply, &mut two.outs[1]).unwrap();
    assert_eq!(two.deliver(), ["SIDR_REP"]);
    assert_eq!(
        two.events(0),
        [CmEvent::Resolved(a, SidrRep { request_id: a, service_id: SERVICE, ..reply })]
    );
    assert_eq!(two.outs[0].timers.last(), Some(&(a, None)));
    assert!(two.ends.iter().all(Manager::is_empty));
    assert_eq!(two.ends[1].answer(b, reply, &mut two.outs[1]), Err(CmError::Unknown(b.0)));
}

#[test]
fn requests_for_a_service_are_refused_with_a_status() {
    let mut two = Two::new();
    let ask = |two: &mut Two, service_id| {
        let request = SidrReq { service_id, ..SidrReq::default() };
        two.ends[0].resolve(Lid(2), request, &mut two.outs[0])
    };
    let status = |two: &mut Two| match two.events(0)[..] {
        [CmEvent::Resolved(_, rep)] => rep.status,
        ref other => panic!("{other:?}"),
    };
    ask(&mut two, ServiceId(5));
    assert_eq!(two.deliver(), ["SIDR_REQ", "SIDR_REP"]);
    assert_eq!(status(&mut two), SIDR_UNSUPPORTED);
    ask(&mut two, SERVICE);
    two.deliver();
    let [CmEvent::Resolving(b, ..)] = two.events(1)[..] else { panic!("no request") };
    let reply = SidrRep { status: SIDR_REJECTED, ..SidrRep::default() };
    two.ends[1].answer(b, reply, &mut two.outs[1]).unwrap();
    two.deliver();
    assert_eq!(status(&mut two), SIDR_REJECTED);
    // Who asks has nothing to answer.
    let a = ask(&mut two, SERVICE);
    assert_eq!(two.ends[0].answer(a, reply, &mut two.outs[0]), Err(CmError::Unknown(a.0)));
    // Three copies, and then it is given up.
    for _ in 0..3 {
        two.ends[0].expire(a, &mut two.outs[0]);
    }
    assert_eq!(two.events(0), [CmEvent::Unreachable(a)]);
    assert_eq!(two.deliver(), ["SIDR_REQ"; 3]);
    assert!(two.ends[0].is_empty());
}

/// Data over a connection tell that its RTU was sent (section 12.9.7.2).
#[test]
fn data_establish_a_connection_whose_rtu_is_late() {
    let mut two = Two::new();
    let a = two.request(7);
    two.deliver();
    let [CmEvent::Requested(b, ..)] = two.events(1)[..] else { panic!("no request") };
    let early = two.ends[1].notify(b, &mut two.outs[1]).unwrap_err();
    assert_eq!(early, CmError::State(b.0, CmState::ReqReceived, "REP Sent or Established"));
    two.ends[1].accept(b, Rep { local_qpn: Qpn(9), ..Rep::default() }, &mut two.outs[1]).unwrap();
    two.deliver();
    two.ends[0].confirm(a, Octets::default(), &mut two.outs[0]).unwrap();
    two.ends[1].notify(b, &mut two.outs[1]).unwrap();
    assert_eq!(two.events(1), [CmEvent::Established(b)]);
    assert_eq!(two.outs[1].timers.last(), Some(&(b, None)));
    // Neither the RTU nor another notice establishes it twice.
    two.deliver();
    two.ends[1].notify(b, &mut two.outs[1]).unwrap();
    assert_eq!(two.events(1), []);
}
