//! READs and WRITEs of messages.

use fabricsim_protocols::infiniband::Remote;
use fabricsim_verbs::{SendRequest, Sge};
use fabricsim_wire::ids::RKey;

use super::{Environment, Op, Region, World};
use crate::header::{Header, Memory};

/// A posted work request.
#[derive(Clone, Debug)]
pub(super) enum InFlight {
    /// A message of the BTL.
    Frame { to: u32, queue: usize, region: Option<Region>, part: Option<(u32, u64)>, of_ring: bool },
    /// A READ or WRITE.
    Transfer(Transfer),
}

/// A READ or WRITE.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// Rank at the other end.
    pub(super) peer: u32,
    /// The data is read, for a receive request; else it is written, for a send request.
    pub(super) is_read: bool,
    /// Request here.
    pub(super) request: u32,
    /// Number at the other end: the FIN names it.
    pub(super) far: u64,
    pub(super) length: u64,
    pub(super) region: Region,
    /// The region is given back after the transfer.
    pub(super) is_own: bool,
    pub(super) remote: Memory,
}

/// A part of a message that the sender writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) request: u32,
    pub(super) region: Region,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// Bit of a FIN's number that says that it is one of a part.
pub(super) const OF_PART: u64 = 1 << 32;

impl World {
    /// Posts a READ or WRITE, now or when there is a place.
    pub(super) fn post_transfer(&mut self, env: &mut dyn Environment, rank: usize, transfer: Transfer) {
        let queue = self.queues.len() - 1;
        if let Err(error) = self.connect(env, rank, transfer.peer, queue) {
            self.fail(error);
            return;
        }
        let Some(lane) = &mut self.peer(rank, transfer.peer).lanes[queue] else { return };
        if lane.transfers == 0 {
            lane.waiting_transfers.push_back(transfer);
            return;
        }
        lane.transfers -= 1;
        let qp = lane.qp;
        let post = env.device(rank).costs().post;
        self.charge(rank, post);
        let Transfer { peer, is_read, length, region, remote, .. } = transfer;
        let id = u64::from(self.ranks[rank].in_flight.add(InFlight::Transfer(transfer)));
        let list = vec![Sge { addr: region.address, length: length as u32, lkey: region.key }];
        let place = Remote { va: remote.address, r_key: RKey(remote.key) };
        let (operation, request) = if is_read {
            ("RDMA_READ", SendRequest::read(id, list, place))
        } else {
            ("RDMA_WRITE", SendRequest::write(id, list, place))
        };
        let log = self.entry(rank, peer, (operation, length as u32), String::new);
        self.push_op(rank, Op::Send { qp, request, log });
    }

    /// A READ or WRITE has ended.
    pub(super) fn end_transfer(&mut self, env: &mut dyn Environment, rank: usize, transfer: Transfer) {
        let queue = self.queues.len() - 1;
        let Transfer { peer, is_read, request, far, length, region, is_own, .. } = transfer;
        let next = self.peer(rank, peer).lanes[queue].as_mut().and_then(|lane| {
            lane.transfers += 1;
            lane.waiting_transfers.pop_front()
        });
        if let Some(next) = next {
            self.post_transfer(env, rank, next);
        }
        if is_read && region.is_hollow {
            self.copy_between(env, (peer as usize, far as u32), (rank, request), length);
        } else if is_read {
            self.deliver(env, rank, request, (region, 0, length));
        }
        if is_own {
            self.give_region(rank, region);
        }
        self.transmit(env, (rank, peer), Header::Fin { request: far, length }, &[], None);
        if is_read {
            self.end(env, rank, request);
            return;
        }
        let Some(send) = self.ranks[rank].requests.get_mut(request).and_then(|request| request.send()) else {
            return;
        };
        send.done += length;
        if send.done >= send.call.length {
            self.end(env, rank, request);
        }
    }

    /// Writes the bytes of a region to the buffer of a receive, as far as they fit. The adapter has written them: no time passes.
    pub(super) fn deliver(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        request: u32,
        (region, offset, length): (Region, u64, u64),
    ) {
        let receive = self.ranks[rank].requests.get_mut(request).and_then(|request| request.receive());
        let Some(receive) = receive else { return };
        receive.done += length;
        let fits = receive.call.length.saturating_sub(offset).min(length);
        if fits == 0 {
            return;
        }
        match env.device(rank).lend_memory(region.mr) {
            Ok(bytes) => {
                env.write(rank, request, offset, &bytes[..fits as usize]);
                env.device(rank).take_back_memory(region.mr, bytes);
            }
            Err(error) => self.fail(super::MpiError::Verbs(rank, error)),
        }
    }
}
