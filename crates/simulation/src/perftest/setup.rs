//! Objects of both sides, and their connection.

use fabricsim_engine::Prepared;
use fabricsim_model::Observer;
use fabricsim_protocols::infiniband::{GRH_BYTES, QueuePairKind, QueuePairState, Remote};
use fabricsim_session::Session;
use fabricsim_spec::{Experiment, QUEUE_PAIR_HEADERS};
use fabricsim_units::{HostId, Time};
use fabricsim_verbs::{
    AccessFlags, Capacities, Costs, Cq, Device, Mr, Pd, QueuePairAttributes, QueuePairInit, To,
    TranslationCosts, VerbsError,
};
use fabricsim_wire::Psn;
use fabricsim_wire::headers::RnrTimer;
use fabricsim_wire::ids::{QKey, Qpn, RKey};

use super::{Connection, Operation, Options, PerftestError, Quantity};

/// Room for completions, whatever the depths.
const COMPLETIONS: u32 = 1 << 17;

/// Queue key of datagrams, as in perftest.
const Q_KEY: QKey = QKey(0x1111_1111);

impl Connection {
    const fn kind(self) -> QueuePairKind {
        match self {
            Self::Rc => QueuePairKind::Rc,
            Self::Uc => QueuePairKind::Uc,
            Self::Ud => QueuePairKind::Ud,
        }
    }
}

/// The times of an experiment's adapters.
pub fn costs(experiment: &Experiment) -> Costs {
    let of = experiment.adapter.values();
    Costs {
        post: of.post,
        post_receive: of.post_receive,
        poll: of.poll,
        doorbell: of.doorbell,
        request_fetch: of.request_fetch,
        payload_fetch: of.payload_fetch,
        bus: of.pcie.read_time(of.payload_fetch),
        message: of.message_gap,
        packet: of.packet_gap,
        receive: of.receive,
        payload_write: of.payload_write,
        completion: of.completion,
        wake_up: of.wake_up,
        unaligned: u32::from(of.unaligned_blocks),
        max_inline: of.max_inline.0.min(u64::from(u32::MAX)) as u32,
        translation: experiment.adapter.translation_cache.map(|cache| TranslationCosts {
            entries: cache.entries,
            page: cache.page.0,
            miss: cache.miss.unwrap_or(of.payload_fetch),
        }),
    }
}

/// One side of a test.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) pd: Pd,
    pub(super) cq: Cq,
    /// Queue pairs; latency is measured with the first.
    pub(super) qps: Vec<Qpn>,
    pub(super) mr: Mr,
    pub(super) key: u32,
    pub(super) address: u64,
    /// Memory of the other side.
    pub(super) remote: Remote,
    /// Receiver of the messages of each queue pair.
    pub(super) to: Vec<To>,
}

/// Checks ranges that depend on the experiment.
pub(super) fn check(
    prepared: &Prepared,
    (client, server): (HostId, HostId),
    options: &Options,
) -> Result<(), PerftestError> {
    let fail = |text: String| Err(PerftestError::Option(text));
    if client == server {
        let name = &prepared.graph.hosts[client.index()].name;
        return fail(format!("client and server are both {name}: choose two hosts"));
    }
    match (options.connection, options.operation) {
        (Connection::Ud, Operation::Send) if options.bytes > options.mtu => {
            let Options { bytes, mtu, .. } = options;
            return fail(format!("a datagram of {bytes} B is longer than the MTU of {mtu} B"));
        }
        (Connection::Uc, Operation::Read) => return fail("UC has no RDMA READ: choose RC".to_owned()),
        (Connection::Ud, Operation::Write | Operation::Read) => {
            return fail("UD has SEND only: choose RC".to_owned());
        }
        _ => {}
    }
    let experiment = &prepared.experiment;
    if !experiment.traffic.is_empty() || !experiment.jobs.is_empty() {
        return fail("the experiment has traffic: `fabricsim perftest` measures an idle fabric; omit `traffic` and `jobs`".to_owned());
    }
    let largest = u64::from(options.mtu) + QUEUE_PAIR_HEADERS;
    let allowed = experiment.host.mtu.0;
    if largest > allowed {
        return fail(format!(
            "a path MTU of {} B makes packets of {largest} B, more than `host.mtu` of {allowed} B: give a smaller --mtu",
            options.mtu
        ));
    }
    let most = experiment.adapter.values().max_inline.0;
    if u64::from(options.inline) > most {
        return fail(format!("--inline_size {}: at most {most}, `adapter.max_inline`", options.inline));
    }
    Ok(())
}

