//! Choice of an output among the packets that request it.

use fabricsim_model::Observer;
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::Arbiter;
use fabricsim_units::{Time, Vl};

use super::Switch;
use super::missed::Missed;
use super::queues::QueuePosition;
use super::short::Kept;
use crate::arbiter::Candidate;
use crate::{Features, NONE, Outbox, PartitionContext, Rules};

/// Reason why an output found nothing to send.
pub(super) struct Delay {
    /// Time to look again.
    pub(super) retry: Time,
    /// A lane for which a packet lacks credits and nothing else.
    pub(super) starved: Option<Vl>,
}

impl Default for Delay {
    fn default() -> Self {
        Self { retry: Time::MAX, starved: None }
    }
}

impl Delay {
    /// The output looks again when it may find more to send, although it has found something and waits.
    fn look_again<R, B, O: Outbox>(&self, context: &mut PartitionContext<R, B, O>, port: u32) {
        if self.retry < Time::MAX {
            context.ports.ensure_wake(port, self.retry, &mut context.out);
        }
    }

    /// Notifies the output's sender.
    #[inline]
    fn note<R, B, O: Outbox>(self, context: &mut PartitionContext<R, B, O>, port: u32) {
        let sender = &mut context.ports.senders[port as usize];
        if let Some(lane) = self.starved {
            sender.stall(context.now, lane);
        }
        if self.retry < Time::MAX {
            sender.wake(port, self.retry, &mut context.out);
        }
    }
}

impl Switch {
    /// Sends a packet at an output if possible; `ARBITRATION_FEATURES` where [`Switch::has_arbitration_features`].
    #[inline(always)]
    pub(super) fn arbitrate<
        F: Features,
        const ARBITRATION_FEATURES: bool,
        R: RoutingFunction,
        B: Observer,
        O: Outbox,
    >(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
    ) {
        if ARBITRATION_FEATURES && !self.waiting.is_empty() {
            self.end_waiting(output);
        }
        if F::OPTIONAL
            && let Some(aging) = &mut self.aging
        {
            aging.advance(context.now);
        }
        let state = &self.outputs[output];
        if state.inputs.is_empty() {
            if state.sole != NONE {
                self.send_sole::<F, R, B, O>(context, output);
            }
            return;
        }
        if state.sole != NONE {
            // Another packet has come to the head of its queue since.
            self.enqueue_sole::<F, R, B, O>(context, output);
        }
        if F::OPTIONAL && self.lifetimes.is_some() {
            self.discard_expired(context, output);
            if self.outputs[output].inputs.is_empty() {
                return;
            }
        }
        if F::OPTIONAL && self.failures.is_some() {
            self.discard_without_route(context, output);
            if self.outputs[output].inputs.is_empty() {
                return;
            }
        }
        let port = self.first_port + output as u32;
        let sender = &mut context.ports.senders[port as usize];
        if sender.busy_until > context.now {
            sender.wake(port, sender.busy_until, &mut context.out);
            return;
        }
        if sender.starving {
            context.ports.forget_awaited(port);
        }
        if ARBITRATION_FEATURES && self.needs_credits {
            self.note_lanes_without_credits(context, output);
        }
        if ARBITRATION_FEATURES && self.overdue > 0 {
            let mut delay = Delay::default();
            if self.serve_overdue::<F, R, B, O>(context, output, &mut delay) {
                return;
            }
            delay.look_again(context, port);
        }
        if F::PLAIN || self.in_turn {
            self.send_next::<F, ARBITRATION_FEATURES, R, B, O>(context, output);
        } else {
            self.send_best::<F, R, B, O>(context, output);
        }
    }

