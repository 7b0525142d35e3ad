//! From the experiment to the options of queue pairs.

use std::sync::Arc;

use fabricsim_model::{Packet, Random};
use fabricsim_protocols::infiniband::{OutOfOrder, Remote, RequesterOptions, ResponderOptions, Verb};
use fabricsim_spec::{self as spec, Experiment, MessageVerb, QueuePairs, SpecError};
use fabricsim_units::{Bytes, HostId, Time};
use fabricsim_wire::headers::RnrTimer;
use fabricsim_wire::ids::{PKey, Qpn};
use fabricsim_workload::StreamInfo;

/// The first number of a queue pair that is not reserved: 0 and 1 are for management.
const FIRST_QPN: u32 = 2;

/// Numbers of queue pairs: 24 bits, of which the last is for multicast.
const MOST_QPNS: u64 = (1 << 24) - 1;

/// RDMA READs and atomic operations at a time; messages of the workload need none.
const READS: u8 = 1;

/// Rules common to all hosts.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    spec: QueuePairs,
    /// Service class of each stream of messages.
    classes: Vec<u8>,
    pub(super) verb: Verb,
    /// Time of the timer of a requester; `None` if it has none.
    pub(super) timeout: Option<Time>,
    /// Queue pairs of a host for each other host: by service class, then in turn.
    pub(super) slots: u32,
    /// Largest packet.
    pub(super) largest: u32,
    /// Messages being sent at a time.
    pub(super) limit: usize,
    seed: u64,
}

impl Rules {
    /// `None` if hosts have no queue pairs.
    pub(crate) fn new(experiment: &Experiment, streams: &[StreamInfo]) -> Option<Arc<Self>> {
        let spec = experiment.queue_pairs.clone()?;
        Some(Arc::new(Self {
            classes: streams.iter().map(|stream| stream.service_class).collect(),
            verb: match spec.verb {
                MessageVerb::Send => Verb::Send,
                MessageVerb::Write => Verb::Write(Remote::default()),
            },
            timeout: spec.ack_timeout(),
            slots: slots(experiment, &spec),
            largest: experiment.host.mtu.0 as u32,
            limit: usize::from(experiment.host.open_messages),
            seed: experiment.seed,
            spec,
        }))
    }

    /// The queue pair of a message: of those for its service class, one after the other.
    pub(super) fn slot(&self, stream: u16, message: u32) -> u32 {
        let per_pair = u32::from(self.spec.per_pair);
        u32::from(self.classes[usize::from(stream)]) * per_pair + message % per_pair
    }

    /// Service class of a queue pair.
    pub(super) fn class(&self, slot: u32) -> u8 {
        (slot / u32::from(self.spec.per_pair)) as u8
    }

    /// Receive requests of a queue pair; `None` if there is always one.
    pub(super) fn receives(&self) -> Option<u32> {
        (self.spec.receives > 0).then_some(self.spec.receives)
    }

    /// From the use of a receive request to its being there again.
    pub(super) fn receive_delay(&self) -> Time {
        self.spec.receive_delay
    }

    /// Number of the queue pair by which `host` is reached from `peer`.
    pub(super) fn number(&self, peer: HostId, slot: u32) -> Qpn {
        Qpn(FIRST_QPN + peer.0 * self.slots + slot)
    }

    /// The slot of a queue pair of a packet from `peer`; `None` if there is no such queue pair.
    pub(super) fn slot_of(&self, number: Qpn, peer: HostId) -> Option<u32> {
        let slot = number.0.checked_sub(self.number(peer, 0).0)?;
        (slot < self.slots).then_some(slot)
    }

    /// Path MTU, where links carry packets of up to `largest` bytes.
    pub(super) fn path_mtu(&self, largest: u32) -> u32 {
        let mtu = self.spec.path_mtu(Bytes(u64::from(largest)));
        mtu.unwrap_or_else(|| unreachable!("the experiment was checked")).0 as u32
    }

    pub(super) fn requester(&self, destination: Qpn, mtu: u32) -> RequesterOptions {
        RequesterOptions {
            mtu,
            destination,
            p_key: PKey::DEFAULT,
            retries: self.spec.retry_count,
            rnr_retries: self.spec.rnr_retry,
            reads: READS,
            ack_every: self.spec.ack_every,
            has_credits: false,
            self_contained_writes: self.spec.out_of_order == spec::OutOfOrder::Place,
        }
    }

    fn out_of_order(&self) -> OutOfOrder {
        let packets = self.spec.reorder_packets;
        match self.spec.out_of_order {
            spec::OutOfOrder::Drop => OutOfOrder::Drop,
            spec::OutOfOrder::Hold => OutOfOrder::Hold(packets),
            spec::OutOfOrder::Place => OutOfOrder::Place(packets),
        }
    }

    pub(super) fn responder(&self, destination: Qpn, mtu: u32) -> ResponderOptions {
        ResponderOptions {
            mtu,
            destination,
            p_key: PKey::DEFAULT,
            reads: READS,
            rnr_timer: RnrTimer::at_least(self.spec.min_rnr_timer),
            reports_credits: false,
            out_of_order: self.out_of_order(),
        }
    }

    /// True if this packet is lost when it reaches its receiver. That depends on the packet alone.
    #[inline]
    pub(super) fn is_lost(&self, packet: &Packet) -> bool {
        const LOSS: u64 = 0x7170_6c6f;
        if self.spec.loss == 0.0 {
            return false;
        }
        let identity = u64::from(packet.source.0) << 32 | u64::from(packet.sequence);
        Random::new(self.seed, LOSS, identity).unit() <= self.spec.loss
    }
}

fn slots(experiment: &Experiment, spec: &QueuePairs) -> u32 {
    let classes = experiment.service_levels().unwrap_or(experiment.switch.service_classes).max(1);
    u32::from(classes) * u32::from(spec.per_pair)
}

/// Refuses more hosts than queue pairs have numbers for.
pub(crate) fn check(experiment: &Experiment, hosts: usize, file: &str) -> Result<(), SpecError> {
    let Some(spec) = &experiment.queue_pairs else { return Ok(()) };
    let slots = slots(experiment, spec);
    let most = (MOST_QPNS - u64::from(FIRST_QPN)) / u64::from(slots);
    if hosts as u64 <= most {
        return Ok(());
    }
    let message = format!(
        "{slots} queue pairs for each other host, in all service classes, have numbers for up to {most} hosts; there are {hosts}"
    );
    Err(SpecError::at_key(file, "queue_pairs.per_pair", message))
}
