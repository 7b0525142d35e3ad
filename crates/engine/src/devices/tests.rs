use std::collections::BTreeMap;

use fabricsim_protocols::infiniband::{QueuePairKind, QueuePairState, Remote};
use fabricsim_verbs::{
    AccessFlags, Capacities, Costs, Cq, Mr, QueuePairAttributes, QueuePairInit, SendRequest, Sge,
};
use fabricsim_wire::Psn;
use fabricsim_wire::headers::RnrTimer;
use fabricsim_wire::ids::{Qpn, RKey};

use super::*;
use crate::Advance;
use crate::testing::{Log, prepare};

/// Programs at the first two of four hosts; the third sends a datagram to the fourth. A byte takes a nanosecond.
const FABRIC: &str = r#"
[topology.single-switch]
hosts = 4
[links.all]
rate = "8 Gb/s"
latency = "50 ns"
buffer = "16 KiB"
[host]
mtu = "4142 B"
[[traffic]]
sources = ["H2"]
pattern = { to = "H3" }
injection = "saturating"
message = "600 B"
messages = 1
[run]
duration = "1 s"
"#;

const HOSTS: [HostId; 2] = [HostId(0), HostId(1)];

struct Side {
    cq: Cq,
    qp: Qpn,
    mr: Mr,
    key: u32,
    address: u64,
}

fn create(device: &mut Device) -> Side {
    let pd = device.alloc_pd();
    let cq = device.create_cq(8).unwrap();
    let capacities = Capacities::default();
    let init = QueuePairInit { capacities, signal_all: true, ..QueuePairInit::new(QueuePairKind::Rc, cq) };
    let qp = device.create_qp(pd, init).unwrap();
    let mr = device.reg_mr(pd, 8192, AccessFlags(0xf)).unwrap();
    Side { cq, qp, mr, key: device.key(mr).unwrap(), address: device.address(mr).unwrap() }
}

fn connect(device: &mut Device, own: &Side, peer: (HostId, Qpn)) {
    let none = QueuePairAttributes::default();
    let steps = [
        QueuePairAttributes {
            state: Some(QueuePairState::Init),
            p_key_index: Some(0),
            port: Some(1),
            access: Some(AccessFlags(0xf)),
            ..none
        },
        QueuePairAttributes {
            state: Some(QueuePairState::ReadyToReceive),
            address: Some(peer.0.into()),
            path_mtu: Some(2048),
            dest_qp: Some(peer.1),
            rq_psn: Some(Psn::new(0)),
            max_dest_rd_atomic: Some(1),
            min_rnr_timer: Some(RnrTimer::new(12)),
            ..none
        },
        QueuePairAttributes {
            state: Some(QueuePairState::ReadyToSend),
            sq_psn: Some(Psn::new(0)),
            timeout: Some(14),
            retry_count: Some(7),
            rnr_retry: Some(7),
            max_rd_atomic: Some(1),
            ..none
        },
    ];
    for step in steps {
        device.modify_qp(own.qp, step, Time::ZERO).unwrap();
    }
}

/// An RDMA WRITE of 5000 B by packets of up to 2048 B of payload: its headers are LRH 8, BTH 12, ICRC 4, VCRC 2 B, and RETH 16 in the first.
/// Its packets belong to the last stream; they are reported with their payload as they are sent and as they are placed. Until the WRITE is
/// acknowledged there is something left to do. Hosts without programs go on as ever.
#[test]
fn a_write_of_a_program_goes_through_the_fabric() {
    let devices: BTreeMap<HostId, Costs> = HOSTS.map(|host| (host, Costs::LEAST)).into();
    let mut engine = prepare(FABRIC, &[]).with_devices(&devices).engine(Log::default);
    assert!(engine.device(HostId(2)).is_none());
    let sides = HOSTS.map(|host| create(engine.device(host).unwrap()));
    for (own, other) in [(0, 1), (1, 0)] {
        let peer = (HOSTS[other], sides[other].qp);
        connect(engine.device(HOSTS[own]).unwrap(), &sides[own], peer);
        engine.wake_device(HOSTS[own]);
    }
    let posted = Time::us(30);
    assert_eq!(engine.advance(posted, &mut |_, _| true), Advance::Idle);
    assert_eq!((engine.next_event(), engine.sources_drained()), (None, true));
    let [here, there] = &sides;
    let list = vec![Sge { addr: here.address, length: 5000, lkey: here.key }];
    let remote = Remote { va: there.address, r_key: RKey(there.key) };
    let device = engine.device(HostId(0)).unwrap();
    device.write_memory(here.mr, 4990, b"0123456789").unwrap();
    device.post_send(here.qp, SendRequest::write(1, list, remote), posted).unwrap();
    engine.wake_device(HostId(0));
    let next = engine.next_event().expect("the adapter has something to do");
    assert!(posted < next && next < Time::us(32), "{next}");
    assert!(!engine.sources_drained() && !engine.delivered_all_created_before(Time::MAX));
    engine.advance(Time::us(60), &mut |_, _| true);
    assert!(engine.sources_drained() && engine.delivered_all_created_before(Time::MAX));
    let device = engine.device(HostId(0)).unwrap();
    assert!(device.poll_cq(here.cq, Time::us(60)).unwrap().is_some());
    assert!(device.poll_cq(here.cq, Time::us(60)).unwrap().is_none());
    let memory = engine.device(HostId(1)).unwrap().read_memory(there.mr, 4990, 10).unwrap();
    assert_eq!(memory, b"0123456789");
    let log = engine.observers().next().unwrap();
    for found in [&log.sent, &log.delivered] {
        let of_program: Vec<_> = found
            .iter()
            .filter(|packet| packet.source == HostId(0))
            .map(|packet| (packet.destination, packet.stream, packet.bytes, packet.first, packet.last))
            .collect();
        let to = HostId(1);
        let expected = [(to, 1, 2048, true, false), (to, 1, 2048, false, false), (to, 1, 904, false, true)];
        assert_eq!(of_program, expected);
        let others: Vec<_> = found.iter().filter(|packet| packet.source != HostId(0)).collect();
        assert_eq!(others.len(), 1);
        assert_eq!((others[0].source, others[0].bytes, others[0].stream), (HostId(2), 600, 0));
    }
    let totals = engine.totals();
    // Besides the data one acknowledgement with AETH.
    assert_eq!((totals.delivered, totals.delivered_bytes), (5, 600 + 5000 + 3 * 26 + 16 + 30));
}
