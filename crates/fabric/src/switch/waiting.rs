//! Outputs that wait until the input of an overdue request ([`super::missed`]) can be read, although they could send another packet.

use fabricsim_model::Observer;
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::Arbiter;

use super::Switch;
use super::choose::Delay;
use crate::{Features, Outbox, PartitionContext};

impl Switch {
    /// True if outputs draw among all requests, of which none goes before others.
    pub(super) fn draws_without_order<R, B, O>(&self, context: &PartitionContext<R, B, O>) -> bool {
        let rules = &context.rules;
        rules.arbiter == Arbiter::Random && rules.priority_lanes == 0 && self.vl_arbitration.is_none()
    }

    /// True if `output`, which is about to draw, waits for the input port of its overdue request instead.
    #[cold]
    #[inline(never)]
    pub(super) fn waits_before_draw<F: Features, R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        delay: &mut Delay,
    ) -> bool {
        if !self.draws_without_order(context) {
            return false;
        }
        let Some((input, _)) = self.overdue_request(output) else { return false };
        let readable_at = self.readable_at(context, input);
        let waits = readable_at > context.now
            && self.sendable::<F, R, B, O>(context, (output, input), delay).is_some();
        if waits {
            delay.retry = delay.retry.min(readable_at);
            self.waiting.push(output);
        }
        waits
    }

    /// True if `output`, with an overdue request, waits for its input port instead of sending `packet`.
    #[cold]
    #[inline(never)]
    pub(super) fn waits_for_overdue<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        packet: u32,
        delay: &mut Delay,
    ) -> bool {
        let waits = self.prefers_overdue::<F, R, B, O>(context, output, packet, delay);
        if waits {
            self.waiting.push(output);
        }
        waits
    }

    /// An output chooses: it does not wait any more.
    #[inline]
    pub(super) fn end_waiting(&mut self, output: usize) {
        self.waiting.retain(|&other| other != output);
    }

    /// Outputs that wait although they could send choose again when `output`, which has just chosen, reads an input. Else they would miss a turn there,
    /// or find that the packet which they did not send can no longer be sent, only if they happened to look. (Looks too many change nothing.)
    #[cold]
    #[inline(never)]
    pub(super) fn reconsider_waiting<R, B, O>(&mut self, context: &PartitionContext<R, B, O>, output: usize) {
        if context.ports.senders[self.first_port as usize + output].busy_until > context.now {
            for &other in &self.waiting {
                self.dirty.set(other);
            }
        }
    }

    fn prefers_overdue<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        packet: u32,
        delay: &mut Delay,
    ) -> bool {
        if context.rules.arbiter == Arbiter::Random {
            return false;
        }
        let Some((input, _)) = self.overdue_request(output) else { return false };
        if self.readable_at(context, input) <= context.now
            || self.sendable::<F, R, B, O>(context, (output, input), delay).is_none()
        {
            return false;
        }
        if usize::from(self.outputs[output].deferred_input) == input {
            return self.ends_too_late(context, output, (input, packet));
        }
        let chosen = if F::OPTIONAL && self.vl_arbitration.is_some() {
            self.best_of_lanes(context, output, delay, Some(input)).map(|(candidate, _)| candidate)
        } else {
            self.best::<F, R, B, O>(context, output, delay, Some(input))
        };
        if chosen.is_none_or(|candidate| usize::from(candidate.input) != input) {
            return false;
        }
        let waits = self.ends_too_late(context, output, (input, packet));
        if !waits {
            self.outputs[output].deferred_input = input as u16;
        }
        waits
    }

    /// True if `packet`, sent by `output` now, ends after `input` can be read again: then the output looks again at that time.
    fn ends_too_late<R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        (input, packet): (usize, u32),
    ) -> bool {
        let port = self.first_port + output as u32;
        let sender = &context.ports.senders[port as usize];
        let bytes = context.arena[packet].packet.bytes + sender.overhead;
        let readable_at = self.readable_at(context, input);
        let late = context.now + sender.byte_time.duration(bytes) > readable_at;
        if late {
            context.ports.ensure_wake(port, readable_at, &mut context.out);
        }
        late
    }
}
