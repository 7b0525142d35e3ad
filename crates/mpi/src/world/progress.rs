//! Progress of a rank, which it makes only within calls: rings, completions, shared memory.

use fabricsim_protocols::infiniband::Status;
use fabricsim_units::Time;
use fabricsim_verbs::{AccessFlags, WcOpcode, WorkCompletion};

use super::connect::RECEIVE;
use super::transfer::InFlight;
use super::{Environment, MpiError, Op, RingIn, World};
use crate::header::{FOOTER, Header, Memory};

/// Completions of a poll (`btl_openib_cq_poll_batch` is 256; a poll of this model takes its time for up to 16).
const BATCH: usize = 16;

impl World {
    /// Handles what is visible at `now`; true if there is anything.
    pub(super) fn progress(&mut self, env: &mut dyn Environment, rank: usize, now: Time) -> bool {
        let has_notes = self.receive_notes(env, rank, now);
        let has_writes = self.poll_rings(env, rank, now);
        let has_completions = self.poll_completions(env, rank, now);
        has_notes || has_writes || has_completions
    }

    fn poll_completions(&mut self, env: &mut dyn Environment, rank: usize, now: Time) -> bool {
        let Some(cq) = self.ranks[rank].adapter.as_ref().map(|adapter| adapter.cq) else { return false };
        let mut found = false;
        // What follows from a completion reaches the adapter later, so it makes no other one visible in the same poll.
        for _ in 0..BATCH {
            let device = env.device(rank);
            let Ok(Some(completion)) = device.poll_cq(cq, now) else { break };
            if !found {
                let poll = device.costs().poll;
                self.charge_poll(rank, poll);
            }
            found = true;
            self.handle(env, rank, &completion);
        }
        found
    }

    fn handle(&mut self, env: &mut dyn Environment, rank: usize, completion: &WorkCompletion) {
        let known = self.ranks[rank].queue_pairs.get(completion.qp_num.0 as usize);
        let Some(&Some((peer, queue))) = known else { return };
        if completion.status != Status::Success {
            self.fail_transfer(rank, peer, completion);
            return;
        }
        if completion.wr_id & RECEIVE != 0 {
            self.receive_buffer(env, (rank, peer), queue, completion);
            return;
        }
        match self.ranks[rank].in_flight.remove(completion.wr_id as u32) {
            Some(InFlight::Frame { to, queue, region, part, of_ring }) => {
                if let Some(region) = region {
                    self.give_region(rank, region);
                }
                if !of_ring {
                    if let Some(lane) = &mut self.peer(rank, to).lanes[queue] {
                        lane.sends += 1;
                    }
                    self.flush(env, rank, to, queue);
                    self.return_credits(env, rank, to, queue);
                }
                if let Some(part) = part {
                    self.part_sent(env, rank, part);
                }
            }
            Some(InFlight::Transfer(transfer)) => self.end_transfer(env, rank, transfer),
            None => {}
        }
    }

    fn fail_transfer(&mut self, rank: usize, peer: u32, completion: &WorkCompletion) {
        let operation = match completion.opcode {
            WcOpcode::RdmaRead => "RDMA_READ",
            WcOpcode::RdmaWrite => "RDMA_WRITE",
            WcOpcode::Send => "SEND",
            _ => "receive",
        };
        let status = format!("{:?}", completion.status);
        self.fail(MpiError::Transfer { rank, peer, operation, status });
    }

