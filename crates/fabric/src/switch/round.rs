//! A switch that allocates in rounds; see [`crate::separable`].

use fabricsim_model::{Lanes, Observer};
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::Arbiter;
use fabricsim_units::{Time, Vl};

use super::Switch;
use super::mark::{credits_of_root, has_space_for};
use crate::separable::{Head, Separable};
use crate::{AllFeatures, NONE, Outbox, PartitionContext};

impl Switch {
    /// Configures allocation in rounds, one every `cycle`: lanes and the crossbar in the same round if it is `speculative`, else
    /// one after the other.
    pub fn with_rounds(mut self, cycle: Time, speculative: bool) -> Self {
        let rounds = Separable::new((cycle, speculative), self.layout.ports, self.layout.lanes);
        self.rounds = Some(Box::new(rounds));
        self.has_optional_features = true;
        self
    }

    #[cold]
    pub(super) fn settle_in_rounds<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
    ) {
        if let Some(mut rounds) = self.rounds.take() {
            self.round(context, &mut rounds);
            self.rounds = Some(rounds);
        }
    }

    /// Allocates if a round falls in this time step, and schedules the next round.
    fn round<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        rounds: &mut Separable,
    ) {
        for output in 0..self.layout.ports {
            if self.outputs[output].sole != NONE {
                self.enqueue_sole::<AllFeatures, R, B, O>(context, output);
            }
        }
        if rounds.round_from(context.now) == context.now {
            self.list_heads(context, rounds);
            self.note_heads_without_credits(context, rounds);
            rounds.allocate_lanes(context.now);
            self.send_matched(context, rounds);
            self.bind_lanes(context, rounds);
        }
        self.list_heads(context, rounds);
        self.plan_next_round(context, rounds);
        for output in 0..self.layout.ports {
            self.dirty.clear_as::<AllFeatures>(output);
        }
    }

    /// Reports to the detector which lanes of idle outputs wait for credits: those with a head, and with space for none.
    fn note_heads_without_credits<R, B, O>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        rounds: &Separable,
    ) {
        let Some(detector) = &mut self.detector else { return };
        let (ports, now, first_port) = (&mut context.ports, context.now, self.first_port);
        let least = context.rules.least_space;
        let (largest, arena) = (detector.largest().max(least), &context.arena);
        let group = |head: &Head| (head.output, head.allowed.first);
        for (i, head) in rounds.heads.iter().enumerate() {
            let port = first_port + head.output as u32;
            let is_first = rounds.heads[..i].iter().all(|other| group(other) != group(head));
            if !is_first || ports.senders[port as usize].busy_until > now {
                continue;
            }
            let (mut with, mut without) = (false, false);
            for other in rounds.heads[i..].iter().filter(|&other| group(other) == group(head)) {
                if other.here_at <= now
                    && ports.receivers[first_port as usize + other.input].readable_at <= now
                {
                    let blocks = credits_of_root(&arena[other.packet], largest, least);
                    let has =
                        other.allowed.iter().any(|lane| has_space_for(ports, (port, lane), blocks, now));
                    with |= has;
                    without |= !has;
                }
            }
            if without && !with {
                detector.wait_for_credits(head.output, 1 << head.allowed.first.0);
            }
        }
    }

    fn list_heads<R, B, O>(&self, context: &mut PartitionContext<R, B, O>, rounds: &mut Separable) {
        rounds.heads.clear();
        for output in 0..self.layout.ports {
            if self.outputs[output].inputs.is_empty() {
                continue;
            }
            for input in 0..self.layout.ports {
                let mut lanes = self.request(output, input).lanes;
                while lanes != 0 {
                    let lane = Vl(lanes.trailing_zeros() as u8);
                    lanes &= lanes - 1;
                    if let Some(packet) = self.queues.at(self.outputs[output].row, input, lane).head() {
                        let head = self.head(context, rounds, (input, lane, output), packet);
                        rounds.heads.push(head);
                    }
                }
            }
        }
    }

    fn head<R, B, O>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        rounds: &Separable,
        (input, lane, output): (usize, Vl, usize),
        packet: u32,
    ) -> Head {
        let slot = &context.arena[packet];
        let first = self.first_port as usize;
        let mut head = Head {
            input,
            lane,
            output,
            packet,
            blocks: slot.blocks,
            allowed: slot.hop.lanes,
            rank: match context.rules.arbiter {
                Arbiter::OldestFirst => slot.packet.injected,
                _ => Time::ZERO,
            },
            here_at: slot.ready.max(rounds.left_at(input, lane)),
            bound: rounds.is_bound(input, lane),
            asks: false,
            got: None,
        };
        let open_at = context.ports.senders[first + output].busy_until;
        let open_at = open_at.max(context.ports.receivers[first + input].readable_at);
        let port = self.first_port + output as u32;
        head.asks = head.here_at.max(open_at) <= context.now
            && head.allowed.iter().any(|lane| {
                let usable = head.bound || rounds.free_at(output, lane) <= context.now;
                usable && context.ports.has_space(port, lane, head.blocks, context.now)
            });
        head
    }

    fn send_matched<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        rounds: &mut Separable,
    ) {
        let mut matched = std::mem::take(&mut self.matched);
        rounds.allocate_crossbar(&mut matched);
        for i in matched.drain(..) {
            let head = rounds.heads[i];
            let port = self.first_port + head.output as u32;
            let own = if head.bound { Some(head.allowed.first) } else { head.got };
            let own = own.filter(|&lane| context.ports.has_space(port, lane, head.blocks, context.now));
            let Some(out_lane) = own else { continue };
            let position = self.waiting(head.input, head.lane, head.output);
            self.grant::<AllFeatures, R, B, O>(context, position, head.packet, out_lane);
            rounds.leave(&head, out_lane, context.ports.senders[port as usize].busy_until);
            rounds.heads[i].got = None;
        }
        self.matched = matched;
    }

    /// Schedules a wake-up for the next round in which anything can change.
    fn plan_next_round<R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        rounds: &Separable,
    ) {
        let mut next = Time::MAX;
        // Between rounds mail from other partitions may reach a switch: stalls begin at rounds only.
        let is_round = rounds.round_from(context.now) == context.now;
        for head in &rounds.heads {
            context.ports.forget_awaited(self.first_port + head.output as u32);
        }
        for head in &rounds.heads {
            let port = self.first_port + head.output as u32;
            let at = if head.bound {
                let space_at = context.ports.choose_lane(port, head.allowed, head.blocks, context.now, 0);
                let sender = &mut context.ports.senders[port as usize];
                if is_round && space_at.is_err() && sender.busy_until <= context.now {
                    sender.stall(context.now, head.allowed.first);
                }
                let input = &context.ports.receivers[self.first_port as usize + head.input];
                match space_at {
                    Ok(_) => sender.busy_until.max(input.readable_at),
                    // The round from which on the port stalls is taken in any case.
                    Err(at) if sender.stalled_since == Time::MAX => at.min(sender.busy_until),
                    Err(at) => at,
                }
            } else {
                let free_at = head.allowed.iter().map(|lane| rounds.free_at(head.output, lane)).min();
                head.here_at.max(free_at.unwrap_or(Time::MAX))
            };
            next = next.min(at);
        }
        if let (Some(head), true) = (rounds.heads.first(), next < Time::MAX) {
            let at = rounds.round_from(next.max(Time(context.now.0 + 1)));
            context.ports.ensure_wake(self.first_port + head.output as u32, at, &mut context.out);
        }
    }

    /// Heads that got a lane but no crossbar grant keep the lane.
    fn bind_lanes<R, B, O>(&mut self, context: &mut PartitionContext<R, B, O>, rounds: &mut Separable) {
        for i in 0..rounds.heads.len() {
            let head = rounds.heads[i];
            let Some(lane) = head.got else { continue };
            rounds.bind(&head, lane);
            let slot = &mut context.arena[head.packet];
            let waited_for = std::mem::replace(&mut slot.hop.lanes, Lanes::one(lane)).first;
            if let Some(detector) = self.detector.as_mut().filter(|_| waited_for != lane) {
                detector.changes_lane(head.input, head.output, (waited_for, lane), head.blocks);
            }
        }
    }
}
