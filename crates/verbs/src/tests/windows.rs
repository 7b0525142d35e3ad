//! Memory windows: what their keys allow, when they begin and end to be valid, and what wrong ones do.

use fabricsim_protocols::infiniband::{Extra, QueuePairKind, QueuePairState, Remote, Status, Verb};
use fabricsim_units::Time;
use fabricsim_wire::ids::RKey;

use super::bench::{Bench, WRITE, bench};
use super::pair::{End, SIZE, connect, end, end_of};
use super::{remote, sge};
use crate::{
    AccessFlags, AsyncEvent, Binding, Capacities, Costs, LocalOperation, LocalRequest, Mr, Mw,
    ReceiveRequest, SendRequest, WcOpcode, WindowKind,
};

#[test]
fn a_window_gives_access_to_its_part_of_a_region() {
    let mut bench = bench(Costs::LEAST);
    let mw = bench.window();
    let binding =
        bench.binding(100, 50, WRITE.with(AccessFlags::REMOTE_READ).with(AccessFlags::REMOTE_ATOMIC));
    let key = bench.bind(mw, binding);
    bench.run();
    assert_eq!(bench.statuses(1), [(50, Status::Success, WcOpcode::BindMw)]);
    assert_eq!(bench.pair.devices[1].window_key(mw).unwrap(), key);
    let va = bench.address + 142;
    assert_eq!(bench.write(va, key), Status::Success);
    assert_eq!(bench.written(), (142..150).collect::<Vec<_>>());
    // READ and an atomic operation by the same key; its bytes are those of the region.
    let (list, at) = (sge(&bench.ends[0], 500, 8), Remote { va, r_key: key });
    bench.post(SendRequest::read(2, list, at));
    let add = Verb::FetchAdd { remote: Remote { va: bench.address + 104, r_key: key }, add: 5 };
    bench.post(SendRequest::new(3, add, sge(&bench.ends[0], 600, 8)));
    bench.run();
    assert!(bench.statuses(0).iter().all(|(_, status, _)| *status == Status::Success));
    assert_eq!(bench.pair.devices[0].read_memory(bench.ends[0].mr, 500, 9).unwrap(), [1; 9]);
    assert_eq!(bench.memory()[104], 5);
}

#[test]
fn what_a_window_does_not_allow_writes_nothing() {
    for case in 0..7 {
        let mut bench = bench(Costs::LEAST);
        let mw = bench.window();
        let access = if case == 2 { AccessFlags::REMOTE_READ } else { WRITE };
        let binding = bench.binding(100, 50, access);
        let key = bench.bind(mw, binding);
        let invalidated = LocalRequest::new(51, LocalOperation::Invalidate(key));
        match case {
            3 => bench.local(invalidated),
            4 => {
                bench.run();
                bench.pair.devices[1].dealloc_mw(mw).unwrap();
            }
            _ => {}
        }
        bench.run();
        assert!(bench.statuses(1).iter().all(|(_, status, _)| *status == Status::Success), "case {case}");
        let (va, key) = match case {
            0 => (bench.address + 143, key),
            1 => (bench.address + 99, key),
            5 => (bench.address + 100, RKey(key.0.wrapping_sub(1))),
            6 => (0, key),
            _ => (bench.address + 100, key),
        };
        assert_eq!(bench.write(va, key), Status::RemoteAccess, "case {case}");
        assert_eq!(bench.written(), [0; 0], "case {case}");
        let [_, b] = bench.ends;
        assert_eq!(bench.pair.devices[1].async_event(), Some(AsyncEvent::QueuePairAccess(b.qp)));
        assert_eq!(bench.pair.devices[1].state(b.qp).unwrap(), QueuePairState::Error);
    }
}

