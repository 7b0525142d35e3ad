//! Lifetimes of packets in a switch (InfiniBand: head-of-queue lifetime limit, switch lifetime limit and VL stall, section 18.2.5.4 of
//! the specification).
//!
//! A packet that is at the head of its queue for an output for the *head lifetime*, or that comes to the head or stays there after the
//! *switch lifetime*, is discarded; its space is returned like that of a packet that is sent. So packets that wait for each other in a
//! cycle do not wait for ever. After a number of packets in a row that were discarded at an output by the head lifetime, without one
//! that was sent on their lane, the lane is *stalled* there for [`STALL`] head lifetimes: all its packets are discarded as they come to the
//! head of their queues.
//!
//! A queue has the deadline of its head. An output is looked at, at the latest, at the earliest deadline of its queues, and each time that it
//! chooses. One look per output is scheduled at a time: a packet that leaves before its deadline costs no event of its own.

use fabricsim_model::{LossCause, Observer};
use fabricsim_routing::RoutingFunction;
use fabricsim_units::{Time, Vl};

use super::Switch;
use super::queues::QueuePosition;
use crate::{AllFeatures, Outbox, PartitionContext, Table};

/// Head lifetimes for which a lane is stalled.
const STALL: u64 = 8;

/// Lifetimes common to all outputs of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LifetimeRules {
    /// Longest time of a packet at the head of its queue; [`Time::MAX`]: no limit.
    pub head: Time,
    /// Longest time of a packet in the switch; [`Time::MAX`]: no limit.
    pub switch: Time,
    /// Packets discarded in a row by the head lifetime after which a lane is stalled; 0: it never is.
    pub stall_count: u8,
}

/// Deadlines of the packets of a switch.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(super) struct Lifetimes {
    #[state(fixed)]
    rules: LifetimeRules,
    /// By queue: time at which its head is discarded.
    deadlines: Table<Time>,
    outputs: Table<Output>,
    /// By output and lane.
    lanes: Table<Lane>,
    /// Cause for which the packet that is taken out of its queue now is lost.
    discards: Option<LossCause>,
}

#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Output {
    /// No later than the earliest deadline of its queues that are not empty.
    next_deadline: Time,
    /// The look at it that is scheduled; [`Time::MAX`] if none is.
    look_at: Time,
}

#[derive(Clone, Copy, Debug, Default, fabricsim_state::Value)]
struct Lane {
    /// Packets discarded in a row by the head lifetime.
    discarded: u8,
    /// End of its stall.
    stalled_until: Time,
}

impl Lifetimes {
    /// True if all lanes that a packet may take at `output` are stalled.
    fn is_stalled(&self, output: usize, lanes: fabricsim_model::Lanes, lane_count: usize, now: Time) -> bool {
        lanes.iter().all(|lane| self.lanes[output * lane_count + lane.index()].stalled_until > now)
    }
}

impl Switch {
    /// Limits the lifetimes of packets.
    pub fn with_lifetimes(mut self, rules: LifetimeRules) -> Self {
        let Self { layout, .. } = self;
        let output = Output { next_deadline: Time::MAX, look_at: Time::MAX };
        self.lifetimes = Some(Box::new(Lifetimes {
            rules,
            deadlines: Table::new(vec![Time::MAX; layout.queues()]),
            outputs: Table::new(vec![output; layout.ports]),
            lanes: Table::new(vec![Lane::default(); layout.ports * layout.lanes]),
            discards: None,
        }));
        self.has_optional_features = true;
        self
    }

