//! Wrong keys, ranges, permissions and domains: the status at both ends, the error state, and not a byte is written.

use fabricsim_protocols::infiniband::{QueuePairState, Remote, Status, Verb};
use fabricsim_units::Time;
use fabricsim_wire::ids::RKey;

use super::pair::{End, SIZE};
use super::{Pair, connected, remote, sge};
use crate::{AccessFlags, AsyncEvent, Capacities, Costs, ReceiveRequest, SendRequest, Sge};

fn pair() -> (Pair, [End; 2]) {
    let mut pair = Pair::new(Costs::LEAST);
    let ends = connected(&mut pair, Capacities::default());
    pair.devices[0].write_memory(ends[0].mr, 0, &vec![1; SIZE as usize]).unwrap();
    pair.devices[1].write_memory(ends[1].mr, 0, &vec![2; SIZE as usize]).unwrap();
    (pair, ends)
}

/// Posts a bad request between two good ones. Returns the statuses at the sender.
fn statuses(pair: &mut Pair, ends: &[End; 2], bad: SendRequest) -> Vec<Status> {
    let [a, b] = ends;
    pair.devices[1].post_recv(b.qp, ReceiveRequest { wr_id: 70, list: sge(b, 0, 8) }, pair.now).unwrap();
    for request in [
        SendRequest::write(1, sge(a, 0, 4), remote(b, 100)),
        bad,
        SendRequest::write(3, sge(a, 0, 4), remote(b, 200)),
    ] {
        pair.devices[0].post_send(a.qp, request, pair.now).unwrap();
    }
    pair.run(Time::ms(1000));
    assert_eq!(pair.devices[0].state(a.qp).unwrap(), QueuePairState::Error);
    let done = pair.poll(0, a.cq);
    assert_eq!(done.iter().map(|done| done.wr_id).collect::<Vec<_>>(), [1, 2, 3]);
    done.iter().map(|done| done.status).collect()
}

#[test]
fn remote_memory_is_protected() {
    let other_domain = |pair: &mut Pair| {
        let pd = pair.devices[1].alloc_pd();
        let mr = pair.devices[1].reg_mr(pd, 64, AccessFlags(0xf)).unwrap();
        Remote { va: pair.devices[1].address(mr).unwrap(), r_key: RKey(pair.devices[1].key(mr).unwrap()) }
    };
    let read_only = |pair: &mut Pair, pd| {
        let mr = pair.devices[1].reg_mr(pd, 64, AccessFlags::REMOTE_READ).unwrap();
        Remote { va: pair.devices[1].address(mr).unwrap(), r_key: RKey(pair.devices[1].key(mr).unwrap()) }
    };
    for case in 0..6 {
        let (mut pair, ends) = pair();
        let [a, b] = ends;
        let good = remote(&b, 304);
        let (list, verb) = match case {
            0 => (8, Verb::Write(Remote { r_key: RKey(good.r_key.0 ^ 1), ..good })),
            1 => (8, Verb::Write(remote(&b, SIZE - 7))),
            2 => (8, Verb::Read(remote(&b, SIZE - 7))),
            3 => (8, Verb::Write(other_domain(&mut pair))),
            4 => (8, Verb::Write(read_only(&mut pair, b.pd))),
            _ => (8, Verb::FetchAdd { remote: Remote { r_key: RKey(0), ..good }, add: 1 }),
        };
        let bad = SendRequest::new(2, verb, sge(&a, 0, list));
        let found = statuses(&mut pair, &ends, bad);
        assert_eq!(found, [Status::Success, Status::RemoteAccess, Status::Flushed], "case {case}");
        assert_eq!(pair.devices[1].state(b.qp).unwrap(), QueuePairState::Error);
        assert_eq!(pair.devices[1].async_event(), Some(AsyncEvent::QueuePairAccess(b.qp)));
        // The receiver's own request is flushed; of its memory only the good WRITE is changed.
        let flushed = pair.poll(1, b.cq);
        assert_eq!((flushed.len(), flushed[0].status, flushed[0].wr_id), (1, Status::Flushed, 70));
        let mut expected = vec![2; SIZE as usize];
        expected[100..104].copy_from_slice(&[1; 4]);
        assert!(pair.devices[1].read_memory(b.mr, 0, SIZE).unwrap() == expected, "case {case}");
        assert!(pair.devices[0].read_memory(a.mr, 0, SIZE).unwrap() == vec![1; SIZE as usize], "case {case}");
    }
}

/// Permissions of the queue pair count as well as those of the memory.
#[test]
fn a_queue_pair_that_allows_nothing_refuses_writes() {
    let (mut pair, ends) = pair();
    let deny = crate::QueuePairAttributes {
        state: Some(QueuePairState::ReadyToSend),
        access: Some(AccessFlags::default()),
        ..crate::QueuePairAttributes::default()
    };
    pair.devices[1].modify_qp(ends[1].qp, deny, Time::ZERO).unwrap();
    let [a, b] = ends;
    pair.devices[0].post_send(a.qp, SendRequest::write(1, sge(&a, 0, 4), remote(&b, 0)), Time::ZERO).unwrap();
    pair.run(Time::ms(1000));
    assert_eq!(pair.poll(0, a.cq)[0].status, Status::RemoteAccess);
}

