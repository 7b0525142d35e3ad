//! Datagrams to multicast groups: copies for attached queue pairs, their global route header, and what is refused.

use std::sync::Arc;

use fabricsim_protocols::infiniband::{GRH_BYTES, QueuePairKind, QueuePairState, Status};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::Record;
use fabricsim_wire::headers::Grh;
use fabricsim_wire::ids::{Gid, Guid, Lid, QKey, Qpn};

use super::pair::{End, end_of, steps};
use super::{Pair, sge};
use crate::{
    Capacities, Costs, Device, QueuePairAttributes, ReceiveRequest, SendRequest, SubnetView, To, group_gid,
    group_lid,
};

const KEY: QKey = QKey(0x1234);

fn ready(device: &mut Device, end: &End, q_key: QKey) {
    let none = QueuePairAttributes::default();
    let [init, receive, send] = steps(HostId(0), Qpn(0));
    for step in [
        QueuePairAttributes { access: None, q_key: Some(q_key), ..init },
        QueuePairAttributes { state: receive.state, ..none },
        QueuePairAttributes { state: send.state, sq_psn: send.sq_psn, ..none },
    ] {
        device.modify_qp(end.qp, step, Time::ZERO).unwrap();
    }
}

fn subnet(groups: Vec<u16>) -> SubnetView {
    SubnetView {
        guids: Arc::from([0x10, 0x11]),
        lids: Arc::from([Lid(1), Lid(2)]),
        groups,
        ..SubnetView::default()
    }
}

/// Two adapters that are members of group 3, with a queue pair of UD each; a second one at the first adapter.
fn members() -> (Pair, [End; 3]) {
    let mut pair = Pair::new(Costs::LEAST);
    let ends = [0, 1, 0].map(|host: usize| {
        let device = &mut pair.devices[host];
        device.set_subnet(subnet(vec![3]));
        let end = end_of(device, QueuePairKind::Ud, Capacities::default());
        ready(device, &end, KEY);
        end
    });
    (pair, ends)
}

fn attach(pair: &mut Pair, host: usize, end: &End) {
    pair.devices[host].attach_mcast(end.qp, group_gid(3), group_lid(3)).unwrap();
}

fn receive(pair: &mut Pair, host: usize, end: &End, wr_id: u64, length: u32) {
    let request = ReceiveRequest { wr_id, list: sge(end, 1000, length) };
    let now = pair.now;
    pair.devices[host].post_recv(end.qp, request, now).unwrap();
}

/// Sends 8 bytes from the first queue pair to the group, and hands the datagram to the second adapter.
fn send(pair: &mut Pair, end: &End, q_key: QKey) {
    let device = &mut pair.devices[0];
    let ah = device.create_ah(end.pd, HostId::of_group(3)).unwrap();
    device.write_memory(end.mr, 0, b"datagram").unwrap();
    let to = To::Datagram { ah, qp: Qpn::MULTICAST, q_key };
    let request = SendRequest::send(1, sge(end, 0, 8)).with_receiver(to);
    device.post_send(end.qp, request, pair.now).unwrap();
    pair.now += Time::us(1);
    device.expire(pair.now);
    let sent = device.send(0, pair.now).unwrap();
    assert_eq!(sent.address.host, HostId::of_group(3));
    assert_eq!(sent.packet.headers.bth.dest_qp, Qpn::MULTICAST);
    let (headers, content) = (sent.packet.headers, sent.content.as_deref());
    pair.devices[1].receive_copy((HostId(0), 3), &headers, (sent.packet.length, content), pair.now);
    pair.now += Time::us(1);
}

#[test]
fn every_attached_queue_pair_but_the_sender_has_a_copy() {
    let (mut pair, [a, b, c]) = members();
    let second = end_of(&mut pair.devices[1], QueuePairKind::Ud, Capacities::default());
    ready(&mut pair.devices[1], &second, KEY);
    for (host, end) in [(0, &a), (1, &b), (0, &c), (1, &second)] {
        attach(&mut pair, host, end);
        attach(&mut pair, host, end);
        receive(&mut pair, host, end, 70, 100);
        receive(&mut pair, host, end, 71, 100);
    }
    send(&mut pair, &a, KEY);
    for (host, end) in [(1, &b), (0, &c), (1, &second)] {
        let found = pair.poll(host, end.cq);
        assert_eq!(found.len(), 1, "one copy, although it was attached twice");
        let done = found[0];
        assert_eq!((done.wr_id, done.status, done.byte_len), (70, Status::Success, GRH_BYTES + 8));
        let source = done.source.map(|(from, qp)| (from.host, qp));
        assert_eq!((source, done.has_grh), (Some((HostId(0), a.qp)), true));
        let bytes = pair.devices[host].read_memory(end.mr, 1000, 48).unwrap();
        assert_eq!(&bytes[40..], b"datagram");
        let grh = Grh::parse(&bytes).unwrap();
        assert_eq!((grh.sgid, grh.dgid), (Gid::new(Gid::DEFAULT_PREFIX, Guid(0x10)), group_gid(3)));
        assert_eq!((grh.payload_length, grh.next_header), (12 + 8 + 8 + 4, 0x1b));
    }
    // The sender has its own completion only.
    let own = pair.poll(0, a.cq);
    assert_eq!(own.iter().map(|done| done.wr_id).collect::<Vec<_>>(), [1]);
}

