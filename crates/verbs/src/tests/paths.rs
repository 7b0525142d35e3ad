//! Paths of queue pairs: address vectors, partitions, and migration to a second path.

use std::sync::Arc;

use fabricsim_protocols::infiniband::{MigrationState, QueuePairKind, QueuePairState, Status};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::ids::{Lid, PKey, QKey, Qpn};

use super::pair::{End, end, end_of, steps};
use super::{Pair, remote, sge};
use crate::{
    AddressVector, AlternatePath, AsyncEvent, Capacities, Costs, Device, Port, QueuePairAttributes,
    ReceiveRequest, SendRequest, SubnetView, To,
};

const NONE: QueuePairAttributes = QueuePairAttributes {
    state: None,
    p_key_index: None,
    port: None,
    access: None,
    q_key: None,
    address: None,
    path_mtu: None,
    dest_qp: None,
    rq_psn: None,
    max_dest_rd_atomic: None,
    min_rnr_timer: None,
    sq_psn: None,
    timeout: None,
    retry_count: None,
    rnr_retry: None,
    max_rd_atomic: None,
    alternate: None,
    path_mig_state: None,
    drained_event: None,
};

/// Ports with four service levels, two LIDs, and the partitions 1 and 2.
fn pair() -> Pair {
    let mut pair = Pair::new(Costs::LEAST);
    for device in &mut pair.devices {
        let port = Port { levels: 4, paths: 2, hosts: 2, ..Port::default() };
        *device = device.clone().with_port(port);
        device.set_subnet(SubnetView {
            guids: Arc::from([0x10, 0x11]),
            lids: Arc::from([Lid(2), Lid(4)]),
            p_keys: vec![PKey::DEFAULT, PKey(0x8001), PKey(0x8002)],
            groups: Vec::new(),
        });
    }
    pair
}

/// Path of an end to the other one, by their LIDs with this number.
fn path(from: usize, lid: u8) -> AddressVector {
    AddressVector { path: Some(lid), source_path: lid, ..HostId(1 - from as u32).into() }
}

fn alternate(from: usize) -> AlternatePath {
    AlternatePath { address: path(from, 1), p_key_index: 0, port: 1, timeout: 5 }
}

/// Two ends of a connection over the first LIDs, with a time-out of 131 us and two retries.
fn connected(pair: &mut Pair, change: impl Fn(usize, &mut [QueuePairAttributes; 3])) -> [End; 2] {
    let ends = [0, 1].map(|host| end(&mut pair.devices[host], Capacities::default()));
    for host in 0..2 {
        let mut steps = steps(HostId(1 - host as u32), ends[1 - host].qp);
        steps[1].address = Some(path(host, 0));
        (steps[2].timeout, steps[2].retry_count) = (Some(5), Some(2));
        change(host, &mut steps);
        for step in steps {
            pair.devices[host].modify_qp(ends[host].qp, step, Time::ZERO).unwrap();
        }
    }
    ends
}

fn load(device: &mut Device, qp: Qpn, from: usize) {
    let rearm = Some(MigrationState::Rearm);
    let given = QueuePairAttributes { alternate: Some(alternate(from)), path_mig_state: rearm, ..NONE };
    device.modify_qp(qp, given, Time::ZERO).unwrap();
}

fn write(pair: &mut Pair, [a, b]: &[End; 2], id: u64) {
    let now = pair.now;
    pair.devices[0].post_send(a.qp, SendRequest::write(id, sge(a, 0, 3000), remote(b, 0)), now).unwrap();
}

fn states(pair: &Pair, ends: &[End; 2]) -> [MigrationState; 2] {
    [0, 1].map(|host| pair.devices[host].migration_state(ends[host].qp).unwrap())
}

fn events(pair: &mut Pair, host: usize) -> Vec<AsyncEvent> {
    std::iter::from_fn(|| pair.devices[host].async_event()).collect()
}

/// Requests, acknowledgements and datagrams go where the address vectors of their ends say.
#[test]
fn packets_have_the_path_of_their_address_vector() {
    let mut pair = pair();
    let to = |host: usize, path, sl, source_path| AddressVector {
        path,
        sl,
        source_path,
        ..HostId(1 - host as u32).into()
    };
    let paths = [to(0, Some(1), 3, 0), to(1, None, 2, 1)];
    let ends = connected(&mut pair, |host, steps| steps[1].address = Some(paths[host]));
    write(&mut pair, &ends, 1);
    pair.devices[0].expire(Time::us(1));
    let (address, packet) = pair.devices[0].candidate(0).unwrap();
    assert_eq!((address, packet.offset), (paths[0], 0));
    for _ in 0..3 {
        let sent = pair.devices[0].send(0, Time::us(1)).unwrap();
        assert_eq!((sent.address, sent.packet.headers.bth.migrated), (paths[0], true));
        let length = sent.packet.length;
        pair.devices[1].receive(HostId(0), &sent.packet.headers, (length, None), Time::us(2));
        pair.devices[0].expire(Time::us(1));
    }
    pair.devices[1].expire(Time::us(3));
    assert_eq!(pair.devices[1].answer().unwrap().0, paths[1]);
    assert_eq!(pair.devices[1].send_answer(Time::us(3)).unwrap().address, paths[1]);
}