#[test]
fn local_memory_is_protected() {
    for case in 0..3 {
        let (mut pair, ends) = pair();
        let [a, b] = ends;
        let other = pair.devices[0].alloc_pd();
        let theirs = pair.devices[0].reg_mr(other, 64, AccessFlags(0xf)).unwrap();
        let constant = pair.devices[0].reg_mr(a.pd, 64, AccessFlags::default()).unwrap();
        let whole = |pair: &Pair, mr| {
            vec![Sge {
                addr: pair.devices[0].address(mr).unwrap(),
                length: 8,
                lkey: pair.devices[0].key(mr).unwrap(),
            }]
        };
        let bad = match case {
            0 => SendRequest::write(2, vec![Sge { lkey: a.key ^ 1, ..sge(&a, 0, 8)[0] }], remote(&b, 300)),
            1 => SendRequest::write(2, whole(&pair, theirs), remote(&b, 300)),
            // A READ writes to local memory.
            _ => SendRequest::read(2, whole(&pair, constant), remote(&b, 300)),
        };
        let found = statuses(&mut pair, &ends, bad);
        assert_eq!(found[1..], [Status::LocalProtection, Status::Flushed], "case {case}");
        let at_300 = pair.devices[1].read_memory(b.mr, 300, 8).unwrap();
        assert_eq!(at_300, [2; 8]);
    }
}

#[test]
fn too_long_a_message_ends_both_queue_pairs() {
    let (mut pair, ends) = pair();
    let [a, b] = ends;
    let found = statuses(&mut pair, &ends, SendRequest::send(2, sge(&a, 0, 9)));
    assert_eq!(found, [Status::Success, Status::RemoteInvalidRequest, Status::Flushed]);
    let received = pair.poll(1, b.cq);
    assert_eq!((received[0].status, received[0].wr_id), (Status::LocalLength, 70));
    assert_eq!(pair.devices[1].async_event(), Some(AsyncEvent::QueuePairRequest(b.qp)));
}

/// Packets for queue pairs that are not there, or from a host that is not connected, are counted and change nothing.
#[test]
fn packets_of_others_are_dropped() {
    let (mut pair, [a, b]) = pair();
    pair.devices[0].post_send(a.qp, SendRequest::write(1, sge(&a, 0, 4), remote(&b, 0)), Time::ZERO).unwrap();
    pair.devices[0].expire(Time::us(1));
    let mut sent = pair.devices[0].send(0, Time::us(1)).unwrap();
    let content = sent.content.as_deref();
    let from = fabricsim_units::HostId;
    pair.devices[1].receive(from(5), &sent.packet.headers, (4, content), Time::us(2));
    assert_eq!(pair.devices[1].queue_pair_counters(b.qp).unwrap().dropped, 1);
    sent.packet.headers.bth.dest_qp.0 += 1;
    pair.devices[1].receive(from(0), &sent.packet.headers, (4, content), Time::us(2));
    assert_eq!(pair.devices[1].counters().unknown, 1);
    assert_eq!(pair.devices[1].read_memory(b.mr, 0, 4).unwrap(), [2; 4]);
    sent.packet.headers.bth.dest_qp.0 -= 1;
    pair.devices[1].receive(from(0), &sent.packet.headers, (4, content), Time::us(2));
    assert_eq!(pair.devices[1].read_memory(b.mr, 0, 4).unwrap(), [1; 4]);
}

/// Packets of a hollow region have their length and no bytes, and those for it change nothing.
#[test]
fn a_hollow_region_neither_sends_nor_takes_bytes() {
    let (mut pair, [a, b]) = pair();
    let now = Time::us(1);
    let write = SendRequest::write(1, sge(&a, 0, 4), remote(&b, 0));
    let [first, second] = &mut pair.devices;
    first.set_hollow(a.mr, true).unwrap();
    first.post_send(a.qp, write.clone(), Time::ZERO).unwrap();
    first.expire(now);
    let sent = first.send(0, now).unwrap();
    assert_eq!((sent.packet.length, sent.content), (4, None));
    second.receive(fabricsim_units::HostId(0), &sent.packet.headers, (4, None), now);
    second.set_hollow(b.mr, true).unwrap();
    first.set_hollow(a.mr, false).unwrap();
    first.post_send(a.qp, write, now).unwrap();
    first.expire(Time::us(2));
    let sent = first.send(0, Time::us(2)).unwrap();
    assert_eq!(sent.content.as_deref(), Some(&[1; 4][..]));
    second.receive(fabricsim_units::HostId(0), &sent.packet.headers, (4, Some(&[1; 4])), Time::us(2));
    second.set_hollow(b.mr, false).unwrap();
    assert_eq!(second.read_memory(b.mr, 0, 4).unwrap(), [2; 4]);
    assert!(second.set_hollow(crate::Mr(99), true).is_err());
}

