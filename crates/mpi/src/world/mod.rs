//! All ranks of a run: their state, and the calls of a driver.

mod calls;
mod connect;
mod lane;
mod local;
mod peers;
mod progress;
mod receive;
mod send;
mod transfer;
mod transmit;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fabricsim_spec::{Mpi, ReceiveQueue};
use fabricsim_units::{ByteTime, HostId, Time};
use fabricsim_verbs::{
    Cq, Device, Mr, Pd, QueuePairAttributes, ReceiveRequest, SendRequest, Srq, VerbsError,
};
use fabricsim_wire::ids::Qpn;

use crate::matching::Matching;
use crate::noise::Disturbances;
use crate::request::{Arrival, Message, Request};
use crate::results::{Counts, LogEntry};
use crate::slab::Slab;
use calls::Call;
use lane::Lane;
use local::Inbox;
use peers::Peers;
use transfer::{InFlight, Part};

/// Things that a world uses and does not own.
pub trait Environment {
    /// Adapter of a rank's host.
    fn device(&mut self, rank: usize) -> &mut Device;
    /// The adapter of a rank's host has got work.
    fn posted(&mut self, rank: usize);
    /// Changes a queue pair of a rank.
    fn modify_qp(&mut self, rank: usize, qp: Qpn, attributes: QueuePairAttributes) -> Result<(), VerbsError>;
    /// Reads from the buffer of a request.
    fn read(&mut self, rank: usize, request: u32, offset: u64, to: &mut [u8]);
    /// Writes to the buffer of a request.
    fn write(&mut self, rank: usize, request: u32, offset: u64, from: &[u8]);
    /// Copies the first `length` bytes of a request's buffer to another one. Both requests are given with their ranks.
    fn copy(&mut self, from: (usize, u32), to: (usize, u32), length: u64);
    /// The buffer of a request is not used any more.
    fn release(&mut self, rank: usize, request: u32);
}

/// A thing whose visibility ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A completion.
    Completion(Cq),
    /// A remote WRITE to a region.
    Write(Mr),
}

/// What a rank does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Its call has ended.
    Ended,
    /// Its call goes on at a time.
    Until(Time),
    /// Its call goes on when the first of some things is visible, or at a time. True: it polls, in vain if only the time ends that.
    Any(Vec<Awaited>, Time),
}

/// A failure that ends the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MpiError {
    /// A call of verbs failed.
    #[error("rank {0}: {1}")]
    Verbs(usize, VerbsError),
    /// A transfer failed.
    #[error("rank {rank}: {operation} to rank {peer} ended with {status}")]
    Transfer {
        /// Rank that posted it.
        rank: usize,
        /// Rank at the other end.
        peer: u32,
        /// Operation.
        operation: &'static str,
        /// Status of its completion.
        status: String,
    },
    /// A message is none of MPI.
    #[error("rank {0}: {1}")]
    Message(usize, String),
}

/// Memory that a rank has registered with its adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    mr: Mr,
    address: u64,
    key: u32,
    /// Its size is a power of two.
    power: u8,
    /// Its packets carry no bytes.
    is_hollow: bool,
}

/// A call of verbs, or a message through shared memory, at a time.
#[derive(Debug)]
enum Op {
    Send { qp: Qpn, request: SendRequest, log: Option<LogEntry> },
    Receive { qp: Qpn, srq: Option<Srq>, request: ReceiveRequest },
    Local { to: u32, message: local::Note },
}

/// Receive buffers, shared or of a peer.
#[derive(Clone, Debug)]
struct Buffers {
    mr: Mr,
    address: u64,
    key: u32,
    srq: Option<Srq>,
    /// Buffers that are posted, and those that will be.
    posted: u32,
    used: Vec<u32>,
}

/// Objects of a rank at its adapter.
#[derive(Clone, Debug)]
struct Adapter {
    pd: Pd,
    cq: Cq,
    /// Shared receive queues, by number, as far as they are used.
    shared: Vec<Option<Buffers>>,
    /// Free regions, by power of two of their size.
    pool: BTreeMap<u8, Vec<Region>>,
}

/// Ring of buffers at a peer, to which eager messages are written.
#[derive(Clone, Copy, Debug)]
struct RingOut {
    memory: crate::header::Memory,
    next: u32,
    credits: u32,
}

/// Ring of buffers for the messages of a peer.
#[derive(Clone, Copy, Debug)]
struct RingIn {
    mr: Mr,
    next: u32,
    returns: u32,
    /// A message that returns its credits has been sent, or waits.
    is_returning: bool,
}

/// Relation of a rank to another one.
#[derive(Debug, Default)]
struct Peer {
    is_connected: bool,
    /// Number of the next message to it and from it, by context.
    next_out: BTreeMap<u16, u16>,
    next_in: BTreeMap<u16, u16>,
    /// Messages before which others are missing, by context and number.
    early: BTreeMap<(u16, u16), Message>,
    /// Queue pairs, by receive queue, as far as they are used.
    lanes: Vec<Option<Lane>>,
    ring_out: Option<RingOut>,
    ring_in: Option<RingIn>,
    /// Eager messages from it.
    received: u32,
}

