//! Communication management between two adapters: datagrams on the wire, their times, and losses.

use std::sync::Arc;

use fabricsim_protocols::infiniband::communication::{CmEvent, ManagerOptions};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::field::Octets;
use fabricsim_wire::ids::{CommId, Lid, QKey, Qpn, ServiceId};
use fabricsim_wire::mad::cm::{RejReason, Rep, Req, SidrRep, SidrReq};

use super::pair::{end, steps};
use super::{Pair, remote, sge};
use crate::{AsyncEvent, Capacities, Costs, SendRequest, SubnetView};

const SERVICE: ServiceId = ServiceId(0x0106_0007);
const CHANNEL: u32 = 3;

fn pair(costs: Costs) -> Pair {
    let mut pair = Pair::new(costs);
    for device in &mut pair.devices {
        device.set_subnet(SubnetView {
            guids: Arc::from([0x10, 0x11]),
            lids: Arc::from([Lid(1), Lid(2)]),
            ..SubnetView::default()
        });
        // 131 us for an answer, 1 ms of memory of ended connections.
        let options = ManagerOptions { response_timeout: 5, retries: 15, time_wait: 8 };
        device.set_cm_options(options).unwrap();
    }
    pair
}

fn request(pair: &mut Pair) -> CommId {
    let mut private_data = Octets::default();
    private_data.0[..5].copy_from_slice(b"hello");
    let req = Req { service_id: SERVICE, local_qpn: Qpn(9), private_data, ..Req::default() };
    pair.devices[0].cm_request(CHANNEL, HostId(1), None, req, pair.now).unwrap()
}

/// Runs until a host has an event, and takes it.
fn event(pair: &mut Pair, host: usize) -> Option<CmEvent> {
    for _ in 0..100_000 {
        if let Some(event) = pair.devices[host].cm_event(CHANNEL, pair.now) {
            return Some(event);
        }
        let until = pair.now + Time::us(20);
        pair.run(until);
    }
    None
}

/// Establishes a connection and releases it. Returns the time until both ends are established.
fn connect_and_release(pair: &mut Pair) -> Time {
    pair.devices[1].cm_listen(SERVICE, CHANNEL).unwrap();
    let begin = pair.now;
    let a = request(pair);
    let Some(CmEvent::Requested(b, Lid(1), req)) = event(pair, 1) else { panic!("no request") };
    assert_eq!(&req.private_data.0[..5], b"hello");
    assert_eq!((req.primary.local_lid, req.primary.remote_lid), (Lid(1), Lid(2)));
    let rep = Rep { local_qpn: Qpn(11), ..Rep::default() };
    pair.devices[1].cm_accept(b, rep, pair.now).unwrap();
    let replied = event(pair, 0);
    assert!(matches!(replied, Some(CmEvent::Replied(id, rep)) if id == a && rep.local_qpn == Qpn(11)));
    pair.devices[0].cm_confirm(a, pair.now).unwrap();
    assert_eq!(event(pair, 0), Some(CmEvent::Established(a)));
    assert_eq!(event(pair, 1), Some(CmEvent::Established(b)));
    let time = pair.now - begin;
    pair.devices[1].cm_disconnect(b, pair.now).unwrap();
    for (host, id) in [(0, a), (1, b)] {
        assert_eq!(event(pair, host), Some(CmEvent::Disconnected(id)));
        assert_eq!(event(pair, host), Some(CmEvent::TimeWaitExit(id)));
    }
    time
}

#[test]
fn a_connection_is_established_over_the_wire() {
    let time = connect_and_release(&mut pair(Costs::LEAST));
    // Three datagrams of 110 ns, seen every 20 us.
    assert!(time <= Time::us(80), "{time}");
}

#[test]
fn lost_datagrams_are_sent_again() {
    let mut times = Vec::new();
    for seed in 0..40 {
        let mut pair = pair(Costs::LEAST).with_loss(30, seed);
        times.push(connect_and_release(&mut pair));
    }
    assert!(times.iter().any(|&time| time >= Time::ns(4096 << 5)), "a time-out, at least, in 40 runs");
}