/// A region that is lent has no bytes, and has those that it is given back.
#[test]
fn memory_is_lent_and_taken_back() {
    let (mut pair, ends) = pair();
    let device = &mut pair.devices[0];
    let mr = ends[0].mr;
    let mut bytes = device.lend_memory(mr).unwrap();
    assert_eq!(bytes, vec![1; SIZE as usize]);
    assert!(device.read_memory(mr, 0, 1).is_err());
    bytes[7] = 42;
    device.take_back_memory(mr, bytes);
    assert_eq!(device.read_memory(mr, 6, 3).unwrap(), [1, 42, 1]);
}

/// A region that is deregistered while the packets of a message are sent: the message fails at the end that may not use it any more, with its status, and
/// at the other one. Without the checks of each packet all succeeded.
#[test]
fn memory_that_is_withdrawn_ends_the_message_that_uses_it() {
    let verbs: [fn(&End) -> Verb; 3] =
        [|_| Verb::Send, |b| Verb::Write(remote(b, 0)), |b| Verb::Read(remote(b, 0))];
    let expected = [
        [(Status::LocalProtection, None), (Status::RemoteOperation, Some(Status::LocalProtection))],
        [(Status::LocalProtection, None), (Status::RemoteAccess, None)],
        [(Status::LocalProtection, None), (Status::RemoteAccess, None)],
    ];
    for (verb, expected) in verbs.into_iter().zip(expected) {
        for (closes, (status, received)) in expected.into_iter().enumerate() {
            let (mut pair, ends) = pair();
            let [a, b] = &ends;
            let list = sge(b, 0, 10_000);
            pair.devices[1].post_recv(b.qp, ReceiveRequest { wr_id: 70, list }, pair.now).unwrap();
            let request = SendRequest::new(1, verb(b), sge(a, 0, 10_000));
            pair.devices[0].post_send(a.qp, request, pair.now).unwrap();
            pair.devices[0]
                .post_send(a.qp, SendRequest::write(2, sge(a, 0, 0), remote(b, 0)), pair.now)
                .unwrap();
            // Three packets, or more, have left or come, and not all.
            let until = if matches!(verb(b), Verb::Read(_)) { [260, 150] } else { [45, 145] };
            let until = Time::ns(until[closes]);
            pair.run(until);
            pair.devices[closes].dereg_mr(ends[closes].mr).unwrap();
            pair.run(Time::ms(1000));
            let what = format!("{:?}, closed at {closes}", verb(b));
            let done: Vec<_> = pair.poll(0, a.cq).iter().map(|done| (done.wr_id, done.status)).collect();
            assert_eq!(done, [(1, status), (2, Status::Flushed)], "{what}");
            assert_eq!(pair.devices[0].state(a.qp).unwrap(), QueuePairState::Error, "{what}");
            let found = pair.poll(1, b.cq).first().map(|done| done.status);
            assert_eq!(found.filter(|status| *status != Status::Flushed), received, "{what}");
            if closes == 1 {
                assert_eq!(pair.devices[1].state(b.qp).unwrap(), QueuePairState::Error, "{what}");
            }
            // The other end has a part of the message, and not the rest.
            let (host, mr, own, theirs) =
                if matches!(verb(b), Verb::Read(_)) { (0, a.mr, 1, 2) } else { (1, b.mr, 2, 1) };
            if closes != host {
                let bytes = pair.devices[host].read_memory(mr, 0, 10_000).unwrap();
                let whole = bytes.iter().position(|&byte| byte == own).unwrap();
                assert!(whole >= 1024 && whole.is_multiple_of(1024), "{what}: {whole}");
                assert!(bytes[..whole].iter().all(|&byte| byte == theirs), "{what}");
            }
        }
    }
}

/// Datagrams and unreliable connections have no message of which a part is missing either.
#[test]
fn memory_that_is_withdrawn_before_a_message_comes_is_not_reported_as_written() {
    let (mut pair, [a, b]) = pair();
    let receive = ReceiveRequest { wr_id: 70, list: sge(&b, 0, 8) };
    pair.devices[1].post_recv(b.qp, receive, pair.now).unwrap();
    pair.devices[1].dereg_mr(b.mr).unwrap();
    pair.devices[0].post_send(a.qp, SendRequest::send(1, sge(&a, 0, 8)), pair.now).unwrap();
    pair.run(Time::ms(1000));
    assert_eq!(pair.poll(0, a.cq)[0].status, Status::RemoteOperation);
    assert_eq!(pair.poll(1, b.cq)[0].status, Status::LocalProtection);
}