/// A datagram goes where its address handle says, and reports at its receiver where an answer goes.
#[test]
fn datagrams_have_the_path_of_their_address_handle() {
    let mut pair = pair();
    let ends = [0, 1].map(|host| end_of(&mut pair.devices[host], QueuePairKind::Ud, Capacities::default()));
    for (host, end) in ends.iter().enumerate() {
        let [mut init, _, send] = steps(HostId(0), Qpn(0));
        (init.access, init.q_key) = (None, Some(QKey(7)));
        let receive = QueuePairAttributes { state: Some(QueuePairState::ReadyToReceive), ..NONE };
        let send = QueuePairAttributes { state: send.state, sq_psn: send.sq_psn, ..NONE };
        for step in [init, receive, send] {
            pair.devices[host].modify_qp(end.qp, step, Time::ZERO).unwrap();
        }
    }
    let [a, b] = ends;
    pair.devices[1].post_recv(b.qp, ReceiveRequest { wr_id: 1, list: sge(&b, 0, 200) }, Time::ZERO).unwrap();
    let address = AddressVector { path: Some(1), sl: 3, source_path: 0, ..HostId(1).into() };
    let ah = pair.devices[0].create_ah(a.pd, address).unwrap();
    let to = To::Datagram { ah, qp: b.qp, q_key: QKey(7) };
    let request = SendRequest::send(1, sge(&a, 0, 100)).with_receiver(to);
    pair.devices[0].post_send(a.qp, request, Time::ZERO).unwrap();
    pair.run(Time::us(20));
    let reverse = AddressVector { path: Some(0), sl: 3, source_path: 1, ..HostId(0).into() };
    assert_eq!(pair.poll(1, b.cq)[0].source, Some((reverse, a.qp)));
}

#[test]
fn wrong_paths_are_refused() {
    let mut pair = pair();
    let [a, _] = connected(&mut pair, |_, _| {});
    let device = &mut pair.devices[0];
    let good = path(0, 1);
    for (address, text) in [
        (AddressVector { sl: 4, ..good }, "sl = 4: must be 0 to 3"),
        (AddressVector { path: Some(2), ..good }, "dlid: path 2: must be 0 to 1"),
        (AddressVector { source_path: 2, ..good }, "src_path_bits = 2: must be 0 to 1"),
    ] {
        let error = device.create_ah(a.pd, address).unwrap_err().to_string();
        assert_eq!(error, format!("EINVAL: create_ah: ah_attr.{text}"));
        let path = AlternatePath { address, ..alternate(0) };
        let given = QueuePairAttributes { alternate: Some(path), ..NONE };
        let error = device.modify_qp(a.qp, given, Time::ZERO).unwrap_err().to_string();
        assert_eq!(error, format!("EINVAL: modify_qp: queue pair 2: alt_ah_attr.{text}"));
    }
    for (path, text) in [
        (AlternatePath { port: 2, ..alternate(0) }, "alt_port_num = 2: the adapter has port 1"),
        (AlternatePath { timeout: 32, ..alternate(0) }, "alt_timeout = 32: at most 31"),
        (
            AlternatePath { p_key_index: 3, ..alternate(0) },
            "alt_pkey_index = 3: the port's table has 3 entries, with indices 0 to 2",
        ),
        (
            AlternatePath { address: HostId(0).into(), ..alternate(0) },
            "alt_ah_attr.dlid: must be a LID of the host at the other end",
        ),
    ] {
        let given = QueuePairAttributes { alternate: Some(path), ..NONE };
        let error = device.modify_qp(a.qp, given, Time::ZERO).unwrap_err().to_string();
        assert_eq!(error, format!("EINVAL: modify_qp: queue pair 2: {text}"));
    }
    for to in [MigrationState::Rearm, MigrationState::Armed] {
        let given = QueuePairAttributes { path_mig_state: Some(to), ..NONE };
        let error = device.modify_qp(a.qp, given, Time::ZERO).unwrap_err().to_string();
        assert!(error.contains(&format!("path_mig_state cannot go from Migrated to {to:?}")), "{error}");
    }
    // One service level and one LID.
    let mut plain = Device::new(HostId(0), Costs::LEAST);
    let pd = plain.alloc_pd();
    for (address, text) in [
        (
            AddressVector { sl: 1, ..HostId(1).into() },
            "sl = 1: must be 0: the experiment has one service level",
        ),
        (
            AddressVector { path: Some(1), ..HostId(1).into() },
            "dlid: path 1: must be 0: packets go to the first LID",
        ),
    ] {
        assert!(plain.create_ah(pd, address).unwrap_err().to_string().contains(text));
    }
}

