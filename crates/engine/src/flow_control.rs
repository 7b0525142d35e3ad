//! Flow-control packets: what depends on the network.

use fabricsim_fabric::flow_control::{BLOCK, WATCHDOG_BYTES, WINDOW, WIRE_BYTES, refresh};
use fabricsim_fabric::{Outbox, Ramp};
use fabricsim_model::Observer;
use fabricsim_spec::{Experiment, FlowControlBy, SpecError};
use fabricsim_topology::Graph;
use fabricsim_units::{ByteTime, Bytes, LinkId, Time, Vl};

use crate::engine::Engine;

/// Refuses buffers beyond the blocks that flow-control packets can announce.
pub(crate) fn check(experiment: &Experiment, graph: &Graph, file: &str) -> Result<(), SpecError> {
    if experiment.switch.flow_control != FlowControlBy::Packets {
        return Ok(());
    }
    let most = Bytes(u64::from(BLOCK) * u64::from(WINDOW));
    let Some(number) = graph.links.iter().position(|link| link.parameters.buffer > most) else {
        return Ok(());
    };
    let message = format!(
        "the buffer of {} has {} for each lane: flow-control packets count at most {most}; give less, or use \"ideal\"",
        graph.link_name(LinkId(number as u32)),
        graph.links[number].parameters.buffer,
    );
    Err(SpecError::at_key(file, "switch.flow_control", message))
}

impl<B: Observer> Engine<B> {
    /// From now on the flow-control packets of a link are lost in both directions, or arrive again. Returns the time at which the watchdog of an
    /// end expires if they do not: 400 000 symbol times after the last that has arrived for a lane (section 7.9.4).
    pub fn lose_flow_control(&mut self, link: LinkId, loses: bool) -> Time {
        let mut expires = Time::MAX;
        for channel in [2 * link.0, 2 * link.0 + 1] {
            let (number, port) = self.directory.sender[channel as usize];
            let now = self.now();
            let context = &mut self.partitions[usize::from(number)].context;
            context.now = context.now.max(now);
            // What the port has sent without an event.
            refresh(context, port);
            let sender = &context.ports.senders[port as usize];
            let (time, latency) = (sender.link_byte_time, sender.latency);
            let Some(flow) = &mut context.ports.flow else { continue };
            flow.set_loses(port, loses);
            let heard = flow.last_sent(port) + time.duration(WIRE_BYTES) + latency;
            expires = expires.min(heard + time.duration(WATCHDOG_BYTES));
        }
        expires
    }

    /// A link has been trained anew: the counters of its flow control begin at zero. So its ends may send nothing until flow-control packets have
    /// arrived, which announce what is free in the buffers. Returns the time at which the watchdog expires if none do.
    pub fn restart_flow_control(&mut self, link: LinkId) -> Time {
        let now = self.now();
        let mut expires = Time::MAX;
        for channel in [2 * link.0, 2 * link.0 + 1] {
            let (number, port) = self.directory.sender[channel as usize];
            let (other, receiver) = self.directory.receiver[channel as usize];
            let ports = &mut self.partitions[usize::from(number)].context.ports;
            let lanes = ports.lane_count;
            let blocks: Vec<u32> = (0..lanes).map(|lane| ports.take_all(port, lane, now)).collect();
            expires = expires.min(now + ports.senders[port as usize].link_byte_time.duration(WATCHDOG_BYTES));
            let context = &mut self.partitions[usize::from(other)].context;
            for (lane, blocks) in (0_u8..).map(Vl).zip(blocks) {
                let ramp = Ramp { base: now, byte_time: ByteTime::default(), bytes: blocks * BLOCK, blocks };
                let Some(flow) = context.ports.flow.as_mut().filter(|_| blocks > 0) else { continue };
                if let Some(at) = flow.release(receiver, lane, ramp, now) {
                    context.out.control(at, receiver);
                }
            }
        }
        expires
    }
}

#[cfg(test)]
mod tests;
