//! Priority flow control: the thresholds of each input buffer, and the headroom that a link needs so that nothing is lost.

use std::cmp::Reverse;

use fabricsim_fabric::pause::{PAUSE_BYTES, PauseThresholds};
use fabricsim_spec::{
    Experiment, FlowControlBy, LinkParameters, MessageSize, SizeDistribution, SpecError, Switching,
};
use fabricsim_topology::{Graph, Node};
use fabricsim_units::{Bytes, LinkId, Time};

use crate::assembly::has_limited_sinks;
use crate::prepare::Prepared;

/// Smallest frame of Ethernet.
const SMALLEST_FRAME: u64 = 64;

/// Largest buffer.
const LARGEST: u64 = 1 << 30;

/// What an input buffer can hold, in blocks.
struct Buffer<'a> {
    experiment: &'a Experiment,
    link: &'a LinkParameters,
    receiver: Node,
}

impl Buffer<'_> {
    fn unit(&self) -> u64 {
        self.experiment.switch.flow_control_unit.0
    }

    fn blocks(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.unit())
    }

    fn capacity(&self) -> u64 {
        (self.link.buffer.0 / self.unit()).min(u64::from(u32::MAX))
    }

    /// Blocks of the largest packet.
    fn packet(&self) -> u64 {
        self.blocks(self.experiment.host.mtu.0)
    }

    /// Blocks that arrive, from the first byte of the packet on that exceeds XOFF, until the other end has stopped: that packet arrives; the pause
    /// frame waits for a packet or frame of its own direction, and arrives; the other end ends the packet that it has begun. Each packet takes whole
    /// blocks.
    fn headroom(&self) -> u64 {
        let switch = &self.experiment.switch;
        let largest = (self.experiment.host.mtu.0 + self.link.packet_overhead.0) as u32;
        let frame = self.link.rate.byte_time().duration(PAUSE_BYTES);
        let packet = switch.byte_time(self.link.rate).duration(largest);
        let is_switch = matches!(self.receiver, Node::Switch(_));
        let router = if is_switch { switch.router_delay } else { Time::ZERO };
        let is_stored = is_switch && switch.switching == Switching::StoreAndForward;
        let stored = if is_stored { packet } else { Time::ZERO };
        let time = self.link.latency * 2 + router + stored + packet.max(frame) + frame + switch.credit_delay;
        let bits = u128::from(time.0 + 1) * u128::from(self.link.rate.bits_per_second());
        let bytes = (bits.div_ceil(8_000_000_000_000) as u64).saturating_add(largest.into());
        let smallest = smallest_packet(self.experiment) + self.link.packet_overhead.0;
        let rounded = u128::from(bytes) * u128::from(smallest + self.unit() - 1) / u128::from(smallest);
        self.blocks(rounded.min(u128::from(u64::MAX)) as u64).saturating_add(1)
    }

    /// A size in whole KiB that is at least as large as a number of blocks.
    fn in_kib(&self, blocks: u64) -> Bytes {
        Bytes(self.bytes(blocks).0.div_ceil(1024).saturating_mul(1024))
    }

    /// XOFF and XON.
    fn thresholds(&self) -> (u64, u64) {
        let given = &self.experiment.switch.pause;
        let by_headroom = self.capacity().saturating_sub(self.headroom());
        let xoff = given.xoff.map_or(by_headroom, |xoff| xoff.0 / self.unit());
        let xon = given.xon.map_or(xoff.saturating_sub(2 * self.packet()), |xon| xon.0 / self.unit());
        (xoff, xon)
    }

    fn bytes(&self, blocks: u64) -> Bytes {
        Bytes(blocks.saturating_mul(self.unit()))
    }

    /// The key that is wrong, and why; `name` is that of the link.
    fn mistake(&self, name: &str) -> Option<(&'static str, String)> {
        let (xoff, xon) = self.thresholds();
        let (needed, room) = (self.headroom(), self.capacity().saturating_sub(xoff));
        let buffer = self.link.buffer;
        if self.experiment.switch.pause.xoff.is_none() && xoff < self.packet() {
            let least = self.in_kib(needed.saturating_add(self.packet()));
            let remedy = if least.0 > LARGEST {
                "no buffer is as large: give shorter latencies"
            } else {
                "give it that (links.all.buffer, or the key that sets it), or give switch.pause.xoff"
            };
            let message = format!(
                "the buffer of {name} has {buffer} for each lane: pauses need {} of headroom and a packet, {least} in all; {remedy}",
                self.in_kib(needed),
            );
            return Some(("switch.flow_control", message));
        }
        if room == 0 {
            let message = format!(
                "leaves no headroom in the buffer of {name}, which has {buffer} for each lane: pauses need {}; give less, or a larger buffer",
                self.in_kib(needed)
            );
            return Some(("switch.pause.xoff", message));
        }
        if xon > xoff {
            let message = format!(
                "is more than XOFF, which is {} at {name}: give less, or give switch.pause.xoff",
                self.bytes(xoff)
            );
            return Some(("switch.pause.xon", message));
        }
        if room < needed && has_limited_sinks(self.experiment) && matches!(self.receiver, Node::Host(_)) {
            let message = format!(
                "leaves {} of headroom at {name}: hosts with `host.sink` need {}",
                self.bytes(room),
                self.bytes(needed)
            );
            return Some(("switch.pause.xoff", message));
        }
        None
    }
}

