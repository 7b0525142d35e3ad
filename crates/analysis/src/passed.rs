//! Packets at the heads of queues that have space ahead of them, and are not chosen.

use fabricsim_engine::{Queue, QueuedPacket, Snapshot};
use fabricsim_units::{HostId, Time, Vl};

/// Maximum number of packets listed behind a head.
const BEHIND: usize = 32;

/// Sender of a packet, its stream, and its number among the sender's packets.
pub type PacketId = (HostId, u16, u32);

/// A packet at the head of a queue that could be sent but that its output does not choose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, fabricsim_state::Value)]
pub struct PassedOver {
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
pub fn passed(snapshot: &Snapshot, since: Time) -> Vec<PassedOver> {
    let is_passed = |queue: &&Queue| {
        let blocks = queue.head_blocks.max(snapshot.least_space);
        queue.ready <= since && queue.output_busy_until > since && snapshot.has_space(queue, blocks)
    };
    let id = |packet: &QueuedPacket| (packet.source, packet.stream, packet.sequence);
    let found = snapshot.queues.iter().filter(is_passed).map(|queue| PassedOver {
        output: queue.output,
        input: queue.input,
        lane: queue.lane,
        packet: id(&snapshot.packets(queue)[0]),
        ready: queue.ready,
        behind: snapshot.packets(queue).iter().skip(1).take(BEHIND).map(id).collect(),
    });
    let mut found: Vec<PassedOver> = found.collect();
    found.sort_unstable();
    found
}
