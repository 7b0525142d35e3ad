//! Packets at the heads of queues that have space ahead of them, and are not chosen.

use fabricsim_fabric::{NONE, Slot, Switch};
use fabricsim_model::Observer;
use fabricsim_units::{HostId, Time, Vl};

use crate::engine::Engine;
use crate::partition::Partition;

/// Most packets behind a head that are listed.
const BEHIND: usize = 32;

/// Sender of a packet, its stream, and its number among the sender's packets.
pub type PacketId = (HostId, u16, u32);

/// A packet at the head of a queue, whose output does not choose it although it could be sent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Passed {
    /// Sending port of the output, in the fabric.
    pub output: u32,
    /// Sending port that leads to the packet's input, in the fabric.
    pub input: u32,
    /// Virtual lane of the packet's input buffer.
    pub lane: Vl,
    /// The packet.
    pub packet: PacketId,
    /// Time at which the packet could first be sent on, as far as its switch is concerned.
    pub ready: Time,
    /// The next packets of its queue, at most 32, in order.
    pub behind: Vec<PacketId>,
}

/// Heads of queues, ready at `since` or before, that have credits now and whose outputs have sent since. In order, the same for
/// every number of partitions.
pub(crate) fn passed<B: Observer>(engine: &Engine<B>, since: Time) -> Vec<Passed> {
    let now = engine.now();
    let mut found = Vec::new();
    for partition in &engine.partitions {
        let Partition { switches, context, .. } = partition;
        for switch in switches.iter() {
            let heads = switch.heads().filter_map(|(input, lane, packet)| {
                let slot = &context.arena[packet];
                if slot.ready > since {
                    return None;
                }
                let port = switch.first_port() + u32::from(slot.hop.port.0);
                let sender = &context.ports.senders[port as usize];
                let sent_since = sender.busy_until > since;
                let allowed = context.ports.selectable(slot.hop.lanes, slot.flow());
                let has_credits = allowed.iter().any(|lane| {
                    let (blocks, least) = (slot.blocks, context.rules.least_space);
                    context.ports.would_have_space(port, lane, blocks.max(least), now)
                });
                let id = |slot: &Slot| (slot.packet.source, slot.packet.stream, slot.packet.sequence);
                let next = |at: u32| (at != NONE).then(|| &context.arena[at]);
                (sent_since && has_credits).then(|| Passed {
                    output: context.ports.senders[port as usize].channel,
                    input: input_channel(switch, input, &context.ports),
                    lane,
                    packet: id(slot),
                    ready: slot.ready,
                    behind: std::iter::successors(next(slot.next), |slot| next(slot.next))
                        .take(BEHIND)
                        .map(id)
                        .collect(),
                })
            });
            found.extend(heads);
        }
    }
    found.sort_unstable();
    found
}

fn input_channel(switch: &Switch, input: usize, ports: &fabricsim_fabric::Ports) -> u32 {
    ports.receivers[switch.first_port() as usize + input].channel
}
