//! Unreliable connections and datagrams.

use fabricsim_protocols::infiniband::{Extra, QueuePairKind, QueuePairState, Status, Verb};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::Psn;
use fabricsim_wire::ids::{QKey, Qpn};

use super::pair::{End, end_of, steps};
use super::{Pair, remote, sge};
use crate::{
    Ah, Capacities, Costs, Device, Errno, Port, QueuePairAttributes, ReceiveRequest, SendRequest, To,
    WcOpcode,
};

const KEY: QKey = QKey(0x1234);

/// Brings a queue pair to a state in which it sends, with just the attributes that its service takes.
fn ready(device: &mut Device, end: &End, kind: QueuePairKind, peer: (HostId, Qpn)) {
    let [mut init, mut receive, mut send] = steps(peer.0, peer.1);
    let none = QueuePairAttributes::default();
    if kind == QueuePairKind::Ud {
        init = QueuePairAttributes { access: None, q_key: Some(KEY), ..init };
        receive = QueuePairAttributes { state: receive.state, ..none };
    } else {
        receive = QueuePairAttributes { max_dest_rd_atomic: None, min_rnr_timer: None, ..receive };
    }
    send = QueuePairAttributes { state: send.state, sq_psn: Some(Psn::new(7)), ..none };
    for step in [init, receive, send] {
        device.modify_qp(end.qp, step, Time::ZERO).unwrap();
    }
}

fn ends(pair: &mut Pair, kind: QueuePairKind) -> [End; 2] {
    let ends = [0, 1].map(|host| end_of(&mut pair.devices[host], kind, Capacities::default()));
    for host in 0..2 {
        let peer = (HostId(1 - host as u32), ends[1 - host].qp);
        ready(&mut pair.devices[host], &ends[host], kind, peer);
    }
    ends
}

fn datagram(ah: Ah, end: &End) -> To {
    To::Datagram { ah, qp: end.qp, q_key: KEY }
}

fn receive(pair: &mut Pair, end: &End, wr_id: u64, offset: u64, length: u32) {
    let list = sge(end, offset, length);
    pair.devices[1].post_recv(end.qp, ReceiveRequest { wr_id, list }, Time::ZERO).unwrap();
}

