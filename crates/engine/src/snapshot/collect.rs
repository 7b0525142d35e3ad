use std::ops::Range;

use fabricsim_fabric::{FarEnd, NONE, Slot, Switch};
use fabricsim_model::Observer;
use fabricsim_units::{PortNo, Time};

use super::{BufferKind, Extent, LaneAhead, Queue, QueuedPacket, SharedSpace, Snapshot, hosts, ports};
use crate::engine::Engine;
use crate::partition::Partition;

/// Packets of a fabric from which on several threads collect its queues: the time to start one is that of about a thousand.
const WORTH: usize = 1 << 14;

impl<B: Observer> Engine<B> {
    /// The state of the fabric now.
    pub fn snapshot(&self, extent: Extent) -> Snapshot {
        take(self, extent)
    }
}

fn take<B: Observer>(engine: &Engine<B>, extent: Extent) -> Snapshot {
    let Some(Partition { context, .. }) = engine.partitions.first() else {
        unreachable!("a fabric has a partition");
    };
    let mut snapshot = Snapshot {
        now: engine.now(),
        totals: engine.totals(),
        lane_count: context.ports.lane_count,
        lanes_per_class: context.rules.lanes_per_class,
        queueing: context.rules.queueing,
        least_space: context.rules.least_space,
        sending_ports: engine.directory.receiver.len(),
        staging_buffers: 0,
        queues: Vec::new(),
        lanes: Vec::new(),
        hosts: Vec::new(),
        refused: Vec::new(),
        packets: Vec::new(),
        ahead: Vec::new(),
        shared: Vec::new(),
        shared_packets: 0,
    };
    for part in parts(engine) {
        part.append_to(&mut snapshot);
    }
    // Switches of a part need not follow each other. The order of a switch's own queues stays.
    if !snapshot.queues.is_sorted_by_key(|queue| queue.switch) {
        snapshot.queues.sort_by_key(|queue| queue.switch);
    }
    if extent == Extent::Everything {
        snapshot.lanes = ports::take(engine);
        snapshot.hosts = hosts::take(engine);
        snapshot.refused = engine.refused();
    }
    snapshot
}

/// Queues of a partition. Numbers of staging buffers and of packets with copies begin with its own.
#[derive(Default)]
struct Part {
    queues: Vec<Queue>,
    packets: Vec<QueuedPacket>,
    ahead: Vec<LaneAhead>,
    shared: Vec<SharedSpace>,
    staging_buffers: usize,
    shared_packets: usize,
}

