//! Packets that can never move again, and the cycle that holds them.
//!
//! A queue is *live* if the packet at its head can move some day: it waits for a host, or on one of its lanes the
//! buffer ahead has room for it, now or when the live queues of that buffer have left. The least set of live queues
//! is found by spreading; what it does not reach holds its space for ever, and so never gets what it waits for.
//! The search is exact for packets whose output is chosen; those that are behind a live head count as live.

use std::collections::{BTreeMap, VecDeque};

use fabricsim_fabric::{Far, NONE};
use fabricsim_model::{Lanes, Observer, Packet};
use fabricsim_spec::Selection;
use fabricsim_units::{PortNo, SwitchId, Vl};

use crate::engine::Engine;
use crate::partition::Partition;

/// A cycle of input buffers, each of which waits for the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The buffers of the cycle.
    pub cycle: Vec<Blocked>,
    /// Buffers with packets that can never leave: the cycle, and those that wait for it.
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

/// A queue that may be stuck.
struct Waiting {
    blocked: Blocked,
    /// The buffer that it is in, and the blocks that it holds there.
    buffer: Buffer,
    holds: u32,
    /// The buffers that its head could go to, and the blocks that it takes.
    needs: Vec<Buffer>,
    blocks: u32,
}

/// All queues but those that wait for a host, and the room in buffers: what is not held by such a queue.
#[derive(Default)]
struct Waits {
    queues: Vec<Waiting>,
    room: BTreeMap<Buffer, u32>,
}

pub(crate) fn find<B: Observer>(engine: &Engine<B>) -> Option<Deadlock> {
    let mut waits = Waits::default();
    for partition in &engine.partitions {
        gather(partition, &mut waits);
    }
    let mut stuck: BTreeMap<Buffer, Waiting> = BTreeMap::new();
    for queue in waits.stuck() {
        stuck.entry(queue.buffer).or_insert(queue);
    }
    let first = stuck.keys().next().copied()?;
    Some(Deadlock { cycle: follow(&stuck, first), buffers: stuck.len() })
}

fn gather<B: Observer>(partition: &Partition<B>, waits: &mut Waits) {
    let ports = &partition.context.ports;
    for switch in partition.switches.iter() {
        for (input, lane, index) in switch.heads() {
            let slot = &partition.context.arena[index];
            let out_port = switch.first_port() + u32::from(slot.hop.port.0);
            let sender = &ports.senders[out_port as usize];
            if matches!(sender.far, Far::Host(_) | Far::SlowHost(_)) {
                continue;
            }
            let flow = slot.packet.source.0.wrapping_mul(31).wrapping_add(slot.packet.destination.0);
            let needs = usable(slot.hop.lanes, ports.selection, flow).iter().map(|lane| {
                let need = (sender.channel, lane.0);
                waits.room.entry(need).or_insert(ports.accounted(out_port, lane.index()).1);
                need
            });
            let needs = needs.collect();
            let in_port = switch.first_port() + input as u32;
            let packets = std::iter::successors(Some(index), |&at| {
                Some(partition.context.arena[at].next).filter(|&next| next != NONE)
            });
            waits.queues.push(Waiting {
                blocked: Blocked {
                    switch: switch.id(),
                    port: PortNo(input as u16),
                    lane,
                    packet: slot.packet,
                    output: slot.hop.port,
                },
                buffer: (ports.receivers[in_port as usize].channel, lane.0),
                holds: packets.map(|at| partition.context.arena[at].blocks).sum(),
                needs,
                blocks: slot.blocks,
            });
        }
    }
}

/// The lanes among `allowed` that a packet of `flow` may be given.
fn usable(allowed: Lanes, selection: Selection, flow: u32) -> Lanes {
    match selection {
        Selection::ByFlow => Lanes::new(allowed.first.0 + (flow % u32::from(allowed.count)) as u8, 1),
        _ => allowed,
    }
}

impl Waits {
    /// Those queues that no spreading of liveness reaches.
    fn stuck(self) -> Vec<Waiting> {
        let Self { queues, mut room } = self;
        let mut waiters: BTreeMap<Buffer, Vec<usize>> = BTreeMap::new();
        for (i, queue) in queues.iter().enumerate() {
            queue.needs.iter().for_each(|need| waiters.entry(*need).or_default().push(i));
            if let Some(room) = room.get_mut(&queue.buffer) {
                *room -= queue.holds;
            }
        }
        let mut queues: Vec<Option<Waiting>> = queues.into_iter().map(Some).collect();
        let mut changed: VecDeque<Buffer> = room.keys().copied().collect();
        while let Some(buffer) = changed.pop_front() {
            let enough = room[&buffer];
            for &i in &waiters[&buffer] {
                let Some(live) = queues[i].take_if(|queue| queue.blocks <= enough) else { continue };
                if let Some(room) = room.get_mut(&live.buffer) {
                    *room += live.holds;
                    changed.push_back(live.buffer);
                }
            }
        }
        queues.into_iter().flatten().collect()
    }
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
