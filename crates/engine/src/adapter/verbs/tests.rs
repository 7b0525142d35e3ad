use std::sync::Arc;

use fabricsim_protocols::infiniband::{QueuePairKind, QueuePairState};
use fabricsim_verbs::{
    AccessFlags, Capacities, Costs, Pd, QueuePairAttributes, QueuePairInit, ReceiveRequest, SendRequest, Sge,
    SubnetView, To, group_gid, group_lid,
};
use fabricsim_wire::Psn;
use fabricsim_wire::ids::{Lid, QKey, Qpn};

use super::*;

/// Of a message of several packets all but the last are first or middle ones; a message of one packet is its last.
#[test]
fn last_packets_and_only_ones_end_messages() {
    use Operation as O;
    let begin = [
        O::SendFirst,
        O::SendMiddle,
        O::WriteFirst,
        O::WriteMiddle,
        O::ReadResponseFirst,
        O::ReadResponseMiddle,
    ];
    let end =
        [O::SendLast, O::SendOnly, O::WriteLast, O::WriteOnly, O::ReadResponseLast, O::ReadResponseOnly];
    assert!(!begin.into_iter().any(ends_message));
    assert!(end.into_iter().all(ends_message));
}

/// Packets for multicast groups have a global route header of 40 bytes (section 8.3), others have none.
#[test]
fn packets_for_groups_have_a_route_header() {
    assert_eq!(route_header(HostId(3)), 0);
    assert_eq!(route_header(HostId::of_group(3)), 40);
}

const NOW: Time = Time::us(1);

/// An adapter in a multicast group, with a queue pair of UD; a byte is at `memory`.
struct Member {
    endpoint: VerbsEndpoint,
    qp: Qpn,
    pd: Pd,
    list: Vec<Sge>,
}

fn member(host: HostId, group: u16) -> Member {
    let mut device = Device::new(host, Costs::LEAST);
    let (guids, lids) = (Arc::from([0x10, 0x11]), Arc::from([Lid(1), Lid(2)]));
    device.set_subnet(SubnetView { guids, lids, groups: vec![group], ..SubnetView::default() });
    let (pd, cq) = (device.alloc_pd(), device.create_cq(8).unwrap());
    let capacities = Capacities::default();
    let init = QueuePairInit { capacities, signal_all: true, ..QueuePairInit::new(QueuePairKind::Ud, cq) };
    let qp = device.create_qp(pd, init).unwrap();
    let mr = device.reg_mr(pd, 8192, AccessFlags(0xf)).unwrap();
    let none = QueuePairAttributes::default();
    let state = |state| QueuePairAttributes { state: Some(state), ..none };
    for step in [
        QueuePairAttributes {
            p_key_index: Some(0),
            port: Some(1),
            q_key: Some(QKey(7)),
            ..state(QueuePairState::Init)
        },
        state(QueuePairState::ReadyToReceive),
        QueuePairAttributes { sq_psn: Some(Psn::new(0)), ..state(QueuePairState::ReadyToSend) },
    ] {
        device.modify_qp(qp, step, Time::ZERO).unwrap();
    }
    device.attach_mcast(qp, group_gid(group), group_lid(group)).unwrap();
    let list = vec![Sge { addr: device.address(mr).unwrap(), length: 100, lkey: device.key(mr).unwrap() }];
    Member { endpoint: VerbsEndpoint::new(device, 0), qp, pd, list }
}

/// A datagram of 100 B to a group: LRH 8, GRH 40, BTH 12, DETH 8, ICRC 4, VCRC 2 B. It is reported at a member where it is placed, and only
/// there: the second one finds no receive request.
#[test]
fn a_datagram_to_a_group_is_placed_at_members_that_wait_for_it() {
    for group in [0, 3] {
        let (mut from, mut to) = (member(HostId(0), group), member(HostId(1), group));
        let list = vec![Sge { length: 140, ..to.list[0] }];
        to.endpoint.device.post_recv(to.qp, ReceiveRequest { wr_id: 1, list }, NOW).unwrap();
        let ah = from.endpoint.device.create_ah(from.pd, HostId::of_group(group)).unwrap();
        let receiver = To::Datagram { ah, qp: Qpn::MULTICAST, q_key: QKey(7) };
        let mut log = crate::testing::Log::default();
        for number in 1..=2 {
            let request = SendRequest::send(number, from.list.clone()).with_receiver(receiver);
            from.endpoint.device.post_send(from.qp, request, NOW).unwrap();
            let now = Time::us(10 * number);
            from.endpoint.device.expire(now);
            let candidate = from.endpoint.candidate(0).expect("a datagram waits");
            assert_eq!((candidate.destination, candidate.bytes), (HostId::of_group(group), 174));
            let sent = from.endpoint.send(0, now, |_| None).unwrap();
            assert_eq!(sent.packet.bytes, 174);
            let transport = sent.transport.expect("it has transport headers");
            assert_eq!((transport.payload, transport.group), (100, NonZeroU16::new(group + 1)));
            let extensions = ExtensionHeaders { transport: sent.transport, ..ExtensionHeaders::default() };
            assert!(to.endpoint.arrive(&sent.packet, &extensions, now, &mut log));
            assert_eq!(log.delivered.len(), 1, "of datagram {number} to group {group}");
            assert_eq!(log.delivered[0].bytes, 100);
        }
    }
}