    /// A receive buffer has a message.
    fn receive_buffer(
        &mut self,
        env: &mut dyn Environment,
        (rank, from): (usize, u32),
        queue: usize,
        completion: &WorkCompletion,
    ) {
        let index = (completion.wr_id & !RECEIVE) as u32;
        let size = self.queues[queue].size;
        let own = self.peer(rank, from).lanes[queue]
            .as_ref()
            .and_then(|lane| lane.buffers.as_ref())
            .map(|of| of.mr);
        let shared = self.ranks[rank].adapter.as_ref().and_then(|adapter| adapter.shared[queue].as_ref());
        let Some(mr) = own.or_else(|| shared.map(|of| of.mr)) else { return };
        let offset = u64::from(index) * (u64::from(size) + crate::header::BTL as u64);
        let bytes = match env.device(rank).read_memory(mr, offset, u64::from(completion.byte_len)) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.fail(MpiError::Verbs(rank, error));
                return;
            }
        };
        self.receive_frame(env, (rank, from), Some(queue), &bytes);
        self.post_anew(env, (rank, from), queue, index, is_of_reserve(&bytes));
        self.return_credits(env, rank, from, queue);
    }

    /// A buffer is free. Those that are free are posted when few are left.
    fn post_anew(
        &mut self,
        env: &mut dyn Environment,
        (rank, from): (usize, u32),
        queue: usize,
        index: u32,
        is_control: bool,
    ) {
        let of = self.queues[queue];
        let cost = env.device(rank).costs().post_receive;
        let (qp, requests, posted) = {
            let rank = &mut self.ranks[rank];
            let Some(lane) = rank.peers.of(from).lanes[queue].as_mut() else {
                return;
            };
            let qp = lane.qp;
            let is_own = lane.buffers.is_some();
            let shared = rank.adapter.as_mut().and_then(|adapter| adapter.shared[queue].as_mut());
            let Some(buffers) = lane.buffers.as_mut().or(shared) else { return };
            buffers.posted -= 1;
            buffers.used.push(index);
            // A credit message takes a buffer of the reserve, which is posted at once.
            let low = if is_own { of.low + of.credits.map_or(0, |credits| credits.reserve) } else { of.low };
            if buffers.posted > low && !(is_own && is_control) {
                return;
            }
            let used = std::mem::take(&mut buffers.used);
            let returned = used.len() as u32 - u32::from(is_control);
            buffers.posted += used.len() as u32;
            if is_own {
                lane.returns += returned;
            }
            let srq = buffers.srq;
            let requests: Vec<_> = used.iter().map(|&index| buffers.request(index, of.size)).collect();
            (qp, requests, srq)
        };
        for request in requests {
            self.charge(rank, cost);
            self.push_op(rank, Op::Receive { qp, srq: posted, request });
        }
    }

    /// Gives a peer a ring after enough messages, if there may be another one.
    pub(super) fn offer_ring(&mut self, env: &mut dyn Environment, rank: usize, from: u32) {
        let of = &self.options;
        let (threshold, buffers, most) =
            (of.eager_rdma_threshold, of.eager_rdma_buffers, of.eager_rdma_peers as usize);
        let is_off = !of.eager_rdma;
        let count = self.ranks[rank].rings.len();
        let peer = self.peer(rank, from);
        peer.received = peer.received.saturating_add(1);
        if is_off || peer.ring_in.is_some() || peer.received < threshold || count >= most {
            return;
        }
        let length = self.slot() * u64::from(buffers);
        let Some(pd) = self.ranks[rank].adapter.as_ref().map(|adapter| adapter.pd) else { return };
        let device = env.device(rank);
        let made = device.reg_mr(pd, length, AccessFlags(3)).and_then(|mr| {
            device.watch(mr)?;
            Ok((mr, Memory { address: device.address(mr)?, key: device.key(mr)? }))
        });
        match made {
            Ok((mr, memory)) => {
                self.peer(rank, from).ring_in = Some(RingIn { mr, next: 0, returns: 0, is_returning: false });
                self.ranks[rank].rings.push(from);
                self.transmit(env, (rank, from), Header::Ring { memory }, &[], None);
            }
            Err(error) => self.fail(MpiError::Verbs(rank, error)),
        }
    }

    fn poll_rings(&mut self, env: &mut dyn Environment, rank: usize, now: Time) -> bool {
        let mut found = false;
        for place in 0..self.ranks[rank].rings.len() {
            let from = self.ranks[rank].rings[place];
            while let Some(bytes) = self.take_from_ring(env, rank, from, now) {
                if !found {
                    let poll = env.device(rank).costs().poll;
                    self.charge_poll(rank, poll);
                }
                found = true;
                self.receive_frame(env, (rank, from), None, &bytes);
                let half = (self.options.eager_rdma_buffers / 2).max(1);
                let Some(ring) = &mut self.peer(rank, from).ring_in else { continue };
                ring.returns += 1;
                if ring.returns >= half && !std::mem::replace(&mut ring.is_returning, true) {
                    self.transmit(env, (rank, from), Header::Credits, &[], None);
                }
            }
        }
        found
    }

    /// The next message of a ring: it ends with its size at the end of its buffer.
    fn take_from_ring(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        from: u32,
        now: Time,
    ) -> Option<Vec<u8>> {
        let (slot, buffers) = (self.slot(), self.options.eager_rdma_buffers);
        let ring = self.peer(rank, from).ring_in.as_mut()?;
        let device = env.device(rank);
        if device.next_write(ring.mr)? > now || !device.take_write(ring.mr, now).ok()? {
            return None;
        }
        let end = u64::from(ring.next + 1) * slot;
        ring.next = (ring.next + 1) % buffers;
        let footer = device.read_memory(ring.mr, end - FOOTER as u64, FOOTER as u64).ok()?;
        let size = u64::from(u32::from_le_bytes(footer.try_into().ok()?) & !(1 << 31));
        device.read_memory(ring.mr, end - FOOTER as u64 - size, size).ok()
    }
}

/// True if a message returns credits of its queue only: it has taken a buffer of the reserve.
fn is_of_reserve(bytes: &[u8]) -> bool {
    let decoded = crate::header::decode(bytes);
    decoded.is_ok_and(|decoded| decoded.header == Header::Credits && !decoded.credits.0)
}
