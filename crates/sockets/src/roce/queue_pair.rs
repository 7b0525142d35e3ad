//! Queue pair of an end: requester and responder with memory and timers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv4Addr;

use fabricsim_protocols::infiniband::{
    Completion, MAX_MESSAGE, OutOfOrder, PostError, Receive, Received, Requester, RequesterOptions,
    RequesterOutbox, Responder, ResponderOptions, Verb, Work,
};
use fabricsim_units::Time;
use fabricsim_wire::Psn;
use fabricsim_wire::headers::{Operation, RnrTimer};
use fabricsim_wire::ids::{PKey, Qpn};

use super::memory::{Execution, Memory};
use super::{Incoming, Region, RocePort};
use crate::error::SocketError;

/// Packets sent in a turn, so that responses are received in between.
const BURST: usize = 16;

/// Settings of a queue pair, on which both ends agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoceSettings {
    /// Its own number.
    pub number: Qpn,
    /// Number of the other end.
    pub destination: Qpn,
    /// Address of the other end.
    pub peer: Ipv4Addr,
    /// Path MTU in bytes: 256, 512, 1024, 2048 or 4096.
    pub mtu: u32,
    /// Number of the first packet that it sends.
    pub send_psn: Psn,
    /// Number of the first packet that it receives.
    pub receive_psn: Psn,
    /// The timer ends after 4.096 us x 2^timeout (section 9.7.6.1.3); 0 to 31, 0: never.
    pub timeout: u8,
    /// Retries, 0 to 7.
    pub retries: u8,
    /// Retries while the receiver is not ready; 7: without limit.
    pub rnr_retries: u8,
    /// Time of its own RNR NAKs.
    pub rnr_timer: RnrTimer,
    /// RDMA READs and atomic operations outstanding in each direction, at least 1.
    pub reads: u8,
}

/// End of a work request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendDone {
    /// Identifier and status.
    pub completion: Completion,
    /// Data of an RDMA READ; else empty.
    pub data: Vec<u8>,
}

/// End of a receive request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// Identifier, status, immediate data.
    pub received: Received,
    /// Data of a SEND; empty for a WRITE with immediate data.
    pub data: Vec<u8>,
}

/// Reports of the requester.
#[derive(Debug, Default)]
struct Reports {
    /// Data of work requests that have not ended: to be sent, or read so far.
    data: BTreeMap<u64, Vec<u8>>,
    done: VecDeque<SendDone>,
    /// The timer is to be set (true) or stopped.
    timer: Option<bool>,
    wait: Option<RnrTimer>,
    /// Payload of the packet that is being received.
    payload: Vec<u8>,
}

impl RequesterOutbox for Reports {
    fn timer(&mut self, runs: bool) {
        self.timer = Some(runs);
    }

    fn wait(&mut self, time: RnrTimer) {
        self.wait = Some(time);
    }

    fn read(&mut self, id: u64, _offset: u32, length: u32) {
        // Responses are taken in order, each once.
        let payload = &self.payload[..self.payload.len().min(length as usize)];
        self.data.entry(id).or_default().extend_from_slice(payload);
    }

    fn complete(&mut self, completion: Completion) {
        let data = self.data.remove(&completion.id).unwrap_or_default();
        self.done.push_back(SendDone { completion, data });
    }
}

/// Queue pair of a reliable connection.
#[derive(Debug)]
pub struct RoceQueuePair {
    settings: RoceSettings,
    requester: Requester,
    responder: Responder,
    memory: Memory,
    reports: Reports,
    /// READs among the work requests, whose data is what has arrived.
    reads: BTreeSet<u64>,
    /// Time at which the timer ends.
    deadline: Time,
    /// Time at which the requester may send again after an RNR NAK.
    ready_at: Time,
    is_broken: bool,
    /// Packets that are no part of the connection.
    foreign: u64,
}