    /// A packet has come to the head of a queue for an output.
    #[inline(never)]
    pub(super) fn begin_lifetime<R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        (queue, output): (usize, usize),
        packet: u32,
    ) {
        let Some(lifetimes) = &mut self.lifetimes else { return };
        let slot = &context.arena[packet];
        let now = context.now;
        let LifetimeRules { head, switch, .. } = lifetimes.rules;
        let deadline = if lifetimes.is_stalled(output, slot.hop.lanes, self.layout.lanes, now) {
            now
        } else {
            now.saturating_add(head).min(slot.arrived.saturating_add(switch)).max(now)
        };
        lifetimes.deadlines[queue] = deadline;
        let state = &mut lifetimes.outputs[output];
        state.next_deadline = state.next_deadline.min(deadline);
        if state.next_deadline <= now {
            // It is due now, or was that of a packet that has left: the output chooses, and finds the next one.
            self.dirty.set(output);
        } else {
            self.plan_deadline(context, output);
        }
    }

    /// Schedules a look at an output at its next deadline, unless an earlier one is scheduled.
    fn plan_deadline<R, B, O: Outbox>(&mut self, context: &mut PartitionContext<R, B, O>, output: usize) {
        let Some(lifetimes) = &mut self.lifetimes else { return };
        let state = &mut lifetimes.outputs[output];
        if state.next_deadline < state.look_at {
            state.look_at = state.next_deadline;
            context.out.look(state.look_at, self.first_port + output as u32);
        }
    }

    /// An output is looked at if this is the time of its next deadline.
    pub(super) fn look_for_deadline(&mut self, output: usize, time: Time) {
        if let Some(lifetimes) = &mut self.lifetimes
            && lifetimes.outputs[output].look_at == time
        {
            lifetimes.outputs[output].look_at = Time::MAX;
            self.dirty.set(output);
        }
    }

    /// Discards the packets for an output whose time is over.
    #[inline(never)]
    pub(super) fn discard_expired<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
    ) {
        let is_due = |lifetimes: &Lifetimes| lifetimes.outputs[output].next_deadline <= context.now;
        if self.lifetimes.as_deref().is_some_and(is_due) {
            while let Some((position, cause)) = self.next_expired(context, output) {
                self.discard(context, position, cause);
            }
        }
        self.plan_deadline(context, output);
    }

    /// A packet for an output whose time is over, and the cause; if there is none, updates the output's next deadline.
    fn next_expired<R, B, O>(
        &mut self,
        context: &PartitionContext<R, B, O>,
        output: usize,
    ) -> Option<(QueuePosition, LossCause)> {
        let now = context.now;
        let mut earliest = Time::MAX;
        let mut from = self.outputs[output].inputs.first_after(self.layout.ports - 1);
        while let Some(input) = from {
            let mut lanes = self.request(output, input).lanes;
            while lanes != 0 {
                let lane = Vl(lanes.trailing_zeros() as u8);
                lanes &= lanes - 1;
                let position = self.waiting(input, lane, output);
                let slot = &context.arena[self.queues.queue(position.place).first()];
                let lifetimes = self.lifetimes.as_deref()?;
                if lifetimes.is_stalled(output, slot.hop.lanes, self.layout.lanes, now) {
                    return Some((position, LossCause::VlStalled));
                }
                let deadline = lifetimes.deadlines[self.layout.queue(input, lane, output)];
                if deadline <= now {
                    let in_switch = now >= slot.arrived.saturating_add(lifetimes.rules.switch);
                    let cause =
                        if in_switch { LossCause::SwitchLifetime } else { LossCause::HeadOfQueueLifetime };
                    return Some((position, cause));
                }
                earliest = earliest.min(deadline);
            }
            from = self.outputs[output].inputs.first_after(input).filter(|&next| next > input);
        }
        let lifetimes = self.lifetimes.as_deref_mut()?;
        lifetimes.outputs[output].next_deadline = earliest;
        None
    }

    /// Discards the packet at the head of a queue.
    fn discard<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        position: QueuePosition,
        cause: LossCause,
    ) {
        let packet = self.queues.queue(position.place).first();
        let lanes = context.arena[packet].hop.lanes;
        if cause == LossCause::HeadOfQueueLifetime {
            self.count_expired(position.output, lanes, context.now);
        }
        let channel = context.ports.senders[self.first_port as usize + position.output].channel;
        context.observer.lost_at(context.now, channel, lanes.first, cause);
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.discards = Some(cause);
        }
        self.grant::<AllFeatures, R, B, O>(context, position, packet, lanes.first);
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.discards = None;
        }
    }

    /// Counts a packet that is discarded by the head lifetime, on all lanes that it might have taken.
    fn count_expired(&mut self, output: usize, lanes: fabricsim_model::Lanes, now: Time) {
        let Some(lifetimes) = &mut self.lifetimes else { return };
        let LifetimeRules { head, stall_count, .. } = lifetimes.rules;
        if stall_count == 0 {
            return;
        }
        for lane in lanes.iter() {
            let lane = &mut lifetimes.lanes[output * self.layout.lanes + lane.index()];
            lane.discarded += 1;
            if lane.discarded >= stall_count {
                *lane = Lane { discarded: 0, stalled_until: now.saturating_add(head * STALL) };
            }
        }
    }

    /// Cause for which the packet that is taken out of its queue now is lost by its lifetime; if it is sent, the packets discarded in a
    /// row on its lane are counted anew.
    #[inline(never)]
    pub(super) fn expired(&mut self, output: usize, lane: Vl) -> Option<LossCause> {
        let lifetimes = self.lifetimes.as_deref_mut()?;
        if lifetimes.discards.is_none() {
            lifetimes.lanes[output * self.layout.lanes + lane.index()].discarded = 0;
        }
        lifetimes.discards
    }
}
