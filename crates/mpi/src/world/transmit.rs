//! Messages of the BTL: the queue pair or the ring that they take, and credits.

use fabricsim_units::Time;
use fabricsim_verbs::{SendRequest, Sge};
use fabricsim_wire::ids::RKey;

use super::lane::Frame;
use super::transfer::InFlight;
use super::{Environment, MpiError, Op, World};
use crate::header::{BTL, FOOTER, Header, set_credits};
use crate::results::LogEntry;

impl World {
    /// Sends a message to a rank, by shared memory if that is on the same host. True: it is written to a ring.
    pub(super) fn transmit(
        &mut self,
        env: &mut dyn Environment,
        (rank, to): (usize, u32),
        header: Header,
        data: &[u8],
        part: Option<(u32, u64)>,
    ) -> bool {
        if self.is_local(rank, to) {
            self.send_note(rank, to, header, data);
            return false;
        }
        let mut bytes = header.encode(data.len());
        bytes.extend_from_slice(data);
        let size = bytes.len() - BTL;
        let queue = self.queues.iter().position(|queue| queue.size as usize >= size);
        let queue = queue.unwrap_or(self.queues.len() - 1);
        if let Err(error) = self.connect(env, rank, to, queue) {
            self.fail(error);
            return false;
        }
        let frame = Frame { bytes, header, part, is_of_reserve: false };
        let is_control = matches!(header, Header::Credits | Header::Ring { .. });
        let peer = self.peer(rank, to);
        let is_free = peer.lanes[queue].as_ref().is_some_and(|lane| lane.waiting.is_empty());
        let has_credit = peer.ring_out.is_some_and(|ring| ring.credits > 0);
        if has_credit && is_free && !is_control && size as u64 <= self.options.eager_limit.0 {
            self.write_to_ring(env, rank, to, frame);
            return true;
        }
        if let Some(lane) = &mut self.peer(rank, to).lanes[queue] {
            lane.waiting.push_back(frame);
        }
        self.flush(env, rank, to, queue);
        false
    }

    /// Posts the messages of a queue that may be sent.
    pub(super) fn flush(&mut self, env: &mut dyn Environment, rank: usize, to: u32, queue: usize) {
        loop {
            let clock = self.ranks[rank].clock;
            let Some(lane) = &mut self.peer(rank, to).lanes[queue] else { return };
            let may_send = lane.sends > 0 && lane.credits != Some(0);
            if lane.waiting.is_empty() || !may_send {
                let since = if lane.waiting.is_empty() {
                    lane.since.take()
                } else {
                    lane.since.get_or_insert(clock);
                    None
                };
                let stalled = &mut self.ranks[rank].counts.stalled;
                *stalled =
                    stalled.saturating_add(since.map_or(Time::ZERO, |since| clock.saturating_sub(since)));
                return;
            }
            let Some(frame) = lane.waiting.pop_front() else { return };
            lane.sends -= 1;
            if let Some(credits) = &mut lane.credits {
                *credits -= 1;
            }
            self.post_frame(env, rank, (to, queue), frame, None);
        }
    }

    /// Sends the credits of a queue in a message of their own, if they are enough.
    pub(super) fn return_credits(&mut self, env: &mut dyn Environment, rank: usize, to: u32, queue: usize) {
        let Some(credits) = self.queues[queue].credits else { return };
        let Some(lane) = &mut self.peer(rank, to).lanes[queue] else { return };
        if lane.returns < credits.window || lane.control_sent >= credits.reserve || lane.sends == 0 {
            return;
        }
        lane.control_sent += 1;
        lane.sends -= 1;
        let header = Header::Credits;
        let frame = Frame { bytes: header.encode(0), header, part: None, is_of_reserve: true };
        self.post_frame(env, rank, (to, queue), frame, None);
    }

    fn write_to_ring(&mut self, env: &mut dyn Environment, rank: usize, to: u32, frame: Frame) {
        let queue = self.queues.len() - 1;
        if let Err(error) = self.connect(env, rank, to, queue) {
            self.fail(error);
            return;
        }
        let (slot, buffers) = (self.slot(), self.options.eager_rdma_buffers);
        let Some(ring) = &mut self.peer(rank, to).ring_out else { return };
        let end = ring.memory.address + u64::from(ring.next + 1) * slot;
        let address = end - (frame.bytes.len() + FOOTER) as u64;
        ring.next = (ring.next + 1) % buffers;
        ring.credits -= 1;
        let key = ring.memory.key;
        self.post_frame(env, rank, (to, queue), frame, Some((address, key)));
    }

    /// Bytes of a buffer of a ring.
    pub(super) fn slot(&self) -> u64 {
        self.options.eager_limit.0 + (BTL + FOOTER) as u64
    }