    /// [`Switch::arbitrate`] with [`Switch::has_arbitration_features`].
    #[inline(never)]
    pub(super) fn arbitrate_with_features<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
    ) {
        self.arbitrate::<F, true, R, B, O>(context, output);
    }

    /// Sends the only packet of the time step; if that is not possible, queues it and finds the reason.
    #[inline(always)]
    fn send_sole<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
    ) {
        let state = &mut self.outputs[output];
        let (packet, input) = (state.sole, state.sole_input);
        let in_port = self.first_port + u32::from(input);
        let port = self.first_port + output as u32;
        if F::OPTIONAL && context.ports.senders[port as usize].busy_until > context.now {
            // A flow-control packet has taken the link in this time step.
            self.enqueue_sole::<F, R, B, O>(context, output);
            self.dirty.set_as::<F>(output);
            return;
        }
        let slot = &context.arena[packet];
        let lane = slot.lane;
        let readable_at = context.ports.receivers[in_port as usize].readable_at;
        let possible_at = if F::PLAIN { readable_at } else { slot.ready.max(readable_at) };
        if possible_at > context.now {
            self.enqueue_sole::<F, R, B, O>(context, output);
            context.ports.ensure_wake(port, possible_at, &mut context.out);
            return;
        }
        let (allowed, blocks) = (slot.hop.lanes, space_for::<F>(slot.blocks, &context.rules));
        let flow = || context.arena[packet].flow();
        let first = context.ports.first_lane::<F>(port, allowed, blocks, context.now, flow);
        let out_lane = first.or_else(|| {
            let flow = context.arena[packet].flow();
            context.ports.search_lane(port, allowed, blocks, context.now, flow).ok()
        });
        let Some(out_lane) = out_lane else {
            self.enqueue_sole::<F, R, B, O>(context, output);
            self.dirty.set_as::<F>(output);
            return;
        };
        state.sole = NONE;
        let position = self.position::<F>(usize::from(input), lane, output);
        self.forward::<F, R, B, O>(context, position, packet, out_lane, false);
    }

    /// Sends the first packet that `output` can send now, beginning after the input and lane served last: what the
    /// round-robin arbiter chooses, where the inputs fit in a word.
    #[inline(always)]
    fn send_next<
        F: Features,
        const ARBITRATION_FEATURES: bool,
        R: RoutingFunction,
        B: Observer,
        O: Outbox,
    >(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
    ) {
        let port = self.first_port + output as u32;
        let (mut delay, mut kept) = (Delay::default(), Kept::default());
        if ARBITRATION_FEATURES && !self.short.is_empty() {
            let (owed, lanes) = self.first_owed::<F, R, B, O>(context, (output, None), &mut delay);
            if let Some(candidate) = owed {
                return self.send_unless_overdue::<F, R, B, O>(context, output, candidate, delay);
            }
            kept = lanes;
        }
        let (state, row) = (&self.outputs[output], self.row_of::<F>(output));
        let (mut inputs, mut rest) = state.inputs.split_after(usize::from(state.last_input));
        let mut busy = 0;
        loop {
            if inputs == 0 {
                if rest == 0 {
                    break;
                }
                (inputs, rest) = (rest, 0);
            }
            let input = inputs.trailing_zeros() as usize;
            inputs &= inputs - 1;
            let readable_at = context.ports.receivers[self.first_port as usize + input].readable_at;
            let number = self.queues.request_place(row, input);
            if readable_at > context.now {
                delay.retry = delay.retry.min(readable_at);
                busy |= 1 << input;
                if self.counts_missed && *self.queues.missed_until(number) != readable_at {
                    let missed = Missed { output, input, until: readable_at };
                    let again_at = self.miss_turn::<F, R, B, O>(context, missed, kept);
                    delay.retry = delay.retry.min(again_at);
                    if !ARBITRATION_FEATURES && self.has_arbitration_features {
                        // The request has just become overdue.
                        return self.arbitrate_with_features::<F, R, B, O>(context, output);
                    }
                }
                continue;
            }
            let request = self.queues.request_at(number);
            let mut lanes = request.lanes & if ARBITRATION_FEATURES { !request.owed } else { !0 };
            while lanes != 0 {
                let lane = request.turn.first_lane(lanes);
                lanes &= !(1 << lane.0);
                let position = self.waiting_in::<F>(row, number, (input, lane, output));
                let packet = self.queue_at(position).first();
                if ARBITRATION_FEATURES && is_kept(kept, context, packet) {
                    continue;
                }
                if let Some((_, out_lane)) = examine::<F, R, B, O>(context, port, packet, &mut delay) {
                    if ARBITRATION_FEATURES
                        && self.overdue > 0
                        && self.waits_for_overdue::<F, R, B, O>(context, output, packet, &mut delay)
                    {
                        return delay.look_again(context, port);
                    }
                    let passes_busy = busy != 0 && self.counts_missed;
                    if delay.starved.is_some() || passes_busy && kept != Kept::default() {
                        self.owe_passed::<F, R, B, O>(context, output, (input, lane), kept);
                    } else if passes_busy {
                        self.owe_busy::<F, R, B, O>(context, output, lane, busy);
                    }
                    if ARBITRATION_FEATURES && self.is_short(position) {
                        return self.grant_short::<F, R, B, O>(context, position, packet, out_lane, kept);
                    }
                    return self.grant::<F, R, B, O>(context, position, packet, out_lane);
                }
            }
        }
        delay.note(context, port);
    }

    /// Sends the packet that the arbiter chooses.
    #[inline(never)]
    fn send_best<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
    ) {
        let mut delay = Delay::default();
        if self.counts_missed {
            self.miss_turns::<F, R, B, O>(context, output, &mut delay);
        }
        if self.overdue > 0 && self.waits_before_draw::<F, R, B, O>(context, output, &mut delay) {
            return delay.look_again(context, self.first_port + output as u32);
        }
        let mut sendable = 0;
        let found = if F::OPTIONAL && self.vl_arbitration.is_some() {
            let found = self.best_of_lanes(context, output, &mut delay, None);
            sendable = found.map_or(0, |(_, lanes)| lanes);
            found.map(|(candidate, _)| candidate)
        } else {
            self.best::<F, R, B, O>(context, output, &mut delay, None)
        };
        let Some(Candidate { input, lane, packet, out_lane, .. }) = found else {
            if self.counts_missed && context.rules.arbiter == Arbiter::StrictRoundRobin {
                self.waiting.push(output);
            }
            return delay.note(context, self.first_port + output as u32);
        };
        if self.overdue > 0 && self.waits_for_overdue::<F, R, B, O>(context, output, packet, &mut delay) {
            return delay.look_again(context, self.first_port + output as u32);
        }
        if F::OPTIONAL {
            self.note_sendable(sendable);
        }
        let position = self.waiting(usize::from(input), lane, output);
        if self.owes_turns(context.rules.arbiter) {
            if self.request(output, usize::from(input)).owed >> lane.0 & 1 == 0 {
                let kept = self.kept::<F, R, B, O>(context, output, &mut Delay::default());
                self.owe_passed::<F, R, B, O>(context, output, (usize::from(input), lane), kept);
                if self.is_short(position) {
                    return self.grant_short::<F, R, B, O>(context, position, packet, out_lane, kept);
                }
            }
        } else if self.keeps_credits(context.rules.arbiter) {
            self.owe_larger::<F, R, B, O>(context, output, (packet, out_lane));
        }
        self.grant::<F, R, B, O>(context, position, packet, out_lane);
    }

    /// Sends in the turn of `packet`, of a short queue, that of the short queue which was served longest ago.
    #[inline(never)]
    fn grant_short<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        turn: QueuePosition,
        packet: u32,
        out_lane: Vl,
        kept: Kept,
    ) {
        let found = self.served_longest_ago::<F, R, B, O>(context, turn.output, out_lane, kept);
        let (position, packet) = found.unwrap_or((turn, packet));
        let last_lane = self.turn_mut::<F>(position).last_lane;
        self.grant::<F, R, B, O>(context, position, packet, out_lane);
        // The turn is that of the packet in whose place another one was sent. Their output may have returned its row.
        for (QueuePosition { input, lane, output, .. }, last) in [(position, last_lane), (turn, turn.lane.0)]
        {
            self.turn_mut::<F>(self.position::<F>(input, lane, output)).last_lane = last;
        }
        self.outputs[turn.output].last_input = turn.input as u16;
    }

    /// Sends a packet that is owed a turn, unless the output waits for an overdue request.
    #[inline(never)]
    fn send_unless_overdue<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        Candidate { input, lane, packet, out_lane, .. }: Candidate,
        mut delay: Delay,
    ) {
        if self.overdue > 0 && self.waits_for_overdue::<F, R, B, O>(context, output, packet, &mut delay) {
            return delay.look_again(context, self.first_port + output as u32);
        }
        let position = self.waiting(usize::from(input), lane, output);
        self.grant::<F, R, B, O>(context, position, packet, out_lane);
    }
}

