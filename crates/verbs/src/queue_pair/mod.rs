//! A queue pair: its queues, its attributes, and the two state machines of its connection.

mod attributes;

use std::collections::{BTreeMap, VecDeque};

use fabricsim_protocols::infiniband::{
    OutOfOrder, PathMigration, QueuePairKind, QueuePairState, Requester, RequesterOptions, Responder,
    ResponderOptions, Status, UcOptions, UcRequester, UcResponder, UdOptions, UdRequester, UdResponder,
};
use fabricsim_units::Time;
use fabricsim_wire::headers::{Headers, RnrTimer};
use fabricsim_wire::ids::{PKey, Qpn};

use crate::completion::WcOpcode;
use crate::handles::{Pd, Srq};
use crate::local::LocalQueue;
use crate::memory::{Sge, pieces};
use crate::path::AddressVector;
use crate::service::{Receiving, Sending};
use crate::work::{ReceiveRequest, SendRequest};
pub use attributes::{Capacities, QueuePairAttributes, QueuePairInit};

/// Packets of a message with the last of which an acknowledgement is requested, so that long messages do not wait for the end of the timer: as
/// Mellanox adapters with the Linux driver (`MLX5_IB_ACK_REQ_FREQ`: 2^8).
const ACK_EVERY: u32 = 256;

/// A posted work request.
#[derive(Clone, Debug)]
pub(crate) struct Posted {
    pub(crate) wr_id: u64,
    pub(crate) opcode: WcOpcode,
    pub(crate) list: Vec<Sge>,
    pub(crate) inline: Option<Vec<u8>>,
    pub(crate) length: u32,
    pub(crate) signaled: bool,
    /// Where a datagram goes.
    pub(crate) address: Option<AddressVector>,
    /// Time from which the adapter has it.
    pub(crate) since: Time,
    /// It has ended; its place is free when a later completion tells that.
    pub(crate) has_ended: bool,
}

impl Posted {
    /// Address and length of the pieces of memory that hold the data from `offset` on.
    pub(crate) fn pieces(&self, offset: u32, length: u32) -> impl Iterator<Item = (u64, u32)> {
        pieces(&self.list, offset, length).map(|(_, va, length)| (va, length))
    }
}

/// A request packet that is executed later.
#[derive(Clone, Debug)]
pub(crate) struct Deferred {
    pub(crate) headers: Headers,
    pub(crate) length: u32,
    pub(crate) content: Option<Box<[u8]>>,
}

/// What a packet that has overtaken others has with it.
#[derive(Clone, Debug)]
pub(crate) struct HeldContent {
    /// Its bytes, unless they are in memory.
    pub(crate) content: Option<Box<[u8]>>,
    /// It is the last of a WRITE.
    pub(crate) ends_write: bool,
}

/// Whether the next packet of a queue can be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// There is none.
    #[default]
    Idle,
    /// Its data is being fetched.
    Fetched,
    /// It waits for its turn on the link.
    Listed,
}

/// Counters of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Request packets sent, all copies.
    pub packets: u64,
    /// Of these, those that had been sent before.
    pub retransmitted: u64,
    /// Times at which the timer ended.
    pub timeouts: u64,
    /// Response packets sent: acknowledgements, data of READs.
    pub responses: u64,
    /// Of these, NAKs for a missing packet.
    pub sequence_naks: u64,
    /// Of these, NAKs because there was no receive request.
    pub rnr_naks: u64,
    /// Packets that were dropped: from another host or partition, or in a state in which it does not receive.
    pub dropped: u64,
}

