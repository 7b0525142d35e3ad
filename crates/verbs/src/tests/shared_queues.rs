//! Shared receive queues, and extended reliable connections, whose messages name one.

use fabricsim_protocols::infiniband::{QueuePairKind, QueuePairState, Status};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::ids::Srqn;

use super::pair::{End, connect, end_of, steps};
use super::{Pair, connected, sge};
use crate::{
    AccessFlags, AsyncEvent, Capacities, Costs, Cq, Errno, QueuePairAttributes, QueuePairInit,
    ReceiveRequest, SendRequest, SharedQueueInit, Srq, To,
};

const SHARED: SharedQueueInit = SharedQueueInit { receives: 8, pieces: 1, xrc: None };

fn post_shared(pair: &mut Pair, srq: Srq, end: &End, wr_id: u64) -> Result<(), crate::VerbsError> {
    let list = sge(end, 100 * wr_id, 100);
    pair.devices[1].post_srq_recv(srq, ReceiveRequest { wr_id, list })
}

fn send(pair: &mut Pair, end: &End, wr_id: u64, length: u32, to: To) {
    let request = SendRequest::send(wr_id, sge(end, 0, length)).with_receiver(to);
    pair.devices[0].post_send(end.qp, request, pair.now).unwrap();
    pair.run(pair.now + Time::us(50));
}

/// Messages of two connections take the receive requests of one queue; its limit has one event; without requests the sender waits.
#[test]
fn two_connections_share_a_queue() {
    let mut pair = Pair::new(Costs::LEAST);
    let [a, b] = connected(&mut pair, Capacities::default());
    let c = end_of(&mut pair.devices[0], QueuePairKind::Rc, Capacities::default());
    let device = &mut pair.devices[1];
    let srq = device.create_srq(b.pd, SHARED).unwrap();
    let init = QueuePairInit { srq: Some(srq), ..QueuePairInit::new(QueuePairKind::Rc, b.cq) };
    let shared = [0; 2].map(|_| End { qp: device.create_qp(b.pd, init).unwrap(), ..b });
    connect(&mut pair, [&c, &shared[1]]);
    // The first connection is made anew, to a queue pair with the shared queue.
    let reset = QueuePairAttributes { state: Some(QueuePairState::Reset), ..QueuePairAttributes::default() };
    pair.devices[0].modify_qp(a.qp, reset, Time::ZERO).unwrap();
    connect(&mut pair, [&a, &shared[0]]);
    for wr_id in 0..3 {
        post_shared(&mut pair, srq, &b, wr_id).unwrap();
    }
    pair.devices[1].modify_srq(srq, 2).unwrap();
    send(&mut pair, &a, 1, 10, To::Connection);
    assert_eq!(pair.devices[1].async_event(), None);
    send(&mut pair, &c, 2, 20, To::Connection);
    assert_eq!(pair.devices[1].async_event(), Some(AsyncEvent::SharedQueueLimit(srq)));
    assert_eq!(pair.devices[1].query_srq(srq).unwrap(), (0, 1));
    send(&mut pair, &a, 3, 30, To::Connection);
    assert_eq!(pair.devices[1].async_event(), None, "the limit has one event");
    send(&mut pair, &c, 4, 40, To::Connection);
    let done: Vec<_> =
        pair.poll(1, b.cq).iter().map(|done| (done.wr_id, done.byte_len, done.qp_num)).collect();
    let [x, y] = shared.map(|end| end.qp);
    assert_eq!(done, [(0, 10, x), (1, 20, y), (2, 30, x)]);
    assert!(pair.devices[1].queue_pair_counters(y).unwrap().rnr_naks > 0);
    post_shared(&mut pair, srq, &b, 7).unwrap();
    pair.run(Time::ms(100));
    assert_eq!(pair.poll(1, b.cq).iter().map(|done| done.wr_id).collect::<Vec<_>>(), [7]);
}