/// A window that is invalidated between the packets of a WRITE: the rest of it is refused, as with a wrong key.
#[test]
fn a_window_that_is_invalidated_ends_the_write_that_uses_it() {
    let mut bench = bench(Costs::LEAST);
    let [a, b] = bench.ends;
    bench.mr = bench.pair.devices[1].reg_mr(b.pd, 8000, AccessFlags(0x11)).unwrap();
    bench.address = bench.pair.devices[1].address(bench.mr).unwrap();
    let mw = bench.window();
    let binding = bench.binding(0, 8000, WRITE);
    let key = bench.bind(mw, binding);
    bench.run();
    let at = Remote { va: bench.address, r_key: key };
    bench.post(SendRequest::write(9, sge(&a, 0, 8000), at));
    let until = bench.pair.now + Time::ns(145);
    bench.pair.run(until);
    bench.local(LocalRequest::new(51, LocalOperation::Invalidate(key)));
    bench.run();
    assert_eq!(bench.statuses(0)[0].1, Status::RemoteAccess);
    assert_eq!(bench.pair.devices[1].async_event(), Some(AsyncEvent::QueuePairAccess(b.qp)));
    let bytes = bench.pair.devices[1].read_memory(bench.mr, 0, 8000).unwrap();
    let written = bytes.iter().take_while(|&&byte| byte == 1).count();
    assert!(written > 0 && written < 8000 && written.is_multiple_of(1024), "{written}");
    assert!(bytes[written..].iter().all(|&byte| byte == 0));
}

/// A window of type 2 gives access to the queue pair of its bind only, one of type 1 to all of its domain.
#[test]
fn a_window_of_type_2_belongs_to_its_queue_pair() {
    for kind in [WindowKind::Type1, WindowKind::Type2] {
        let mut bench = bench(Costs::LEAST);
        let [_, b] = bench.ends;
        let others = [0, 1].map(|host| end(&mut bench.pair.devices[host], Capacities::default()));
        // The second queue pair of host 1 is of the domain of its first one.
        let init = crate::QueuePairInit::new(QueuePairKind::Rc, others[1].cq);
        let second = End { qp: bench.pair.devices[1].create_qp(b.pd, init).unwrap(), pd: b.pd, ..others[1] };
        connect(&mut bench.pair, [&others[0], &second]);
        let mw = bench.pair.devices[1].alloc_mw(b.pd, kind).unwrap();
        let binding = bench.binding(0, 1000, WRITE);
        let key = match kind {
            WindowKind::Type2 => bench.bind(mw, binding),
            WindowKind::Type1 => {
                let request = LocalRequest::new(50, LocalOperation::Invalidate(RKey(0)));
                bench.pair.devices[1].bind_mw(b.qp, (mw, Some(binding)), request, Time::ZERO).unwrap()
            }
        };
        bench.run();
        let at = Remote { va: bench.address, r_key: key };
        let request = SendRequest::write(1, sge(&others[0], 0, 8), at);
        let now = bench.pair.now;
        bench.pair.devices[0].post_send(others[0].qp, request, now).unwrap();
        bench.run();
        let expected = if kind == WindowKind::Type1 { Status::Success } else { Status::RemoteAccess };
        let found = bench.pair.poll(0, others[0].cq);
        assert_eq!(found[0].status, expected, "{kind:?}");
    }
}

