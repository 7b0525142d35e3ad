//! The delay that starts when a packet reaches the head of its queue: the stages of a router pipeline that handle one packet
//! of a queue after the other, as route computation and virtual-channel allocation without lookahead (Dally & Towles, "Principles
//! and Practices of Interconnection Networks", 2004, section 16.1).

use fabricsim_units::Time;

use super::Switch;
use crate::{PartitionContext, Table};

/// The delay, and the time at which the last packet left each queue.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(super) struct HeadDelay {
    delay: Time,
    /// By queue: when the last byte of the packet that left last was out.
    left_at: Table<Time>,
}

impl Switch {
    /// Delays every packet that reaches the head of its queue by `delay`; also if that is zero where packets of a queue are `in_series`
    /// though the output is free before their end. No cost otherwise.
    pub fn with_head_delay(mut self, delay: Time, in_series: bool) -> Self {
        if delay > Time::ZERO || in_series {
            let left_at = Table::new(vec![Time::ZERO; self.layout.queues()]);
            self.head_delay = Some(Box::new(HeadDelay { delay, left_at }));
            self.has_optional_features = true;
        }
        self
    }

    /// The packet at the head of `queue` may not be sent before the delay is over.
    #[inline(never)]
    pub(super) fn delay_head<R, B, O>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        queue: usize,
        packet: u32,
    ) {
        let Some(head) = &self.head_delay else { return };
        let slot = &mut context.arena[packet];
        slot.ready = slot.ready.max(head.left_at[queue] + head.delay);
    }

    /// A packet has left `queue` at `end`.
    #[inline(never)]
    pub(super) fn leave_queue(&mut self, queue: usize, end: Time) {
        if let Some(head) = &mut self.head_delay {
            head.left_at[queue] = end;
        }
    }
}