/// A queue pair.
#[derive(Clone, Debug)]
pub(crate) struct QueuePair {
    pub(crate) number: Qpn,
    pub(crate) pd: Pd,
    pub(crate) init: QueuePairInit,
    pub(crate) state: QueuePairState,
    pub(crate) attributes: QueuePairAttributes,
    /// Its partition.
    pub(crate) p_key: PKey,
    pub(crate) migration: PathMigration,
    pub(crate) requester: Option<Sending>,
    pub(crate) responder: Option<Receiving>,
    /// Work requests, oldest first.
    pub(crate) sends: VecDeque<Posted>,
    /// Number of the oldest of them.
    pub(crate) first_send: u64,
    pub(crate) receives: VecDeque<ReceiveRequest>,
    /// The receive request of the message that is being received.
    pub(crate) taken: Option<ReceiveRequest>,
    /// Shared receive queue of an extended reliable connection from which it was taken.
    pub(crate) taken_from: Option<Srq>,
    /// Request packets behind an atomic operation that waits until the data of READs before it has been sent, oldest first.
    pub(crate) deferred: VecDeque<Deferred>,
    /// Request packets that have overtaken others, by their numbers.
    pub(crate) held: BTreeMap<u32, HeldContent>,
    /// Times from which the responder's answers can be prepared, oldest first.
    pub(crate) answer_times: VecDeque<Time>,
    /// Time at which the requester's timer ends, and for which its end is scheduled.
    pub(crate) deadline: Time,
    pub(crate) scheduled: Time,
    pub(crate) requests: Stage,
    pub(crate) answers: Stage,
    /// The next request could not be sent when the one before it was: its data is fetched when it can be.
    pub(crate) was_blocked: bool,
    /// An event will tell that the send queue is drained.
    pub(crate) tells_drained: bool,
    /// A packet has arrived since the queue pair was in RESET.
    pub(crate) has_received: bool,
    /// The work request that the adapter itself cannot execute, and its status.
    pub(crate) failed: Option<(u64, Status)>,
    /// Operations that need no packet, if there were any.
    pub(crate) local: Option<Box<LocalQueue>>,
    pub(crate) counters: Counters,
}

impl QueuePair {
    pub(crate) fn new(number: Qpn, pd: Pd, init: QueuePairInit) -> Self {
        Self {
            number,
            pd,
            init,
            state: QueuePairState::Reset,
            attributes: QueuePairAttributes::default(),
            p_key: PKey::DEFAULT,
            migration: PathMigration::default(),
            requester: None,
            responder: None,
            sends: VecDeque::new(),
            first_send: 0,
            receives: VecDeque::new(),
            taken: None,
            taken_from: None,
            deferred: VecDeque::new(),
            held: BTreeMap::new(),
            answer_times: VecDeque::new(),
            deadline: Time::MAX,
            scheduled: Time::MAX,
            requests: Stage::Idle,
            answers: Stage::Idle,
            was_blocked: false,
            tells_drained: false,
            has_received: false,
            failed: None,
            local: None,
            counters: Counters::default(),
        }
    }

    /// The posted work request with this number.
    pub(crate) fn send(&self, number: u64) -> Option<&Posted> {
        self.sends.get(number.checked_sub(self.first_send)? as usize)
    }

    /// Number of the next work request.
    pub(crate) fn next_send(&self) -> u64 {
        self.first_send + self.sends.len() as u64
    }

    /// Time after which a packet without acknowledgement is sent anew; `None`: never.
    pub(crate) fn timeout(&self) -> Option<Time> {
        let code = self.attributes.timeout.unwrap_or(0).min(31);
        (code > 0).then(|| Time::ns(4096 << code))
    }

    /// Builds the responder or the requester that a state needs. `mtu` is that of the port, in bytes.
    pub(crate) fn enter(&mut self, state: QueuePairState, (mtu, out_of_order): (u32, OutOfOrder)) {
        match state {
            QueuePairState::ReadyToReceive => self.responder = Some(self.receiving(mtu, out_of_order)),
            QueuePairState::ReadyToSend if self.requester.is_none() => {
                self.requester = Some(self.sending(mtu, out_of_order));
            }
            QueuePairState::Reset => {
                *self = Self { counters: self.counters, ..Self::new(self.number, self.pd, self.init) };
                return;
            }
            _ => {}
        }
        self.state = state;
    }

    /// Sets the partition, also of what sends and receives.
    pub(crate) fn set_p_key(&mut self, p_key: PKey) {
        self.p_key = p_key;
        if let Some(requester) = &mut self.requester {
            requester.set_p_key(p_key);
        }
        if let Some(responder) = &mut self.responder {
            responder.set_p_key(p_key);
        }
    }