#[test]
fn binds_that_are_not_allowed_end_the_queue_pair() {
    let remote_write = WRITE;
    for case in 0..9 {
        let mut bench = bench(Costs::LEAST);
        let [_, b] = bench.ends;
        let other = bench.pair.devices[1].alloc_pd();
        let mut region = |pd, access| bench.pair.devices[1].reg_mr(pd, 1000, AccessFlags(access)).unwrap();
        let (foreign, no_bind, constant) = (region(other, 0x11), region(b.pd, 0xf), region(b.pd, 0x10));
        let on = |bench: &Bench, mr| {
            let va = bench.pair.devices[1].address(mr).unwrap();
            Binding { mr, va, length: 8, access: remote_write }
        };
        let binding = match case {
            0 => bench.binding(993, 8, remote_write),
            1 => Binding { va: bench.address - 1, ..bench.binding(0, 8, remote_write) },
            2 => bench.binding(0, 0, remote_write),
            3 => bench.binding(0, 8, AccessFlags::LOCAL_WRITE),
            4 => on(&bench, foreign),
            5 => on(&bench, no_bind),
            6 => on(&bench, constant),
            7 => Binding { mr: Mr(77), ..bench.binding(0, 8, remote_write) },
            _ => bench.binding(0, 8, remote_write),
        };
        let mw = bench.window();
        if case == 8 {
            // It is bound already: its key must be invalidated before.
            bench.bind(mw, binding);
            bench.run();
            assert_eq!(bench.statuses(1)[0].1, Status::Success);
        }
        let key = bench.bind(mw, binding);
        bench.local(LocalRequest::new(51, LocalOperation::Invalidate(key)));
        bench.run();
        let found = bench.statuses(1);
        let expected = [(50, Status::MemoryWindowBind), (51, Status::Flushed)];
        assert_eq!(found.iter().map(|done| (done.0, done.1)).collect::<Vec<_>>(), expected, "case {case}");
        assert_eq!(bench.pair.devices[1].state(b.qp).unwrap(), QueuePairState::Error, "case {case}");
    }
}

#[test]
fn addresses_of_a_zero_based_window_begin_at_0() {
    let mut bench = bench(Costs::LEAST);
    let mw = bench.window();
    let binding = bench.binding(100, 50, WRITE.with(AccessFlags::ZERO_BASED));
    let key = bench.bind(mw, binding);
    bench.run();
    assert_eq!(bench.write(42, key), Status::Success);
    assert_eq!(bench.written(), (142..150).collect::<Vec<_>>());
    let _ = bench.statuses(1);
    assert_eq!(bench.write(43, key), Status::RemoteAccess);
}

#[test]
fn a_bind_of_type_1_replaces_the_one_before() {
    let mut bench = bench(Costs::LEAST);
    let [_, b] = bench.ends;
    let mw = bench.pair.devices[1].alloc_mw(b.pd, WindowKind::Type1).unwrap();
    let bind = |bench: &mut Bench, binding| {
        let request = LocalRequest::new(50, LocalOperation::Invalidate(RKey(0)));
        let now = bench.pair.now;
        bench.pair.devices[1].bind_mw(b.qp, (mw, binding), request, now).unwrap()
    };
    let (first, second) = (bench.binding(0, 8, WRITE), bench.binding(8, 8, WRITE));
    let old = bind(&mut bench, Some(first));
    let new = bind(&mut bench, Some(second));
    assert_ne!(old, new);
    bench.run();
    let va = bench.address + 8;
    assert_eq!(bench.write(va, new), Status::Success);
    // The end of the region's life: not while a window stands for a part of it.
    let error = bench.pair.devices[1].dereg_mr(bench.mr).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("EBUSY: dereg_mr: memory windows are bound to region {}", bench.mr.0)
    );
    bind(&mut bench, None);
    bench.run();
    bench.pair.devices[1].dereg_mr(bench.mr).unwrap();
    let error = bench.pair.devices[1].dealloc_pd(b.pd).unwrap_err();
    assert!(error.message.contains("memory windows"), "{error}");
}

#[test]
fn a_send_invalidates_a_key_at_the_other_end() {
    let mut bench = bench(Costs::LEAST);
    let [a, b] = bench.ends;
    let mw = bench.window();
    let binding = bench.binding(100, 50, WRITE);
    let key = bench.bind(mw, binding);
    bench.pair.devices[1]
        .post_recv(b.qp, ReceiveRequest { wr_id: 70, list: sge(&b, 0, 4000) }, Time::ZERO)
        .unwrap();
    bench.run();
    let _ = bench.statuses(1);
    let request = SendRequest { extra: Extra::Invalidate(key), ..SendRequest::send(1, sge(&a, 0, 4000)) };
    bench.post(request);
    bench.run();
    assert_eq!(bench.statuses(0)[0].1, Status::Success);
    let received = bench.pair.poll(1, b.cq)[0];
    assert_eq!(
        (received.status, received.extra, received.byte_len),
        (Status::Success, Extra::Invalidate(key), 4000)
    );
    // It can be bound again, under another key.
    let next = bench.bind(mw, binding);
    bench.run();
    assert_eq!(bench.statuses(1), [(50, Status::Success, WcOpcode::BindMw)]);
    let va = bench.address + 100;
    assert_eq!(bench.write(va, next), Status::Success);
    assert_eq!(bench.write(va, key), Status::RemoteAccess);
}

