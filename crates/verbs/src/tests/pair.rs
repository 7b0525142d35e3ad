//! Two adapters, the wire between them, and a connection.

use std::collections::VecDeque;

use fabricsim_model::Random;
use fabricsim_protocols::infiniband::{OutOfOrder, QueuePairKind, QueuePairState, Remote};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::Psn;
use fabricsim_wire::headers::RnrTimer;
use fabricsim_wire::ids::{Qpn, RKey};

use crate::{
    AccessFlags, AddressVector, Capacities, Costs, Cq, Device, Mr, Outgoing, Pd, QueuePairAttributes,
    QueuePairInit, Sge, WorkCompletion,
};

/// Time of a packet on the wire, whatever its length, and until it is at the other end.
pub(super) const WIRE: Time = Time::ns(10);
pub(super) const LATENCY: Time = Time::ns(100);

/// Two adapters and a wire.
pub(super) struct Pair {
    pub(super) devices: [Device; 2],
    pub(super) now: Time,
    /// Packets on the wire to each adapter, with the times of their arrivals.
    wires: [VecDeque<(Time, Outgoing)>; 2],
    free: [Time; 2],
    /// Packets that are lost, of 100.
    pub(super) lost: u64,
    /// Nanoseconds by which a packet is late, at most: it may be overtaken.
    pub(super) late: u64,
    /// LID of each adapter, from 0, to which no packet comes any more.
    pub(super) dead_path: Option<u8>,
    random: Random,
}

impl Pair {
    pub(super) fn new(costs: Costs) -> Self {
        Self {
            devices: [0, 1].map(|host| Device::new(HostId(host), costs)),
            now: Time::ZERO,
            wires: Default::default(),
            free: [Time::ZERO; 2],
            lost: 0,
            late: 0,
            dead_path: None,
            random: Random::new(1, 2, 3),
        }
    }

    pub(super) fn with_loss(mut self, lost: u64, seed: u64) -> Self {
        (self.lost, self.random) = (lost, Random::new(seed, 0, 0));
        self
    }

    /// Packets are late by up to `late` ns each.
    pub(super) fn with_overtaking(mut self, late: u64, out_of_order: OutOfOrder) -> Self {
        self.late = late;
        self.devices = self.devices.map(|device| device.with_out_of_order(out_of_order));
        self
    }

    /// Runs until `until`, or until nothing is left to do.
    pub(super) fn run(&mut self, until: Time) {
        while let Some(next) = self.next_time().filter(|&next| next <= until) {
            self.now = self.now.max(next);
            for to in 0..2 {
                while self.wires[to].front().is_some_and(|(at, _)| *at <= self.now) {
                    let Some((_, sent)) = self.wires[to].pop_front() else { break };
                    let from = AddressVector {
                        host: HostId(1 - to as u32),
                        path: Some(sent.address.source_path),
                        sl: sent.address.sl,
                        source_path: sent.address.path.unwrap_or_default(),
                    };
                    let content = sent.content.as_deref();
                    sent.packet.headers.check().unwrap();
                    self.devices[to].receive(
                        from,
                        &sent.packet.headers,
                        (sent.packet.length, content),
                        self.now,
                    );
                }
            }
            for from in 0..2 {
                self.devices[from].expire(self.now);
                self.send(from);
            }
        }
        self.now = self.now.max(until.min(Time::ms(100_000)));
    }

    fn send(&mut self, from: usize) {
        if self.free[from] > self.now {
            return;
        }
        let device = &mut self.devices[from];
        let sent = if device.answer().is_some() {
            device.send_answer(self.now)
        } else {
            (0..device.turns())
                .find(|&turn| device.candidate(turn).is_some())
                .and_then(|turn| device.send(turn, self.now))
        };
        let Some(sent) = sent else { return };
        self.free[from] = self.now + WIRE;
        let path = sent.address.path.unwrap_or_default();
        if self.dead_path != Some(path) && self.random.below(100) >= self.lost {
            let late = if self.late == 0 { 0 } else { self.random.below(self.late) };
            let at = self.now + WIRE + LATENCY + Time::ns(late);
            let wire = &mut self.wires[1 - from];
            let place = wire.partition_point(|(other, _)| *other <= at);
            wire.insert(place, (at, sent));
        }
    }

