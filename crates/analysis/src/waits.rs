//! Waiting packets and the reasons for waiting.

use fabricsim_engine::{HostState, Queue, Snapshot};
use fabricsim_units::{HostId, SwitchId, Time, Vl};

/// A queue of a switch, or a host, with a packet to send that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Holder of the packet.
    pub waiter: Waiter,
    /// Sending port that the packet is to leave by.
    pub output: u32,
    /// Reason for waiting.
    pub reason: Reason,
    /// Sender and receiver of the packet at the head.
    pub ends: (HostId, HostId),
    /// Packets of the queue; messages of a host.
    pub count: usize,
    /// Blocks of the queue; 0 of a host.
    pub blocks: u32,
    /// Time at which its holder was ready to send the packet.
    pub since: Time,
}

/// Holder of a packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiter {
    /// A queue of a switch.
    Queue {
        /// The switch.
        switch: SwitchId,
        /// Sending port that leads to the queue's input.
        input: u32,
        /// Virtual lane of the input buffer.
        lane: Vl,
    },
    /// A host.
    Host(HostId),
}

/// Reason for which a packet waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The switch is still processing its header.
    RouterDelay,
    /// The buffer at the other end of the output's link is full.
    Credits,
    /// The output sends another packet.
    Output,
    /// The output's link has failed.
    FailedLink,
    /// Congestion control rate-limits it.
    RateLimit,
    /// Its receiver has not acknowledged it or an earlier packet.
    Acknowledgement,
    /// The output sends others first, the switch's input is being read, or it is about to be sent.
    Turn,
}

impl Reason {
    /// Returns the reason in a few words, for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RouterDelay => "router delay",
            Self::Credits => "credits",
            Self::Output => "output",
            Self::FailedLink => "failed link",
            Self::RateLimit => "rate limit",
            Self::Acknowledgement => "acknowledgement",
            Self::Turn => "turn",
        }
    }
}

/// All that wait: queues in order of switches, then hosts by number. Hosts are in the snapshot with
/// [`Extent::Everything`](fabricsim_engine::Extent::Everything) only.
pub fn waits(snapshot: &Snapshot) -> Vec<Wait> {
    let queues = snapshot.queues.iter().map(|queue| of_queue(snapshot, queue));
    queues.chain(snapshot.hosts.iter().filter_map(|host| of_host(snapshot, host))).collect()
}

fn of_queue(snapshot: &Snapshot, queue: &Queue) -> Wait {
    let blocks = queue.head_blocks.max(snapshot.least_space);
    let reason = if queue.ready > snapshot.now {
        Reason::RouterDelay
    } else if queue.output_busy_until == Time::MAX {
        Reason::FailedLink
    } else if !snapshot.has_space(queue, blocks) {
        Reason::Credits
    } else if queue.output_busy_until > snapshot.now {
        Reason::Output
    } else {
        Reason::Turn
    };
    Wait {
        waiter: Waiter::Queue { switch: queue.switch, input: queue.input, lane: queue.lane },
        output: queue.output,
        reason,
        ends: (queue.head.source, queue.head.destination),
        count: snapshot.packets(queue).len(),
        blocks: queue.blocks,
        since: queue.ready,
    }
}

/// `None` if the host has no message to send.
fn of_host(snapshot: &Snapshot, state: &HostState) -> Option<Wait> {
    let first = state.messages.iter().min_by_key(|message| message.created)?;
    let reason = if state.link_busy_until == Time::MAX {
        Reason::FailedLink
    } else if state.link_busy_until > snapshot.now {
        Reason::Output
    } else if state.blocked_since.is_some() {
        Reason::Credits
    } else if state.rate_limited_until.is_some() {
        Reason::RateLimit
    } else if state.has_transport {
        Reason::Acknowledgement
    } else {
        Reason::Turn
    };
    Some(Wait {
        waiter: Waiter::Host(state.host),
        output: state.port,
        reason,
        ends: (state.host, first.destination),
        count: state.messages.len(),
        blocks: 0,
        since: first.created,
    })
}
