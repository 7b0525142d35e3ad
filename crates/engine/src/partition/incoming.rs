//! What comes from other partitions.

use fabricsim_fabric::{CommonFeatures, NONE, Outbox};
use fabricsim_model::Observer;
use fabricsim_units::Time;

use super::Partition;
use crate::mail::Mail;

impl<B: Observer> Partition<B> {
    /// Receives mail from another partition; its events are at `now` or later.
    pub(crate) fn receive(&mut self, mail: Mail, port: u32, now: Time) {
        // The sender has not been checked at `now`, so space that is free then is news to it.
        let before = now.saturating_sub(Time(1));
        match mail {
            Mail::Packet { at, mut slot, extensions, .. } => {
                slot.port = if self.context.ports.pause.is_some() { NONE } else { port };
                let packet = match extensions {
                    Some(extensions) => self.context.arena.insert_with(slot, *extensions),
                    None => self.context.arena.insert(slot),
                };
                self.context.out.arrive(at, port, packet);
            }
            Mail::Credit { lane, ramp, .. } => {
                if let Some(at) = self.context.ports.credit::<CommonFeatures>(port, lane, ramp, before) {
                    self.context.ports.ensure_wake(port, at, &mut self.context.out);
                }
            }
            Mail::Release { lane, ramp, .. } => {
                let flow = self.context.ports.flow.as_mut();
                if let Some(at) = flow.and_then(|flow| flow.release(port, lane, ramp, before)) {
                    self.context.out.control(at, port);
                }
            }
            Mail::Pause { at, frame, .. } => {
                if let Some(pause) = &mut self.context.ports.pause {
                    pause.approach(port, at, frame);
                    self.context.out.hear(at, port);
                }
            }
            Mail::Published { epoch, output, blocks } => {
                self.context.load_broadcast.publish(epoch, output, blocks);
            }
        }
    }
}