/// Creates the objects of both sides and connects their queue pairs.
pub(super) fn connect<B: Observer>(
    session: &mut Session<B>,
    (client, server): (HostId, HostId),
    options: &Options,
) -> Result<[Side; 2], VerbsError> {
    let engine = session.engine_mut();
    let mut sides = Vec::new();
    for host in [client, server] {
        let Some(device) = engine.device(host) else { unreachable!("both hosts have devices") };
        sides.push(create(device, options)?);
    }
    for (host, me, other) in [(client, 0, 1), (server, 1, 0)] {
        let peer = if host == client { server } else { client };
        let Some(device) = engine.device(host) else { unreachable!("both hosts have devices") };
        let pd = sides[me].pd;
        for number in 0..sides[me].qps.len() {
            let dest_qp = sides[other].qps[number];
            for step in steps(peer, dest_qp, options) {
                device.modify_qp(sides[me].qps[number], step, Time::ZERO)?;
            }
            let to = if options.connection == Connection::Ud {
                To::Datagram { ah: device.create_ah(pd, peer)?, qp: dest_qp, q_key: Q_KEY }
            } else {
                To::Connection
            };
            sides[me].to.push(to);
        }
        sides[me].remote = Remote { va: sides[other].address, r_key: RKey(sides[other].key) };
    }
    let [here, there] = <[Side; 2]>::try_from(sides).unwrap_or_else(|_| unreachable!("there are two sides"));
    Ok([here, there])
}

fn create(device: &mut Device, options: &Options) -> Result<Side, VerbsError> {
    let pd = device.alloc_pd();
    let cq = device.create_cq(COMPLETIONS)?;
    let count = if options.quantity == Quantity::Latency { 1 } else { options.queue_pairs };
    let capacities = Capacities {
        send: options.tx_depth.max(2),
        receive: options.rx_depth,
        inline: options.inline,
        ..Capacities::default()
    };
    let init = QueuePairInit { capacities, ..QueuePairInit::new(options.connection.kind(), cq) };
    let qps = (0..count).map(|_| device.create_qp(pd, init)).collect::<Result<_, _>>()?;
    let access = AccessFlags(0xf);
    let length = u64::from(options.received()) + u64::from(options.offset);
    let mr = device.reg_void_mr(pd, length, access)?;
    device.watch(mr)?;
    let (key, address) = (device.key(mr)?, device.address(mr)? + u64::from(options.offset));
    Ok(Side { pd, cq, qps, mr, key, address, remote: Remote::default(), to: Vec::new() })
}

impl Options {
    /// Bytes of a receive request.
    pub(super) const fn received(&self) -> u32 {
        match self.connection {
            Connection::Ud => self.bytes + GRH_BYTES,
            _ => self.bytes,
        }
    }
}

fn steps(peer: HostId, dest_qp: Qpn, options: &Options) -> [QueuePairAttributes; 3] {
    let none = QueuePairAttributes::default();
    let init = QueuePairAttributes {
        state: Some(QueuePairState::Init),
        p_key_index: Some(0),
        port: Some(1),
        access: Some(AccessFlags(0xf)),
        ..none
    };
    let to_receive = QueuePairAttributes { state: Some(QueuePairState::ReadyToReceive), ..none };
    let to_send =
        QueuePairAttributes { state: Some(QueuePairState::ReadyToSend), sq_psn: Some(Psn::new(0)), ..none };
    let connected = QueuePairAttributes {
        address: Some(peer.into()),
        path_mtu: Some(options.mtu),
        dest_qp: Some(dest_qp),
        rq_psn: Some(Psn::new(0)),
        ..to_receive
    };
    match options.connection {
        Connection::Ud => {
            [QueuePairAttributes { access: None, q_key: Some(Q_KEY), ..init }, to_receive, to_send]
        }
        Connection::Uc => [init, connected, to_send],
        Connection::Rc => [
            init,
            QueuePairAttributes {
                max_dest_rd_atomic: Some(16),
                min_rnr_timer: Some(RnrTimer::new(12)),
                ..connected
            },
            QueuePairAttributes {
                timeout: Some(14),
                retry_count: Some(7),
                rnr_retry: Some(7),
                max_rd_atomic: Some(options.outstanding_reads),
                ..to_send
            },
        ],
    }
}
