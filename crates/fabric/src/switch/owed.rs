//! Turns that are owed to packets for which credits were lacking when they came up.
//!
//! An output in round robin passes over a packet that cannot be sent. If it cannot for lack of credits, its turn must not be
//! lost. Of two inputs with packets of one lane, beside a saturated one with packets of another lane, the same one would come
//! first whenever the lane gets credits: after each packet of the third input the round begins anew, and the second input
//! would never send. Likewise a large packet would wait forever beside small ones of its lane that take all credits as they come.
//! A round-robin arbiter is fair only to requests that persist until they are granted (Dally and Towles, "Principles and
//! Practices of Interconnection Networks", 2004, section 18.2). The rule:
//!
//! - When an output sends a packet in turn, the queues that came before it in the round, and whose packets lacked credits or were of a
//!   lane of lower priority, are each *owed* a turn. They keep it, at most one each, until their packet is sent.
//! - Of the packets that could be sent, those owed a turn go first, the one owed longest before others. They do not move the
//!   round, so that all others keep their turns.
//! - As long as one owed a turn lacks credits, no packet of later turns takes credits of its lanes, if all its own lanes are among
//!   them.
//! - Queues that have been owed a turn are *short*, until they are empty. If the packet whose turn it is comes from a short queue,
//!   the short queue that was served longest ago sends in its place, among those whose packets can go on the same lane.
//!
//! So a packet at the head of its queue waits for at most as many packets on its lane as there are queues with requests for
//! the output, but for turns that it misses because its input is being read (`missed`); and queues that share the credits of a lane, when
//! these and not the link are short, send as many packets each. Turns become owed only when a packet is sent, not whenever the output
//! looks, so that they do not depend on when it is woken.
//!
//! Other arbiters have no turns, but a large packet would wait forever with them too, beside small ones that take all credits of its lane as
//! they come. With `oldest-first`, `age-based` and `fixed-priority` no packet takes credits for which one waits that goes before it.
//! With `random` and with tables of lanes, a larger packet that lacks credits while another one is sent on its lane keeps them from then
//! on, and takes part in the draw as others do.

use fabricsim_spec::Arbiter;
use fabricsim_units::Vl;

use super::Switch;
use super::choose::{Delay, examine, space_for};
use super::queues::{Output, QueuePosition};
use super::short::Kept;
use crate::arbiter::Candidate;
use crate::{Features, Outbox, PartitionContext};

impl Switch {
    /// True if outputs in turn owe turns: not those that choose the lane by tables, or by age and in turn alternately.
    pub(super) fn owes_turns(&self, arbiter: Arbiter) -> bool {
        matches!(arbiter, Arbiter::RoundRobin | Arbiter::StrictRoundRobin)
            && self.vl_arbitration.is_none()
            && self.aging.is_none()
    }

    /// True if packets that lack credits keep them from smaller ones, without going before them: where the next packet is drawn, or its lane
    /// chosen by tables. Arbiters that have an order keep to it instead ([`Switch::best`]).
    pub(super) fn keeps_credits(&self, arbiter: Arbiter) -> bool {
        arbiter == Arbiter::Random || self.vl_arbitration.is_some()
    }