/// A queue pair in the error state leaves the shared requests to others, and says that it takes no more.
#[test]
fn an_error_leaves_the_shared_requests() {
    let mut pair = Pair::new(Costs::LEAST);
    let device = &mut pair.devices[1];
    let b = end_of(device, QueuePairKind::Rc, Capacities::default());
    let srq = device.create_srq(b.pd, SHARED).unwrap();
    let init = QueuePairInit { srq: Some(srq), ..QueuePairInit::new(QueuePairKind::Rc, b.cq) };
    let qp = device.create_qp(b.pd, init).unwrap();
    for step in steps(HostId(0), b.qp) {
        device.modify_qp(qp, step, Time::ZERO).unwrap();
    }
    post_shared(&mut pair, srq, &b, 1).unwrap();
    let error = QueuePairAttributes { state: Some(QueuePairState::Error), ..QueuePairAttributes::default() };
    pair.devices[1].modify_qp(qp, error, Time::ZERO).unwrap();
    pair.run(Time::us(10));
    assert!(pair.poll(1, b.cq).is_empty());
    assert_eq!(pair.devices[1].query_srq(srq).unwrap(), (0, 1));
    assert_eq!(pair.devices[1].async_event(), Some(AsyncEvent::LastRequestReached(qp)));
}

/// An extended reliable connection: each message names a queue, and its completion is in that queue's completion queue.
#[test]
fn messages_of_xrc_name_their_queue() {
    let mut pair = Pair::new(Costs::LEAST);
    let a = end_of(&mut pair.devices[0], QueuePairKind::XrcSend, Capacities::default());
    let b = end_of(&mut pair.devices[1], QueuePairKind::Rc, Capacities::default());
    let device = &mut pair.devices[1];
    let xrcd = device.open_xrcd();
    let cqs: [Cq; 2] = [0; 2].map(|_| device.create_cq(16).unwrap());
    let srqs =
        cqs.map(|cq| device.create_srq(b.pd, SharedQueueInit { xrc: Some((xrcd, cq)), ..SHARED }).unwrap());
    let init = QueuePairInit { xrcd: Some(xrcd), ..QueuePairInit::new(QueuePairKind::XrcReceive, b.cq) };
    let r = End { qp: device.create_qp(b.pd, init).unwrap(), ..b };
    let numbers: Vec<Srqn> = srqs.iter().map(|&srq| device.srq_number(srq).unwrap()).collect();
    let [start, mut receive, mut send_step] = steps(HostId(1), r.qp);
    receive = QueuePairAttributes { max_dest_rd_atomic: None, min_rnr_timer: None, ..receive };
    for step in [start, receive, send_step] {
        pair.devices[0].modify_qp(a.qp, step, Time::ZERO).unwrap();
    }
    [_, receive, send_step] = steps(HostId(0), a.qp);
    let none = QueuePairAttributes::default();
    send_step = QueuePairAttributes {
        state: send_step.state,
        sq_psn: send_step.sq_psn,
        timeout: send_step.timeout,
        ..none
    };
    for step in [start, receive, send_step] {
        pair.devices[1].modify_qp(r.qp, step, Time::ZERO).unwrap();
    }
    for (wr_id, srq) in [(0, srqs[0]), (1, srqs[1]), (2, srqs[0])] {
        post_shared(&mut pair, srq, &b, wr_id).unwrap();
    }
    for (wr_id, length, queue) in [(1, 10, 1), (2, 20, 0), (3, 30, 0)] {
        send(&mut pair, &a, wr_id, length, To::SharedQueue(numbers[queue]));
    }
    let mut of = |cq| -> Vec<_> { pair.poll(1, cq).iter().map(|done| (done.wr_id, done.byte_len)).collect() };
    assert_eq!((of(cqs[0]), of(cqs[1]), of(b.cq)), (vec![(0, 20), (2, 30)], vec![(1, 10)], vec![]));
    // A queue of another domain is none of the connection's.
    let device = &mut pair.devices[1];
    let other = device.open_xrcd();
    let foreign = device.create_srq(b.pd, SharedQueueInit { xrc: Some((other, b.cq)), ..SHARED }).unwrap();
    let foreign = device.srq_number(foreign).unwrap();
    pair.poll(0, a.cq);
    send(&mut pair, &a, 9, 10, To::SharedQueue(foreign));
    assert_eq!(pair.poll(0, a.cq)[0].status, Status::RemoteInvalidRequest);
    assert_eq!(pair.devices[1].close_xrcd(xrcd).unwrap_err().errno, Errno::Busy);
}

