use fabricsim_fabric::{FarEnd, NONE, Slot, Switch};
use fabricsim_model::Observer;
use fabricsim_units::PortNo;

use super::{BufferKind, Extent, LaneAhead, Queue, QueuedPacket, SharedSpace, Snapshot, hosts, ports};
use crate::engine::Engine;
use crate::partition::Partition;

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
    for partition in &engine.partitions {
        for switch in partition.switches.iter() {
            add_queues(&mut snapshot, partition, switch);
        }
        snapshot.shared_packets += partition.context.arena.copies.numbers();
    }
    if extent == Extent::Everything {
        snapshot.lanes = ports::take(engine);
        snapshot.hosts = hosts::take(engine);
        snapshot.refused = engine.refused();
    }
    snapshot
}

fn add_queues<B: Observer>(snapshot: &mut Snapshot, partition: &Partition<B>, switch: &Switch) {
    let context = &partition.context;
    let first_staging = snapshot.staging_buffers;
    let (staging, capacity) = switch.staging_buffers();
    snapshot.staging_buffers += staging;
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
        let (first_packet, first_ahead) = (snapshot.packets.len() as u32, snapshot.ahead.len() as u32);
        let first_shared = snapshot.shared.len() as u32;
        let blocks = add_packets(snapshot, partition, index);
        add_lanes(snapshot, partition, (out_port, head));
        let detector = switch.detector();
        snapshot.queues.push(Queue {
            switch: switch.id(),
            in_port: PortNo(input as u16),
            input: context.ports.receivers[switch.first_port() as usize + input].channel,
            lane,
            out_port: head.hop.port,
            output: sender.channel,
            to_host: matches!(sender.far_end, FarEnd::Host(_) | FarEnd::SlowHost(_) | FarEnd::GatedHost(_)),
            output_busy_until: sender.busy_until,
            head: head.packet,
            ready: head.ready,
            head_blocks: head.blocks,
            blocks,
            place,
            congested: detector.map(|of| of.is_congested(head.hop.port.index(), head.hop.lanes.first)),
            packets: first_packet..snapshot.packets.len() as u32,
            ahead: first_ahead..snapshot.ahead.len() as u32,
            shared: first_shared..snapshot.shared.len() as u32,
        });
    }
}

/// Adds the packets of a queue; returns their blocks.
fn add_packets<B: Observer>(snapshot: &mut Snapshot, partition: &Partition<B>, head: u32) -> u32 {
    let arena = &partition.context.arena;
    let next = |&index: &u32| (arena[index].next != NONE).then(|| arena[index].next);
    let mut blocks = 0;
    for index in std::iter::successors(Some(head), next) {
        let slot = &arena[index];
        blocks += slot.blocks;
        snapshot.packets.push(QueuedPacket {
            source: slot.packet.source,
            destination: slot.packet.destination,
            stream: slot.packet.stream,
            sequence: slot.packet.sequence,
        });
        if let Some(number) = arena.copies.number(index) {
            let packet = snapshot.shared_packets + number;
            snapshot.shared.push(SharedSpace { packet, blocks: slot.blocks });
        }
    }
    blocks
}

/// Adds the lanes that the head of a queue may take at an output.
fn add_lanes<B: Observer>(snapshot: &mut Snapshot, partition: &Partition<B>, (port, head): (u32, &Slot)) {
    let ports = &partition.context.ports;
    for lane in ports.selectable(head.hop.lanes, head.flow()).iter() {
        let (capacity, free) = (ports.capacity(port, lane), ports.free_at(port, lane, snapshot.now));
        let pause = ports.pause.as_ref().filter(|_| ports.is_paused(port, lane));
        let needed = pause.map_or(0, |pause| pause.needed_ahead(port));
        snapshot.ahead.push(LaneAhead { lane, capacity, free, needed });
    }
}
