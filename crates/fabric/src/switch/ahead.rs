//! Stalls that are known in advance. When an output begins to send, and none of the packets that wait for it has credits when its link is free, as
//! far as is known, its stall begins then, and it need not be woken for that: credits wake it. A check of an output without credits, which
//! about every packet has in a saturated network of one lane, costs as much as the sending of a packet.
//!
//! What happens until then may change it. A packet for the output that comes to the head of its queue, and credits, wake the output. If
//! another output reads the input of a waiting packet meanwhile, or the switch settles just at that time, the output is checked then.

use fabricsim_units::{Time, Vl};

use super::Switch;
use crate::{Outbox, PartitionContext};

impl Switch {
    /// `output` has begun to send, and packets wait for it: it is checked as its link is free, or stalls from then on.
    #[inline]
    pub(super) fn wake_or_stall<R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
    ) {
        let first = self.first_port as usize;
        let port = first + output;
        let busy_until = context.ports.senders[port].busy_until;
        let (mut least, mut waits) = (u32::MAX, false);
        let mut inputs = self.outputs[output].inputs.word();
        while inputs != 0 {
            let input = inputs.trailing_zeros() as usize;
            inputs &= inputs - 1;
            let slot = &context.arena[self.queues.at(self.outputs[output].row, input, Vl(0)).first()];
            least = least.min(slot.blocks);
            waits |= slot.ready.max(context.ports.receivers[first + input].readable_at) <= busy_until;
        }
        let stalls = if waits { context.ports.stall_ahead(port as u32, Vl(0), least) } else { None };
        if stalls.is_some() {
            self.ahead |= 1 << output;
        }
        let at = stalls.unwrap_or(busy_until);
        if at < Time::MAX {
            context.ports.ensure_wake(port as u32, at, &mut context.out);
        }
    }

    /// Has the outputs checked whose stalls would begin now: others may read an input before them.
    #[inline(never)]
    pub(super) fn check_stalls<R, B, O>(&mut self, context: &mut PartitionContext<R, B, O>) {
        let mut outputs = self.ahead;
        while outputs != 0 {
            let output = outputs.trailing_zeros() as usize;
            outputs &= outputs - 1;
            let sender = &mut context.ports.senders[self.first_port as usize + output];
            if sender.stalled_since == context.now {
                sender.stalled_since = Time::MAX;
                self.dirty.set(output);
            }
            if !sender.stalls_after(context.now) {
                self.ahead &= !(1 << output);
            }
        }
    }

    /// An input is read: the outputs for which its packets wait, and whose stalls would begin before it can be read again, are checked then.
    #[inline(never)]
    pub(super) fn reconsider_stalls<R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        input: usize,
    ) {
        let first = self.first_port as usize;
        let readable_at = context.ports.receivers[first + input].readable_at;
        let mut outputs = self.ahead;
        while outputs != 0 {
            let output = outputs.trailing_zeros() as usize;
            outputs &= outputs - 1;
            let sender = &mut context.ports.senders[first + output];
            if readable_at > sender.stalled_since
                && self.outputs[output].inputs.contains(input)
                && sender.cancel_stall(context.now)
            {
                sender.wake((first + output) as u32, sender.busy_until, &mut context.out);
            }
            if !sender.stalls_after(context.now) {
                self.ahead &= !(1 << output);
            }
        }
    }
}