#[test]
fn calls_of_shared_queues_are_checked() {
    let mut pair = Pair::new(Costs::LEAST);
    let e = end_of(&mut pair.devices[1], QueuePairKind::Rc, Capacities::default());
    let device = &mut pair.devices[1];
    let text = |error: crate::VerbsError| error.to_string();
    let error = device.create_srq(e.pd, SharedQueueInit { receives: 0, ..SHARED }).unwrap_err();
    assert_eq!(text(error), "EINVAL: create_srq: max_wr = 0: must be 1 to 32768");
    let srq = device.create_srq(e.pd, SharedQueueInit { receives: 1, ..SHARED }).unwrap();
    let error = device.modify_srq(srq, 2).unwrap_err();
    assert_eq!(text(error), "EINVAL: modify_srq: shared receive queue 0: srq_limit = 2: at most 1");
    let init = QueuePairInit { srq: Some(srq), ..QueuePairInit::new(QueuePairKind::Rc, e.cq) };
    let qp = device.create_qp(e.pd, init).unwrap();
    let error = device.post_recv(qp, ReceiveRequest { wr_id: 1, list: vec![] }, Time::ZERO).unwrap_err();
    assert_eq!(
        text(error),
        "EINVAL: post_recv: queue pair 3: its receive requests are those of a shared receive queue"
    );
    assert_eq!(device.destroy_srq(srq).unwrap_err().errno, Errno::Busy);
    assert_eq!(
        text(device.srq_number(srq).unwrap_err()),
        "EINVAL: get_srq_num: shared receive queue 0 is not one of XRC"
    );
    let xrc = QueuePairInit::new(QueuePairKind::XrcSend, e.cq);
    let error = device.create_qp(e.pd, QueuePairInit { srq: Some(srq), ..xrc }).unwrap_err();
    assert!(error.message.contains("each message names one"), "{error}");
    post_shared(&mut pair, srq, &e, 0).unwrap();
    let error = post_shared(&mut pair, srq, &e, 1).unwrap_err();
    assert_eq!(
        text(error),
        "ENOMEM: post_srq_recv: shared receive queue 0: the shared receive queue is full: it holds 1 receive requests"
    );
    let list = vec![crate::Sge { lkey: e.key ^ 1, ..sge(&e, 0, 8)[0] }];
    let error = pair.devices[1].post_srq_recv(srq, ReceiveRequest { wr_id: 1, list }).unwrap_err();
    assert!(error.message.contains("memory that is not of its protection domain"), "{error}");
    pair.devices[1].destroy_qp(qp).unwrap();
    pair.devices[1].destroy_srq(srq).unwrap();
    assert_eq!(pair.devices[1].query_srq(srq).unwrap_err().errno, Errno::Inval);
}

#[test]
fn a_region_is_registered_anew() {
    let mut pair = Pair::new(Costs::LEAST);
    let [a, b] = connected(&mut pair, Capacities::default());
    let key = b.key;
    pair.devices[1].rereg_mr(b.mr, None, Some(AccessFlags::REMOTE_READ)).unwrap();
    let key_after = pair.devices[1].key(b.mr).unwrap();
    assert_ne!(key, key_after);
    let read = |key| {
        let remote = super::remote(&End { key, ..b }, 0);
        SendRequest::read(1, sge(&a, 0, 8), remote)
    };
    pair.devices[0].post_send(a.qp, read(key_after), Time::ZERO).unwrap();
    pair.devices[0].post_send(a.qp, read(key), Time::ZERO).unwrap();
    pair.run(Time::ms(1));
    let statuses: Vec<_> = pair.poll(0, a.cq).iter().map(|done| done.status).collect();
    assert_eq!(statuses, [Status::Success, Status::RemoteAccess]);
    let on_demand = pair.devices[1].reg_mr(b.pd, 8, AccessFlags::ON_DEMAND).unwrap_err();
    assert_eq!(on_demand.errno, Errno::OpNotSupp);
}