    fn receiving(&self, port_mtu: u32, out_of_order: OutOfOrder) -> Receiving {
        let of = &self.attributes;
        let first = of.rq_psn.unwrap_or_default();
        match self.init.kind {
            QueuePairKind::Ud => Receiving::Datagram(UdResponder::new(self.datagram_options(port_mtu))),
            QueuePairKind::Uc => Receiving::Connection(UcResponder::new(self.connection_options(), first)),
            QueuePairKind::Rc | QueuePairKind::XrcSend | QueuePairKind::XrcReceive => {
                let UcOptions { mtu, destination, p_key } = self.connection_options();
                let options = ResponderOptions {
                    mtu,
                    destination,
                    p_key,
                    reads: of.max_dest_rd_atomic.unwrap_or(1),
                    rnr_timer: of.min_rnr_timer.unwrap_or(RnrTimer::new(0)),
                    reports_credits: false,
                    out_of_order,
                };
                let is_rc = self.init.kind == QueuePairKind::Rc;
                Receiving::Reliable(if is_rc {
                    Responder::new(options, first)
                } else {
                    Responder::new_xrc(options, first)
                })
            }
        }
    }

    fn sending(&self, port_mtu: u32, out_of_order: OutOfOrder) -> Sending {
        let of = &self.attributes;
        let first = of.sq_psn.unwrap_or_default();
        match self.init.kind {
            QueuePairKind::Ud => Sending::Datagram(UdRequester::new(self.datagram_options(port_mtu), first)),
            QueuePairKind::Uc => Sending::Connection(UcRequester::new(self.connection_options(), first)),
            QueuePairKind::Rc | QueuePairKind::XrcSend | QueuePairKind::XrcReceive => {
                let UcOptions { mtu, destination, p_key } = self.connection_options();
                let options = RequesterOptions {
                    mtu,
                    destination,
                    p_key,
                    retries: of.retry_count.unwrap_or(7).min(7),
                    rnr_retries: of.rnr_retry.unwrap_or(7).min(7),
                    reads: of.max_rd_atomic.unwrap_or(1).max(1),
                    ack_every: ACK_EVERY,
                    has_credits: false,
                    self_contained_writes: matches!(out_of_order, OutOfOrder::Place(_)),
                };
                let is_rc = self.init.kind == QueuePairKind::Rc;
                Sending::Reliable(if is_rc {
                    Requester::new(options, first)
                } else {
                    Requester::new_xrc(options, first)
                })
            }
        }
    }

    fn connection_options(&self) -> UcOptions {
        let of = &self.attributes;
        let (mtu, destination) = (of.path_mtu.unwrap_or(256), of.dest_qp.unwrap_or_default());
        UcOptions { mtu, destination, p_key: self.p_key }
    }

    fn datagram_options(&self, mtu: u32) -> UdOptions {
        let q_key = self.attributes.q_key.unwrap_or_default();
        UdOptions { mtu, number: self.number, q_key, p_key: self.p_key }
    }

    /// Where a packet of a posted work request goes.
    pub(crate) fn address_of(&self, message: u64) -> Option<AddressVector> {
        match self.init.kind {
            QueuePairKind::Ud => self.send(message)?.address,
            _ => self.attributes.address,
        }
    }

    /// Describes a work request that does not fit the queue pair.
    pub(crate) fn refuses(&self, request: &SendRequest) -> Option<String> {
        let caps = &self.init.capacities;
        if request.list.len() > caps.send_pieces as usize {
            let given = request.list.len();
            return Some(format!("{given} pieces of memory: at most {} (max_send_sge)", caps.send_pieces));
        }
        if let Some(data) = &request.inline {
            if request.verb.is_read() {
                return Some("IBV_SEND_INLINE is for SEND and RDMA WRITE".to_owned());
            }
            if data.len() > caps.inline as usize {
                let given = data.len();
                return Some(format!("{given} B inline: at most {} (max_inline_data)", caps.inline));
            }
        }
        None
    }
}
