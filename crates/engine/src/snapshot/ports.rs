use fabricsim_model::Observer;
use fabricsim_units::Vl;

use crate::engine::Engine;

/// State of a virtual lane of a direction of a link: its buffer is at the receiving end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneState {
    /// Blocks of the buffer.
    pub capacity: u32,
    /// Blocks that the sender may use now.
    pub free: u32,
    /// Blocks that become free as packets leave the buffer, and that the sender has been notified of.
    pub returning: u32,
    /// Packets in the buffer, or on the link to it.
    pub packets: u32,
    /// Blocks of those packets.
    pub blocks: u32,
}

/// The lanes of all sending ports. Packets in staging buffers are in none.
pub(super) fn take<B: Observer>(engine: &Engine<B>) -> Vec<LaneState> {
    let lane_count = engine.partitions.first().map_or(1, |p| p.context.ports.lane_count);
    let mut lanes = vec![LaneState::default(); engine.directory.sender.len() * lane_count];
    for context in engine.partitions.iter().map(|partition| &partition.context) {
        for (port, sender) in context.ports.senders.iter().enumerate() {
            for number in 0..lane_count {
                let (accounted, capacity) = context.ports.accounted(port as u32, number);
                let lane = &mut lanes[sender.channel as usize * lane_count + number];
                let free = context.ports.free_at(port as u32, Vl(number as u8), engine.now());
                (lane.capacity, lane.free, lane.returning) = (capacity, free, accounted - free);
            }
        }
        for (port, on_lane, blocks) in context.arena.occupancies() {
            if let Some(receiver) = context.ports.receivers.get(port as usize) {
                let lane = &mut lanes[receiver.channel as usize * lane_count + on_lane.index()];
                lane.packets += 1;
                lane.blocks += blocks;
            }
        }
        debug_assert!(context.out.mail.is_empty(), "partitions exchange their mail before a snapshot");
    }
    lanes
}
