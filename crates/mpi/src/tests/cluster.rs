//! Adapters, wires between all of them, and ranks that carry out lists of calls.

use std::collections::{BTreeMap, VecDeque};

use fabricsim_model::Random;
use fabricsim_spec::Mpi;
use fabricsim_units::{HostId, Time};
use fabricsim_verbs::{Costs, Device, Outgoing, QueuePairAttributes, VerbsError};
use fabricsim_wire::ids::Qpn;

use crate::{Arrival, Awaited, Environment, Mode, Pattern, ReceiveCall, SendCall, Turn, World};

/// Time of a packet on the wire, whatever its length, and until it is at the other end.
const WIRE: Time = Time::ns(10);
const LATENCY: Time = Time::ns(100);

/// A call of a rank.
#[derive(Clone, Debug)]
pub(super) enum Do {
    Send {
        to: u32,
        tag: i32,
        mode: Mode,
        data: Vec<u8>,
    },
    Receive {
        source: i32,
        tag: i32,
        length: usize,
    },
    /// Waits for the oldest request that has not been waited for.
    Wait,
    /// Waits for all requests.
    WaitAll,
    Compute(Time),
    /// Waits for a message and takes it, then receives it.
    ProbeAndReceive {
        source: i32,
        tag: i32,
    },
    /// Cancels the oldest request.
    Cancel,
    Test,
    Close,
}

pub(super) fn send(to: u32, tag: i32, data: &[u8]) -> Do {
    Do::Send { to, tag, mode: Mode::Standard, data: data.to_vec() }
}

pub(super) fn receive(source: i32, tag: i32, length: usize) -> Do {
    Do::Receive { source, tag, length }
}

#[derive(Clone, Debug)]
enum State {
    At(Time),
    Any(Vec<Awaited>, Time),
    Done,
}

/// What a rank has got: the arrival of each request in order of its completion, and the buffer.
pub(super) type Got = Vec<(Arrival, Vec<u8>)>;

struct Place {
    hosts: Vec<usize>,
    devices: Vec<Device>,
    buffers: BTreeMap<(usize, u32), Vec<u8>>,
    released: Vec<(usize, u32)>,
}

impl Environment for Place {
    fn device(&mut self, rank: usize) -> &mut Device {
        &mut self.devices[self.hosts[rank]]
    }

    fn posted(&mut self, _: usize) {}

    fn modify_qp(&mut self, rank: usize, qp: Qpn, attributes: QueuePairAttributes) -> Result<(), VerbsError> {
        self.device(rank).modify_qp(qp, attributes, Time::ZERO)
    }

    fn read(&mut self, rank: usize, request: u32, offset: u64, to: &mut [u8]) {
        let start = offset as usize;
        to.copy_from_slice(&self.buffers[&(rank, request)][start..start + to.len()]);
    }

    fn write(&mut self, rank: usize, request: u32, offset: u64, from: &[u8]) {
        let start = offset as usize;
        let buffer = self.buffers.get_mut(&(rank, request)).expect("a buffer");
        buffer[start..start + from.len()].copy_from_slice(from);
    }

    fn copy(&mut self, from: (usize, u32), to: (usize, u32), length: u64) {
        let data = self.buffers[&from][..length as usize].to_vec();
        self.write(to.0, to.1, 0, &data);
    }

    fn release(&mut self, rank: usize, request: u32) {
        self.released.push((rank, request));
    }
}

pub(super) struct Cluster {
    pub(super) world: World,
    place: Place,
    now: Time,
    /// Packets on the wire to each host, with source and time of arrival.
    wires: Vec<VecDeque<(Time, usize, Outgoing)>>,
    free: Vec<Time>,
    lost: u64,
    random: Random,
    states: Vec<State>,
    scripts: Vec<VecDeque<Do>>,
    open: Vec<VecDeque<u32>>,
    waits: Vec<VecDeque<u32>>,
    probing: Vec<bool>,
    pub(super) got: Vec<Got>,
    /// Time at which each call of a rank ended.
    pub(super) ended: Vec<Vec<Time>>,
}