/// Keys that a SEND may not invalidate: that of a region, one that is not valid, and one that another queue pair has bound.
#[test]
fn keys_that_may_not_be_invalidated_end_both_queue_pairs() {
    for case in 0..3 {
        let mut bench = bench(Costs::LEAST);
        let [a, b] = bench.ends;
        let mw = bench.window();
        let before = vec![2; SIZE as usize];
        bench.pair.devices[1].write_memory(b.mr, 0, &before).unwrap();
        let key = match case {
            0 => RKey(b.key),
            1 => bench.pair.devices[1].window_key(mw).unwrap(),
            _ => {
                let mut other = |host: usize| {
                    end_of(&mut bench.pair.devices[host], QueuePairKind::Rc, Capacities::default())
                };
                let ends = [other(0), other(1)];
                connect(&mut bench.pair, [&ends[0], &ends[1]]);
                let mr = bench.pair.devices[1].reg_mr(ends[1].pd, 8, AccessFlags(0x11)).unwrap();
                let va = bench.pair.devices[1].address(mr).unwrap();
                let mw = bench.pair.devices[1].alloc_mw(ends[1].pd, WindowKind::Type2).unwrap();
                let r_key = RKey(bench.pair.devices[1].window_key(mw).unwrap().0 ^ 1);
                let binding = Some(Binding { mr, va, length: 8, access: WRITE });
                let request = LocalRequest::new(5, LocalOperation::Bind { mw, r_key, binding });
                bench.pair.devices[1].post_local(ends[1].qp, request, Time::ZERO).unwrap();
                bench.run();
                assert_eq!(bench.pair.poll(1, ends[1].cq)[0].status, Status::Success);
                r_key
            }
        };
        let now = bench.pair.now;
        bench.pair.devices[1]
            .post_recv(b.qp, ReceiveRequest { wr_id: 70, list: sge(&b, 0, 8) }, now)
            .unwrap();
        bench.post(SendRequest { extra: Extra::Invalidate(key), ..SendRequest::send(1, sge(&a, 0, 8)) });
        bench.run();
        assert_eq!(bench.statuses(0)[0].1, Status::RemoteAccess, "case {case}");
        assert_eq!(bench.statuses(1)[0].1, Status::RemoteInvalidRequest, "case {case}");
        assert_eq!(bench.pair.devices[1].async_event(), Some(AsyncEvent::QueuePairAccess(b.qp)));
        assert!(bench.pair.devices[1].read_memory(b.mr, 0, SIZE).unwrap() == before, "case {case}");
    }
}

/// Completions come in the order of posting, and a bind is done before the SEND behind it leaves: its receiver may use the key at once.
#[test]
fn local_operations_keep_their_place_in_the_send_queue() {
    let mut bench = bench(Costs::LEAST);
    bench.pair.lost = 10;
    let [a, b] = bench.ends;
    let mw = bench.window();
    for wr_id in 0..8 {
        bench.pair.devices[0]
            .post_recv(a.qp, ReceiveRequest { wr_id, list: sge(&a, 0, 3000) }, Time::ZERO)
            .unwrap();
    }
    let send = |bench: &mut Bench, wr_id| {
        let now = bench.pair.now;
        let request = SendRequest::send(wr_id, sge(&b, 0, 3000));
        bench.pair.devices[1].post_send(b.qp, request, now).unwrap();
    };
    let mut expected = Vec::new();
    let binding = bench.binding(0, 8, WRITE);
    let first = bench.pair.devices[1].window_key(mw).unwrap().0;
    for round in 0..4_u64 {
        let r_key = RKey(first & !0xff | (first + 1 + round as u32) & 0xff);
        let bind = LocalOperation::Bind { mw, r_key, binding: Some(binding) };
        send(&mut bench, 10 * round);
        bench.local(LocalRequest::new(10 * round + 1, bind));
        send(&mut bench, 10 * round + 2);
        let fence = round % 2 == 0;
        bench.local(LocalRequest {
            fence,
            ..LocalRequest::new(10 * round + 3, LocalOperation::Invalidate(r_key))
        });
        expected.extend((0..4).map(|place| 10 * round + place));
    }
    bench.run();
    let found = bench.statuses(1);
    assert_eq!(found.iter().map(|done| done.0).collect::<Vec<_>>(), expected);
    assert!(found.iter().all(|done| done.1 == Status::Success), "{found:?}");
    assert!(!bench.pair.devices[1].is_busy());
}