#[test]
fn each_stage_of_a_datagram_takes_its_time() {
    let costs = Costs {
        doorbell: Time::ns(150),
        payload_fetch: Time::ns(400),
        receive: Time::ns(100),
        payload_write: Time::ns(200),
        completion: Time::ns(100),
        wake_up: Time::us(4),
        ..Costs::LEAST
    };
    let mut pair = pair(costs);
    pair.devices[1].cm_listen(SERVICE, CHANNEL).unwrap();
    request(&mut pair);
    pair.run(Time::us(100));
    let expected = 150 + 400 + 10 + 100 + 100 + 200 + 100 + 4000 + 100;
    assert_eq!(pair.devices[1].next_cm_event(CHANNEL), Some(Time::ns(expected)));
}

#[test]
fn a_service_without_listener_rejects() {
    let mut pair = pair(Costs::LEAST);
    let a = request(&mut pair);
    let rejected = event(&mut pair, 0);
    let expected = CmEvent::Rejected(a, RejReason::INVALID_SERVICE_ID, Octets::default());
    assert_eq!(rejected, Some(expected));
    let error = pair.devices[0].cm_disconnect(a, pair.now).unwrap_err();
    assert_eq!(error.to_string(), format!("EINVAL: disconnect: there is no connection {}", a.0));
    let error = pair.devices[0].set_cm_options(ManagerOptions::default()).unwrap_err();
    assert!(error.message.contains("have been created before"), "{error}");
}

/// Asks host 1 for a service, which answers; with losses the request comes again, and may be answered twice.
fn resolve(pair: &mut Pair) -> SidrRep {
    pair.devices[1].cm_listen(SERVICE, CHANNEL).unwrap();
    let request = SidrReq { service_id: SERVICE, ..SidrReq::default() };
    let a = pair.devices[0].cm_resolve(CHANNEL, HostId(1), request, pair.now).unwrap();
    for _ in 0..100_000 {
        if let Some(CmEvent::Resolving(b, Lid(1), _)) = pair.devices[1].cm_event(CHANNEL, pair.now) {
            let reply = SidrRep { qpn: Qpn(11), q_key: QKey(5), ..SidrRep::default() };
            pair.devices[1].cm_answer(b, reply, pair.now).unwrap();
        }
        if let Some(event) = pair.devices[0].cm_event(CHANNEL, pair.now) {
            let CmEvent::Resolved(id, reply) = event else { panic!("{event:?}") };
            assert_eq!((id, reply.request_id), (a, a));
            return reply;
        }
        let until = pair.now + Time::us(20);
        pair.run(until);
    }
    panic!("no answer");
}

#[test]
fn a_service_is_resolved_over_the_wire() {
    let reply = resolve(&mut pair(Costs::LEAST));
    assert_eq!((reply.status, reply.qpn, reply.q_key, reply.service_id), (0, Qpn(11), QKey(5), SERVICE));
    let mut times = Vec::new();
    for seed in 0..40 {
        let mut pair = pair(Costs::LEAST).with_loss(30, seed);
        assert_eq!(resolve(&mut pair).qpn, Qpn(11));
        times.push(pair.now);
    }
    assert!(times.iter().any(|&time| time >= Time::ns(4096 << 5)), "a time-out, at least, in 40 runs");
}

/// IBA volume 1, section 11.6.3.1: once, when the first packet arrives in RTR.
#[test]
fn the_first_packet_in_rtr_establishes_communication() {
    let mut pair = Pair::new(Costs::LEAST);
    let ends = [0, 1].map(|host| end(&mut pair.devices[host], Capacities::default()));
    for host in 0..2 {
        let [init, receive, send] = steps(HostId(1 - host as u32), ends[1 - host].qp);
        for step in [init, receive] {
            pair.devices[host].modify_qp(ends[host].qp, step, Time::ZERO).unwrap();
        }
        if host == 0 {
            pair.devices[0].modify_qp(ends[0].qp, send, Time::ZERO).unwrap();
        }
    }
    let write = |pair: &mut Pair| {
        let request = SendRequest::write(1, sge(&ends[0], 0, 8), remote(&ends[1], 0));
        pair.devices[0].post_send(ends[0].qp, request, pair.now).unwrap();
        let until = pair.now + Time::us(100);
        pair.run(until);
        assert_eq!(pair.poll(0, ends[0].cq).len(), 1);
    };
    assert_eq!(pair.devices[1].async_event(), None);
    write(&mut pair);
    let established = AsyncEvent::CommunicationEstablished(ends[1].qp);
    assert_eq!(pair.devices[1].async_event(), Some(established));
    write(&mut pair);
    assert_eq!([pair.devices[1].async_event(), pair.devices[0].async_event()], [None, None]);
}