impl Cluster {
    /// Ranks on hosts, by number of the host.
    pub(super) fn new(options: &Mpi, hosts: &[usize], scripts: Vec<Vec<Do>>) -> Self {
        let count = hosts.iter().max().map_or(0, |most| most + 1);
        let costs = Costs { max_inline: 128, ..Costs::LEAST };
        let ids: Vec<HostId> = hosts.iter().map(|&host| HostId(host as u32)).collect();
        let ranks = hosts.len();
        Self {
            world: World::new(options, &ids, 1, true).expect("receive queues"),
            place: Place {
                hosts: hosts.to_vec(),
                devices: (0..count).map(|host| Device::new(HostId(host as u32), costs)).collect(),
                buffers: BTreeMap::new(),
                released: Vec::new(),
            },
            now: Time::ZERO,
            wires: vec![VecDeque::new(); count],
            free: vec![Time::ZERO; count],
            lost: 0,
            random: Random::new(1, 2, 3),
            states: vec![State::At(Time::ZERO); ranks],
            scripts: scripts.into_iter().map(VecDeque::from).collect(),
            open: vec![VecDeque::new(); ranks],
            waits: vec![VecDeque::new(); ranks],
            probing: vec![false; ranks],
            got: vec![Vec::new(); ranks],
            ended: vec![Vec::new(); ranks],
        }
    }

    /// READs carry no bytes.
    pub(super) fn without_content(mut self) -> Self {
        self.world = self.world.without_content();
        self
    }

    /// Lost packets, of 100.
    pub(super) fn with_loss(mut self, lost: u64) -> Self {
        self.lost = lost;
        self
    }

    /// Runs until all scripts have ended; false if ranks wait for what does not come.
    pub(super) fn run(&mut self) -> bool {
        loop {
            self.hosts();
            self.ranks();
            if self.states.iter().all(|state| matches!(state, State::Done)) {
                return true;
            }
            match self.next_time() {
                Some(next) if next < Time::ms(100_000) => self.now = self.now.max(next),
                _ => return false,
            }
        }
    }

    /// Names of the operations that were posted: of messages their type.
    pub(super) fn operations(&self) -> Vec<(u32, String, u32)> {
        let name = |entry: &crate::LogEntry| match entry.header.split(' ').next() {
            Some(kind) if !kind.is_empty() && entry.operation == "SEND" => kind.to_owned(),
            Some(kind) if !kind.is_empty() => format!("{kind} by {}", entry.operation),
            _ => entry.operation.to_owned(),
        };
        self.world.log().iter().map(|entry| (entry.from, name(entry), entry.bytes)).collect()
    }

    fn hosts(&mut self) {
        for to in 0..self.wires.len() {
            while self.wires[to].front().is_some_and(|(at, ..)| *at <= self.now) {
                let Some((_, from, sent)) = self.wires[to].pop_front() else { break };
                let data = (sent.packet.length, sent.content.as_deref());
                self.place.devices[to].receive(HostId(from as u32), &sent.packet.headers, data, self.now);
            }
        }
        for from in 0..self.wires.len() {
            self.place.devices[from].expire(self.now);
            self.put_on_wire(from);
        }
    }

    fn put_on_wire(&mut self, from: usize) {
        if self.free[from] > self.now {
            return;
        }
        let device = &mut self.place.devices[from];
        let sent = if device.answer().is_some() {
            device.send_answer(self.now)
        } else {
            let turn = (0..device.turns()).find(|&turn| device.candidate(turn).is_some());
            turn.and_then(|turn| device.send(turn, self.now))
        };
        let Some(sent) = sent else { return };
        self.free[from] = self.now + WIRE;
        if self.random.below(100) >= self.lost {
            let wire = &mut self.wires[sent.address.host.index()];
            let at = (self.now + WIRE + LATENCY).max(wire.back().map_or(Time::ZERO, |(at, ..)| *at));
            wire.push_back((at, from, sent));
        }
    }

    fn due(&self, rank: usize) -> Option<Time> {
        match &self.states[rank] {
            State::At(at) => Some(*at),
            State::Done => None,
            State::Any(things, limit) => {
                let device = &self.place.devices[self.place.hosts[rank]];
                let visible = things.iter().filter_map(|thing| match thing {
                    Awaited::Completion(cq) => device.next_completion(*cq).expect("a queue"),
                    Awaited::Write(mr) => device.next_write(*mr),
                });
                Some(visible.min().unwrap_or(Time::MAX).min(*limit)).filter(|&at| at < Time::MAX)
            }
        }
    }

    fn next_time(&self) -> Option<Time> {
        let devices = &self.place.devices;
        let arrivals = self.wires.iter().filter_map(|wire| wire.front().map(|(at, ..)| *at));
        let timers = devices.iter().map(Device::wake_at).filter(|&at| at < Time::MAX);
        let waiting = (0..devices.len()).filter(|&from| {
            let device = &devices[from];
            device.answer().is_some() || (0..device.turns()).any(|turn| device.candidate(turn).is_some())
        });
        let links = waiting.map(|from| self.free[from].max(self.now));
        let ranks = (0..self.states.len()).filter_map(|rank| self.due(rank));
        arrivals.chain(timers).chain(links).chain(ranks).min().map(|at| at.max(self.now))
    }

