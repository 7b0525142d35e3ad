//! Errors of calls: number, object, what is missing; and turns of queue pairs.

use fabricsim_protocols::infiniband::{Extra, QueuePairKind, QueuePairState, Status};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::ids::Qpn;

use super::pair::{end, steps};
use super::{Pair, connected, remote, sge};
use crate::{
    Capacities, Costs, Device, Errno, Mr, Pd, QueuePairAttributes, QueuePairInit, ReceiveRequest,
    SendRequest, WcOpcode,
};

#[test]
fn errors_name_object_attribute_and_what_is_allowed() {
    let mut device = Device::new(HostId(0), Costs::LEAST);
    let e = end(&mut device, Capacities::default());
    let init = QueuePairInit::new(QueuePairKind::Rc, e.cq);
    let long = Capacities { send: 40_000, ..Capacities::default() };
    let mut missing = steps(HostId(1), Qpn(2))[1];
    missing.rq_psn = None;
    let [reset, ..] = steps(HostId(1), Qpn(2));
    let text = |error: crate::VerbsError| error.to_string();
    assert_eq!(text(device.create_cq(0).unwrap_err()), "EINVAL: create_cq: cqe = 0: must be 1 to 4194303");
    let error = device.create_qp(e.pd, QueuePairInit { capacities: long, ..init }).unwrap_err();
    assert_eq!(text(error), "EINVAL: create_qp: max_send_wr = 40000: at most 32768");
    let error = device.create_qp(Pd(9), init).unwrap_err();
    assert_eq!(text(error), "EINVAL: there is no protection domain 9");
    let error =
        device.create_qp(e.pd, QueuePairInit { kind: QueuePairKind::XrcReceive, ..init }).unwrap_err();
    assert_eq!(text(error), "EINVAL: create_qp: the end of XRC that receives needs an XRC domain");
    let error = device.post_send(e.qp, SendRequest::send(1, Vec::new()), Time::ZERO).unwrap_err();
    assert_eq!(text(error), "EINVAL: post_send: queue pair 2: state RESET: must be RTS");
    device.modify_qp(e.qp, reset, Time::ZERO).unwrap();
    let error = device.modify_qp(e.qp, missing, Time::ZERO).unwrap_err();
    assert_eq!(text(error), "EINVAL: modify_qp: queue pair 2: INIT to RTR needs RQ_PSN");
    let bad = QueuePairAttributes { path_mtu: Some(1000), ..steps(HostId(1), Qpn(2))[1] };
    let error = device.modify_qp(e.qp, bad, Time::ZERO).unwrap_err();
    assert!(text(error).ends_with("path_mtu = 1000 B: must be 256, 512, 1024, 2048 or 4096 B"));
    assert_eq!(text(device.dereg_mr(Mr(3)).unwrap_err()), "EINVAL: there is no memory region 3");
    assert_eq!(device.dealloc_pd(e.pd).unwrap_err().errno, Errno::Busy);
    let receive = ReceiveRequest { wr_id: 1, list: vec![crate::Sge { lkey: 5, ..sge(&e, 0, 4)[0] }] };
    assert!(text(device.post_recv(e.qp, receive, Time::ZERO).unwrap_err()).contains("protection domain"));
}

#[test]
fn queues_have_their_lengths() {
    let mut pair = Pair::new(Costs::LEAST);
    let caps = Capacities { send: 2, receive: 3, send_pieces: 1, inline: 10, ..Capacities::default() };
    let [a, b] = connected(&mut pair, caps);
    let device = &mut pair.devices[0];
    let receive = || ReceiveRequest { wr_id: 1, list: sge(&a, 0, 4) };
    for _ in 0..3 {
        device.post_recv(a.qp, receive(), Time::ZERO).unwrap();
    }
    assert_eq!(device.post_recv(a.qp, receive(), Time::ZERO).unwrap_err().errno, Errno::NoMem);
    let two = [sge(&a, 0, 4), sge(&a, 8, 4)].concat();
    assert!(device.post_send(a.qp, SendRequest::write(1, two, remote(&b, 0)), Time::ZERO).is_err());
    let inline = |length| SendRequest {
        inline: Some(vec![0; length]),
        ..SendRequest::write(1, Vec::new(), remote(&b, 0))
    };
    assert!(device.post_send(a.qp, inline(11), Time::ZERO).is_err());
    device.post_send(a.qp, inline(10), Time::ZERO).unwrap();
}

/// A write with immediate data takes a receive request, and leaves its memory.
#[test]
fn immediate_data_comes_with_its_message() {
    let mut pair = Pair::new(Costs::LEAST);
    let [a, b] = connected(&mut pair, Capacities::default());
    pair.devices[1].post_recv(b.qp, ReceiveRequest { wr_id: 9, list: sge(&b, 0, 4) }, Time::ZERO).unwrap();
    pair.devices[0].write_memory(a.mr, 0, &[5; 8]).unwrap();
    let request =
        SendRequest { extra: Extra::Immediate(77), ..SendRequest::write(1, sge(&a, 0, 8), remote(&b, 100)) };
    pair.devices[0].post_send(a.qp, request, Time::ZERO).unwrap();
    pair.run(Time::us(100));
    let got = pair.poll(1, b.cq);
    assert_eq!(
        (got[0].opcode, got[0].extra, got[0].byte_len),
        (WcOpcode::RecvRdmaWithImm, Extra::Immediate(77), 8)
    );
    assert_eq!(pair.devices[1].read_memory(b.mr, 0, 4).unwrap(), [0; 4]);
    assert_eq!(pair.devices[1].read_memory(b.mr, 100, 8).unwrap(), [5; 8]);
}

