//! A channel adapter as programs see it: its objects, and the calls that use them.

mod address;
mod complete;
mod connections;
mod create;
mod local;
mod migrate;
mod modify;
mod multicast;
mod post;
mod quiet;
mod receive;
mod shared;
mod transmit;
mod windows;

use std::collections::VecDeque;

use fabricsim_protocols::infiniband::{Completion, OutOfOrder, Received, Responder, UnreliableCounters};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::ids::Qpn;

pub use self::transmit::Outgoing;
use crate::agent::Agent;
use crate::completion::CompletionQueue;
use crate::costs::Costs;
use crate::error::{VerbsError, invalid};
use crate::handles::{Ah, Cq, Mr, Pd, Srq};
use crate::memory::Memory;
use crate::multicast::{Attachments, SubnetView};
use crate::path::AddressVector;
use crate::queue_pair::{Counters, QueuePair};
use crate::service::{Receiving, Sending};
use crate::shared_queue::SharedQueues;
use crate::timers::Timers;
use crate::translations::Translations;
use crate::work::ReceiveRequest;

/// The first number of a queue pair that is not reserved: 0 and 1 are for management.
const FIRST_QPN: u32 = 2;

/// Reason to wake a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// The requester's timer may have ended.
    Retry,
    /// The time of an RNR NAK is over.
    Ready,
    /// The data of the next request is there.
    Request,
    /// The data of the next answer is there.
    Answer,
    /// An operation without packets is due.
    Local,
    /// A completion has found its queue full.
    Overflow,
    /// Something of communication management is due.
    Agent,
}

/// Side of a connection that sends a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Request,
    Answer,
}

/// Asynchronous event (`ibv_async_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsyncEvent {
    /// `IBV_EVENT_CQ_ERR`: a completion queue has overflowed.
    CompletionQueueError(Cq),
    /// `IBV_EVENT_QP_FATAL`: a queue pair cannot go on.
    QueuePairFatal(Qpn),
    /// `IBV_EVENT_QP_ACCESS_ERR`: the other end used memory that it may not.
    QueuePairAccess(Qpn),
    /// `IBV_EVENT_QP_REQ_ERR`: the other end sent an invalid request.
    QueuePairRequest(Qpn),
    /// `IBV_EVENT_COMM_EST`: the first packet of a connection has arrived, and its queue pair is in RTR.
    CommunicationEstablished(Qpn),
    /// `IBV_EVENT_SQ_DRAINED`: in SQD, all requests that had begun have ended.
    SendQueueDrained(Qpn),
    /// `IBV_EVENT_PATH_MIG`: a connection goes on over its second path.
    PathMigrated(Qpn),
    /// `IBV_EVENT_PATH_MIG_ERR`: a connection has failed although a second path was loaded: the other end was not ready for it.
    PathMigrationFailed(Qpn),
    /// `IBV_EVENT_QP_LAST_WQE_REACHED`: a queue pair in the error state takes no more requests from its shared receive queue.
    LastRequestReached(Qpn),
    /// `IBV_EVENT_PKEY_CHANGE`: the P_Key table of the port is another.
    PartitionKeysChanged,
    /// `IBV_EVENT_SRQ_LIMIT_REACHED`: fewer receive requests than the limit are left.
    SharedQueueLimit(Srq),
}

/// What an adapter knows of its port (`ibv_query_port`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// MTU in bytes: 256, 512, 1024, 2048 or 4096, the longest datagram.
    pub mtu: u32,
    /// Hosts of the fabric, to which addresses may go.
    pub hosts: u32,
    /// Service levels, or service classes, that packets may have.
    pub levels: u8,
    /// LIDs of each host to which packets may go.
    pub paths: u8,
}

impl Default for Port {
    fn default() -> Self {
        Self { mtu: 4096, hosts: u32::MAX, levels: 1, paths: 1 }
    }
}

/// Counters of an adapter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Packets for queue pairs that are not there.
    pub unknown: u64,
    /// Datagrams to multicast groups to which no queue pair is attached.
    pub unattached: u64,
    /// Packets executed: requests, and data of READs.
    pub progress: u64,
    /// Pages of memory whose translations were looked for in the adapter's cache.
    pub translations: u64,
    /// Of these, those that it lacked.
    pub translation_misses: u64,
}

