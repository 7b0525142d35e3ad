//! Packets that can never move again, and the cycle that holds them.
//!
//! A queue is *live* if the packet at its head can move some day: it waits for a host, or on one of its lanes the
//! buffer ahead has room for it, now or when the live queues of that buffer have left. The least set of live queues
//! is found by spreading; what it does not reach holds its space for ever, and so never gets what it waits for.
//! The search is exact for packets whose output is chosen; those that are behind a live head count as live. A packet counts as one of
//! the largest head that waits for the same output and all its lanes: that one keeps the credits from it, if not at once.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use fabricsim_engine::{BufferKind, Queue, SharedSpace, Snapshot};
use fabricsim_model::Packet;
use fabricsim_units::{PortNo, SwitchId, Vl};

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
    /// The copies in it, which hold the space of their packets together with copies in other queues.
    copies: Vec<SharedSpace>,
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

/// All queues but those that wait for a host, and the buffers that they wait for.
struct Waits {
    queues: Vec<Waiting>,
    /// Buffers with their capacities, once for each queue that waits for them: in a large network few do.
    awaited: Vec<(Buffer, u32)>,
    /// Copies in such queues of each packet that has copies.
    copies: Vec<u32>,
}

/// Packets that can never move again; `None` if all can move some day.
pub fn find_deadlock(snapshot: &Snapshot) -> Option<Deadlock> {
    let inputs = snapshot.sending_ports * snapshot.lane_count;
    let mut waits =
        Waits { queues: Vec::new(), awaited: Vec::new(), copies: vec![0; snapshot.shared_packets] };
    for queue in &snapshot.queues {
        gather(snapshot, queue, inputs, &mut waits);
    }
    waits.keep_credits();
    let mut stuck: BTreeMap<Buffer, Waiting> = BTreeMap::new();
    for queue in waits.stuck() {
        stuck.entry(queue.buffer).or_insert(queue);
    }
    let first = stuck.keys().next().copied()?;
    Some(Deadlock { cycle: follow(&stuck, first), buffers: stuck.len() })
}

/// Adds a queue, and the buffers that its head could go to. Staging buffers come after the `inputs`.
fn gather(snapshot: &Snapshot, queue: &Queue, inputs: usize, waits: &mut Waits) {
    let of_input = queue.input as usize * snapshot.lane_count + queue.lane.index();
    let (buffer, first_need, needs, blocks) = match queue.place {
        BufferKind::BeforeStaging { buffer, capacity } => {
            waits.awaited.push((inputs + buffer, capacity));
            (of_input, inputs + buffer, 1, queue.head_blocks)
        }
        BufferKind::Input | BufferKind::Staged(_) if queue.to_host => return,
        BufferKind::Input | BufferKind::Staged(_) => {
            let next = queue.output as usize * snapshot.lane_count;
            let lanes = snapshot.ahead(queue);
            for lane in lanes {
                waits.awaited.push((next + lane.lane.index(), lane.capacity));
            }
            let own = if let BufferKind::Staged(buffer) = queue.place { inputs + buffer } else { of_input };
            // A lane that is paused opens for packets of any size at once.
            let needed = lanes.iter().map(|lane| lane.needed).min().unwrap_or_default();
            let blocks = queue.head_blocks.max(snapshot.least_space).max(needed);
            (own, next + lanes[0].lane.index(), lanes.len(), blocks)
        }
    };
    let blocked = Blocked {
        switch: queue.switch,
        port: queue.in_port,
        lane: queue.lane,
        packet: queue.head,
        output: queue.out_port,
    };
    let copies = snapshot.shared(queue).to_vec();
    let holds = queue.blocks - copies.iter().map(|copy| copy.blocks).sum::<u32>();
    waits.queues.push(Waiting { blocked, buffer, holds, copies, first_need, needs, blocks });
}

/// "No buffer that a queue waits for" in [`Places::own`].
const NOT_AWAITED: u32 = u32::MAX;

/// The awaited buffers by number, in ascending order: their room, and the numbers of those that each queue is in and waits for.
struct Places {
    /// What is not held by a queue.
    room: Vec<u32>,
    /// By queue: the buffer that it is in, or [`NOT_AWAITED`].
    own: Vec<u32>,
    /// By queue: the first buffer that it waits for. Its others have the numbers after that.
    first_need: Vec<u32>,
}

