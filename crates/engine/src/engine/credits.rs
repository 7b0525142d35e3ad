//! Balance of credits: every block of a buffer is free, returning, or in use by a packet.

use fabricsim_model::Observer;

use super::Engine;
use crate::partition::Owner;

/// A lane whose credits do not add up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "credits of sending port {channel}, lane {lane}, do not add up: {accounted} free or returning and {occupied} \
     in use, of {capacity} blocks; this is a defect of Fabricsim, please report it with the experiment"
)]
pub struct CreditError {
    /// Sending port in the fabric.
    pub channel: u32,
    /// Virtual lane.
    pub lane: usize,
    /// Blocks that the sender has or has been notified of.
    pub accounted: u32,
    /// Blocks that packets occupy.
    pub occupied: u32,
    /// Blocks of the buffer.
    pub capacity: u32,
}

impl<B: Observer> Engine<B> {
    /// Checks that every lane's credits add up: free, returning, or in use by a packet.
    pub fn check_credits(&self) -> Result<(), CreditError> {
        let lane_count = self.partitions.first().map_or(1, |p| p.context.ports.lane_count);
        let mut occupied = vec![0_u32; self.directory.sender.len() * lane_count];
        for partition in &self.partitions {
            for (port, lane, blocks) in partition.context.arena.occupancies() {
                // The space at a sink is returned, in advance, as the packet is sent; that of an input buffer as the packet
                // moves on into a staging buffer; at a host with admission control it is returned as the host admits the packet.
                let returns_space = match partition.owners.get(port as usize) {
                    Some(Owner::Switch(_)) => true,
                    Some(&Owner::Adapter(h)) => partition.is_gated(h),
                    None => false,
                };
                if returns_space {
                    let channel = partition.context.ports.receivers[port as usize].channel as usize;
                    occupied[channel * lane_count + lane.index()] += blocks;
                }
            }
        }
        if self.partitions.iter().any(|partition| partition.context.ports.pause.is_some()) {
            return self.check_paused_buffers(lane_count, &occupied);
        }
        let unannounced = self.unannounced(lane_count);
        for partition in &self.partitions {
            for (port, sender) in partition.context.ports.senders.iter().enumerate() {
                for lane in 0..lane_count {
                    let (accounted, capacity) = partition.context.ports.accounted(port as u32, lane);
                    let occupied = occupied[sender.channel as usize * lane_count + lane];
                    let accounted = accounted + unannounced[sender.channel as usize * lane_count + lane];
                    if accounted + occupied != capacity {
                        return Err(CreditError {
                            channel: sender.channel,
                            lane,
                            accounted,
                            occupied,
                            capacity,
                        });
                    }
                }
            }
        }
        Ok(())
    }

    /// [`Engine::check_credits`] with pause frames: what packets have `occupied` and what is free, at each receiving end.
    fn check_paused_buffers(&self, lane_count: usize, occupied: &[u32]) -> Result<(), CreditError> {
        for ports in self.partitions.iter().map(|partition| &partition.context.ports) {
            let Some(pause) = &ports.pause else { continue };
            for (port, receiver) in ports.receivers.iter().enumerate() {
                for lane in 0..lane_count {
                    let (accounted, capacity) = pause.accounted(port as u32, lane);
                    let channel = receiver.channel;
                    let occupied = occupied[channel as usize * lane_count + lane];
                    if accounted + occupied != capacity {
                        return Err(CreditError { channel, lane, accounted, occupied, capacity });
                    }
                }
            }
        }
        Ok(())
    }

    /// Blocks that have left the buffer behind each channel and lane, or will, or were lost on it, and that flow-control packets have not
    /// announced.
    fn unannounced(&self, lane_count: usize) -> Vec<u32> {
        let mut blocks = vec![0; self.directory.sender.len() * lane_count];
        for ports in self.partitions.iter().map(|partition| &partition.context.ports) {
            let Some(flow) = &ports.flow else { continue };
            for (port, (sender, receiver)) in ports.senders.iter().zip(ports.receivers.iter()).enumerate() {
                for lane in 0..lane_count {
                    blocks[receiver.channel as usize * lane_count + lane] +=
                        flow.unannounced(port as u32, lane);
                    blocks[sender.channel as usize * lane_count + lane] += flow.lost(port as u32, lane);
                }
            }
        }
        blocks
    }

    /// Ramps of credits for which there is memory ([`fabricsim_fabric::RampPool::allocated`]).
    pub fn credit_ramps(&self) -> usize {
        self.partitions.iter().map(|partition| partition.context.ports.ramps.allocated()).sum()
    }
}