/// A channel adapter of a host. It has no clock: every call gets the time.
#[derive(Clone, Debug)]
pub struct Device {
    host: HostId,
    /// Number of times that the network has given it something, or taken something from it.
    changes: u64,
    /// Number of completions that its queues have got.
    completed: u64,
    costs: Costs,
    port: Port,
    /// What it does with packets that have overtaken others of their connection.
    out_of_order: OutOfOrder,
    /// Protection domains; false if one was deallocated.
    pds: Vec<bool>,
    memory: Memory,
    cqs: Vec<Option<CompletionQueue>>,
    qps: Vec<Option<QueuePair>>,
    srqs: SharedQueues,
    /// Address handles, with their protection domains.
    addresses: Vec<Option<(Pd, AddressVector)>>,
    /// Domains of extended reliable connections; false if one was closed.
    xrcds: Vec<bool>,
    /// Queue pairs with a request or with data of a READ that can be sent, the next one first.
    listed: VecDeque<(u32, Side)>,
    /// Queue pairs with another answer that can be sent.
    answering: VecDeque<u32>,
    timers: Timers<(u32, Timer)>,
    subnet: SubnetView,
    attachments: Attachments,
    /// Communication management, once it was used.
    agent: Option<Box<Agent>>,
    /// Time at which the adapter can begin to fetch the data of another packet.
    fetch_free: Time,
    translations: Translations,
    events: VecDeque<AsyncEvent>,
    counters: DeviceCounters,
    /// Ended work requests, between calls.
    completions: Vec<Completion>,
    /// Ended receive requests, between calls.
    received: Vec<(ReceiveRequest, Received, Time)>,
}

impl Device {
    /// The adapter of a host.
    pub fn new(host: HostId, costs: Costs) -> Self {
        Self {
            host,
            changes: 0,
            completed: 0,
            costs,
            port: Port::default(),
            out_of_order: OutOfOrder::Drop,
            pds: Vec::new(),
            memory: Memory::default(),
            cqs: Vec::new(),
            qps: Vec::new(),
            srqs: SharedQueues::default(),
            addresses: Vec::new(),
            xrcds: Vec::new(),
            listed: VecDeque::new(),
            answering: VecDeque::new(),
            timers: Timers::default(),
            subnet: SubnetView::default(),
            attachments: Attachments::default(),
            agent: None,
            fetch_free: Time::ZERO,
            translations: Translations::new(costs.translation),
            events: VecDeque::new(),
            counters: DeviceCounters::default(),
            completions: Vec::new(),
            received: Vec::new(),
        }
    }

    /// The same adapter with another port.
    #[must_use]
    pub fn with_port(self, port: Port) -> Self {
        Self { port, ..self }
    }

    /// The same adapter with another rule for packets that have overtaken others. It has to hold at both ends of a connection: with
    /// [`OutOfOrder::Place`] each packet of a WRITE is a WRITE of its own.
    #[must_use]
    pub fn with_out_of_order(self, out_of_order: OutOfOrder) -> Self {
        Self { out_of_order, ..self }
    }

    /// While this number is the same, nothing that programs wait for has come, but for what they do themselves. Most packets change nothing that a
    /// program sees. Asynchronous events and communication management are rare: with them each packet counts, in numbers of their own.
    #[inline]
    pub fn changes(&self) -> u64 {
        if self.agent.is_none() && self.events.is_empty() {
            self.completed + self.memory.seen_writes()
        } else {
            1 << 63 | self.changes
        }
    }

    /// Its port (`ibv_query_port`).
    pub fn port(&self) -> Port {
        self.port
    }

    /// Its host.
    pub fn host(&self) -> HostId {
        self.host
    }

    /// Its times.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// Time from which the adapter takes another packet out of its input buffer: data is placed in order, so that a packet whose
    /// translations are missing stops those behind it. It is read [`Costs::receive`] before the one before it is placed.
    pub fn accepts_from(&self) -> Time {
        self.translations.placed_until().saturating_sub(self.costs.receive)
    }

    /// [`DeviceCounters::progress`].
    #[inline]
    pub fn progress(&self) -> u64 {
        self.counters.progress
    }

    /// Its counters.
    pub fn counters(&self) -> DeviceCounters {
        let (translations, translation_misses) = self.translations.counts();
        DeviceCounters { translations, translation_misses, ..self.counters }
    }

    /// Packets that are held until those before them have come.
    #[cfg(test)]
    pub(crate) fn held_packets(&self) -> usize {
        self.qps.iter().flatten().map(|qp| qp.held.len()).sum()
    }

    /// Counters of a queue pair.
    pub fn queue_pair_counters(&self, qp: Qpn) -> Result<Counters, VerbsError> {
        Ok(self.qp(qp)?.counters)
    }

