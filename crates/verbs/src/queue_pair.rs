//! A queue pair: its queues, its attributes, and the two state machines of its connection.

use std::collections::VecDeque;

use fabricsim_protocols::infiniband::{
    Attributes, OutOfOrder, QueuePairKind, QueuePairState, Requester, RequesterOptions, Responder,
    ResponderOptions, Status, UcOptions, UcRequester, UcResponder, UdOptions, UdRequester, UdResponder,
};
use fabricsim_units::{HostId, Time};
use fabricsim_wire::Psn;
use fabricsim_wire::headers::{Headers, RnrTimer};
use fabricsim_wire::ids::{PKey, QKey, Qpn};

use crate::access::AccessFlags;
use crate::completion::WcOpcode;
use crate::handles::{Cq, Pd, Srq, Xrcd};
use crate::local::LocalQueue;
use crate::memory::Sge;
use crate::service::{Receiving, Sending};
use crate::work::{ReceiveRequest, SendRequest};

/// Lengths of the queues of a queue pair (`ibv_qp_cap`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacities {
    /// Work requests in the send queue: posted, and not ended or not yet known to have ended.
    pub send: u32,
    /// Receive requests.
    pub receive: u32,
    /// Pieces of memory of a work request.
    pub send_pieces: u32,
    /// Pieces of memory of a receive request.
    pub receive_pieces: u32,
    /// Bytes that a work request may hold itself.
    pub inline: u32,
}

impl Default for Capacities {
    fn default() -> Self {
        Self { send: 128, receive: 128, send_pieces: 4, receive_pieces: 4, inline: 0 }
    }
}

/// Arguments of the creation of a queue pair (`ibv_qp_init_attr`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePairInit {
    /// Transport service.
    pub kind: QueuePairKind,
    /// Completions of the send queue.
    pub send_cq: Cq,
    /// Completions of the receive queue.
    pub receive_cq: Cq,
    /// Lengths of the queues.
    pub capacities: Capacities,
    /// Every work request is signaled.
    pub signal_all: bool,
    /// Shared receive queue, instead of a receive queue of its own.
    pub srq: Option<Srq>,
    /// Domain of an extended reliable connection's end that receives.
    pub xrcd: Option<Xrcd>,
}

impl QueuePairInit {
    /// A queue pair with one completion queue for all, the default lengths and a receive queue of its own.
    pub fn new(kind: QueuePairKind, cq: Cq) -> Self {
        let capacities = Capacities::default();
        Self { kind, send_cq: cq, receive_cq: cq, capacities, signal_all: false, srq: None, xrcd: None }
    }
}

/// Attributes that a change of state sets; `None`: not given (`ibv_qp_attr` and its mask).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePairAttributes {
    /// Next state; without it the state stays.
    pub state: Option<QueuePairState>,
    /// Partition of the port, by its place in the port's table.
    pub p_key_index: Option<u16>,
    /// Port, from 1.
    pub port: Option<u8>,
    /// What the other end may do.
    pub access: Option<AccessFlags>,
    /// Queue key, of datagrams.
    pub q_key: Option<QKey>,
    /// Host at the other end (the address vector).
    pub destination: Option<HostId>,
    /// Path MTU in bytes.
    pub path_mtu: Option<u32>,
    /// Queue pair at the other end.
    pub dest_qp: Option<Qpn>,
    /// Number of the first packet that is expected.
    pub rq_psn: Option<Psn>,
    /// READs and atomic operations of the other end at a time.
    pub max_dest_rd_atomic: Option<u8>,
    /// Time of RNR NAKs.
    pub min_rnr_timer: Option<RnrTimer>,
    /// Number of the first packet that is sent.
    pub sq_psn: Option<Psn>,
    /// Local ACK timeout, 0 (never) to 31: 4.096 us x 2^n.
    pub timeout: Option<u8>,
    /// Retries, 0 to 7.
    pub retry_count: Option<u8>,
    /// RNR retries, 0 to 7; 7: without limit.
    pub rnr_retry: Option<u8>,
    /// READs and atomic operations of its own at a time.
    pub max_rd_atomic: Option<u8>,
}

impl QueuePairAttributes {
    /// The mask of what is given.
    pub(crate) fn mask(&self) -> Attributes {
        let given = [
            (self.state.is_some(), Attributes::STATE),
            (self.p_key_index.is_some(), Attributes::PKEY_INDEX),
            (self.port.is_some(), Attributes::PORT),
            (self.access.is_some(), Attributes::ACCESS_FLAGS),
            (self.q_key.is_some(), Attributes::QKEY),
            (self.destination.is_some(), Attributes::AV),
            (self.path_mtu.is_some(), Attributes::PATH_MTU),
            (self.dest_qp.is_some(), Attributes::DEST_QPN),
            (self.rq_psn.is_some(), Attributes::RQ_PSN),
            (self.max_dest_rd_atomic.is_some(), Attributes::MAX_DEST_RD_ATOMIC),
            (self.min_rnr_timer.is_some(), Attributes::MIN_RNR_TIMER),
            (self.sq_psn.is_some(), Attributes::SQ_PSN),
            (self.timeout.is_some(), Attributes::TIMEOUT),
            (self.retry_count.is_some(), Attributes::RETRY_CNT),
            (self.rnr_retry.is_some(), Attributes::RNR_RETRY),
            (self.max_rd_atomic.is_some(), Attributes::MAX_QP_RD_ATOMIC),
        ];
        let given = given.into_iter().filter(|(is_given, _)| *is_given);
        given.fold(Attributes::NONE, |mask, (_, attribute)| mask.with(attribute))
    }

