use fabricsim_model::Observer;
use fabricsim_units::Time;

use super::Partition;
use crate::mail::Mail;

impl<B: Observer> Partition<B> {
    /// Broadcasts the loads due before `time`; also those due at it, if no mail of that time step can still arrive and
    /// none of its events has been handled (`at_it`).
    #[cold]
    #[inline(never)]
    pub(crate) fn publish(&mut self, time: Time, at_it: bool) {
        let Some(mut publisher) = self.publisher.take() else { return };
        let is_due = |at: Time| at < time || at_it && at == time;
        publisher.epoch = self.context.load_broadcast.next_needed(publisher.epoch, time);
        while is_due(self.context.load_broadcast.time_of(publisher.epoch)) {
            let (epoch, now) = (publisher.epoch, self.context.load_broadcast.time_of(publisher.epoch));
            for &(switch, output, number) in &publisher.outputs {
                let blocks = self.switches[switch as usize].ahead(&mut self.context.ports, output, now);
                self.context.load_broadcast.publish(epoch, number, blocks);
                if self.is_one_of_several {
                    self.context.out.mail.push(Mail::Published { epoch, output: number, blocks });
                }
            }
            publisher.epoch += 1;
        }
        self.publish_at = self.context.load_broadcast.time_of(publisher.epoch);
        self.publisher = Some(publisher);
    }
}