/// The smallest packet of the traffic, of which each takes whole blocks: a frame, unless messages are smaller.
fn smallest_packet(experiment: &Experiment) -> u64 {
    let messages = experiment.traffic.iter().map(|entry| &entry.message);
    let responses =
        experiment.traffic.iter().filter_map(|entry| entry.response.as_ref().map(|of| &of.message));
    let smallest = messages.chain(responses).map(|size| smallest_message(size).0);
    smallest.chain([experiment.host.mtu.0]).fold(SMALLEST_FRAME, u64::min).max(1)
}

fn smallest_message(size: &MessageSize) -> Bytes {
    match size {
        MessageSize::Fixed(bytes) => *bytes,
        MessageSize::Drawn(SizeDistribution::Uniform { min, .. }) => *min,
        MessageSize::Drawn(SizeDistribution::Choice(sizes)) => {
            sizes.iter().map(|size| size.size).min().unwrap_or(Bytes(1))
        }
        MessageSize::Drawn(SizeDistribution::Exponential { .. }) => Bytes(1),
    }
}

/// Thresholds of the input buffer of a node at a link that passed [`check`].
pub(crate) fn thresholds(experiment: &Experiment, link: &LinkParameters, receiver: Node) -> PauseThresholds {
    let buffer = Buffer { experiment, link, receiver };
    let (xoff, xon) = buffer.thresholds();
    PauseThresholds { capacity: buffer.capacity() as u32, xoff: xoff as u32, xon: xon as u32 }
}

/// The input buffers at both ends of all links, of each link that first which needs more headroom.
fn buffers<'a>(
    experiment: &'a Experiment,
    graph: &'a Graph,
) -> impl Iterator<Item = (LinkId, Buffer<'a>)> + 'a {
    (0_u32..).map(LinkId).zip(&graph.links).flat_map(move |(id, link)| {
        let buffer = |receiver| Buffer { experiment, link: &link.parameters, receiver };
        let mut ends = [link.a.node, link.b.node].map(buffer);
        ends.sort_by_key(|buffer| Reverse(buffer.headroom()));
        ends.map(|buffer| (id, buffer))
    })
}

/// Refuses buffers that pauses cannot control.
pub(crate) fn check(experiment: &Experiment, graph: &Graph, file: &str) -> Result<(), SpecError> {
    if experiment.switch.flow_control != FlowControlBy::Pause {
        return Ok(());
    }
    let found = buffers(experiment, graph).find_map(|(id, buffer)| buffer.mistake(&graph.link_name(id)));
    found.map_or(Ok(()), |(key, message)| Err(SpecError::at_key(file, key, message)))
}

/// A warning if there is less headroom than pauses need, so that packets may be lost.
pub fn pause_warning(prepared: &Prepared) -> Option<String> {
    let (experiment, graph) = (&prepared.experiment, &prepared.graph);
    if experiment.switch.flow_control != FlowControlBy::Pause {
        return None;
    }
    let (id, buffer) = buffers(experiment, graph)
        .find(|(_, buffer)| buffer.capacity().saturating_sub(buffer.thresholds().0) < buffer.headroom())?;
    let (xoff, _) = buffer.thresholds();
    Some(format!(
        "packets may be lost: beyond switch.pause.xoff the buffer of {} has {} of headroom, and pauses need {}",
        graph.link_name(id),
        buffer.bytes(buffer.capacity() - xoff),
        buffer.bytes(buffer.headroom()),
    ))
}

#[cfg(test)]
mod tests;
