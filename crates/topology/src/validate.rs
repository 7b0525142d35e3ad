//! Checks that need both the graph and the rest of the experiment.

use fabricsim_spec::{Experiment, MessageSize, Queueing, SendWhen, SizeDistribution, SpecError};
use fabricsim_units::Bytes;

use crate::Graph;

/// Checks a graph against the experiment: the largest packet fits every input buffer (one that does not would never move). `file` is the experiment file's name, for messages.
pub fn validate(graph: &Graph, experiment: &Experiment, file: &str) -> Result<(), SpecError> {
    let error = |key: &str, message: String| Err(SpecError::at_key(file, key, message));
    let (unit, mtu) = (experiment.switch.flow_control_unit, experiment.host.mtu);
    let packet = largest_packet(experiment);
    let units = packet.get().div_ceil(unit.get());
    let small = graph.links.iter().min_by_key(|link| link.parameters.buffer);
    let staging = experiment.switch.staging.buffer;
    if experiment.switch.queueing == Queueing::Cioq && staging.get() / unit.get() < units {
        let message = format!(
            "{staging} is not allowed: a packet of {packet} takes {units} flow control units of {unit} and would never \
             move: give at least {}",
            Bytes(units * unit.get()),
        );
        return error("switch.staging.buffer", message);
    }
    let whole = experiment.switch.send_when == SendWhen::LargestPacketFits;
    let (packet, units) = if whole { (mtu, mtu.get().div_ceil(unit.get())) } else { (packet, units) };
    let Some(link) = small.filter(|link| link.parameters.buffer.get() / unit.get() < units) else {
        return Ok(());
    };
    let message = format!(
        "a packet of {packet} takes {units} flow control units of {unit} and would never move over link {}-{}, \
         whose buffers hold {}: give `links` a buffer of at least {}, or smaller packets",
        graph.name(link.a.node),
        graph.name(link.b.node),
        link.parameters.buffer,
        Bytes(units * unit.get()),
    );
    error("host.mtu", message)
}

/// The largest packet that the experiment can send: the MTU, or the largest message where all are smaller.
pub fn largest_packet(experiment: &Experiment) -> Bytes {
    let mtu = experiment.host.mtu;
    // Messages of jobs have many sizes, and most of them are large.
    if !experiment.jobs.is_empty() {
        return mtu;
    }
    let messages = experiment.traffic.iter().map(|traffic| &traffic.message);
    let responses = experiment.traffic.iter().filter_map(|traffic| traffic.response.as_ref());
    let largest = messages.chain(responses.map(|response| &response.message)).map(largest_message).max();
    largest.map_or(mtu, |message| message.min(mtu))
}

fn largest_message(size: &MessageSize) -> Bytes {
    match size {
        MessageSize::Fixed(bytes) => *bytes,
        MessageSize::Drawn(
            SizeDistribution::Uniform { max, .. } | SizeDistribution::Exponential { max, .. },
        ) => *max,
        MessageSize::Drawn(SizeDistribution::Choice(sizes)) => {
            sizes.iter().map(|weighted| weighted.size).max().unwrap_or_default()
        }
    }
}
