//! Pause frames: packets find space in buffers or are lost, and senders are paused and resumed.

use fabricsim_fabric::pause::hear_pause;
use fabricsim_fabric::{AllFeatures, Outbox};
use fabricsim_model::{LossCause, Observer};

use super::{Owner, Partition};

impl<B: Observer> Partition<B> {
    /// A packet has arrived at a port of a switch. False if there is no space for it in the input buffer: then it is lost.
    #[cold]
    #[inline(never)]
    pub(super) fn finds_space(&mut self, port: u32, packet: u32) -> bool {
        let (now, slot) = (self.context.now, &self.context.arena[packet]);
        let (lane, blocks, hops) = (slot.lane, slot.blocks, slot.packet.hops);
        let Some(pause) = &mut self.context.ports.pause else { return true };
        let admission = pause.admit(port, lane, blocks, now);
        if let Some(at) = admission.control {
            self.context.out.control(at, port);
        }
        if admission.has_space {
            self.context.arena[packet].port = port;
        } else {
            let channel = self.context.ports.receivers[port as usize].channel;
            self.context.observer.lost_at(now, channel, lane, LossCause::BufferOverflow);
            self.lose(packet, LossCause::BufferOverflow, u64::from(hops) + 1);
        }
        admission.has_space
    }

    /// A pause frame takes effect at the sender of a port: if it resumes a lane, the port looks for something to send.
    #[cold]
    #[inline(never)]
    pub(super) fn hear_pause(&mut self, port: u32) {
        if !hear_pause(&mut self.context, port) {
            return;
        }
        match self.owners[port as usize] {
            Owner::Switch(s) => {
                if self.switches[s as usize].woken::<AllFeatures>(port) {
                    self.unsettled_switches.push(s);
                }
            }
            Owner::Adapter(h) => self.unsettled_adapters.push(h),
        }
    }
}