impl RoceQueuePair {
    /// A queue pair that is ready to send and to receive.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(settings: RoceSettings) -> Result<Self, SocketError> {
        let refuse = |text: String| Err(SocketError::Setting(text));
        if !matches!(settings.mtu, 256 | 512 | 1024 | 2048 | 4096) {
            return refuse(format!("mtu = {}: must be 256, 512, 1024, 2048 or 4096", settings.mtu));
        }
        for (name, value, range) in [
            ("timeout", settings.timeout, 0..=31),
            ("retries", settings.retries, 0..=7),
            ("rnr_retries", settings.rnr_retries, 0..=7),
            ("reads", settings.reads, 1..=255),
        ] {
            if !range.contains(&value) {
                return refuse(format!("{name} = {value}: must be {} to {}", range.start(), range.end()));
            }
        }
        let RoceSettings { mtu, destination, retries, rnr_retries, reads, rnr_timer, .. } = settings;
        let p_key = PKey::DEFAULT;
        let (ack_every, has_credits, reports_credits) = (0, false, false);
        let requester = RequesterOptions {
            mtu,
            destination,
            p_key,
            retries,
            rnr_retries,
            reads,
            ack_every,
            has_credits,
            self_contained_writes: false,
        };
        let responder = ResponderOptions {
            mtu,
            destination,
            p_key,
            reads,
            rnr_timer,
            reports_credits,
            out_of_order: OutOfOrder::Drop,
        };
        Ok(Self {
            requester: Requester::new(requester, settings.send_psn),
            responder: Responder::new(responder, settings.receive_psn),
            settings,
            memory: Memory::default(),
            reports: Reports::default(),
            reads: BTreeSet::new(),
            deadline: Time::MAX,
            ready_at: Time::MAX,
            is_broken: false,
            foreign: 0,
        })
    }

    /// Memory that the other end may use.
    pub fn add_region(&mut self, region: Region) {
        self.memory.regions.push(region);
    }

    /// Its regions.
    pub fn regions(&self) -> &[Region] {
        &self.memory.regions
    }

    /// Posts a receive request for a message of up to `length` bytes. In the error state it ends as flushed.
    pub fn post_receive(&mut self, id: u64, length: u32) {
        self.memory.receives.push_back(Receive { id, length });
        if self.is_broken {
            self.memory.flush();
        }
    }

    /// Posts a work request, whose identifier no other one has that is still pending, with the data of a SEND or WRITE. The length of
    /// the data counts, not the one in `work`, except for RDMA READs.
    ///
    /// # Errors
    /// The message is too long, or the identifier is in use.
    pub fn post_send(&mut self, work: Work, data: Vec<u8>) -> Result<(), SocketError> {
        if self.reports.data.contains_key(&work.id) || self.reads.contains(&work.id) {
            return Err(SocketError::Setting(format!("work request {} is pending already", work.id)));
        }
        let is_read = matches!(work.verb, Verb::Read(_));
        let length = match work.verb {
            Verb::Read(_) => work.length,
            Verb::CompareSwap { .. } | Verb::FetchAdd { .. } => 8,
            Verb::Send | Verb::Write(_) => u32::try_from(data.len()).unwrap_or(u32::MAX),
        };
        // A completion frees the data, so all requests have one here.
        let work = Work { length, signaled: true, ..work };
        if length > MAX_MESSAGE {
            return Err(SocketError::Setting(PostError::TooLong { length }.to_string()));
        }
        if is_read {
            self.reads.insert(work.id);
        } else {
            self.reports.data.insert(work.id, data);
        }
        let posted = self.requester.post(work, &mut self.reports);
        posted.map_err(|error| SocketError::Setting(error.to_string()))
    }

    /// Work requests that have not ended.
    pub fn pending(&self) -> usize {
        self.requester.pending()
    }

    /// True in the error state: a request of one of the ends has failed.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Packets of other senders, queue pairs and partitions.
    pub fn foreign(&self) -> u64 {
        self.foreign
    }

    /// The next work request that has ended.
    pub fn next_done(&mut self) -> Option<SendDone> {
        let done = self.reports.done.pop_front()?;
        self.reads.remove(&done.completion.id);
        Some(done)
    }

    /// The next receive request that has ended.
    pub fn next_received(&mut self) -> Option<ReceivedMessage> {
        self.memory.received.pop_front()
    }

    /// Does what is to be done at `now`: packets in, timers, packets out. False if there was nothing.
    ///
    /// # Errors
    /// The socket does not work.
    pub fn poll(&mut self, port: &mut RocePort, now: Time) -> Result<bool, SocketError> {
        let mut worked = false;
        while let Some(incoming) = port.receive()? {
            self.take(incoming, now);
            worked = true;
        }
        self.expire(now);
        for _ in 0..BURST {
            let answered = self.answer(port, now)?;
            let sent = self.send(port, now)?;
            if !answered && !sent {
                break;
            }
            worked = true;
        }
        Ok(worked)
    }

    /// A packet has arrived.
    pub(super) fn take(&mut self, incoming: Incoming, now: Time) {
        let Incoming { from, headers, payload } = incoming;
        let bth = headers.bth;
        let is_ours = from == self.settings.peer
            && bth.dest_qp == self.settings.number
            && PKey::DEFAULT.matches(bth.p_key);
        let (Some(operation), true) = (bth.opcode.operation(), is_ours) else {
            self.foreign += 1;
            return;
        };
        let length = payload.len() as u32;
        if operation.is_response() {
            self.reports.payload = payload;
            self.requester.receive(&headers, length, &mut self.reports);
            self.set_timers(now);
            return;
        }
        let mut out = Execution { memory: &mut self.memory, payload: &payload };
        self.responder.receive(&headers, length, &mut out);
        self.set_timers(now);
    }

    /// One half has failed: the queue pair goes to the error state. A NAK that waits is sent all the same.
    fn break_off(&mut self) {
        self.is_broken = true;
        self.requester.flush(&mut self.reports);
        if !self.responder.is_broken() {
            self.responder.flush(&mut Execution { memory: &mut self.memory, payload: &[] });
        }
        self.memory.flush();
    }

    fn expire(&mut self, now: Time) {
        if self.deadline <= now {
            self.deadline = Time::MAX;
            self.requester.expire(&mut self.reports);
            self.set_timers(now);
        }
        if self.ready_at <= now {
            self.ready_at = Time::MAX;
            self.requester.ready(&mut self.reports);
            self.set_timers(now);
        }
    }

    /// Sets the timers as the requester has requested, after an error none.
    fn set_timers(&mut self, now: Time) {
        if !self.is_broken && (self.requester.is_broken() || self.responder.is_broken()) {
            self.break_off();
        }
        if let Some(runs) = self.reports.timer.take() {
            let is_on = runs && self.settings.timeout > 0;
            self.deadline = if is_on { now + timeout(self.settings.timeout) } else { Time::MAX };
        }
        if let Some(wait) = self.reports.wait.take() {
            self.ready_at = now + wait.time();
        }
    }

    /// Sends a response. False: there is none.
    fn answer(&mut self, port: &mut RocePort, now: Time) -> Result<bool, SocketError> {
        let Some((packet, place)) = self.responder.next_packet() else { return Ok(false) };
        let is_data = packet.headers.bth.opcode.operation().is_some_and(Operation::is_read_response);
        let payload = if is_data { self.memory.load(place, packet.length) } else { &[] };
        port.send(self.settings.peer, &packet.headers, payload, now)?;
        Ok(true)
    }

    /// Sends a request. False: there is none.
    fn send(&mut self, port: &mut RocePort, now: Time) -> Result<bool, SocketError> {
        let Some(packet) = self.requester.next_packet(&mut self.reports) else { return Ok(false) };
        self.set_timers(now);
        let data = self.reports.data.get(&packet.message).map_or(&[][..], Vec::as_slice);
        let (start, end) = (packet.offset as usize, packet.offset as usize + packet.length as usize);
        // Atomic operations and READ requests have no payload.
        let payload = if packet.length == 0 { &[] } else { data.get(start..end).unwrap_or_default() };
        port.send(self.settings.peer, &packet.headers, payload, now)?;
        Ok(true)
    }
}

/// Time of the transport timer.
fn timeout(code: u8) -> Time {
    Time::ns(4096 << code)
}
