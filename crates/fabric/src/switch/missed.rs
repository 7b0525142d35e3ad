//! Turns that an output misses because the input port is being read.
//!
//! Outputs that have packets of the same input port contend for its read ports. An input port is free exactly when the output that
//! read it last is free. So that output can always read it again, and an output that sends a packet of another input port at that
//! time never finds it free. Allocators of fixed-size cells avoid this with pointers that move only when a grant is accepted, so
//! that every request comes first some time (McKeown, "The iSLIP scheduling algorithm for input-queued switches", IEEE/ACM
//! Transactions on Networking 7(2), 1999, section III; Dally and Towles, "Principles and Practices of Interconnection Networks",
//! 2004, section 19.3). Here packets have any length, and outputs choose at any time. The rule for switches with several lanes:
//!
//! - Each output counts the turns that it missed at each input port: the times during which the port was read for another output
//!   although this output was idle and could have sent the request's packet. Each such time counts once, however often the output
//!   looks, so that the counts do not depend on when it is woken. A packet that is sent takes back [`REGAINED`] missed turns.
//! - A request with [`PATIENCE`] missed turns is *overdue*. Of the outputs that choose at the same time, those with overdue
//!   requests choose first, the one with most missed turns before the others.
//! - An output with an overdue request does not begin a packet that would end after the input port can be read again: it waits.
//!   So it waits for less than the time of one packet. If it sends another packet in the meantime, it still owes the turn.
//!
//! So a request gets at least a third of its turns, but for `PATIENCE` of them: with m turns missed and s served, the count is at
//! least m - 2 s while it is not overdue, and at most `PATIENCE`; while it is overdue, a turn is owed for each missed one.
//!
//! Arbiters other than `round-robin` have no turns. With `random`, every request would be drawn some time, if its input port were
//! not being read whenever the output draws: overdue requests go first there, too. The output waits for them before it draws, so
//! that it draws once for each packet, however often it looks. (With lanes of priority or arbitration by tables it does not wait.)
//! A request that has been served is overdue again after as many missed turns as the output has inputs with requests: else its output
//! would serve no other one while its input is being read all the time.
//! With the others, an output waits if the arbiter would choose the overdue request.

use fabricsim_model::Observer;
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::Arbiter;
use fabricsim_units::{Time, Vl};

use super::Switch;
use super::best::has_order;
use super::choose::{Delay, examine, is_kept};
use super::queues::{NO_INPUT, QueuePosition};
use super::short::Kept;
use crate::arbiter::Candidate;
use crate::{Features, Outbox, PartitionContext};

/// Missed turns from which a request is overdue: more than requests miss in a row in a busy network without locking.
/// (With 4, a mesh with saturated uniform traffic delivers 2 % less; with 64, 0.5 % less at most.)
pub(super) const PATIENCE: u8 = 64;

/// Missed turns that a request regains when it is served.
const REGAINED: u8 = 2;

/// A turn that an idle output may miss, since an input is being read.
#[derive(Clone, Copy)]
pub(super) struct Missed {
    pub(super) output: usize,
    pub(super) input: usize,
    /// The input can be read then.
    pub(super) until: Time,
}

impl Switch {
    /// The output that chooses next: of those with overdue requests the one with most missed turns, else the next in turn.
    #[cold]
    #[inline(never)]
    pub(super) fn most_overdue(&mut self) -> Option<usize> {
        let first = self.dirty.first_after(self.last_output)?;
        let most = |output| self.overdue_request(output).map_or(0, |(_, missed)| missed);
        let (mut best, mut at) = ((first, most(first)), first);
        while let Some(next) = self.dirty.first_after(at).filter(|&next| next != first) {
            let missed = most(next);
            if missed > best.1 {
                best = (next, missed);
            }
            at = next;
        }
        Some(best.0)
    }