    /// These, and those of `before` that are not given.
    pub(crate) fn or(self, before: Self) -> Self {
        Self {
            state: self.state.or(before.state),
            p_key_index: self.p_key_index.or(before.p_key_index),
            port: self.port.or(before.port),
            access: self.access.or(before.access),
            q_key: self.q_key.or(before.q_key),
            destination: self.destination.or(before.destination),
            path_mtu: self.path_mtu.or(before.path_mtu),
            dest_qp: self.dest_qp.or(before.dest_qp),
            rq_psn: self.rq_psn.or(before.rq_psn),
            max_dest_rd_atomic: self.max_dest_rd_atomic.or(before.max_dest_rd_atomic),
            min_rnr_timer: self.min_rnr_timer.or(before.min_rnr_timer),
            sq_psn: self.sq_psn.or(before.sq_psn),
            timeout: self.timeout.or(before.timeout),
            retry_count: self.retry_count.or(before.retry_count),
            rnr_retry: self.rnr_retry.or(before.rnr_retry),
            max_rd_atomic: self.max_rd_atomic.or(before.max_rd_atomic),
        }
    }
}

/// A posted work request.
#[derive(Clone, Debug)]
pub(crate) struct Posted {
    pub(crate) wr_id: u64,
    pub(crate) opcode: WcOpcode,
    pub(crate) list: Vec<Sge>,
    pub(crate) inline: Option<Vec<u8>>,
    pub(crate) length: u32,
    pub(crate) signaled: bool,
    /// Host to which a datagram goes.
    pub(crate) destination: Option<HostId>,
    /// Time from which the adapter has it.
    pub(crate) since: Time,
    /// It has ended; its place is free when a later completion tells that.
    pub(crate) has_ended: bool,
}

/// A request packet that is executed later.
#[derive(Clone, Debug)]
pub(crate) struct Deferred {
    pub(crate) headers: Headers,
    pub(crate) length: u32,
    pub(crate) content: Option<Box<[u8]>>,
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
    /// Packets that were dropped: from another host or queue pair, or in a state in which it does not receive.
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
    /// Times from which the responder's answers can be prepared, oldest first.
    pub(crate) answer_times: VecDeque<Time>,
    /// Time at which the requester's timer ends, and for which its end is scheduled.
    pub(crate) deadline: Time,
    pub(crate) scheduled: Time,
    pub(crate) requests: Stage,
    pub(crate) answers: Stage,
    /// The next request could not be sent when the one before it was: its data is fetched when it can be.
    pub(crate) was_blocked: bool,
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
            requester: None,
            responder: None,
            sends: VecDeque::new(),
            first_send: 0,
            receives: VecDeque::new(),
            taken: None,
            taken_from: None,
            deferred: VecDeque::new(),
            answer_times: VecDeque::new(),
            deadline: Time::MAX,
            scheduled: Time::MAX,
            requests: Stage::Idle,
            answers: Stage::Idle,
            was_blocked: false,
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
    pub(crate) fn enter(&mut self, state: QueuePairState, mtu: u32) {
        match state {
            QueuePairState::ReadyToReceive => self.responder = Some(self.receiving(mtu)),
            QueuePairState::ReadyToSend if self.requester.is_none() => {
                self.requester = Some(self.sending(mtu));
            }
            QueuePairState::Reset => {
                *self = Self { counters: self.counters, ..Self::new(self.number, self.pd, self.init) };
                return;
            }
            _ => {}
        }
        self.state = state;
    }

    fn receiving(&self, port_mtu: u32) -> Receiving {
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
                    reads: of.max_dest_rd_atomic.unwrap_or(1).max(1),
                    rnr_timer: of.min_rnr_timer.unwrap_or(RnrTimer::new(0)),
                    reports_credits: false,
                    out_of_order: OutOfOrder::Drop,
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

    fn sending(&self, port_mtu: u32) -> Sending {
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
                    ack_every: 0,
                    has_credits: false,
                    self_contained_writes: false,
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
        UcOptions { mtu, destination, p_key: PKey::DEFAULT }
    }

    fn datagram_options(&self, mtu: u32) -> UdOptions {
        let q_key = self.attributes.q_key.unwrap_or_default();
        UdOptions { mtu, number: self.number, q_key, p_key: PKey::DEFAULT }
    }

    /// Host to which a packet of a posted work request goes.
    pub(crate) fn destination_of(&self, message: u64) -> Option<HostId> {
        match self.init.kind {
            QueuePairKind::Ud => self.send(message)?.destination,
            _ => self.attributes.destination,
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