/// Messages that meet no receive request wait, and are sent anew when the time of the RNR NAK is over.
#[test]
fn a_receiver_that_is_not_ready_is_asked_again() {
    let mut pair = Pair::new(Costs::LEAST);
    let [a, b] = connected(&mut pair, Capacities::default());
    pair.devices[0].post_send(a.qp, SendRequest::send(1, sge(&a, 0, 8)), Time::ZERO).unwrap();
    pair.run(Time::us(5));
    assert_eq!(pair.devices[1].queue_pair_counters(b.qp).unwrap().rnr_naks, 1);
    pair.devices[1].post_recv(b.qp, ReceiveRequest { wr_id: 9, list: sge(&b, 0, 8) }, pair.now).unwrap();
    pair.run(Time::us(9));
    assert!(pair.poll(1, b.cq).is_empty(), "RNR timer 1 is 10 us");
    pair.run(Time::us(30));
    assert_eq!(pair.poll(1, b.cq).len(), 1);
    assert_eq!(pair.poll(0, a.cq)[0].status, Status::Success);
}

/// A responder without resources for READs refuses the first, as one with too many; with one it answers.
#[test]
fn a_responder_without_resources_refuses_reads() {
    for (resources, status) in [(0, Status::RemoteInvalidRequest), (1, Status::Success)] {
        let mut pair = Pair::new(Costs::LEAST);
        let ends = [0, 1].map(|host| end(&mut pair.devices[host], Capacities::default()));
        for host in 0..2 {
            let [init, receive, send] = steps(HostId(1 - host as u32), ends[1 - host].qp);
            let receive = QueuePairAttributes { max_dest_rd_atomic: Some(resources), ..receive };
            for step in [init, receive, send] {
                pair.devices[host].modify_qp(ends[host].qp, step, Time::ZERO).unwrap();
            }
        }
        let [a, b] = &ends;
        pair.devices[1].write_memory(b.mr, 100, &[7; 8]).unwrap();
        let request = SendRequest::read(1, sge(a, 0, 8), remote(b, 100));
        pair.devices[0].post_send(a.qp, request, Time::ZERO).unwrap();
        pair.run(Time::us(100));
        assert_eq!(pair.poll(0, a.cq)[0].status, status, "{resources} READs at the responder");
        let copied = if resources == 0 { [0; 8] } else { [7; 8] };
        assert_eq!(pair.devices[0].read_memory(a.mr, 0, 8).unwrap(), copied);
    }
}

/// Two queue pairs with much to send share the link in turn, packet by packet.
#[test]
fn queue_pairs_take_turns() {
    let mut pair = Pair::new(Costs::LEAST);
    let first = connected(&mut pair, Capacities::default());
    let second = connected(&mut pair, Capacities::default());
    for [a, b] in [first, second] {
        pair.devices[0]
            .post_send(a.qp, SendRequest::write(1, sge(&a, 0, 10_240), remote(&b, 0)), Time::ZERO)
            .unwrap();
    }
    pair.devices[0].expire(Time::us(1));
    let mut order = Vec::new();
    while let Some(sent) = pair.devices[0].send(0, Time::us(1)) {
        order.push(sent.packet.headers.bth.dest_qp.0);
    }
    let expected: Vec<u32> = (0..10).flat_map(|_| [first[1].qp.0, second[1].qp.0]).collect();
    assert_eq!(order, expected);
}

/// In the error state everything ends as flushed, what is posted later as well; RESET makes a queue pair as new.
#[test]
fn the_error_state_flushes_and_reset_forgets() {
    let mut pair = Pair::new(Costs::LEAST);
    let [a, b] = connected(&mut pair, Capacities::default());
    let to = |state| QueuePairAttributes { state: Some(state), ..QueuePairAttributes::default() };
    pair.devices[0].post_recv(a.qp, ReceiveRequest { wr_id: 4, list: sge(&a, 0, 8) }, Time::ZERO).unwrap();
    pair.devices[0].post_send(a.qp, SendRequest::write(1, sge(&a, 0, 8), remote(&b, 0)), Time::ZERO).unwrap();
    pair.devices[0].modify_qp(a.qp, to(QueuePairState::Error), Time::ZERO).unwrap();
    pair.devices[0].post_send(a.qp, SendRequest::write(2, sge(&a, 0, 8), remote(&b, 0)), Time::ZERO).unwrap();
    pair.devices[0].post_recv(a.qp, ReceiveRequest { wr_id: 5, list: sge(&a, 0, 8) }, Time::ZERO).unwrap();
    pair.run(Time::us(10));
    let done = pair.poll(0, a.cq);
    assert!(done.iter().all(|done| done.status == Status::Flushed));
    assert_eq!(done.iter().map(|done| done.wr_id).collect::<Vec<_>>(), [1, 4, 2, 5]);
    assert_eq!(pair.devices[1].read_memory(b.mr, 0, 8).unwrap(), [0; 8]);
    pair.devices[0].modify_qp(a.qp, to(QueuePairState::Reset), Time::ZERO).unwrap();
    assert!(
        pair.devices[0].post_recv(a.qp, ReceiveRequest { wr_id: 6, list: Vec::new() }, Time::ZERO).is_err()
    );
    for step in steps(HostId(1), b.qp) {
        pair.devices[0].modify_qp(a.qp, step, Time::ZERO).unwrap();
    }
}