    fn ranks(&mut self) {
        for rank in 0..self.states.len() {
            while self.due(rank).is_some_and(|at| at <= self.now) {
                if self.world.is_in_call(rank) {
                    let turn = self.world.advance(&mut self.place, rank, self.now);
                    if let Some(error) = self.world.take_failure() {
                        panic!("{error}");
                    }
                    self.take_notes();
                    self.states[rank] = match turn {
                        Turn::Ended => {
                            self.end_call(rank);
                            State::At(self.now)
                        }
                        Turn::Until(at) => State::At(at),
                        Turn::Any(things, limit) => State::Any(things, limit),
                    };
                } else {
                    self.begin_call(rank);
                }
            }
        }
    }

    fn take_notes(&mut self) {
        while let Some((other, at)) = self.world.take_note() {
            if let State::Any(_, limit) = &mut self.states[other] {
                *limit = at.min(*limit);
            }
        }
    }

    fn end_call(&mut self, rank: usize) {
        self.ended[rank].push(self.now);
        if let Some(request) = self.waits[rank].pop_front() {
            let arrival = self.world.arrival(rank, request).expect("it is complete");
            let buffer = self.place.buffers.remove(&(rank, request)).expect("a buffer");
            assert!(self.place.released.contains(&(rank, request)), "the buffer is still used");
            self.place.released.retain(|&of| of != (rank, request));
            self.world.free(rank, request);
            self.got[rank].push((arrival, buffer));
        }
        if std::mem::take(&mut self.probing[rank])
            && let Some((arrival, message)) = self.world.take_found(rank)
        {
            let request = self.reserve(rank, vec![0; arrival.length as usize]);
            let call = ReceiveCall { length: arrival.length, memory: 0 };
            let at = (rank, self.now);
            assert!(self.world.receive_taken(&mut self.place, at, request, (message, call)));
        }
    }

    fn reserve(&mut self, rank: usize, buffer: Vec<u8>) -> u32 {
        let request = self.world.reserve(rank);
        self.place.buffers.insert((rank, request), buffer);
        self.open[rank].push_back(request);
        request
    }

    fn begin_call(&mut self, rank: usize) {
        let at = (rank, self.now);
        if let Some(&request) = self.waits[rank].front() {
            self.world.wait(at, vec![request], true);
            return;
        }
        let Some(next) = self.scripts[rank].pop_front() else {
            self.states[rank] = State::Done;
            return;
        };
        match next {
            Do::Send { to, tag, mode, data } => {
                let length = data.len() as u64;
                let request = self.reserve(rank, data);
                let call = SendCall { to, tag, context: 0, mode, length, memory: 1 };
                self.world.send(&mut self.place, at, request, call);
            }
            Do::Receive { source, tag, length } => {
                let request = self.reserve(rank, vec![0; length]);
                let call =
                    (Pattern { source, tag, context: 0 }, ReceiveCall { length: length as u64, memory: 1 });
                self.world.receive(&mut self.place, at, request, call);
            }
            Do::Wait => self.waits[rank].extend(self.open[rank].pop_front()),
            Do::WaitAll => {
                let open = std::mem::take(&mut self.open[rank]);
                self.waits[rank].extend(open);
            }
            Do::Compute(time) => self.states[rank] = State::At(self.now + time),
            Do::ProbeAndReceive { source, tag } => {
                self.probing[rank] = true;
                self.world.probe(at, Pattern { source, tag, context: 0 }, true, true);
            }
            Do::Cancel => {
                let request = self.open[rank][0];
                self.world.cancel(&mut self.place, rank, request);
            }
            Do::Test => {
                let open: Vec<u32> = self.open[rank].iter().copied().collect();
                self.world.test(at, open);
            }
            Do::Close => self.world.close(at),
        }
    }
}

/// Bytes that differ from those of other seeds.
pub(super) fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|place| (place * 7 + seed * 31 + place / 251) as u8).collect()
}

/// Options without costs.
pub(super) fn free_of_cost() -> Mpi {
    let zero = Time::ZERO;
    Mpi {
        call: zero,
        wait: zero,
        matching: zero,
        connect: zero,
        registration: zero,
        registration_page: zero,
        registration_lookup: zero,
        timeout: 6,
        min_rnr_timer: Time::us(10),
        ..Mpi::default()
    }
}
