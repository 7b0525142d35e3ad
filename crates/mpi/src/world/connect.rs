//! Connections of two ranks, at first use, and the objects of a rank at its adapter.

use std::collections::BTreeMap;

use fabricsim_protocols::infiniband::{QueuePairKind, QueuePairState};
use fabricsim_units::{Bytes, HostId, Time};
use fabricsim_verbs::{
    AccessFlags, Capacities, Device, QueuePairAttributes, QueuePairInit, ReceiveRequest, Sge,
    SharedQueueInit, Srq, VerbsError,
};
use fabricsim_wire::Psn;
use fabricsim_wire::headers::RnrTimer;
use fabricsim_wire::ids::Qpn;

use super::lane::{Lane, TRANSFERS};
use super::{Adapter, Buffers, Environment, MpiError, Region, World};
use crate::header::BTL;

/// Completions that a rank's queue holds: more than ever wait.
const COMPLETIONS: u32 = 1 << 20;

/// Bit of `wr_id` of a receive request; the other bits are its buffer.
pub(super) const RECEIVE: u64 = 1 << 63;

/// Path MTU of ConnectX-3 in Open MPI 2.0.0, in bytes; smaller where packets may not be as long.
const PATH_MTU: u32 = 2048;

/// Longest send queue, in work requests (`max_qp_wr`).
const MOST_REQUESTS: u32 = 32_768;

/// Smallest region of the pool: 4 KiB.
const LEAST_POWER: u8 = 12;

/// Local write, remote write and remote read.
const ACCESS: AccessFlags = AccessFlags(7);

impl World {
    /// Makes sure that two ranks have a queue pair for a receive queue.
    pub(super) fn connect(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        peer: u32,
        queue: usize,
    ) -> Result<(), MpiError> {
        if self.peer(rank, peer).lanes.get(queue).is_some_and(Option::is_some) {
            return Ok(());
        }
        if !std::mem::replace(&mut self.peer(rank, peer).is_connected, true) {
            self.charge(rank, self.options.connect);
        }
        let far = peer as usize;
        self.peer(far, rank as u32).is_connected = true;
        let here = self.add_lane(env, rank, peer, queue).map_err(|error| MpiError::Verbs(rank, error))?;
        let there =
            self.add_lane(env, far, rank as u32, queue).map_err(|error| MpiError::Verbs(far, error))?;
        for (of, qp, (other, other_qp)) in [(rank, here, (far, there)), (far, there, (rank, here))] {
            let host = self.ranks[other].host;
            for step in self.steps(env.device(of), host, other_qp) {
                env.modify_qp(of, qp, step).map_err(|error| MpiError::Verbs(of, error))?;
            }
        }
        self.post_buffers(env, rank, peer, queue);
        Ok(())
    }

    fn add_lane(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        peer: u32,
        queue: usize,
    ) -> Result<Qpn, VerbsError> {
        let of = self.queues[queue];
        let device = env.device(rank);
        let queues = self.queues.len();
        let adapter = self.ranks[rank].adapter.get_or_insert_with(|| Adapter::new(device, queues));
        let reserve = of.credits.map_or(0, |credits| credits.reserve);
        let buffers = match of.credits {
            Some(_) => Some(adapter.buffers(device, (of.size, of.buffers + reserve), None)?),
            None => None,
        };
        if buffers.is_none() && adapter.shared[queue].is_none() {
            let init = SharedQueueInit { receives: of.buffers, pieces: 1, xrc: None };
            let srq = device.create_srq(adapter.pd, init)?;
            let shared = adapter.buffers(device, (of.size, of.buffers), Some(srq))?;
            for index in 0..of.buffers {
                device.post_srq_recv(srq, shared.request(index, of.size))?;
            }
            adapter.shared[queue] = Some(shared);
        }
        let srq = adapter.shared[queue].as_ref().and_then(|shared| shared.srq);
        let inline = self.options.max_inline.min(Bytes(u64::from(device.costs().max_inline)));
        let capacities = Capacities {
            send: (of.sends + TRANSFERS + 2 * self.options.eager_rdma_buffers).min(MOST_REQUESTS),
            receive: of.buffers + reserve,
            send_pieces: 1,
            receive_pieces: 1,
            inline: inline.0 as u32,
        };
        let init = QueuePairInit { capacities, srq, ..QueuePairInit::new(QueuePairKind::Rc, adapter.cq) };
        let qp = device.create_qp(adapter.pd, init)?;
        let lane = Lane::new(qp, of.sends, of.credits.map(|_| of.buffers), buffers);
        let of = &mut self.ranks[rank].queue_pairs;
        let place = qp.0 as usize;
        if of.len() <= place {
            of.resize(place + 1, None);
        }
        of[place] = Some((peer, queue));
        let lanes = &mut self.peer(rank, peer).lanes;
        lanes.resize_with(queues, || None);
        lanes[queue] = Some(lane);
        Ok(qp)
    }