/// Packets have the P_Key of their queue pair; one of another partition drops and counts them.
#[test]
fn queue_pairs_of_a_partition_hear_each_other_only() {
    for (index, other, reaches) in [(1, 1, true), (1, 2, false), (0, 1, false)] {
        let mut pair = pair();
        let ends = connected(&mut pair, |host, steps| steps[0].p_key_index = Some([index, other][host]));
        write(&mut pair, &ends, 1);
        pair.run(Time::ms(2));
        let done = pair.poll(0, ends[0].cq);
        let expected = if reaches { Status::Success } else { Status::RetriesExceeded };
        assert_eq!(done[0].status, expected, "{index} {other}");
        let dropped = pair.devices[1].queue_pair_counters(ends[1].qp).unwrap().dropped;
        // Three packets, each of them three times.
        assert_eq!(dropped, if reaches { 0 } else { 9 });
    }
    let mut pair = pair();
    let ends = connected(&mut pair, |_, steps| steps[0].p_key_index = Some(2));
    write(&mut pair, &ends, 1);
    pair.devices[0].expire(Time::us(1));
    assert_eq!(pair.devices[0].send(0, Time::us(1)).unwrap().packet.headers.bth.p_key, PKey(0x8002));
    let given = QueuePairAttributes { p_key_index: Some(3), ..steps(HostId(1), Qpn(2))[0] };
    let fresh = end(&mut pair.devices[0], Capacities::default());
    let error = pair.devices[0].modify_qp(fresh.qp, given, Time::ZERO).unwrap_err().to_string();
    assert!(
        error.ends_with("pkey_index = 3: the port's table has 3 entries, with indices 0 to 2"),
        "{error}"
    );
}

/// A manager sets the table of a port: queue pairs have the key at their index from then on, or are heard by no other, until it is there again.
#[test]
fn a_changed_table_changes_the_keys_of_queue_pairs() {
    let table =
        |third: Option<u16>| [Some(0xffff), Some(0x8001), third].into_iter().flatten().map(PKey).collect();
    for (third, reaches) in [(Some(0x8002), true), (Some(0x8003), false), (None, false)] {
        let mut pair = pair();
        let ends = connected(&mut pair, |_, steps| steps[0].p_key_index = Some(2));
        for (change, is_new) in [(third, third != Some(0x8002)), (third, false)] {
            pair.devices[0].set_p_keys(table(change));
            let event = pair.devices[0].async_event();
            assert_eq!(event, is_new.then_some(AsyncEvent::PartitionKeysChanged), "{third:?}");
        }
        write(&mut pair, &ends, 1);
        pair.run(Time::ms(2));
        let status = pair.poll(0, ends[0].cq)[0].status;
        assert_eq!(status == Status::Success, reaches, "{third:?}: {status:?}");
    }
    // A port without a table has that of the default partition: to set it changes nothing.
    let mut plain = Pair::new(Costs::LEAST);
    plain.devices[0].set_p_keys(vec![PKey::DEFAULT]);
    assert_eq!(plain.devices[0].async_event(), None);
}

/// Arms both ends: each has had a packet of the other one since that was loaded.
fn armed(pair: &mut Pair) -> [End; 2] {
    let ends = connected(pair, |_, _| {});
    for (host, end) in ends.iter().enumerate() {
        load(&mut pair.devices[host], end.qp, host);
    }
    assert_eq!(states(pair, &ends), [MigrationState::Rearm; 2]);
    write(pair, &ends, 1);
    pair.run(Time::us(50));
    assert_eq!(states(pair, &ends), [MigrationState::Armed; 2]);
    assert_eq!(pair.poll(0, ends[0].cq).len(), 1);
    ends
}