/// The queues of all partitions; of many packets in several threads.
fn parts<B: Observer>(engine: &Engine<B>) -> Vec<Part> {
    let now = engine.now();
    let packets: usize =
        engine.partitions.iter().map(|partition| partition.context.arena.live() as usize).sum();
    let (partitions, threads) = (engine.partitions.len(), engine.threads());
    if threads < 2 || packets < WORTH {
        return engine.partitions.iter().map(|partition| Part::of(partition, now)).collect();
    }
    let groups = engine.partitions.chunks(partitions.div_ceil(threads));
    std::thread::scope(|scope| {
        let all =
            |of: &[Partition<B>]| of.iter().map(|partition| Part::of(partition, now)).collect::<Vec<_>>();
        let handles: Vec<_> = groups.map(|group| scope.spawn(move || all(group))).collect();
        let parts = handles.into_iter().map(std::thread::ScopedJoinHandle::join);
        // A panic of a thread is one of the run.
        parts.flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

impl Part {
    fn of<B: Observer>(partition: &Partition<B>, now: Time) -> Self {
        let mut part = Self { shared_packets: partition.context.arena.copies.numbers(), ..Self::default() };
        for switch in partition.switches.iter() {
            part.add_queues(partition, switch, now);
        }
        part
    }

    /// Appends it to a snapshot, after those of the partitions before it.
    fn append_to(mut self, snapshot: &mut Snapshot) {
        let after = |range: &mut Range<u32>, first: usize| {
            *range = range.start + first as u32..range.end + first as u32;
        };
        for queue in &mut self.queues {
            after(&mut queue.packets, snapshot.packets.len());
            after(&mut queue.ahead, snapshot.ahead.len());
            after(&mut queue.shared, snapshot.shared.len());
            match &mut queue.place {
                BufferKind::Input => {}
                BufferKind::BeforeStaging { buffer, .. } | BufferKind::Staged(buffer) => {
                    *buffer += snapshot.staging_buffers;
                }
            }
        }
        self.shared.iter_mut().for_each(|copy| copy.packet += snapshot.shared_packets);
        append(&mut snapshot.queues, self.queues);
        append(&mut snapshot.packets, self.packets);
        append(&mut snapshot.ahead, self.ahead);
        append(&mut snapshot.shared, self.shared);
        snapshot.staging_buffers += self.staging_buffers;
        snapshot.shared_packets += self.shared_packets;
    }

    fn add_queues<B: Observer>(&mut self, partition: &Partition<B>, switch: &Switch, now: Time) {
        let context = &partition.context;
        let first_staging = self.staging_buffers;
        let (staging, capacity) = switch.staging_buffers();
        self.staging_buffers += staging;
        for (input, lane, index) in switch.heads() {
            let head = &context.arena[index];
            let out_port = switch.first_port() + u32::from(head.hop.port.0);
            let sender = &context.ports.senders[out_port as usize];
            let own = first_staging + switch.staging_buffer(input, lane, head.hop.port.index());
            let place = if head.port == NONE {
                BufferKind::Staged(own)
            } else if staging > 0 {
                BufferKind::BeforeStaging { buffer: own, capacity }
            } else {
                BufferKind::Input
            };
            let (first_packet, first_ahead) = (self.packets.len() as u32, self.ahead.len() as u32);
            let first_shared = self.shared.len() as u32;
            let blocks = self.add_packets(partition, index);
            self.add_lanes(partition, (out_port, head), now);
            let detector = switch.detector();
            self.queues.push(Queue {
                switch: switch.id(),
                in_port: PortNo(input as u16),
                input: context.ports.receivers[switch.first_port() as usize + input].channel,
                lane,
                out_port: head.hop.port,
                output: sender.channel,
                to_host: matches!(
                    sender.far_end,
                    FarEnd::Host(_) | FarEnd::SlowHost(_) | FarEnd::GatedHost(_)
                ),
                output_busy_until: sender.busy_until,
                head: head.packet,
                ready: head.ready,
                head_blocks: head.blocks,
                blocks,
                place,
                congested: detector.map(|of| of.is_congested(head.hop.port.index(), head.hop.lanes.first)),
                packets: first_packet..self.packets.len() as u32,
                ahead: first_ahead..self.ahead.len() as u32,
                shared: first_shared..self.shared.len() as u32,
            });
        }
    }

    /// Adds the packets of a queue; returns their blocks.
    fn add_packets<B: Observer>(&mut self, partition: &Partition<B>, head: u32) -> u32 {
        let arena = &partition.context.arena;
        let next = |&index: &u32| (arena[index].next != NONE).then(|| arena[index].next);
        let mut blocks = 0;
        for index in std::iter::successors(Some(head), next) {
            let slot = &arena[index];
            blocks += slot.blocks;
            self.packets.push(QueuedPacket {
                source: slot.packet.source,
                destination: slot.packet.destination,
                stream: slot.packet.stream,
                sequence: slot.packet.sequence,
            });
            if let Some(number) = arena.copies.number(index) {
                self.shared.push(SharedSpace { packet: number, blocks: slot.blocks });
            }
        }
        blocks
    }

    /// Adds the lanes that the head of a queue may take at an output.
    fn add_lanes<B: Observer>(&mut self, partition: &Partition<B>, (port, head): (u32, &Slot), now: Time) {
        let ports = &partition.context.ports;
        let enough = head.blocks.max(partition.context.rules.least_space);
        for lane in ports.selectable(head.hop.lanes, head.flow()).iter() {
            let capacity = ports.capacities[port as usize];
            let free = ports.free_up_to(enough, port, lane, now);
            let pause = ports.pause.as_ref().filter(|_| ports.is_paused(port, lane));
            let needed = pause.map_or(0, |pause| pause.needed_ahead(port));
            self.ahead.push(LaneAhead { lane, capacity, free, needed });
        }
    }
}

/// [`Vec::append`] that moves the list if there is none before it.
fn append<T>(all: &mut Vec<T>, mut more: Vec<T>) {
    if all.is_empty() { *all = more } else { all.append(&mut more) }
}