    /// Posts a message with the credits that go with it; `ring`: where it is written.
    fn post_frame(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        (to, queue): (u32, usize),
        mut frame: Frame,
        ring: Option<(u64, u32)>,
    ) {
        let peer = self.peer(rank, to);
        let Some(lane) = &mut peer.lanes[queue] else { return };
        let qp = lane.qp;
        // A message that does nothing else than return credits of a ring says so, also if another one has returned them since: it has taken a credit of
        // the queue, which one of the reserve has not.
        let is_of_ring = frame.header == Header::Credits && !frame.is_of_reserve;
        let credits = match &mut peer.ring_in {
            Some(ring) if is_of_ring || ring.returns > 0 && !frame.is_of_reserve => {
                ring.is_returning &= !is_of_ring;
                (true, std::mem::take(&mut ring.returns))
            }
            _ => (false, std::mem::take(&mut lane.returns)),
        };
        let seen = std::mem::take(&mut lane.control_seen);
        set_credits(&mut frame.bytes, (credits.0, credits.1.min(0x7fff) as u16), seen);
        if ring.is_some() {
            let size = frame.bytes.len() as u32;
            frame.bytes.extend_from_slice(&(size | 1 << 31).to_le_bytes());
        }
        self.post_bytes(env, (rank, to, queue), qp, frame, ring);
    }

    fn post_bytes(
        &mut self,
        env: &mut dyn Environment,
        (rank, to, queue): (usize, u32, usize),
        qp: fabricsim_wire::ids::Qpn,
        frame: Frame,
        ring: Option<(u64, u32)>,
    ) {
        let costs = *env.device(rank).costs();
        self.charge(rank, costs.post);
        let Frame { bytes, header, part, .. } = frame;
        let length = bytes.len() as u32;
        let is_inline = u64::from(length) <= self.options.max_inline.0.min(u64::from(costs.max_inline));
        let region = if is_inline { None } else { self.take_region(env, rank, u64::from(length)) };
        let list = match region {
            Some(region) => {
                let written = env.device(rank).write_memory(region.mr, 0, &bytes);
                if let Err(error) = written {
                    self.fail(MpiError::Verbs(rank, error));
                }
                vec![Sge { addr: region.address, length, lkey: region.key }]
            }
            None => Vec::new(),
        };
        let of_ring = ring.is_some();
        let number = self.ranks[rank].in_flight.add(InFlight::Frame { to, queue, region, part, of_ring });
        let id = u64::from(number);
        let mut request = match ring {
            Some((va, key)) => {
                let remote = fabricsim_protocols::infiniband::Remote { va, r_key: RKey(key) };
                SendRequest::write(id, list, remote)
            }
            None => SendRequest::send(id, list),
        };
        request.inline = is_inline.then_some(bytes);
        let operation = if of_ring { "RDMA_WRITE" } else { "SEND" };
        let log = self.entry(rank, to, (operation, length), || header.to_string());
        self.push_op(rank, Op::Send { qp, request, log });
    }

    pub(super) fn entry(
        &self,
        rank: usize,
        to: u32,
        (operation, bytes): (&'static str, u32),
        header: impl FnOnce() -> String,
    ) -> Option<LogEntry> {
        self.log.as_ref()?;
        Some(LogEntry {
            time: Time::ZERO,
            from: rank as u32,
            to,
            operation,
            bytes,
            header: header(),
            wr_id: 0,
        })
    }

    pub(super) fn push_op(&mut self, rank: usize, op: Op) {
        let of = &mut self.ranks[rank];
        of.ops.push_back((of.clock, op));
    }

    /// Carries out a call of verbs, or puts a message into shared memory, at its time.
    pub(super) fn execute(&mut self, env: &mut dyn Environment, rank: usize, op: Op, now: Time) {
        let done = match op {
            Op::Send { qp, request, log } => {
                if let (Some(entries), Some(entry)) = (&mut self.log, log) {
                    entries.push(LogEntry { time: now, wr_id: request.wr_id, ..entry });
                }
                env.device(rank).post_send(qp, request, now)
            }
            Op::Receive { srq: Some(srq), request, .. } => env.device(rank).post_srq_recv(srq, request),
            Op::Receive { qp, request, .. } => env.device(rank).post_recv(qp, request, now),
            Op::Local { to, message } => {
                self.put_note(to, message, now);
                Ok(())
            }
        };
        if let Err(error) = done {
            self.fail(MpiError::Verbs(rank, error));
        }
    }

    /// Posts the buffers of a new queue of each peer, at both ends.
    pub(super) fn post_buffers(&mut self, env: &mut dyn Environment, rank: usize, to: u32, queue: usize) {
        for (rank, to) in [(rank, to), (to as usize, rank as u32)] {
            let size = self.queues[queue].size;
            let now = self.ranks[rank].clock;
            let Some(lane) = &mut self.peer(rank, to).lanes[queue] else { continue };
            let Some(buffers) = lane.buffers.as_mut().filter(|buffers| buffers.posted == 0) else { continue };
            let qp = lane.qp;
            let mut requests = Vec::new();
            for index in std::mem::take(&mut buffers.used) {
                buffers.posted += 1;
                requests.push(buffers.request(index, size));
            }
            for request in requests {
                if let Err(error) = env.device(rank).post_recv(qp, request, now) {
                    self.fail(MpiError::Verbs(rank, error));
                }
            }
        }
    }
}