    /// The input with the overdue request of `output` that has missed most turns, of equal ones the next in turn, and their number.
    pub(super) fn overdue_request(&self, output: usize) -> Option<(usize, u8)> {
        let state = &self.outputs[output];
        let first = state.inputs.first_after(usize::from(state.last_input))?;
        let (mut most, mut found, mut at) = (PATIENCE - 1, None, first);
        loop {
            let missed = self.request(output, at).turn.missed;
            if missed > most {
                (most, found) = (missed, Some((at, missed)));
            }
            match state.inputs.first_after(at) {
                Some(next) if next != first => at = next,
                _ => return found,
            }
        }
    }

    /// An idle output finds that an input is being read: it misses a turn if it could send its packet otherwise. If not yet, returns
    /// the time at which it can, to look again then, so that the turn is missed in every partitioning.
    #[inline(never)]
    pub(super) fn miss_turn<F: Features, R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        Missed { output, input, until }: Missed,
        kept: Kept,
    ) -> Time {
        let request = self.queues.request_place(self.outputs[output].row, input);
        if *self.queues.missed_until(request) == until {
            return Time::MAX;
        }
        let mut lacking = Delay::default();
        if !self.has_sendable::<F, R, B, O>(context, (output, input), &mut lacking, kept) {
            return lacking.retry;
        }
        *self.queues.missed_until(request) = until;
        let missed = &mut self.queues.request_at_mut(request).turn.missed;
        *missed = missed.saturating_add(1);
        if *missed == PATIENCE {
            self.overdue += 1;
            self.has_arbitration_features = true;
        }
        Time::MAX
    }

    /// Counts the turns that the idle `output` misses.
    pub(super) fn miss_turns<F: Features, R, B, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        delay: &mut Delay,
    ) {
        let mut input = self.outputs[output].inputs.first_after(self.layout.ports - 1);
        let kept = self.kept::<F, R, B, O>(context, output, delay);
        while let Some(at) = input {
            let until = self.readable_at(context, at);
            if until > context.now {
                let missed = Missed { output, input: at, until };
                let again_at = self.miss_turn::<F, R, B, O>(context, missed, kept);
                delay.retry = delay.retry.min(again_at);
            }
            input = self.outputs[output].inputs.first_after(at).filter(|&next| next > at);
        }
    }

    #[inline]
    pub(super) fn readable_at<R, B, O>(&self, context: &PartitionContext<R, B, O>, input: usize) -> Time {
        context.ports.receivers[self.first_port as usize + input].readable_at
    }

    /// Sends the packet of the overdue request of `output`, in round robin, and returns true if that is possible. If another packet
    /// was sent in its turn, the turn does not move.
    #[cold]
    #[inline(never)]
    pub(super) fn serve_overdue<F: Features, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        delay: &mut Delay,
    ) -> bool {
        if context.rules.arbiter != Arbiter::RoundRobin && !self.draws_without_order(context) {
            return false;
        }
        let Some((input, _)) = self.overdue_request(output) else { return false };
        if self.readable_at(context, input) > context.now {
            return false;
        }
        let Some((position, packet, out_lane)) = self.sendable::<F, R, B, O>(context, (output, input), delay)
        else {
            return false;
        };
        let urgent = context.rules.priority_lanes;
        if urgent != 0 && urgent >> position.lane.0 & 1 == 0 {
            let best = self.best::<F, R, B, O>(context, output, delay, Some(input));
            if best.is_some_and(|candidate| urgent >> candidate.lane.0 & 1 != 0) {
                return false;
            }
        }
        if F::OPTIONAL && self.vl_arbitration.is_some() {
            // Only the lane whose turn it is goes: an overdue packet of another one waits for the tables.
            let best = self.best_of_lanes(context, output, delay, None);
            let Some((_, lanes)) = best.filter(|(best, _)| best.out_lane == out_lane) else { return false };
            self.note_sendable(lanes);
        }
        let (turn, deferred_input) = (self.outputs[output].last_input, self.outputs[output].deferred_input);
        self.grant::<F, R, B, O>(context, position, packet, out_lane);
        if usize::from(deferred_input) == input {
            self.outputs[output].last_input = turn;
            self.outputs[output].deferred_input = NO_INPUT;
        }
        true
    }

    /// True if [`Switch::sendable`] finds a packet that may take its lane: one that leaves credits to others is none. (Such an output is not
    /// woken when its input is read, and would count a missed turn only if it looks by chance.)
    #[inline(always)]
    fn has_sendable<F: Features, R, B, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        (output, input): (usize, usize),
        delay: &mut Delay,
        kept: Kept,
    ) -> bool {
        if has_order(context.rules.arbiter) {
            return self.has_sendable_in_order::<F, R, B, O>(context, (output, input), delay, kept);
        }
        let port = self.first_port + output as u32;
        let request = self.request(output, input);
        let mut lanes = request.lanes;
        while lanes != 0 {
            let lane = request.turn.first_lane(lanes);
            lanes &= !(1 << lane.0);
            let packet = self.queues.at(self.outputs[output].row, input, lane).first();
            if !is_kept(kept, context, packet)
                && examine::<F, R, B, O>(context, port, packet, delay).is_some()
            {
                return true;
            }
        }
        false
    }

    /// [`Switch::has_sendable`] for arbiters with an order: none that comes after one which lacks credits of its lane.
    #[inline(never)]
    fn has_sendable_in_order<F: Features, R, B, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        (output, input): (usize, usize),
        delay: &mut Delay,
        kept: Kept,
    ) -> bool {
        let port = self.first_port + output as u32;
        let request = self.request(output, input);
        let mut lanes = request.lanes;
        while lanes != 0 {
            let lane = request.turn.first_lane(lanes);
            lanes &= !(1 << lane.0);
            let packet = self.queues.at(self.outputs[output].row, input, lane).first();
            if is_kept(kept, context, packet) {
                continue;
            }
            let Some((injected, out_lane)) = examine::<F, R, B, O>(context, port, packet, delay) else {
                continue;
            };
            let age = self.aging.as_ref().map_or(0, |aging| aging.age(context.arena[packet].packet.age));
            let candidate = Candidate { input: input as u16, lane, packet, injected, out_lane, age };
            if self.lacking_before::<F, R, B, O>(context, output, delay, &candidate).is_none() {
                return true;
            }
        }
        false
    }

    /// The packet of an input port that `output` could send, if the port could be read: of the lanes in turn the first.
    pub(super) fn sendable<F: Features, R, B, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        (output, input): (usize, usize),
        delay: &mut Delay,
    ) -> Option<(QueuePosition, u32, Vl)> {
        let port = self.first_port + output as u32;
        let request = self.request(output, input);
        let mut lanes = request.lanes;
        while lanes != 0 {
            let lane = request.turn.first_lane(lanes);
            lanes &= !(1 << lane.0);
            let position = self.waiting(input, lane, output);
            let packet = self.queue_at(position).first();
            if let Some((_, out_lane)) = examine::<F, R, B, O>(context, port, packet, delay) {
                return Some((position, packet, out_lane));
            }
        }
        None
    }

    /// A request is served.
    #[inline(always)]
    pub(super) fn forget_missed<F: Features>(&mut self, position: QueuePosition) {
        if self.turn_mut::<F>(position).missed > 0 {
            self.regain::<F>(position);
        }
    }

    #[inline(never)]
    fn regain<F: Features>(&mut self, position: QueuePosition) {
        // Only outputs that draw have random numbers.
        let again = if self.random.is_empty() { 1 } else { self.requesting(position) };
        let missed = &mut self.turn_mut::<F>(position).missed;
        if *missed < PATIENCE {
            *missed = missed.saturating_sub(REGAINED);
            return;
        }
        *missed = PATIENCE - again;
        self.overdue -= 1;
        self.note_arbitration_features();
    }

    /// Number of inputs with a request for an output, the one that is being served included; at most [`PATIENCE`].
    fn requesting(&self, QueuePosition { output, input, .. }: QueuePosition) -> u8 {
        let inputs = &self.outputs[output].inputs;
        let next = |&at: &usize| inputs.first_after(at).filter(|&next| next > at);
        let all = std::iter::successors(inputs.first_after(self.layout.ports - 1), next);
        let others = all.filter(|&other| other != input).take(usize::from(PATIENCE) - 1).count();
        others as u8 + 1
    }
}