    /// What an unreliable queue pair has executed and dropped; `None` for other services, and before it is ready to receive.
    pub fn unreliable_counters(&self, qp: Qpn) -> Result<Option<UnreliableCounters>, VerbsError> {
        Ok(match &self.qp(qp)?.responder {
            Some(Receiving::Connection(responder)) => Some(*responder.counters()),
            Some(Receiving::Datagram(responder)) => Some(*responder.counters()),
            _ => None,
        })
    }

    /// The queue pairs, by number, with their counters.
    pub fn queue_pairs(&self) -> impl Iterator<Item = (Qpn, Counters)> {
        self.qps.iter().flatten().map(|qp| (qp.number, qp.counters))
    }

    /// Takes the oldest asynchronous event.
    pub fn async_event(&mut self) -> Option<AsyncEvent> {
        self.events.pop_front()
    }

    /// True if a queue pair has work that has not ended, or answers to send.
    pub fn is_busy(&self) -> bool {
        self.qps.iter().flatten().any(|qp| {
            qp.requester.as_ref().map_or(0, Sending::pending) > 0
                || qp.local.as_ref().is_some_and(|local| !local.waiting.is_empty())
                || reliable(qp).is_some_and(|responder| responder.answers() > 0)
        })
    }

    fn qp(&self, qp: Qpn) -> Result<&QueuePair, VerbsError> {
        let found = self.index(qp).and_then(|index| self.qps[index as usize].as_ref());
        found.ok_or_else(|| invalid(format!("there is no queue pair {}", qp.0)))
    }

    /// Place of a queue pair in the table.
    fn index(&self, qp: Qpn) -> Option<u32> {
        let index = qp.0.checked_sub(FIRST_QPN)?;
        self.qps.get(index as usize)?.as_ref().map(|_| index)
    }

    fn checked_index(&self, qp: Qpn) -> Result<u32, VerbsError> {
        self.index(qp).ok_or_else(|| invalid(format!("there is no queue pair {}", qp.0)))
    }

    fn cq(&self, cq: Cq) -> Result<&CompletionQueue, VerbsError> {
        self.cqs.get(cq.0 as usize).and_then(Option::as_ref).ok_or_else(|| no_queue(cq))
    }

    fn cq_mut(&mut self, cq: Cq) -> Result<&mut CompletionQueue, VerbsError> {
        self.cqs.get_mut(cq.0 as usize).and_then(Option::as_mut).ok_or_else(|| no_queue(cq))
    }

    fn address_of(&self, ah: Ah) -> Result<(Pd, AddressVector), VerbsError> {
        let found = self.addresses.get(ah.0 as usize).copied().flatten();
        found.ok_or_else(|| invalid(format!("there is no address handle {}", ah.0)))
    }

    fn check_pd(&self, pd: Pd) -> Result<(), VerbsError> {
        match self.pds.get(pd.0 as usize) {
            Some(true) => Ok(()),
            _ => Err(invalid(format!("there is no protection domain {}", pd.0))),
        }
    }

    /// Copies bytes out of a region of memory.
    pub fn read_memory(&self, mr: Mr, offset: u64, length: u64) -> Result<Vec<u8>, VerbsError> {
        self.memory.read(mr, offset, length)
    }

    /// While a region is hollow, packets carry none of its bytes, and bytes that arrive for it are dropped. Times are the same. For callers that move
    /// the bytes of an operation themselves.
    pub fn set_hollow(&mut self, mr: Mr, is_hollow: bool) -> Result<(), VerbsError> {
        self.memory.set_hollow(mr, is_hollow)
    }

    /// Lends the bytes of a region, which [`Device::read_memory`] and [`Device::write_memory`] would copy, until [`Device::take_back_memory`]. The
    /// region is empty meanwhile, so nothing else may use it.
    pub fn lend_memory(&mut self, mr: Mr) -> Result<Vec<u8>, VerbsError> {
        self.memory.lend(mr)
    }

    /// Takes back the bytes that [`Device::lend_memory`] has lent.
    pub fn take_back_memory(&mut self, mr: Mr, bytes: Vec<u8>) {
        self.memory.take_back(mr, bytes);
    }

    /// Copies bytes into a region of memory.
    pub fn write_memory(&mut self, mr: Mr, offset: u64, data: &[u8]) -> Result<(), VerbsError> {
        self.memory.write(mr, offset, data)
    }
}

/// The responder of a reliable connection.
fn reliable(qp: &QueuePair) -> Option<&Responder> {
    qp.responder.as_ref().and_then(Receiving::reliable)
}

fn no_queue(cq: Cq) -> VerbsError {
    invalid(format!("there is no completion queue {}", cq.0))
}
