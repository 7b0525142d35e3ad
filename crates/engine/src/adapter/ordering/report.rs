//! Counters of the hosts' transports.

use fabricsim_protocols::ordering::{ReorderBuffer, SourceCounters, TargetCounters};
use fabricsim_spec::{Experiment, OrderingMode};
use fabricsim_units::HostId;

use super::{OrderingEndpoint, Request};
use crate::Prepared;
use crate::round_trip::round_trip;

/// Counters of a host's transport over the whole run.
#[derive(Clone, Copy, Debug)]
pub struct HostTransport {
    /// The host.
    pub host: HostId,
    /// Its counters as a source.
    pub source: SourceCounters,
    /// Its counters as a target.
    pub target: TargetCounters,
    /// The largest number of packets in its reorder buffer.
    pub most_reordering: u64,
    /// Packets whose slot in the reorder buffer's ring was taken.
    pub collisions: u64,
    /// The largest number of connections that it held as a target.
    pub most_connections: u64,
    /// The largest number of replay buffers in use.
    pub most_replay_buffers: u64,
    /// Packets to it that were lost.
    pub lost: u64,
    /// Packets that came after their lifetime and so count as lost.
    pub late: u64,
    /// Operations carried out more than once.
    pub repeated: u64,
    /// Messages whose stream their source gave to another one though not all of their operations had been carried out here: 0
    /// unless the protocol has failed.
    pub unfinished: u64,
}

impl OrderingEndpoint {
    pub(crate) fn report(&self) -> HostTransport {
        let (target, counts) = (&self.target, &self.counts);
        HostTransport {
            host: self.host,
            source: *self.source.counters(),
            target: *target.counters(),
            most_reordering: target.reorder_buffer().most(),
            collisions: target.reorder_buffer().collisions(),
            most_connections: target.most_connections(),
            most_replay_buffers: target.most_replay_buffers(),
            lost: counts.lost,
            late: counts.late,
            repeated: counts.repeated,
            unfinished: self.incoming.unfinished(),
        }
    }
}

/// Minimum memory of the transport of a host, in bytes.
pub fn transport_bytes(experiment: &Experiment) -> u64 {
    let target = &experiment.transport.target;
    if experiment.transport.mode == OrderingMode::None {
        return 0;
    }
    ReorderBuffer::<Request>::bytes(u64::from(target.ring()) + u64::from(target.reorder_cache))
}

/// Warnings about settings that are allowed and probably not intended.
pub fn warnings(prepared: &Prepared) -> Vec<String> {
    let spec = &prepared.experiment.transport;
    if spec.mode == OrderingMode::None {
        return Vec::new();
    }
    let round_trip = round_trip(&prepared.experiment, &prepared.graph, &prepared.router);
    let mut warnings = Vec::new();
    if spec.timeout < round_trip {
        warnings.push(format!(
            "transport.timeout: {} is less than the round trip of a packet that meets no other, up to {round_trip}: packets \
             that were not lost are retransmitted",
            spec.timeout
        ));
    }
    if spec.lifetime * 2 < round_trip {
        warnings.push(format!(
            "transport.lifetime: {} is less than half of the round trip of a packet that meets no other, up to \
             {round_trip}: packets count as lost when they arrive",
            spec.lifetime
        ));
    }
    let takes_connections = |mode| mode == OrderingMode::Ordered && !spec.exactly_once;
    if spec.fast_from > 1
        && !prepared.workload.streams.iter().any(|stream| takes_connections(stream.ordering))
    {
        warnings.push(
            "transport.fast_from has no effect: it is for messages with mode = \"ordered\" and exactly_once = false, and there are none".to_owned(),
        );
    }
    warnings.extend(recurring_numbers(prepared));
    warnings
}

/// A warning if sequence numbers can come around within a lifetime in modes whose answers do not name the copy that they
/// answer.
fn recurring_numbers(prepared: &Prepared) -> Option<String> {
    let Prepared { experiment, graph, workload, .. } = prepared;
    let spec = &experiment.transport;
    let is_cumulative = |mode: OrderingMode| {
        matches!(mode, OrderingMode::GoBackN | OrderingMode::Selective | OrderingMode::SelectiveOrdered)
    };
    if !workload.streams.iter().any(|stream| is_cumulative(stream.ordering)) {
        return None;
    }
    let mtu = experiment.host.mtu.0 as u32;
    let times = graph
        .hosts
        .iter()
        .map(|host| graph.links[host.link.index()].parameters.rate.byte_time().duration(mtu));
    let numbers = 1_u64 << spec.sequence_bits;
    let around = times.min()? * numbers;
    (around < spec.lifetime).then(|| {
        format!(
            "transport.sequence_bits: a host can send {numbers} packets in {around}, less than the lifetime of {}: sequence numbers \
             come around while old packets may be in the network, and operations may be lost or carried out twice",
            spec.lifetime
        )
    })
}