/// Messages of an unreliable connection arrive whole or not at all, and their senders do not know.
#[test]
fn a_lost_packet_loses_its_message_only() {
    let mut lost_any = 0;
    for seed in 0..20 {
        let mut pair = Pair::new(Costs::LEAST).with_loss(10, seed);
        let [a, b] = ends(&mut pair, QueuePairKind::Uc);
        for message in 0..6_u8 {
            let length = 1500;
            pair.devices[0]
                .write_memory(a.mr, 2000 * u64::from(message), &vec![message + 1; length])
                .unwrap();
            receive(&mut pair, &b, u64::from(message), 2000 * u64::from(message), 1600);
            let list = sge(&a, 2000 * u64::from(message), length as u32);
            let request = SendRequest::send(u64::from(message), list);
            pair.devices[0].post_send(a.qp, request, Time::ZERO).unwrap();
        }
        pair.run(Time::ms(10));
        let sent = pair.poll(0, a.cq);
        assert_eq!(sent.iter().map(|done| done.wr_id).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        assert!(sent.iter().all(|done| done.status == Status::Success));
        let received = pair.poll(1, b.cq);
        let counters = pair.devices[1].unreliable_counters(b.qp).unwrap().unwrap();
        assert_eq!(counters.messages, received.len() as u64);
        lost_any += 6 - received.len();
        // The receive requests are used in their order, and hold whole messages, in the order of posting.
        let mut before = 0;
        for (place, done) in received.iter().enumerate() {
            assert_eq!((done.wr_id, done.byte_len), (place as u64, 1500));
            let bytes = pair.devices[1].read_memory(b.mr, 2000 * place as u64, 1500).unwrap();
            assert!(bytes[0] > before && bytes.iter().all(|&byte| byte == bytes[0]), "seed {seed}");
            before = bytes[0];
        }
    }
    assert!(lost_any > 10, "{lost_any} of 120 messages were lost: two packets each, of which 10 % are lost");
}

#[test]
fn an_unreliable_connection_writes_and_does_not_read() {
    let mut pair = Pair::new(Costs::LEAST);
    let [a, b] = ends(&mut pair, QueuePairKind::Uc);
    pair.devices[0].write_memory(a.mr, 0, &[9; 3000]).unwrap();
    let write = SendRequest::write(1, sge(&a, 0, 3000), remote(&b, 50));
    pair.devices[0].post_send(a.qp, write, Time::ZERO).unwrap();
    let read = SendRequest::new(2, Verb::Read(remote(&b, 0)), sge(&a, 0, 8));
    let error = pair.devices[0].post_send(a.qp, read, Time::ZERO).unwrap_err();
    assert_eq!(
        error.to_string(),
        "EINVAL: post_send: queue pair 2: an unreliable connection has no RDMA READ; allowed: SEND and RDMA WRITE"
    );
    // A wrong key is counted, and reported to no program.
    let mut wrong = SendRequest::write(3, sge(&a, 0, 8), remote(&b, 4000));
    if let Verb::Write(remote) = &mut wrong.verb {
        remote.r_key.0 ^= 1;
    }
    pair.devices[0].post_send(a.qp, wrong, Time::ZERO).unwrap();
    pair.run(Time::ms(1));
    assert_eq!(pair.devices[1].read_memory(b.mr, 50, 3000).unwrap(), [9; 3000]);
    assert_eq!(pair.devices[1].read_memory(b.mr, 4000, 8).unwrap(), [0; 8]);
    let done = pair.poll(0, a.cq);
    assert_eq!(
        done.iter().map(|done| (done.wr_id, done.status)).collect::<Vec<_>>(),
        [(1, Status::Success), (3, Status::Success)]
    );
    assert_eq!(pair.devices[1].unreliable_counters(b.qp).unwrap().unwrap().refused, 1);
    assert_eq!(pair.devices[1].state(b.qp).unwrap(), QueuePairState::ReadyToSend);
}

/// A datagram names its receiver, and its completion names its sender. 40 bytes are kept for a route header.
#[test]
fn datagrams_name_their_ends() {
    let mut pair = Pair::new(Costs::LEAST);
    let [a, b] = ends(&mut pair, QueuePairKind::Ud);
    let ah = pair.devices[0].create_ah(a.pd, HostId(1)).unwrap();
    pair.devices[0].write_memory(a.mr, 0, &[7; 100]).unwrap();
    receive(&mut pair, &b, 5, 0, 200);
    let extra = Extra::Immediate(77);
    let request = SendRequest { extra, ..SendRequest::send(1, sge(&a, 0, 100)) };
    pair.devices[0].post_send(a.qp, request.with_receiver(datagram(ah, &b)), Time::ZERO).unwrap();
    pair.run(Time::ms(1));
    assert_eq!(pair.poll(0, a.cq)[0].status, Status::Success);
    let done = pair.poll(1, b.cq)[0];
    assert_eq!(
        (done.wr_id, done.opcode, done.byte_len, done.extra, done.source.map(|(from, qp)| (from.host, qp))),
        (5, WcOpcode::Recv, 140, extra, Some((HostId(0), a.qp)))
    );
    let memory = pair.devices[1].read_memory(b.mr, 0, 150).unwrap();
    assert_eq!(
        (&memory[..40], &memory[40..140], &memory[140..]),
        (&[0; 40][..], &[7; 100][..], &[0; 10][..])
    );
}

/// A receive request whose memory was deregistered ends with an error, and its queue pair with it: before the message comes, and between its packets. The
/// sender does not know.
#[test]
fn memory_that_is_withdrawn_ends_the_receiving_queue_pair() {
    let cases = [
        (QueuePairKind::Uc, 900, 0),
        (QueuePairKind::Uc, 8000, 145),
        (QueuePairKind::Ud, 900, 0),
        (QueuePairKind::Ud, 0, 0),
    ];
    for (kind, length, at) in cases {
        let mut pair = Pair::new(Costs::LEAST);
        let [a, b] = ends(&mut pair, kind);
        pair.devices[0].write_memory(a.mr, 0, &[7; 8000]).unwrap();
        receive(&mut pair, &b, 1, 0, 9000);
        receive(&mut pair, &b, 2, 0, 9000);
        let mut request = SendRequest::send(5, sge(&a, 0, length));
        if kind == QueuePairKind::Ud {
            let ah = pair.devices[0].create_ah(a.pd, HostId(1)).unwrap();
            request = request.with_receiver(datagram(ah, &b));
        }
        pair.devices[0].post_send(a.qp, request, Time::ZERO).unwrap();
        pair.run(Time::ns(at));
        pair.devices[1].dereg_mr(b.mr).unwrap();
        pair.run(Time::ms(1));
        let what = format!("{kind:?}, {length} B");
        assert_eq!(pair.poll(0, a.cq)[0].status, Status::Success, "{what}");
        let is_written = length > 0;
        let found: Vec<_> = pair.poll(1, b.cq).iter().map(|done| (done.wr_id, done.status)).collect();
        let (first, second) = if is_written {
            (Status::LocalProtection, vec![(2, Status::Flushed)])
        } else {
            // Nothing is written: the message is received.
            (Status::Success, vec![])
        };
        assert_eq!(found, [vec![(1, first)], second].concat(), "{what}");
        let state = if is_written { QueuePairState::Error } else { QueuePairState::ReadyToSend };
        assert_eq!(pair.devices[1].state(b.qp).unwrap(), state, "{what}");
    }
}

/// A datagram is dropped silently: for another queue key, without a receive request, and for one that is too short.
#[test]
fn datagrams_that_do_not_fit_are_counted() {
    let mut pair = Pair::new(Costs::LEAST);
    let [a, b] = ends(&mut pair, QueuePairKind::Ud);
    let ah = pair.devices[0].create_ah(a.pd, HostId(1)).unwrap();
    let good = datagram(ah, &b);
    let send = |pair: &mut Pair, to, length| {
        let request = SendRequest::send(1, sge(&a, 0, length)).with_receiver(to);
        pair.devices[0].post_send(a.qp, request, pair.now).unwrap();
        pair.run(pair.now + Time::us(100));
    };
    send(&mut pair, good, 10);
    receive(&mut pair, &b, 1, 0, 49);
    send(&mut pair, good, 10);
    send(&mut pair, To::Datagram { ah, qp: b.qp, q_key: QKey(9) }, 9);
    send(&mut pair, To::Datagram { ah, qp: Qpn(99), q_key: KEY }, 9);
    assert!(pair.poll(1, b.cq).is_empty());
    let counters = pair.devices[1].unreliable_counters(b.qp).unwrap().unwrap();
    assert_eq!((counters.no_receive, counters.wrong_length, counters.q_key, counters.messages), (1, 1, 1, 0));
    assert_eq!(pair.devices[1].counters().unknown, 1);
    // The receive request that was too short serves the next datagram; the highest bit of a key stands for the sender's own.
    send(&mut pair, To::Datagram { ah, qp: b.qp, q_key: QKey(1 << 31) }, 9);
    assert_eq!(pair.poll(1, b.cq).len(), 1);
    assert_eq!(pair.poll(0, a.cq).len(), 5);
}

#[test]
fn datagrams_are_checked_when_they_are_posted() {
    let mut pair = Pair::new(Costs::LEAST);
    pair.devices =
        pair.devices.map(|device| device.with_port(Port { mtu: 2048, hosts: 2, ..Port::default() }));
    let [a, b] = ends(&mut pair, QueuePairKind::Ud);
    let device = &mut pair.devices[0];
    let ah = device.create_ah(a.pd, HostId(1)).unwrap();
    let other_pd = device.alloc_pd();
    let other = device.create_ah(other_pd, HostId(1)).unwrap();
    let mut refusal = |request: SendRequest| device.post_send(a.qp, request, Time::ZERO).unwrap_err().message;
    let of = |length| SendRequest::send(1, sge(&a, 0, length));
    let prefix = "post_send: queue pair 2: ";
    for (request, text) in [
        (of(8), "a datagram needs an address handle, a queue pair and a queue key"),
        (
            of(2049).with_receiver(datagram(ah, &b)),
            "a message of 2049 B is longer than 2048 B, the longest allowed",
        ),
        (of(8).with_receiver(datagram(other, &b)), "address handle 1 is of another protection domain"),
        (of(8).with_receiver(datagram(Ah(7), &b)), "there is no address handle 7"),
        (
            SendRequest::write(1, sge(&a, 0, 8), remote(&b, 0)).with_receiver(datagram(ah, &b)),
            "an unreliable datagram queue pair has no RDMA WRITE; allowed: SEND",
        ),
    ] {
        assert_eq!(refusal(request), format!("{prefix}{text}"));
    }
    assert!(!pair.devices[0].is_busy(), "nothing was posted");
    let error = pair.devices[0].create_ah(a.pd, HostId(2)).unwrap_err();
    assert_eq!(error.to_string(), "EINVAL: create_ah: there is no host 2: the fabric has 2");
    assert_eq!(pair.devices[0].dealloc_pd(other_pd).unwrap_err().errno, Errno::Busy);
    pair.devices[0].destroy_ah(other).unwrap();
    pair.devices[0].dealloc_pd(other_pd).unwrap();
}

/// In the error state, everything ends as flushed, whatever the service.
#[test]
fn errors_flush_unreliable_queue_pairs() {
    for kind in [QueuePairKind::Uc, QueuePairKind::Ud] {
        let mut pair = Pair::new(Costs::LEAST);
        let [a, b] = ends(&mut pair, kind);
        receive(&mut pair, &b, 4, 0, 100);
        let error =
            QueuePairAttributes { state: Some(QueuePairState::Error), ..QueuePairAttributes::default() };
        pair.devices[1].modify_qp(b.qp, error, Time::ZERO).unwrap();
        pair.run(Time::us(10));
        let done = pair.poll(1, b.cq);
        assert_eq!((done.len(), done[0].wr_id, done[0].status), (1, 4, Status::Flushed));
        // What arrives now finds no receiver.
        let to = if kind == QueuePairKind::Ud {
            datagram(pair.devices[0].create_ah(a.pd, HostId(1)).unwrap(), &b)
        } else {
            To::Connection
        };
        let request = SendRequest::send(1, sge(&a, 0, 8)).with_receiver(to);
        pair.devices[0].post_send(a.qp, request, pair.now).unwrap();
        pair.run(Time::us(100));
        assert_eq!(pair.devices[1].queue_pair_counters(b.qp).unwrap().dropped, 1);
        assert_eq!(pair.poll(0, a.cq)[0].status, Status::Success);
    }
}
