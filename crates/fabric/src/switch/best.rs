//! Choice of the arbiter among all packets that could be sent.

use fabricsim_model::{Lanes, Observer};
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::Arbiter;
use fabricsim_units::Vl;

use super::Switch;
use super::choose::{Delay, examine, is_kept};
use super::short::Kept;
use crate::arbiter::{Candidate, Choice};
use crate::{Features, Outbox, PartitionContext};

impl Switch {
    /// The packet that the arbiter chooses for `output` among those that can be sent now, and that could be if the input port
    /// `assumed` were not being read.
    pub(super) fn best<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        delay: &mut Delay,
        assumed: Option<usize>,
    ) -> Option<Candidate> {
        let (owed, mut kept) = self.first_owed::<F, R, B, O>(context, (output, assumed), delay);
        let owed = owed.filter(|_| self.owes_turns(context.rules.arbiter));
        loop {
            let found = self.offer_all::<F, R, B, O>(context, output, delay, assumed, (owed, kept))?;
            match self.lacking_before::<F, R, B, O>(context, output, delay, &found) {
                Some(lanes) => kept.keep(lanes),
                None => return Some(found),
            }
        }
    }

    /// Lanes of a packet that comes before `found` by the arbiter's order, that lacks credits, and that would have to wait
    /// further if `found` took those of its lane.
    #[inline(never)]
    pub(super) fn lacking_before<F: Features, R, B, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        delay: &mut Delay,
        found: &Candidate,
    ) -> Option<Lanes> {
        let arbiter = context.rules.arbiter;
        if !has_order(arbiter) {
            return None;
        }
        let slot = &context.arena[found.packet];
        let (lanes, blocks) = (context.ports.selectable(slot.hop.lanes, slot.flow()), slot.blocks);
        let mut before = None;
        self.each_lacking::<F, R, B, O>(
            context,
            (output, blocks),
            delay,
            |context, packet, (input, lane)| {
                let slot = &context.arena[packet];
                let wanted = context.ports.selectable(slot.hop.lanes, slot.flow());
                let age = self.aging.as_ref().map_or(0, |aging| aging.age(slot.packet.age));
                let lacking = Candidate {
                    input: input as u16,
                    lane,
                    packet,
                    injected: slot.packet.injected,
                    out_lane: wanted.first,
                    age,
                };
                let mut choice = Choice::new(arbiter, context.rules.priority_lanes, None);
                choice.offer(*found);
                choice.offer(lacking);
                if before.is_none() && Kept::of(wanted).covers(lanes) && choice.winner() == Some(lacking) {
                    before = Some(wanted);
                }
            },
        );
        before
    }

    /// Offers the arbiter what can be sent, beginning after the input and lane served last: `owed` first, and not what may go only on lanes
    /// that are kept for others.
    fn offer_all<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        delay: &mut Delay,
        assumed: Option<usize>,
        (owed, kept): (Option<Candidate>, Kept),
    ) -> Option<Candidate> {
        let port = self.first_port + output as u32;
        let (arbiter, last, last_lane) = self.policy(context.rules.arbiter, output);
        let in_turn = self.owes_turns(arbiter);
        let mut choice = Choice::new(arbiter, context.rules.priority_lanes, self.random.get_mut(output));
        if owed.is_some_and(|owed| choice.offer(owed)) {
            return choice.winner();
        }
        let (inputs, row) = (&self.outputs[output].inputs, self.outputs[output].row);
        let mut at = inputs.first_after(last);
        while let Some(input) = at {
            let readable_at = context.ports.receivers[self.first_port as usize + input].readable_at;
            if readable_at > context.now && assumed != Some(input) {
                delay.retry = delay.retry.min(readable_at);
                if arbiter == Arbiter::StrictRoundRobin {
                    let lanes = self.queues.request(row, input).lanes;
                    let asking = (0..self.layout.lanes as u8).filter(|lane| lanes >> lane & 1 != 0).map(Vl);
                    let heads = asking.map(|lane| self.queues.at(row, input, lane).first());
                    let mut credits = Delay::default();
                    if could_send::<F, R, B, O>(context, port, heads, &mut credits) {
                        return choice.winner();
                    }
                    // From then on the output waits for this input, whatever else there is.
                    delay.retry = delay.retry.min(credits.retry);
                }
            } else {
                let mut request = self.queues.request(row, input);
                if let Some(lane) = last_lane {
                    request.turn.last_lane = lane.0;
                }
                let mut lanes = request.lanes & if in_turn { !request.owed } else { !0 };
                while lanes != 0 {
                    let lane = request.turn.first_lane(lanes);
                    lanes &= !(1 << lane.0);
                    let packet = self.queues.at(row, input, lane).first();
                    if is_kept(kept, context, packet) {
                        continue;
                    }
                    let Some((injected, out_lane)) = examine::<F, R, B, O>(context, port, packet, delay)
                    else {
                        continue;
                    };
                    let aging = self.aging.as_ref().filter(|_| F::OPTIONAL);
                    let age = aging.map_or(0, |aging| aging.age(context.arena[packet].packet.age));
                    if choice.offer(Candidate { input: input as u16, lane, packet, injected, out_lane, age })
                    {
                        return choice.winner();
                    }
                }
            }
            at = inputs.first_after(input).filter(|&next| round_goes_on(last, input, next));
        }
        choice.winner()
    }
}

/// True if packets go before others whatever was sent before. By age also while all take turns: packets that wait are not woken when that
/// ends.
#[inline]
pub(super) fn has_order(arbiter: Arbiter) -> bool {
    matches!(arbiter, Arbiter::AgeBased | Arbiter::OldestFirst | Arbiter::FixedPriority)
}

/// True if one of the packets at the heads of an input's queues is one that `port` could send now but for the input's read
/// ports. The input is checked again as soon as it can be read.
#[inline(never)]
fn could_send<F: Features, R, B, O>(
    context: &mut PartitionContext<R, B, O>,
    port: u32,
    mut heads: impl Iterator<Item = u32>,
    delay: &mut Delay,
) -> bool {
    heads.any(|packet| examine::<F, R, B, O>(context, port, packet, delay).is_some())
}

/// True if `next` lies after `input` on the way round from `last`.
#[inline]
fn round_goes_on(last: usize, input: usize, next: usize) -> bool {
    if input > last { next > input || next <= last } else { next > input && next <= last }
}
