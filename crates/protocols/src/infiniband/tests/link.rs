//! Two adapters and the links between them.

use std::collections::{BTreeMap, VecDeque};

use fabricsim_model::Random;
use fabricsim_wire::Psn;
use fabricsim_wire::headers::{Headers, RnrTimer};
use fabricsim_wire::ids::{RKey, Srqn};

use super::{KEY, byte};
use crate::infiniband::{
    Access, Atomic, Completion, Placement, Receive, Received, Remote, Requester, RequesterOptions,
    RequesterOutbox, Responder, ResponderOptions, ResponderOutbox, SharedReceiveQueue, Taken, Work,
};

/// Memory of the requester, and its reports.
#[derive(Default)]
pub(super) struct Local {
    pub(super) completions: Vec<Completion>,
    /// Data of RDMA READs, by work request.
    pub(super) reads: BTreeMap<u64, Vec<u8>>,
    pub(super) timer_runs: bool,
    pub(super) waits: bool,
    /// Payload of the packet that is being received.
    pub(super) payload: Vec<u8>,
}

impl RequesterOutbox for Local {
    fn timer(&mut self, runs: bool) {
        self.timer_runs = runs;
    }
    fn wait(&mut self, _: RnrTimer) {
        self.waits = true;
    }
    fn read(&mut self, id: u64, offset: u32, length: u32) {
        assert_eq!(self.payload.len(), length as usize);
        let buffer = self.reads.entry(id).or_default();
        assert_eq!(buffer.len(), offset as usize, "data of {id} comes in order, once");
        buffer.extend(&self.payload);
    }
    fn complete(&mut self, completion: Completion) {
        self.completions.push(completion);
    }
}

/// Memory of the responder, and its reports.
#[derive(Default)]
pub(super) struct Far {
    pub(super) region: Vec<u8>,
    pub(super) receives: VecDeque<Receive>,
    pub(super) received: Vec<Received>,
    /// Shared receive queues, by number.
    pub(super) shared: BTreeMap<u32, SharedReceiveQueue>,
    /// Shared receive queues that have reported their limit.
    pub(super) limits: Vec<u32>,
    pub(super) buffers: BTreeMap<u64, Vec<u8>>,
    pub(super) atomics: u32,
    pub(super) payload: Vec<u8>,
    /// Payloads of packets that are held and not placed.
    pub(super) held: BTreeMap<u32, Vec<u8>>,
}

impl ResponderOutbox for Far {
    fn allows(&mut self, remote: Remote, length: u32, _: Access) -> bool {
        let end = remote.va.checked_add(u64::from(length));
        remote.r_key == KEY && end.is_some_and(|end| end <= self.region.len() as u64)
    }
    fn take_receive(&mut self) -> Option<Receive> {
        self.receives.pop_front()
    }
    fn has_shared_queue(&mut self, srq: Srqn) -> bool {
        self.shared.contains_key(&srq.0)
    }
    fn take_shared_receive(&mut self, srq: Srqn) -> Option<Receive> {
        let Taken { receive, reached_limit } = self.shared.get_mut(&srq.0)?.take()?;
        self.limits.extend(reached_limit.then_some(srq.0));
        Some(receive)
    }
    fn receives_left(&mut self) -> u32 {
        self.receives.len() as u32
    }
    fn place(&mut self, placement: Placement, length: u32) {
        assert_eq!(self.payload.len(), length as usize);
        match placement {
            Placement::Receive { id, offset } => {
                let buffer = self.buffers.entry(id).or_default();
                assert_eq!(buffer.len(), offset as usize, "data of {id} comes in order, once");
                buffer.extend(&self.payload);
            }
            Placement::Region(remote) => {
                let start = remote.va as usize;
                self.region[start..start + self.payload.len()].copy_from_slice(&self.payload);
            }
        }
    }
    fn atomic(&mut self, remote: Remote, operation: Atomic) -> u64 {
        self.atomics += 1;
        let start = remote.va as usize;
        let word = &mut self.region[start..start + 8];
        let original = u64::from_le_bytes(word.try_into().unwrap());
        let new = match operation {
            Atomic::CompareSwap { compare, swap } if compare == original => swap,
            Atomic::CompareSwap { .. } => original,
            Atomic::FetchAdd(add) => original.wrapping_add(add),
        };
        word.copy_from_slice(&new.to_le_bytes());
        original
    }
    fn invalidate(&mut self, _: RKey) -> bool {
        true
    }
    fn hold(&mut self, psn: Psn, is_placed: bool) {
        let payload = if is_placed { Vec::new() } else { self.payload.clone() };
        assert!(self.held.insert(psn.get(), payload).is_none(), "{psn} is held once");
    }
    fn resume(&mut self, psn: Psn) {
        self.payload = self.held.remove(&psn.get()).unwrap();
    }
    fn complete(&mut self, received: Received) {
        self.received.push(received);
    }
}