/// True if all lanes on which a packet may go are kept for packets that are owed a turn.
#[inline]
pub(super) fn is_kept<R, B, O>(kept: Kept, context: &PartitionContext<R, B, O>, packet: u32) -> bool {
    let slot = &context.arena[packet];
    kept != Kept::default() && kept.covers(context.ports.selectable(slot.hop.lanes, slot.flow()))
}

/// Blocks that must be free at the other end for a packet of `blocks` to be sent.
#[inline(always)]
pub(super) fn space_for<F: Features>(blocks: u32, rules: &Rules) -> u32 {
    if F::OPTIONAL { blocks.max(rules.least_space) } else { blocks }
}

/// If `port` can send the packet at a queue's head now, returns the time at which it was injected, and the lane on which
/// it goes; if not, sets the time of the next check in `delay`.
#[inline(always)]
pub(super) fn examine<F: Features, R, B, O>(
    context: &mut PartitionContext<R, B, O>,
    port: u32,
    packet: u32,
    delay: &mut Delay,
) -> Option<(Time, Vl)> {
    let slot = &context.arena[packet];
    if !F::PLAIN && slot.ready > context.now {
        delay.retry = delay.retry.min(slot.ready);
        return None;
    }
    let (allowed, injected) = (slot.hop.lanes, slot.packet.injected);
    let blocks = space_for::<F>(slot.blocks, &context.rules);
    if let Some(lane) = context.ports.first_lane::<F>(port, allowed, blocks, context.now, || slot.flow()) {
        return Some((injected, lane));
    }
    let flow = context.arena[packet].flow();
    match context.ports.search_lane(port, allowed, blocks, context.now, flow) {
        Ok(lane) => Some((injected, lane)),
        Err(at) => {
            delay.retry = delay.retry.min(at);
            delay.starved.get_or_insert(allowed.first);
            None
        }
    }
}
