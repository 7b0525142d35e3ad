//! Packets that can never move again, and the cycle that holds them.
//!
//! A queue is *live* if the packet at its head can move some day: it waits for a host, or on one of its lanes the
//! buffer ahead has room for it, now or when the live queues of that buffer have left. The least set of live queues
//! is found by spreading; what it does not reach holds its space for ever, and so never gets what it waits for.
//! The search is exact for packets whose output is chosen; those that are behind a live head count as live.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use fabricsim_fabric::{Far, NONE, Switch};
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

/// An input buffer that cannot move.
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

/// An input buffer of the fabric: channel times number of lanes, plus lane. Above those, the staging buffers, switch by
/// switch.
type Buffer = usize;

/// A queue that may be stuck.
struct Waiting {
    blocked: Blocked,
    /// The buffer that it is in, and the blocks that it holds there.
    buffer: Buffer,
    holds: u32,
    /// The buffers that its head could go to, `first_need` and those after it, and the blocks that it takes.
    first_need: Buffer,
    needs: usize,
    blocks: u32,
}

impl Waiting {
    fn needs(&self) -> Range<Buffer> {
        self.first_need..self.first_need + self.needs
    }
}

/// All queues but those that wait for a host, and the room in buffers: what is not held by such a queue.
struct Waits {
    lane_count: usize,
    queues: Vec<Waiting>,
    /// By buffer; `None` for those that nobody waits for.
    room: Vec<Option<u32>>,
}

pub(crate) fn find<B: Observer>(engine: &Engine<B>) -> Option<Deadlock> {
    let lane_count = engine.partitions.first()?.context.ports.lane_count;
    let buffers = engine.directory.receiver.len() * lane_count;
    let mut waits = Waits { lane_count, queues: Vec::new(), room: vec![None; buffers] };
    for partition in &engine.partitions {
        for switch in partition.switches.iter() {
            gather(partition, switch, &mut waits);
        }
    }
    let mut stuck: BTreeMap<Buffer, Waiting> = BTreeMap::new();
    for queue in waits.stuck() {
        stuck.entry(queue.buffer).or_insert(queue);
    }
    let first = stuck.keys().next().copied()?;
    Some(Deadlock { cycle: follow(&stuck, first), buffers: stuck.len() })
}

fn gather<B: Observer>(partition: &Partition<B>, switch: &Switch, waits: &mut Waits) {
    let ports = &partition.context.ports;
    let least_space = partition.context.rules.least_space;
    let first_staging = waits.room.len();
    let (staging, capacity) = switch.staging_buffers();
    waits.room.resize(first_staging + staging, None);
    for (input, lane, index) in switch.heads() {
        let slot = &partition.context.arena[index];
        let out_port = switch.first_port() + u32::from(slot.hop.port.0);
        let sender = &ports.senders[out_port as usize];
        let own = first_staging + switch.staging_buffer(input, lane, slot.hop.port.index());
        let is_staged = slot.port == NONE;
        let moves_on = staging > 0 && !is_staged;
        if matches!(sender.far, Far::Host(_) | Far::SlowHost(_) | Far::ChoosyHost(_)) && !moves_on {
            continue;
        }
        let packets = std::iter::successors(Some(index), |&at| {
            Some(partition.context.arena[at].next).filter(|&next| next != NONE)
        });
        let in_port = switch.first_port() + input as u32;
        let channel = ports.receivers[in_port as usize].channel as usize;
        let buffer = if is_staged { own } else { channel * waits.lane_count + lane.index() };
        let (first_need, needs, blocks) = if moves_on {
            waits.room[own].get_or_insert(capacity);
            (own, 1, slot.blocks)
        } else {
            let lanes = usable(slot.hop.lanes, ports.selection, slot.flow());
            let ahead = sender.channel as usize * waits.lane_count;
            for lane in lanes.iter() {
                waits.room[ahead + lane.index()]
                    .get_or_insert_with(|| ports.accounted(out_port, lane.index()).1);
            }
            (ahead + lanes.first.index(), usize::from(lanes.count), slot.blocks.max(least_space))
        };
        waits.queues.push(Waiting {
            blocked: Blocked {
                switch: switch.id(),
                port: PortNo(input as u16),
                lane,
                packet: slot.packet,
                output: slot.hop.port,
            },
            buffer,
            holds: packets.map(|at| partition.context.arena[at].blocks).sum(),
            first_need,
            needs,
            blocks,
        });
    }
}

