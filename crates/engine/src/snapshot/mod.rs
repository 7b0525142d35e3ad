//! The state of a fabric at an instant, as a value: queues, their packets, and the buffers that they wait for.
//!
//! A snapshot owns its data. Deadlock search and congestion trees read it, and so does the user of a session. Everything in
//! it is the same for every number of partitions.

mod collect;
mod hosts;
mod ports;
#[cfg(test)]
mod tests;

use std::ops::Range;

use fabricsim_model::Packet;
use fabricsim_routing::lanes::ServiceClasses;
use fabricsim_spec::Queueing;
use fabricsim_units::{HostId, PortNo, SwitchId, Time, Vl};

use crate::adapter::Refused;
use crate::totals::Totals;

pub use hosts::{HostState, PendingMessage};
pub use ports::LaneState;

/// Extent of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The queues of switches: what deadlock search and congestion trees need.
    Queues,
    /// Every lane of every link and every host as well.
    Everything,
}

/// Room of a growing vector as a multiple of what it holds, at most.
const GROWTH: u64 = 2;

/// The state of a fabric at an instant.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Everything before this time has happened, and nothing since.
    pub now: Time,
    /// Counters of the run.
    pub totals: Totals,
    /// Virtual lanes of every link.
    pub lane_count: usize,
    /// Virtual lanes of a service class.
    pub lanes_per_class: u8,
    /// Queueing of the switches.
    pub queueing: Queueing,
    /// Minimum number of blocks free before a switch sends a packet of any size.
    pub least_space: u32,
    /// Directions of links. Sending port `2 l` is link l from its end a to its end b, `2 l + 1` back.
    pub sending_ports: usize,
    /// Staging buffers of all switches.
    pub staging_buffers: usize,
    /// Queues of switches that hold packets, in order of switches.
    pub queues: Vec<Queue>,
    /// Lanes of all links, `lane_count` of each sending port; empty with [`Extent::Queues`].
    pub lanes: Vec<LaneState>,
    /// Hosts by number; empty with [`Extent::Queues`].
    pub hosts: Vec<HostState>,
    /// Requests that hosts do not accept at present, by host and lane; empty with [`Extent::Queues`].
    pub refused: Vec<Refused>,
    packets: Vec<QueuedPacket>,
    ahead: Vec<LaneAhead>,
    shared: Vec<SharedSpace>,
    /// Number of packets of which copies wait.
    pub shared_packets: usize,
}

/// A queue of a switch that holds packets.
#[derive(Clone, Debug)]
pub struct Queue {
    /// The switch.
    pub switch: SwitchId,
    /// Input port of its packets.
    pub in_port: PortNo,
    /// Sending port that leads to that input.
    pub input: u32,
    /// Virtual lane of the input buffer.
    pub lane: Vl,
    /// Output port of the packet at its head.
    pub out_port: PortNo,
    /// The same as a sending port.
    pub output: u32,
    /// True if the output leads to a host.
    pub to_host: bool,
    /// Time at which the output finishes its current packet.
    pub output_busy_until: Time,
    /// Packet at the head.
    pub head: Packet,
    /// Time from which the switch may send the head on.
    pub ready: Time,
    /// Blocks of the head, and of all packets of the queue.
    pub head_blocks: u32,
    /// Blocks of all packets of the queue.
    pub blocks: u32,
    /// The buffer that holds the packets.
    pub place: BufferKind,
    /// Verdict of the switch's congestion control on the output and the head's first lane; `None` without such control.
    pub congested: Option<bool>,
    packets: Range<u32>,
    ahead: Range<u32>,
    shared: Range<u32>,
}

/// A copy in a queue of a packet for a multicast group, which holds its space in the input buffer until all copies have left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedSpace {
    /// Number of the packet among those with copies.
    pub packet: usize,
    /// Blocks of the packet.
    pub blocks: u32,
}

/// Buffer of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferKind {
    /// The input buffer; the next buffer is at the other end of the output's link.
    Input,
    /// The input buffer; the next buffer is a staging buffer of the switch.
    BeforeStaging {
        /// Number of the staging buffer, over all switches.
        buffer: usize,
        /// Blocks that it holds.
        capacity: u32,
    },
    /// A staging buffer, by number.
    Staged(usize),
}

/// A packet in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedPacket {
    /// Sender.
    pub source: HostId,
    /// Receiver.
    pub destination: HostId,
    /// Stream of its message.
    pub stream: u16,
    /// Number among the sender's packets.
    pub sequence: u32,
}

/// A lane that the head of a queue may take over the link of its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneAhead {
    /// The lane.
    pub lane: Vl,
    /// Blocks of the buffer at the other end.
    pub capacity: u32,
    /// Blocks that are free now, counted up to what the head needs, or any packet if that is more.
    pub free: u32,
    /// Blocks that must be free before any packet goes: more than zero while the lane is paused.
    pub needed: u32,
}

impl Snapshot {
    /// Bytes of a snapshot with [`Extent::Queues`] of `queues` queues that hold `packets`, with `lanes` lanes ahead of each: at the end
    /// of a vector's growth it has room for twice as many.
    pub const fn bytes_of(queues: u64, packets: u64, lanes: u64) -> u64 {
        let queue = size_of::<Queue>() as u64 + lanes * size_of::<LaneAhead>() as u64;
        GROWTH * (queues * queue + packets * size_of::<QueuedPacket>() as u64)
    }

    /// Bytes that the lists of the snapshot occupy.
    pub const fn bytes(&self) -> usize {
        self.queues.capacity() * size_of::<Queue>()
            + self.lanes.capacity() * size_of::<LaneState>()
            + self.hosts.capacity() * size_of::<HostState>()
            + self.refused.capacity() * size_of::<Refused>()
            + self.packets.capacity() * size_of::<QueuedPacket>()
            + self.ahead.capacity() * size_of::<LaneAhead>()
            + self.shared.capacity() * size_of::<SharedSpace>()
    }

    /// The packets of a queue, head first.
    pub fn packets(&self, queue: &Queue) -> &[QueuedPacket] {
        &self.packets[queue.packets.start as usize..queue.packets.end as usize]
    }

    /// The copies in a queue that share their space with others.
    pub fn shared(&self, queue: &Queue) -> &[SharedSpace] {
        &self.shared[queue.shared.start as usize..queue.shared.end as usize]
    }

    /// The lanes that the head of a queue may take, ascending: one or more.
    pub fn ahead(&self, queue: &Queue) -> &[LaneAhead] {
        &self.ahead[queue.ahead.start as usize..queue.ahead.end as usize]
    }

    /// True if the head of a queue has credits; `blocks` must be free, at most what the head or any packet needs.
    pub fn has_space(&self, queue: &Queue, blocks: u32) -> bool {
        self.ahead(queue).iter().any(|lane| lane.free >= blocks)
    }

    /// The first lane of the service class that `lane` belongs to.
    pub fn class_base(&self, lane: Vl) -> u8 {
        ServiceClasses::new(self.lanes_per_class).base(lane)
    }

    /// Packets in queues of switches.
    pub fn queued(&self) -> usize {
        self.packets.len()
    }

    /// State of a lane of a sending port; `None` with [`Extent::Queues`].
    pub fn lane(&self, port: u32, lane: Vl) -> Option<&LaneState> {
        self.lanes.get(port as usize * self.lane_count + lane.index())
    }
}