#[test]
fn datagrams_that_no_queue_pair_takes_are_counted() {
    let (mut pair, [a, b, _]) = members();
    send(&mut pair, &a, KEY);
    assert_eq!(pair.devices[1].counters().unattached, 1);
    attach(&mut pair, 1, &b);
    send(&mut pair, &a, KEY);
    let counters = |pair: &Pair| pair.devices[1].unreliable_counters(b.qp).unwrap().unwrap();
    assert_eq!((counters(&pair).no_receive, counters(&pair).messages), (1, 0));
    receive(&mut pair, 1, &b, 70, 100);
    send(&mut pair, &a, QKey(1));
    assert_eq!((counters(&pair).q_key, counters(&pair).messages), (1, 0));
    assert_eq!(pair.devices[1].read_memory(b.mr, 1000, 100).unwrap(), [0; 100]);
    pair.devices[1].detach_mcast(b.qp, group_gid(3), group_lid(3)).unwrap();
    send(&mut pair, &a, KEY);
    assert_eq!(pair.devices[1].counters().unattached, 2);
    assert!(pair.poll(1, b.cq).is_empty());
    // In a state in which it does not receive.
    attach(&mut pair, 1, &b);
    let reset = QueuePairAttributes { state: Some(QueuePairState::Reset), ..QueuePairAttributes::default() };
    pair.devices[1].modify_qp(b.qp, reset, pair.now).unwrap();
    send(&mut pair, &a, KEY);
    assert_eq!(pair.devices[1].queue_pair_counters(b.qp).unwrap().dropped, 1);
}

#[test]
fn calls_name_the_group() {
    let (mut pair, [a, _, _]) = members();
    let device = &mut pair.devices[0];
    let mut attach = |gid, lid| device.attach_mcast(a.qp, gid, Lid(lid)).unwrap_err().message;
    assert!(attach(group_gid(2), 0xc002).contains("lid = 0xc002: the port is a member of 0xc003"));
    assert!(attach(group_gid(3), 7).contains("lid = 0x0007: must be 0xc000 to 0xfffe"));
    assert!(attach(group_gid(2), 0xc003).contains("that of the LID 0xc003 is ff15:"));
    let error = device.detach_mcast(a.qp, group_gid(3), group_lid(3)).unwrap_err();
    assert!(error.message.contains("is not attached to the group"), "{error}");
    let connected = end_of(device, QueuePairKind::Rc, Capacities::default());
    let error = device.attach_mcast(connected.qp, group_gid(3), group_lid(3)).unwrap_err();
    assert!(error.message.contains("RC: must be UD"), "{error}");
    let error = device.create_ah(a.pd, HostId::of_group(4)).unwrap_err();
    assert!(error.message.contains("create_ah: lid = 0xc004"), "{error}");
    let ah = device.create_ah(a.pd, HostId::of_group(3)).unwrap();
    let to = To::Datagram { ah, qp: Qpn(7), q_key: KEY };
    let error = device.post_send(a.qp, SendRequest::send(1, sge(&a, 0, 8)).with_receiver(to), Time::ZERO);
    assert!(error.unwrap_err().message.contains("remote_qpn = 0x7: must be 0xffffff"));
    device.attach_mcast(a.qp, group_gid(3), group_lid(3)).unwrap();
    let error = device.destroy_qp(a.qp).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("EBUSY: destroy_qp: queue pair {} is attached to a multicast group", a.qp.0)
    );
    let step = steps(HostId::of_group(3), Qpn(2));
    device.modify_qp(connected.qp, step[0], Time::ZERO).unwrap();
    let error = device.modify_qp(connected.qp, step[1], Time::ZERO).unwrap_err();
    assert!(error.message.contains("no multicast group at its other end"), "{error}");
}