/// A rank.
struct Rank {
    host: HostId,
    /// Time up to which its processor is busy.
    clock: Time,
    ops: VecDeque<(Time, Op)>,
    call: Option<Call>,
    /// It waits for completions: an arrival by shared memory is reported to the driver.
    is_waiting: bool,
    /// Its last poll was in vain.
    polled_in_vain: bool,
    requests: Slab<Request>,
    matching: Matching<Message>,
    /// Messages that a probe took.
    taken: Slab<Message>,
    peers: Peers,
    /// Rank at the other end, and receive queue, of the adapter's queue pairs by their number, as far as they are of this rank.
    queue_pairs: Vec<Option<(u32, usize)>>,
    adapter: Option<Adapter>,
    /// Peers with a ring here.
    rings: Vec<u32>,
    inbox: Inbox,
    in_flight: Slab<InFlight>,
    /// Transfers that peers write.
    parts: Slab<Part>,
    registered: BTreeSet<(u64, u64)>,
    found: Option<(Arrival, u32)>,
    counts: Counts,
    noise: Option<Disturbances>,
}

/// All ranks.
pub struct World {
    options: Mpi,
    queues: Vec<ReceiveQueue>,
    copy: ByteTime,
    ranks: Vec<Rank>,
    /// READs carry no bytes: they are copied from buffer to buffer at the end.
    is_direct: bool,
    /// Ranks that wait and see a message through shared memory at a time.
    noted: Vec<(usize, Time)>,
    log: Option<Vec<LogEntry>>,
    failure: Option<MpiError>,
}

impl World {
    /// Ranks on some hosts, in order. `seed`: of their noise. `logs`: operations are kept for [`World::log`]. An error says what is wrong with the receive
    /// queues.
    pub fn new(options: &Mpi, hosts: &[HostId], seed: u64, logs: bool) -> Result<Self, String> {
        let noise = |rank| Disturbances::new(&options.noise, seed, rank);
        let ranks = hosts.iter().enumerate().map(|(rank, &host)| Rank::new(host, noise(rank))).collect();
        let (queues, copy) = (options.queues()?, options.copy_rate.byte_time());
        let log = logs.then(Vec::new);
        let options = options.clone();
        let (is_direct, noted) = (false, Vec::new());
        Ok(Self { options, queues, copy, ranks, is_direct, noted, log, failure: None })
    }

    /// Lets packets of READs carry no bytes, for runs without a capture: the data goes from buffer to buffer when a READ has ended. The
    /// sender's buffer is its own until the FIN, so it is the same data.
    #[must_use]
    pub fn without_content(self) -> Self {
        Self { is_direct: true, ..self }
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.ranks.len()
    }

    /// Counters of a rank.
    pub fn counts(&self, rank: usize) -> Counts {
        self.ranks[rank].counts
    }

    /// Operations that were posted, in order of their time.
    pub fn log(&self) -> &[LogEntry] {
        self.log.as_deref().unwrap_or_default()
    }

    /// Takes the failure that ends the run.
    pub fn take_failure(&mut self) -> Option<MpiError> {
        self.failure.take()
    }

    /// Takes a rank that waits, and the time at which it sees a message through shared memory.
    pub fn take_note(&mut self) -> Option<(usize, Time)> {
        self.noted.pop()
    }

    /// Time up to which the processor of a rank is busy.
    pub fn clock(&self, rank: usize) -> Time {
        self.ranks[rank].clock
    }

    /// True if a rank is in a call.
    pub fn is_in_call(&self, rank: usize) -> bool {
        self.ranks.get(rank).is_some_and(|rank| rank.call.is_some())
    }

    fn charge(&mut self, rank: usize, time: Time) {
        let of = &mut self.ranks[rank];
        of.clock = match &mut of.noise {
            Some(noise) => noise.end_of_work(of.clock, time),
            None => of.clock.saturating_add(time),
        };
    }

    /// A call begins, which takes a time at least.
    fn charge_call(&mut self, rank: usize, time: Time) {
        if let Some(noise) = &mut self.ranks[rank].noise {
            let interruption = noise.begin();
            self.delay(rank, interruption);
        }
        self.charge(rank, time);
    }

    /// A poll finds something.
    fn charge_poll(&mut self, rank: usize, time: Time) {
        if let Some(noise) = &mut self.ranks[rank].noise {
            let late = noise.arrival();
            self.delay(rank, late);
        }
        self.charge(rank, time);
    }

    /// Time in which the processor of a rank does not work for it.
    fn delay(&mut self, rank: usize, time: Time) {
        let clock = &mut self.ranks[rank].clock;
        *clock = clock.saturating_add(time);
    }

    fn charge_copy(&mut self, rank: usize, bytes: u64) {
        let time = self.copy.duration(bytes.min(u64::from(u32::MAX)) as u32);
        self.charge(rank, time);
    }

    fn fail(&mut self, error: MpiError) {
        self.failure.get_or_insert(error);
    }

    fn is_local(&self, rank: usize, peer: u32) -> bool {
        self.ranks[rank].host == self.ranks[peer as usize].host
    }

    fn peer(&mut self, rank: usize, peer: u32) -> &mut Peer {
        self.ranks[rank].peers.of(peer)
    }
}

impl Rank {
    fn new(host: HostId, noise: Option<Disturbances>) -> Self {
        Self {
            host,
            clock: Time::ZERO,
            ops: VecDeque::new(),
            call: None,
            is_waiting: false,
            polled_in_vain: false,
            requests: Slab::default(),
            matching: Matching::default(),
            taken: Slab::default(),
            peers: Peers::default(),
            queue_pairs: Vec::new(),
            adapter: None,
            rings: Vec::new(),
            inbox: Inbox::default(),
            in_flight: Slab::default(),
            parts: Slab::default(),
            registered: BTreeSet::new(),
            found: None,
            counts: Counts::default(),
            noise,
        }
    }
}
