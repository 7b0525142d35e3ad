//! Extended reliable connections: messages name the shared receive queue at the other end.

use fabricsim_wire::headers::{Address, Opcode, Operation, Service, Xrceth};
use fabricsim_wire::ids::{PKey, Srqn};
use proptest::prelude::*;

use super::link::Link;
use super::{FIRST, MTU, at, byte, requester_options, responder_options, work};
use crate::infiniband::{Extra, Receive, Requester, Responder, SharedReceiveQueue, Status, Verb, Work};

fn link(queues: &[u32], faults: (u64, u64), seed: u64) -> Link {
    let mut link = Link::new((requester_options(), responder_options()), FIRST, faults, seed);
    link.requester = Requester::new_xrc(requester_options(), FIRST);
    link.responder = Responder::new_xrc(responder_options(), FIRST);
    link.far.shared = queues.iter().map(|&srq| (srq, SharedReceiveQueue::new(64))).collect();
    link
}

fn post(link: &mut Link, work: Work, srq: u32) {
    link.requester.post_to(work, Srqn(srq), &mut link.local).unwrap();
}

#[test]
fn every_request_names_its_queue_and_no_response_does() {
    let mut link = link(&[5], (0, 0), 1);
    link.far.shared.get_mut(&5).unwrap().post(Receive { id: 0, length: 600 }).unwrap();
    post(&mut link, work(1, Verb::Send, 2 * MTU), 5);
    post(&mut link, work(2, Verb::Read(at(0)), 10), 6);
    while link.send() {}
    let sent: Vec<(Option<Service>, Address)> =
        link.requests.iter().map(|(headers, _)| (headers.bth.opcode.service(), headers.address)).collect();
    let to = |srq| (Some(Service::Xrc), Address::Xrc(Xrceth { srq: Srqn(srq) }));
    assert_eq!(sent, [to(5), to(5), to(6)]);
    while link.arrive() | link.answer() {}
    for (headers, _) in &link.responses {
        assert_eq!((headers.bth.opcode.service(), headers.address), (Some(Service::Xrc), Address::None));
    }
    link.settle();
    let done: Vec<(u64, Status)> = link.local.completions.iter().map(|done| (done.id, done.status)).collect();
    assert_eq!(done, [(1, Status::Success), (2, Status::Success)]);
}

/// An empty queue delays its message; one that does not exist breaks the connection.
#[test]
fn queues_are_empty_or_missing() {
    let mut link = link(&[5], (0, 0), 1);
    post(&mut link, work(1, Verb::Send, 10), 5);
    link.settle();
    assert!(link.local.waits && link.local.completions.is_empty());
    link.far.shared.get_mut(&5).unwrap().post(Receive { id: 3, length: 10 }).unwrap();
    link.requester.ready(&mut link.local);
    link.settle();
    assert_eq!(link.far.received[0].id, 3);
    post(&mut link, work(2, Verb::Send, 10), 4);
    link.settle();
    assert_eq!(link.local.completions[1].status, Status::RemoteInvalidRequest);
    assert!(link.responder.is_broken());
}

/// Packets of another service or partition are no part of the connection.
#[test]
fn packets_of_other_services_and_partitions_are_dropped() {
    let mut link = link(&[5], (0, 0), 1);
    link.far.shared.get_mut(&5).unwrap().post(Receive { id: 0, length: 10 }).unwrap();
    post(&mut link, work(1, Verb::Send, 10), 5);
    link.send();
    let (good, payload) = link.requests.pop_front().unwrap();
    let mut reliable = good;
    reliable.bth.opcode = Opcode::new(Service::Rc, Operation::SendOnly).unwrap();
    reliable.address = Address::None;
    let mut other = good;
    other.bth.p_key = PKey(0x1234);
    link.requests.extend([(reliable, payload.clone()), (other, payload.clone())]);
    while link.arrive() | link.answer() {}
    assert!(link.responses.is_empty() && link.far.received.is_empty());
    link.requests.push_back((good, payload));
    while link.arrive() | link.answer() {}
    let (mut headers, _) = link.responses[0].clone();
    headers.bth.p_key = PKey(0x1234);
    link.responses.push_front((headers, Vec::new()));
    link.return_one();
    assert!(link.local.completions.is_empty());
    link.settle();
    assert_eq!(link.local.completions.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Over links that lose and repeat packets every message comes once, into a receive request of its queue, in order.
    #[test]
    fn messages_go_to_their_queues(
        messages in prop::collection::vec((0_u32..3, 0..=600_u32), 1..20),
        faults in (0_u64..15, 0_u64..10),
        seed: u64,
    ) {
        let mut link = link(&[0, 1, 2], faults, seed);
        for id in 0..20 {
            for srq in 0..3 {
                let receive = Receive { id: u64::from(srq) * 100 + id, length: 600 };
                link.far.shared.get_mut(&srq).unwrap().post(receive).unwrap();
            }
        }
        link.far.shared.get_mut(&0).unwrap().set_limit(18);
        let mut expected = Vec::new();
        let mut taken = [0_u64; 3];
        for (id, &(srq, length)) in (1..).zip(&messages) {
            let extra = Extra::Immediate(id as u32);
            post(&mut link, Work { extra, ..work(id, Verb::Send, length) }, srq);
            expected.push((u64::from(srq) * 100 + taken[srq as usize], length, extra));
            taken[srq as usize] += 1;
        }
        let mut steps = 0_u64;
        while link.step() {
            steps += 1;
            prop_assert!(steps < 2_000_000);
        }
        if link.local.completions.iter().any(|done| done.status != Status::Success) {
            prop_assert!(faults != (0, 0));
            return Ok(());
        }
        let received: Vec<_> = link.far.received.iter().map(|done| (done.id, done.length, done.extra)).collect();
        prop_assert_eq!(&received, &expected);
        for ((id, length, _), number) in expected.iter().zip(1..) {
            let data: Vec<u8> = (0..*length).map(|at| byte(number, at)).collect();
            prop_assert_eq!(link.far.buffers.get(id), Some(&data));
        }
        prop_assert_eq!(link.far.limits.len(), usize::from(taken[0] > 2));
    }
}