/// The lanes among `allowed` that a packet of `flow` may be given.
pub(crate) fn usable(allowed: Lanes, selection: Selection, flow: u32) -> Lanes {
    match selection {
        Selection::ByFlow => Lanes::new(allowed.first.0 + (flow % u32::from(allowed.count)) as u8, 1),
        _ => allowed,
    }
}

/// The queues that wait for each buffer, in one list; where the part of each buffer starts, and at last its end.
struct Waiters {
    start: Vec<u32>,
    queues: Vec<u32>,
}

impl Waiters {
    fn new(queues: &[Waiting], buffers: usize) -> Self {
        let mut start = vec![0; buffers + 1];
        queues.iter().flat_map(Waiting::needs).for_each(|need| start[need + 1] += 1);
        (0..buffers).for_each(|buffer| start[buffer + 1] += start[buffer]);
        let mut place = start.clone();
        let mut list = vec![0; start[buffers] as usize];
        for (i, queue) in queues.iter().enumerate() {
            for need in queue.needs() {
                list[place[need] as usize] = i as u32;
                place[need] += 1;
            }
        }
        Self { start, queues: list }
    }

    fn of(&self, buffer: Buffer) -> &[u32] {
        &self.queues[self.start[buffer] as usize..self.start[buffer + 1] as usize]
    }
}

impl Waits {
    /// Those queues that no spreading of liveness reaches.
    fn stuck(self) -> Vec<Waiting> {
        let Self { queues, mut room, .. } = self;
        let waiters = Waiters::new(&queues, room.len());
        for queue in &queues {
            if let Some(room) = &mut room[queue.buffer] {
                *room -= queue.holds;
            }
        }
        let mut live = vec![false; queues.len()];
        let mut changed: VecDeque<Buffer> =
            (0..room.len()).filter(|&buffer| room[buffer].is_some()).collect();
        while let Some(buffer) = changed.pop_front() {
            let Some(enough) = room[buffer] else { continue };
            for &i in waiters.of(buffer) {
                let queue = &queues[i as usize];
                if live[i as usize] || queue.blocks > enough {
                    continue;
                }
                live[i as usize] = true;
                if let Some(room) = &mut room[queue.buffer] {
                    *room += queue.holds;
                    changed.push_back(queue.buffer);
                }
            }
        }
        queues.into_iter().zip(live).filter_map(|(queue, live)| (!live).then_some(queue)).collect()
    }
}

/// Follows who waits for whom from `first` until a buffer comes a second time.
fn follow(stuck: &BTreeMap<Buffer, Waiting>, first: Buffer) -> Vec<Blocked> {
    let mut path: Vec<Buffer> = vec![first];
    loop {
        let at = path[path.len() - 1];
        let next = stuck[&at].needs().find(|need| stuck.contains_key(need));
        let Some(next) = next else { return named(stuck, &path) };
        if let Some(start) = path.iter().position(|&buffer| buffer == next) {
            return named(stuck, &path[start..]);
        }
        path.push(next);
    }
}

/// The buffers of a path; a staging buffer and the input buffer before it are named once.
fn named(stuck: &BTreeMap<Buffer, Waiting>, path: &[Buffer]) -> Vec<Blocked> {
    let mut all: Vec<Blocked> = path.iter().map(|buffer| stuck[buffer].blocked).collect();
    let place = |blocked: &Blocked| (blocked.switch, blocked.port, blocked.lane, blocked.output);
    all.dedup_by_key(|blocked| place(blocked));
    if all.len() > 1 && all.first().map(place) == all.last().map(place) {
        all.pop();
    }
    all
}