impl Places {
    fn new(queues: &[Waiting], mut awaited: Vec<(Buffer, u32)>) -> Self {
        awaited.sort_by_key(|&(buffer, _)| buffer);
        awaited.dedup_by_key(|&mut (buffer, _)| buffer);
        let number = |of: Buffer| {
            awaited.binary_search_by_key(&of, |&(buffer, _)| buffer).map_or(NOT_AWAITED, |place| place as u32)
        };
        Self {
            own: queues.iter().map(|queue| number(queue.buffer)).collect(),
            first_need: queues.iter().map(|queue| number(queue.first_need)).collect(),
            room: awaited.iter().map(|&(_, capacity)| capacity).collect(),
        }
    }

    /// Room in the buffer that a queue is in, if a queue waits for it.
    fn room_of(&mut self, queue: usize) -> Option<&mut u32> {
        self.room.get_mut(self.own[queue] as usize)
    }
}

/// The queues that wait for each buffer, in one list; where the part of each buffer starts, and at last its end.
struct Waiters {
    start: Vec<u32>,
    queues: Vec<u32>,
}

impl Waiters {
    fn new(queues: &[Waiting], places: &Places) -> Self {
        let needs = |(queue, &first): (&Waiting, &u32)| first as usize..first as usize + queue.needs;
        let all = || queues.iter().zip(&places.first_need).map(needs);
        let buffers = places.room.len();
        let mut start = vec![0; buffers + 1];
        all().flatten().for_each(|need| start[need + 1] += 1);
        (0..buffers).for_each(|buffer| start[buffer + 1] += start[buffer]);
        let mut list = vec![0; start[buffers] as usize];
        // Each part fills from its end, where that of the next buffer starts: then its end is its start.
        for (i, needs) in all().enumerate().rev() {
            for need in needs {
                start[need + 1] -= 1;
                list[start[need + 1] as usize] = i as u32;
            }
        }
        start.rotate_left(1);
        start[buffers] = list.len() as u32;
        Self { start, queues: list }
    }

    fn of(&self, buffer: usize) -> &[u32] {
        &self.queues[self.start[buffer] as usize..self.start[buffer + 1] as usize]
    }
}

impl Waits {
    /// Packets that lack credits keep them from smaller ones whose lanes are all among theirs.
    fn keep_credits(&mut self) {
        // Those that wait for the same output are together.
        let output = |queue: &Waiting| (queue.blocked.switch, queue.blocked.output);
        self.queues.sort_by_key(output);
        for group in self.queues.chunk_by_mut(|a, b| output(a) == output(b)) {
            let heads: Vec<_> = group.iter().map(|queue| (queue.needs(), queue.blocks)).collect();
            for queue in group {
                let needs = queue.needs();
                let covers = |of: &Range<Buffer>| of.start <= needs.start && needs.end <= of.end;
                let largest = heads.iter().filter(|(of, _)| covers(of)).map(|(_, blocks)| *blocks).max();
                queue.blocks = largest.unwrap_or(queue.blocks);
            }
        }
    }

    /// Those queues that no spreading of liveness reaches.
    fn stuck(self) -> Vec<Waiting> {
        let Self { queues, awaited, mut copies } = self;
        let mut places = Places::new(&queues, awaited);
        let waiters = Waiters::new(&queues, &places);
        for (i, queue) in queues.iter().enumerate() {
            let mut held = queue.holds;
            for copy in &queue.copies {
                held += if copies[copy.packet] == 0 { copy.blocks } else { 0 };
                copies[copy.packet] += 1;
            }
            if let Some(room) = places.room_of(i) {
                *room -= held;
            }
        }
        let mut live = vec![false; queues.len()];
        let mut changed: VecDeque<usize> = (0..places.room.len()).collect();
        while let Some(buffer) = changed.pop_front() {
            let enough = places.room[buffer];
            for &i in waiters.of(buffer) {
                let i = i as usize;
                let queue = &queues[i];
                if live[i] || queue.blocks > enough {
                    continue;
                }
                live[i] = true;
                let mut freed = queue.holds;
                for copy in &queue.copies {
                    copies[copy.packet] -= 1;
                    freed += if copies[copy.packet] == 0 { copy.blocks } else { 0 };
                }
                if let Some(room) = places.room_of(i) {
                    *room += freed;
                    changed.push_back(places.own[i] as usize);
                }
            }
        }
        queues.into_iter().zip(live).filter_map(|(queue, live)| (!live).then_some(queue)).collect()
    }
}

/// Follows the waits from `first` until a buffer repeats.
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