/// Packets of a path that has failed are sent anew over the second one, at both ends; nothing is lost or executed twice.
#[test]
fn a_connection_goes_on_over_its_second_path() {
    for seed in 0..40 {
        let mut pair = pair();
        let ends = armed(&mut pair);
        pair = pair.with_loss(3, seed);
        let [a, b] = ends;
        let pattern: Vec<u8> = (0..10_000).map(|place| (place * 7 + seed) as u8).collect();
        pair.devices[0].write_memory(a.mr, 0, &pattern).unwrap();
        let now = pair.now;
        pair.devices[0]
            .post_send(a.qp, SendRequest::write(2, sge(&a, 0, 10_000), remote(&b, 0)), now)
            .unwrap();
        pair.devices[0]
            .post_send(a.qp, SendRequest::read(3, sge(&a, 10_000, 10_000), remote(&b, 0)), now)
            .unwrap();
        pair.run(now + Time::ns(20 + 7 * seed));
        pair.dead_path = Some(0);
        pair.run(now + Time::ms(10));
        let done: Vec<_> = pair.poll(0, a.cq).iter().map(|of| (of.wr_id, of.status)).collect();
        assert_eq!(done, [(2, Status::Success), (3, Status::Success)], "seed {seed}");
        for (host, mr, offset) in [(1, b.mr, 0), (0, a.mr, 10_000)] {
            assert_eq!(pair.devices[host].read_memory(mr, offset, 10_000).unwrap(), pattern, "seed {seed}");
        }
        assert_eq!(states(&pair, &ends), [MigrationState::Migrated; 2]);
        for (host, end) in ends.iter().enumerate() {
            assert_eq!(pair.devices[host].address_vector(end.qp).unwrap(), Some(path(host, 1)));
            let events = events(&mut pair, host);
            assert_eq!(events.iter().filter(|event| **event == AsyncEvent::PathMigrated(end.qp)).count(), 1);
        }
    }
}

/// Without a second path, or if the other end has none, retries are exceeded.
#[test]
fn without_a_second_path_the_connection_fails() {
    for loads in 0..2 {
        let mut pair = pair();
        let ends = connected(&mut pair, |_, _| {});
        for (host, end) in ends.iter().enumerate().take(loads) {
            load(&mut pair.devices[host], end.qp, host);
        }
        pair.dead_path = Some(0);
        write(&mut pair, &ends, 1);
        pair.run(Time::ms(10));
        assert_eq!(pair.poll(0, ends[0].cq)[0].status, Status::RetriesExceeded);
        assert_eq!(pair.devices[0].state(ends[0].qp), Ok(QueuePairState::Error));
        let failed = AsyncEvent::PathMigrationFailed(ends[0].qp);
        assert_eq!(events(&mut pair, 0), if loads == 1 { vec![failed] } else { Vec::new() });
    }
}

/// A program migrates an end; the other one follows with the first packet. Both have the time-out and partition of the second path, and can load another one.
#[test]
fn a_program_may_migrate_a_connection() {
    let mut pair = pair();
    let ends = armed(&mut pair);
    let given = QueuePairAttributes { path_mig_state: Some(MigrationState::Migrated), ..NONE };
    let now = pair.now;
    pair.devices[0].modify_qp(ends[0].qp, given, now).unwrap();
    assert_eq!(states(&pair, &ends), [MigrationState::Migrated, MigrationState::Armed]);
    pair.dead_path = Some(0);
    write(&mut pair, &ends, 2);
    pair.run(now + Time::us(50));
    assert_eq!(pair.poll(0, ends[0].cq)[0].status, Status::Success);
    assert_eq!(states(&pair, &ends), [MigrationState::Migrated; 2]);
    assert_eq!(pair.devices[0].queue_pair_counters(ends[0].qp).unwrap().timeouts, 0);
    for (host, end) in ends.iter().enumerate() {
        let back = AlternatePath { address: path(host, 0), ..alternate(host) };
        let rearm = Some(MigrationState::Rearm);
        let given = QueuePairAttributes { alternate: Some(back), path_mig_state: rearm, ..NONE };
        pair.devices[host].modify_qp(end.qp, given, now).unwrap();
    }
    pair.dead_path = None;
    write(&mut pair, &ends, 3);
    pair.run(now + Time::us(100));
    pair.dead_path = Some(1);
    write(&mut pair, &ends, 4);
    pair.run(now + Time::ms(5));
    let done: Vec<_> = pair.poll(0, ends[0].cq).iter().map(|of| (of.wr_id, of.status)).collect();
    assert_eq!(done, [(3, Status::Success), (4, Status::Success)]);
    assert_eq!(pair.devices[0].address_vector(ends[0].qp).unwrap(), Some(path(0, 0)));
}