    /// Calls `of` for the packets of more than `blocks` that wait for credits of `output`, whether their inputs can be read or not, with their
    /// inputs and lanes. Credits for them wake the output.
    pub(super) fn each_lacking<F: Features, R, B, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        (output, blocks): (usize, u32),
        delay: &mut Delay,
        mut of: impl FnMut(&mut PartitionContext<R, B, O>, u32, (usize, Vl)),
    ) {
        let port = self.first_port + output as u32;
        let mut at = self.outputs[output].inputs.first_after(self.layout.ports - 1);
        while let Some(input) = at {
            at = self.outputs[output].inputs.first_after(input).filter(|&next| next > input);
            let mut lanes = self.request(output, input).lanes;
            while lanes != 0 {
                let lane = Vl(lanes.trailing_zeros() as u8);
                lanes &= lanes - 1;
                let packet = self.queues.at(self.outputs[output].row, input, lane).first();
                let slot = &context.arena[packet];
                if slot.blocks > blocks
                    && slot.ready <= context.now
                    && examine::<F, R, B, O>(context, port, packet, delay).is_none()
                {
                    of(context, packet, (input, lane));
                }
            }
        }
    }

    /// `output` sends a packet on a lane: larger ones that could go only on lanes that it may take, and that lack credits, are owed theirs.
    #[inline(never)]
    pub(super) fn owe_larger<F: Features, R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        (packet, out_lane): (u32, Vl),
    ) {
        let (mut larger, blocks) = (Vec::new(), context.arena[packet].blocks);
        let mut delay = Delay::default();
        self.each_lacking::<F, R, B, O>(context, (output, blocks), &mut delay, |context, other, of| {
            let slot = &context.arena[other];
            if context.ports.selectable(slot.hop.lanes, slot.flow()).contains(out_lane) {
                larger.push(of);
            }
        });
        for of in larger {
            self.owe(output, of);
        }
    }

    /// The packet that is owed a turn by `output` for longest among those that it could send now, those on lanes of priority first; and
    /// the lanes kept for others. The input `assumed` counts as one that can be read.
    #[inline]
    pub(super) fn first_owed<F: Features, R, B, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        (output, assumed): (usize, Option<usize>),
        delay: &mut Delay,
    ) -> (Option<Candidate>, Kept) {
        if self.short.queues[output].is_empty() {
            return Default::default();
        }
        self.search_owed::<F, R, B, O>(context, (output, assumed), delay)
    }

    #[inline(never)]
    fn search_owed<F: Features, R, B, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        (output, assumed): (usize, Option<usize>),
        delay: &mut Delay,
    ) -> (Option<Candidate>, Kept) {
        let port = self.first_port + output as u32;
        let urgent = context.rules.priority_lanes;
        let (mut first, mut kept) = (None, Kept::default());
        for &(number, lane) in &self.short.queues[output] {
            let input = usize::from(number);
            if self.request(output, input).owed >> lane.0 & 1 == 0 {
                continue;
            }
            let packet = self.queues.at(self.outputs[output].row, input, lane).first();
            let slot = &context.arena[packet];
            let lanes = context.ports.selectable(slot.hop.lanes, slot.flow());
            if kept.covers(lanes) {
                continue;
            }
            let Some((injected, out_lane)) = examine::<F, R, B, O>(context, port, packet, delay) else {
                // Whether its input can be read or not: the output is not woken when another one begins to read it.
                kept.keep(lanes);
                continue;
            };
            let readable_at = context.ports.receivers[self.first_port as usize + input].readable_at;
            if readable_at > context.now && assumed != Some(input) {
                delay.retry = delay.retry.min(readable_at);
                continue;
            }
            let candidate = Candidate { input: number, lane, packet, injected, out_lane, age: 0 };
            if urgent == 0 || urgent >> lane.0 & 1 == 1 {
                return (Some(candidate), kept);
            }
            first.get_or_insert(candidate);
        }
        (first, kept)
    }

    /// The lanes whose credits `output` keeps for packets that are owed a turn.
    #[inline]
    pub(super) fn kept<F: Features, R, B, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        delay: &mut Delay,
    ) -> Kept {
        self.first_owed::<F, R, B, O>(context, (output, None), delay).1
    }

    /// `output` sends the packet at the head of the queue of `chosen`, an input and lane, in turn: those that came before it in the round
    /// are owed a turn if they lack credits, or if all their lanes are `kept`, or if it goes before them because its lane is of higher
    /// priority.
    #[inline(never)]
    pub(super) fn owe_passed<F: Features, R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        chosen: (usize, Vl),
        kept: Kept,
    ) {
        let last = usize::from(self.outputs[output].last_input);
        let Some(mut input) = self.outputs[output].inputs.first_after(last) else { return };
        loop {
            let request = self.request(output, input);
            let mut lanes = request.lanes;
            while lanes != 0 {
                let lane = request.turn.first_lane(lanes);
                if (input, lane) == chosen {
                    return;
                }
                lanes &= !(1 << lane.0);
                let is_owed = request.owed >> lane.0 & 1 == 1;
                if !is_owed && self.is_passed::<F, R, B, O>(context, (input, lane, output), chosen.1, kept) {
                    self.owe(output, (input, lane));
                }
            }
            match self.outputs[output].inputs.first_after(input) {
                Some(next) if input != chosen.0 => input = next,
                _ => return,
            }
        }
    }

    /// [`Switch::owe_passed`] where all packets that were passed over lack credits only if their inputs, `busy`, are being read: those of
    /// others were tried. No lanes are kept.
    #[inline(never)]
    pub(super) fn owe_busy<F: Features, R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        chosen: Vl,
        busy: u64,
    ) {
        let after = !1 << (self.outputs[output].last_input % 64);
        for mut inputs in [busy & after, busy & !after] {
            while inputs != 0 {
                let input = inputs.trailing_zeros() as usize;
                inputs &= inputs - 1;
                let request = self.request(output, input);
                let mut lanes = request.lanes & !request.owed;
                while lanes != 0 {
                    let lane = request.turn.first_lane(lanes);
                    lanes &= !(1 << lane.0);
                    if self.is_passed::<F, R, B, O>(context, (input, lane, output), chosen, Kept::default()) {
                        self.owe(output, (input, lane));
                    }
                }
            }
        }
    }

    /// True if the head of a queue loses its turn to one of lane `chosen` for lack of credits, or of priority.
    fn is_passed<F: Features, R, B, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        (input, lane, output): (usize, Vl, usize),
        chosen: Vl,
        kept: Kept,
    ) -> bool {
        let port = self.first_port + output as u32;
        let slot = &context.arena[self.queues.at(self.outputs[output].row, input, lane).first()];
        if slot.ready > context.now {
            return false;
        }
        let urgent = context.rules.priority_lanes;
        if urgent >> chosen.0 & 1 > urgent >> lane.0 & 1 {
            return true;
        }
        let (allowed, blocks) = (slot.hop.lanes, space_for::<F>(slot.blocks, &context.rules));
        let lanes = context.ports.selectable(allowed, slot.flow());
        kept.covers(lanes)
            || !lanes.iter().any(|lane| context.ports.has_space(port, lane, blocks, context.now))
    }

    fn owe(&mut self, output: usize, (input, lane): (usize, Vl)) {
        let request = self.request_mut(output, input);
        request.owed |= 1 << lane.0;
        if request.short >> lane.0 & 1 == 0 {
            request.short |= 1 << lane.0;
            self.short.add(output, input, lane);
            self.has_arbitration_features = true;
        }
    }

    /// True if a queue is short. That of a packet which has waited in none is not.
    #[inline]
    pub(super) fn is_short(&self, QueuePosition { input, lane, output, .. }: QueuePosition) -> bool {
        self.outputs[output].row != Output::no_row() && self.request(output, input).short >> lane.0 & 1 == 1
    }

    /// The packet that goes on `out_lane` in the place of that of a short queue whose turn it is: of the short queues of `output` the one
    /// served longest ago.
    #[inline(never)]
    pub(super) fn served_longest_ago<F: Features, R, B, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        out_lane: Vl,
        kept: Kept,
    ) -> Option<(QueuePosition, u32)> {
        let port = self.first_port + output as u32;
        for &(input, lane) in &self.short.queues[output] {
            let position = self.waiting(usize::from(input), lane, output);
            let packet = self.queue_at(position).first();
            let slot = &context.arena[packet];
            let lanes = context.ports.selectable(slot.hop.lanes, slot.flow());
            let can_go = lanes.contains(out_lane) && slot.ready <= context.now && !kept.covers(lanes);
            let blocks = space_for::<F>(slot.blocks, &context.rules);
            let readable_at =
                context.ports.receivers[self.first_port as usize + usize::from(input)].readable_at;
            if can_go
                && readable_at <= context.now
                && context.ports.has_space(port, out_lane, blocks, context.now)
            {
                return Some((position, packet));
            }
        }
        None
    }

    /// A packet leaves its queue: true if it was owed a turn, which is settled with that.
    #[inline(always)]
    pub(super) fn settle_owed(&mut self, position: QueuePosition) -> bool {
        if self.short.is_empty() {
            return false;
        }
        self.settle_any(position)
    }

    #[inline(never)]
    fn settle_any(&mut self, position: QueuePosition) -> bool {
        let QueuePosition { input, lane, output, .. } = position;
        if !self.is_short(position) {
            return false;
        }
        let request = self.request_mut(output, input);
        let (bit, was_owed) = (1 << lane.0, request.owed >> lane.0 & 1 == 1);
        request.owed &= !bit;
        let empty = request.lanes & bit == 0;
        if empty {
            request.short &= !bit;
        }
        self.short.served(output, (input, lane), empty);
        self.note_arbitration_features();
        was_owed
    }
}
