//! Packets that can never move again, and the cycle that holds them.
//!
//! A buffer is *live* if a packet at the head of one of its queues can move: its output sends, or will have credits
//! by what has been announced, or waits for a buffer that is live itself. What is not live at a moment never will
//! be: the fixpoint below is exact for packets whose output is chosen.

use std::collections::{BTreeMap, VecDeque};

use fabricsim_fabric::Far;
use fabricsim_model::{Observer, Packet};
use fabricsim_units::{PortNo, SwitchId, Time, Vl};

use crate::engine::Engine;
use crate::partition::Partition;

/// A cycle of input buffers, each of which waits for the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The buffers of the cycle.
    pub cycle: Vec<Blocked>,
    /// Buffers that can never empty: the cycle, and those that wait for it.
    pub buffers: usize,
}

/// An input buffer that can not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The switch.
    pub switch: SwitchId,
    /// Its input port.
    pub port: PortNo,
    /// Virtual lane of the buffer.
    pub lane: Vl,
    /// The packet at the head of the queue that waits.
    pub packet: Packet,
    /// The output that it waits for.
    pub output: PortNo,
}

/// An input buffer of the fabric: the channel that leads to it, and the lane.
type Buffer = (u32, u8);

struct Waiting {
    blocked: Blocked,
    needs: Vec<Buffer>,
}

pub(crate) fn find<B: Observer>(engine: &Engine<B>) -> Option<Deadlock> {
    let now = engine.now();
    let mut live = VecDeque::new();
    let mut heads: BTreeMap<Buffer, Vec<Waiting>> = BTreeMap::new();
    for partition in &engine.partitions {
        gather(partition, now, &mut heads, &mut live);
    }
    // A packet on its way may come to a queue that moves: its buffer counts as live.
    live.extend(arriving(engine));
    let stuck = spread(&mut heads, live);
    let first = stuck.keys().next().copied()?;
    Some(Deadlock { cycle: follow(&stuck, first), buffers: stuck.len() })
}

/// The heads of all queues of a partition: those that can move make their buffer live, the others wait.
fn gather<B: Observer>(
    partition: &Partition<B>,
    now: Time,
    heads: &mut BTreeMap<Buffer, Vec<Waiting>>,
    live: &mut VecDeque<Buffer>,
) {
    for switch in &partition.switches {
        for (input, lane, index) in switch.heads() {
            let in_port = switch.first_port() + input as u32;
            let buffer = (partition.context.ports.receivers[in_port as usize].channel, lane.0);
            let slot = &partition.context.arena[index];
            let out_port = switch.first_port() + u32::from(slot.hop.port.0);
            let sender = &partition.context.ports.senders[out_port as usize];
            let moves =
                sender.busy_until > now
                    || slot.ready > now
                    || partition.context.ports.receivers[in_port as usize].readable_at > now
                    || matches!(sender.far, Far::Host(_) | Far::SlowHost(_))
                    || slot.hop.lanes.iter().any(|lane| {
                        partition.context.ports.accounted(out_port, lane.index()).0 >= slot.blocks
                    });
            if moves {
                live.push_back(buffer);
                continue;
            }
            let needs = slot.hop.lanes.iter().map(|lane| (sender.channel, lane.0)).collect();
            let blocked = Blocked {
                switch: switch.id(),
                port: PortNo(input as u16),
                lane,
                packet: slot.packet,
                output: slot.hop.port,
            };
            heads.entry(buffer).or_default().push(Waiting { blocked, needs });
        }
    }
}

/// Buffers with packets that are on their way to them.
fn arriving<B: Observer>(engine: &Engine<B>) -> Vec<Buffer> {
    let mut buffers = Vec::new();
    for partition in &engine.partitions {
        for packet in partition.context.out.calendar.arriving() {
            let slot = &partition.context.arena[packet];
            buffers.push((partition.context.ports.receivers[slot.port as usize].channel, slot.lane.0));
        }
    }
    buffers
}

/// Spreads liveness against the direction of waiting; what is left is stuck.
fn spread(
    heads: &mut BTreeMap<Buffer, Vec<Waiting>>,
    mut live: VecDeque<Buffer>,
) -> BTreeMap<Buffer, Waiting> {
    let mut waiters: BTreeMap<Buffer, Vec<Buffer>> = BTreeMap::new();
    for (&buffer, waiting) in heads.iter() {
        for need in waiting.iter().flat_map(|w| &w.needs) {
            waiters.entry(*need).or_default().push(buffer);
        }
    }
    while let Some(buffer) = live.pop_front() {
        heads.remove(&buffer);
        live.extend(waiters.remove(&buffer).unwrap_or_default());
    }
    std::mem::take(heads)
        .into_iter()
        .filter_map(|(buffer, waiting)| waiting.into_iter().next().map(|first| (buffer, first)))
        .collect()
}

/// Follows who waits for whom from `first` until a buffer comes a second time.
fn follow(stuck: &BTreeMap<Buffer, Waiting>, first: Buffer) -> Vec<Blocked> {
    let mut path: Vec<Buffer> = vec![first];
    loop {
        let at = path[path.len() - 1];
        let next = stuck[&at].needs.iter().copied().find(|need| stuck.contains_key(need));
        let Some(next) = next else {
            return path.iter().map(|buffer| stuck[buffer].blocked).collect();
        };
        if let Some(start) = path.iter().position(|&buffer| buffer == next) {
            return path[start..].iter().map(|buffer| stuck[buffer].blocked).collect();
        }
        path.push(next);
    }
}