    fn next_time(&self) -> Option<Time> {
        let arrivals = self.wires.iter().filter_map(|wire| wire.front().map(|(at, _)| *at));
        let timers = self.devices.iter().map(Device::wake_at).filter(|&at| at < Time::MAX);
        let waiting = (0..2).filter(|&from| {
            let device = &self.devices[from];
            device.answer().is_some() || (0..device.turns()).any(|turn| device.candidate(turn).is_some())
        });
        let links = waiting.map(|from| self.free[from].max(self.now));
        arrivals.chain(timers).chain(links).min().map(|at| at.max(self.now))
    }

    /// All completions of a queue that are visible now.
    pub(super) fn poll(&mut self, host: usize, cq: Cq) -> Vec<WorkCompletion> {
        std::iter::from_fn(|| self.devices[host].poll_cq(cq, self.now).unwrap()).collect()
    }
}

/// One end of a connection, with memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) pd: Pd,
    pub(super) cq: Cq,
    pub(super) qp: Qpn,
    pub(super) mr: Mr,
    pub(super) key: u32,
    pub(super) address: u64,
}

/// Bytes of the memory of an end.
pub(super) const SIZE: u64 = 20_000;

pub(super) fn end(device: &mut Device, capacities: Capacities) -> End {
    end_of(device, QueuePairKind::Rc, capacities)
}

pub(super) fn end_of(device: &mut Device, kind: QueuePairKind, capacities: Capacities) -> End {
    let pd = device.alloc_pd();
    let cq = device.create_cq(256).unwrap();
    let init = QueuePairInit { capacities, ..QueuePairInit::new(kind, cq) };
    let qp = device.create_qp(pd, init).unwrap();
    let mr = device.reg_mr(pd, SIZE, AccessFlags(0xf)).unwrap();
    let (key, address) = (device.key(mr).unwrap(), device.address(mr).unwrap());
    End { pd, cq, qp, mr, key, address }
}

/// The attributes of the three steps to a connection.
pub(super) fn steps(peer: HostId, qp: Qpn) -> [QueuePairAttributes; 3] {
    let init = QueuePairAttributes {
        state: Some(QueuePairState::Init),
        p_key_index: Some(0),
        port: Some(1),
        access: Some(AccessFlags(0xf)),
        ..QueuePairAttributes::default()
    };
    let receive = QueuePairAttributes {
        state: Some(QueuePairState::ReadyToReceive),
        address: Some(peer.into()),
        path_mtu: Some(1024),
        dest_qp: Some(qp),
        rq_psn: Some(Psn::new(7)),
        max_dest_rd_atomic: Some(4),
        min_rnr_timer: Some(RnrTimer::new(1)),
        ..QueuePairAttributes::default()
    };
    let send = QueuePairAttributes {
        state: Some(QueuePairState::ReadyToSend),
        sq_psn: Some(Psn::new(7)),
        timeout: Some(14),
        retry_count: Some(7),
        rnr_retry: Some(7),
        max_rd_atomic: Some(4),
        ..QueuePairAttributes::default()
    };
    [init, receive, send]
}

/// Two connected ends.
pub(super) fn connected(pair: &mut Pair, capacities: Capacities) -> [End; 2] {
    let ends = [0, 1].map(|host| end(&mut pair.devices[host], capacities));
    connect(pair, [&ends[0], &ends[1]]);
    ends
}

/// Connects two ends of reliable connections.
pub(super) fn connect(pair: &mut Pair, ends: [&End; 2]) {
    for host in 0..2 {
        for step in steps(HostId(1 - host as u32), ends[1 - host].qp) {
            pair.devices[host].modify_qp(ends[host].qp, step, Time::ZERO).unwrap();
        }
    }
}

/// Local memory of an end.
pub(super) fn sge(end: &End, offset: u64, length: u32) -> Vec<Sge> {
    vec![Sge { addr: end.address + offset, length, lkey: end.key }]
}

/// Memory of an end, seen from the other one.
pub(super) fn remote(end: &End, offset: u64) -> Remote {
    Remote { va: end.address + offset, r_key: RKey(end.key) }
}