type InFlight = (Headers, Vec<u8>);

/// A connection.
pub(super) struct Link {
    pub(super) requester: Requester,
    pub(super) responder: Responder,
    pub(super) local: Local,
    pub(super) far: Far,
    pub(super) requests: VecDeque<InFlight>,
    pub(super) responses: VecDeque<InFlight>,
    random: Random,
    /// Packets that are lost, and that come twice, of 100.
    faults: (u64, u64),
    /// Packets that another one overtakes, of 100.
    pub(super) overtaken: u64,
}

impl Link {
    pub(super) fn new(
        (requester, responder): (RequesterOptions, ResponderOptions),
        first: Psn,
        faults: (u64, u64),
        seed: u64,
    ) -> Self {
        Self {
            requester: Requester::new(requester, first),
            responder: Responder::new(responder, first),
            local: Local::default(),
            far: Far { region: (0..4096).map(|at| at as u8).collect(), ..Far::default() },
            requests: VecDeque::new(),
            responses: VecDeque::new(),
            random: Random::new(seed, 0, 0),
            faults,
            overtaken: 0,
        }
    }

    pub(super) fn post(&mut self, work: Work) {
        self.requester.post(work, &mut self.local).unwrap();
    }

    /// The requester sends a packet, if it may.
    pub(super) fn send(&mut self) -> bool {
        let size = self.requester.peek_size();
        let packet = self.requester.next_packet(&mut self.local);
        assert_eq!(size, packet.map(|packet| packet.size()));
        let Some(packet) = packet else { return false };
        let payload = (packet.offset..packet.offset + packet.length).map(|at| byte(packet.message, at));
        packet.headers.check().unwrap();
        self.requests.push_back((packet.headers, payload.collect()));
        true
    }

    /// The responder sends a packet, if there is one.
    pub(super) fn answer(&mut self) -> bool {
        let size = self.responder.peek_size().map(|size| (size.headers, size.length));
        let next = self.responder.next_packet();
        assert_eq!(size, next.map(|(packet, _)| (packet.size().headers, packet.length)));
        let Some((packet, place)) = next else { return false };
        let start = place.va as usize;
        let payload = self.far.region[start..start + packet.length as usize].to_vec();
        packet.headers.check().unwrap();
        self.responses.push_back((packet.headers, payload));
        true
    }

    /// A request arrives.
    pub(super) fn arrive(&mut self) -> bool {
        let Some((headers, payload)) = self.requests.pop_front() else { return false };
        let length = payload.len() as u32;
        self.far.payload = payload;
        self.responder.receive(&headers, length, &mut self.far);
        true
    }

    /// A response arrives.
    pub(super) fn return_one(&mut self) -> bool {
        let Some((headers, payload)) = self.responses.pop_front() else { return false };
        let length = payload.len() as u32;
        self.local.payload = payload;
        self.requester.receive(&headers, length, &mut self.local);
        true
    }

    /// Loses the oldest packet in flight, or lets it come twice, or behind another one.
    pub(super) fn disturb(&mut self, is_request: bool) {
        let (lost, repeated) = self.faults;
        let draw = self.random.below(100);
        let queue = if is_request { &mut self.requests } else { &mut self.responses };
        if self.overtaken > 0 && !queue.is_empty() && self.random.below(100) < self.overtaken {
            let other = self.random.below(queue.len() as u64) as usize;
            queue.swap(0, other);
        }
        if draw < lost {
            queue.pop_front();
        } else if draw < lost + repeated
            && let Some(packet) = queue.front().cloned()
        {
            let at = self.random.below(queue.len() as u64 + 1) as usize;
            queue.insert(at, packet);
        }
    }

    /// A step at random. False if all requests have ended.
    pub(super) fn step(&mut self) -> bool {
        let is_idle = self.requests.is_empty() && self.responses.is_empty();
        match self.random.below(if is_idle { 5 } else { 40 }) {
            0 if self.local.waits => {
                self.local.waits = false;
                self.requester.ready(&mut self.local);
            }
            // Rarely enough that it seldom ends while answers come.
            1 if self.local.timer_runs && self.random.below(if is_idle { 4 } else { 20 }) == 0 => {
                self.requester.expire(&mut self.local);
            }
            2 | 3 | 5..=14 => {
                self.send();
            }
            4 | 15..=24 => {
                self.answer();
            }
            25..=32 => {
                self.disturb(true);
                self.arrive();
            }
            33..=39 => {
                self.disturb(false);
                self.return_one();
            }
            _ => {}
        }
        self.requester.pending() > 0
    }

    /// Runs without faults or timers until nothing is in flight.
    pub(super) fn settle(&mut self) {
        while self.send() | self.arrive() | self.answer() | self.return_one() {}
    }
}