/// A request behind an operation that fails is flushed and sends nothing; places in the queue come back.
#[test]
fn requests_behind_a_failed_operation_are_flushed() {
    let mut bench = bench(Costs::LEAST);
    let b = bench.ends[1];
    bench.local(LocalRequest::new(1, LocalOperation::Invalidate(RKey(0x1234))));
    let request = SendRequest::write(2, sge(&b, 0, 8), remote(&bench.ends[0], 0));
    bench.pair.devices[1].post_send(b.qp, request, Time::ZERO).unwrap();
    bench.run();
    let found = bench.statuses(1);
    let expected = [(1, Status::LocalQueuePair), (2, Status::Flushed)];
    assert_eq!(found.iter().map(|done| (done.0, done.1)).collect::<Vec<_>>(), expected);
    assert_eq!(bench.pair.devices[1].queue_pair_counters(b.qp).unwrap().packets, 0);
    // In the error state as well.
    bench.local(LocalRequest::new(3, LocalOperation::Invalidate(RKey(0x1234))));
    bench.run();
    assert_eq!(bench.statuses(1), [(3, Status::Flushed, WcOpcode::LocalInv)]);
}

#[test]
fn windows_are_used_as_their_type_and_service_allow() {
    let mut bench = bench(Costs::LEAST);
    let b = bench.ends[1];
    let mw = bench.window();
    let binding = bench.binding(0, 8, WRITE);
    let request = LocalRequest::new(1, LocalOperation::Invalidate(RKey(0)));
    let device = &mut bench.pair.devices[1];
    let error = device.bind_mw(b.qp, (mw, Some(binding)), request, Time::ZERO).unwrap_err();
    assert!(error.message.contains("is of type 2"), "{error}");
    let wrong = LocalOperation::Bind { mw, r_key: RKey(0x100), binding: Some(binding) };
    let error = device.post_local(b.qp, LocalRequest::new(1, wrong), Time::ZERO).unwrap_err();
    assert!(
        error.message.contains("rkey = 0x100: a key of memory window 0 is 0x80000000 to 0x800000ff"),
        "{error}"
    );
    let datagrams = end_of(device, QueuePairKind::Ud, Capacities::default());
    let error = device.post_local(datagrams.qp, request, Time::ZERO).unwrap_err();
    assert!(error.message.contains("UD has no memory windows"), "{error}");
    assert!(device.dealloc_mw(Mw(9)).unwrap_err().message.contains("no memory window 9"));
}

/// An operation takes the time of the doorbell and of a message; the requests behind it wait for it.
#[test]
fn an_operation_takes_the_time_of_a_message() {
    let mut bench = bench(Costs { doorbell: Time::ns(150), message: Time::ns(30), ..Costs::LEAST });
    let mw = bench.window();
    let binding = bench.binding(0, 8, WRITE);
    bench.bind(mw, binding);
    bench.run();
    let b = bench.ends[1];
    let done = bench.pair.poll(1, b.cq)[0];
    assert_eq!(done.visible, Time::ns(150 + 30 + 1));
}