    /// The steps of a queue pair to a connection. The first of them allows receive requests, which are posted when it is connected.
    fn steps(&self, device: &Device, host: HostId, peer: Qpn) -> [QueuePairAttributes; 3] {
        let init = QueuePairAttributes {
            state: Some(QueuePairState::Init),
            p_key_index: Some(0),
            port: Some(1),
            access: Some(ACCESS),
            ..QueuePairAttributes::default()
        };
        let receive = QueuePairAttributes {
            state: Some(QueuePairState::ReadyToReceive),
            address: Some(host.into()),
            path_mtu: Some(PATH_MTU.min(device.port().mtu)),
            dest_qp: Some(peer),
            rq_psn: Some(Psn::new(0)),
            max_dest_rd_atomic: Some(self.options.reads),
            min_rnr_timer: Some(RnrTimer::at_least(self.options.min_rnr_timer)),
            ..QueuePairAttributes::default()
        };
        let send = QueuePairAttributes {
            state: Some(QueuePairState::ReadyToSend),
            sq_psn: Some(Psn::new(0)),
            timeout: Some(self.options.timeout),
            retry_count: Some(7),
            rnr_retry: Some(7),
            max_rd_atomic: Some(self.options.reads),
            ..QueuePairAttributes::default()
        };
        [init, receive, send]
    }

    /// Objects of a rank at its adapter.
    pub(super) fn adapter(&mut self, env: &mut dyn Environment, rank: usize) -> &mut Adapter {
        let queues = self.queues.len();
        self.ranks[rank].adapter.get_or_insert_with(|| Adapter::new(env.device(rank), queues))
    }

    /// Takes a region of at least `length` bytes.
    pub(super) fn take_region(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        length: u64,
    ) -> Option<Region> {
        self.take_region_as(env, rank, length, false)
    }

    /// Takes a region for a READ. Its packets carry the bytes only if the run has a capture.
    pub(super) fn take_region_of_read(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        length: u64,
    ) -> Option<Region> {
        self.take_region_as(env, rank, length, self.is_direct)
    }

    fn take_region_as(
        &mut self,
        env: &mut dyn Environment,
        rank: usize,
        length: u64,
        is_hollow: bool,
    ) -> Option<Region> {
        let power = (length.max(1).next_power_of_two().trailing_zeros() as u8).max(LEAST_POWER);
        let adapter = self.adapter(env, rank);
        let (pd, found) = (adapter.pd, adapter.pool.get_mut(&power).and_then(Vec::pop));
        let device = env.device(rank);
        // Both kinds are of one pool, so that addresses, and with them times, do not depend on the kind.
        let made = found.map_or_else(
            || {
                let mr = device.reg_mr(pd, 1 << power, ACCESS)?;
                let (address, key) = (device.address(mr)?, device.key(mr)?);
                Ok(Region { mr, address, key, power, is_hollow: false })
            },
            Ok,
        );
        let taken = made.and_then(|region| {
            if region.is_hollow != is_hollow {
                device.set_hollow(region.mr, is_hollow)?;
            }
            Ok(Region { is_hollow, ..region })
        });
        taken.map_err(|error| self.fail(MpiError::Verbs(rank, error))).ok()
    }

    /// Gives a region back.
    pub(super) fn give_region(&mut self, rank: usize, region: Region) {
        if let Some(adapter) = &mut self.ranks[rank].adapter {
            adapter.pool.entry(region.power).or_default().push(region);
        }
    }

    /// Time of the registration of a program's buffer.
    pub(super) fn register(&mut self, rank: usize, memory: u64, length: u64) {
        let is_kept = self.options.registration_cache && memory != 0;
        if is_kept && !self.ranks[rank].registered.insert((memory, length)) {
            self.charge(rank, self.options.registration_lookup);
            return;
        }
        let pages = length.div_ceil(4096);
        let time = Time(self.options.registration_page.0.saturating_mul(pages));
        self.charge(rank, self.options.registration.saturating_add(time));
        self.ranks[rank].counts.registrations += 1;
    }
}

impl Adapter {
    fn new(device: &mut Device, queues: usize) -> Self {
        let pd = device.alloc_pd();
        // The number of completions is one that every adapter allows.
        let cq = device.create_cq(COMPLETIONS).unwrap_or_default();
        Self { pd, cq, shared: vec![None; queues], pool: BTreeMap::new() }
    }

    /// Memory for receive buffers of `size` bytes and the BTL's header.
    fn buffers(
        &self,
        device: &mut Device,
        (size, number): (u32, u32),
        srq: Option<Srq>,
    ) -> Result<Buffers, VerbsError> {
        let length = (u64::from(size) + BTL as u64) * u64::from(number);
        let mr = device.reg_mr(self.pd, length, AccessFlags::LOCAL_WRITE)?;
        let (address, key) = (device.address(mr)?, device.key(mr)?);
        let used = if srq.is_some() { Vec::new() } else { (0..number).collect() };
        let posted = if srq.is_some() { number } else { 0 };
        Ok(Buffers { mr, address, key, srq, posted, used })
    }
}

impl Buffers {
    /// The receive request of a buffer.
    pub(super) fn request(&self, index: u32, size: u32) -> ReceiveRequest {
        let length = size + BTL as u32;
        let addr = self.address + u64::from(index) * u64::from(length);
        ReceiveRequest { wr_id: RECEIVE | u64::from(index), list: vec![Sge { addr, length, lkey: self.key }] }
    }
}
