//! Turns that an output misses because the input port is being read.
//!
//! Outputs that have packets of the same input port contend for its read ports. An input port is free exactly when the output that
//! read it last is free. So that output can always read it again, and an output that sends a packet of another input port at that
//! time never finds it free. Allocators of fixed-size cells avoid this with pointers that move only when a grant is accepted, so
//! that every request comes first some time (McKeown, "The iSLIP scheduling algorithm for input-queued switches", IEEE/ACM
//! Transactions on Networking 7(2), 1999, section III; Dally and Towles, "Principles and Practices of Interconnection Networks",
//! 2004, section 19.3). Here packets have any length, and outputs choose at any time. The rule for switches with several lanes:
//!
//! - Each output counts the turns that it missed at each input port: arbitrations at which it came to the input port, in its
//!   arbiter's order, and the port was being read. A packet that is sent takes back [`REGAINED`] missed turns.
//! - A request with [`PATIENCE`] missed turns is *overdue*. Of the outputs that choose at the same time, those with overdue
//!   requests choose first, the one with most missed turns before the others.
//! - An output with an overdue request does not begin a packet that would end after the input port can be read again: it waits.
//!   So it waits for less than the time of one packet. If it sends another packet in the meantime, it still owes the turn.
//!
//! So a request gets at least a third of its turns, but for `PATIENCE` of them: with m turns missed and s served, the count is at
//! least m - 2 s while it is not overdue, and at most `PATIENCE`; while it is overdue, a turn is owed for each missed one. Arbiters
//! other than `round-robin` have no turns. For them, an output waits if the arbiter would choose the overdue request.

use fabricsim_model::Observer;
use fabricsim_routing::RoutingFunction;
use fabricsim_spec::Arbiter;
use fabricsim_units::{Time, Vl};

use super::Switch;
use super::choose::{Delay, examine};
use super::queues::Place;
use crate::{Context, Outbox};

/// Missed turns from which on a request is overdue: more than requests miss in a row in a busy network where nothing is locked.
/// (With 4, a mesh with saturated uniform traffic delivers 2 % less; with 64, 0.5 % less at most.)
pub(super) const PATIENCE: u8 = 64;

/// Missed turns that a request regains when it is served.
const REGAINED: u8 = 2;

impl Switch {
    /// The output that chooses next: of those with overdue requests the one with most missed turns, else the next in turn.
    #[cold]
    #[inline(never)]
    pub(super) fn most_overdue(&mut self) -> Option<usize> {
        let first = self.dirty.first_after(self.last_output)?;
        let (mut best, mut at) = (first, first);
        while let Some(next) = self.dirty.first_after(at).filter(|&next| next != first) {
            if self.outputs[next].overdue > self.outputs[best].overdue {
                best = next;
            }
            at = next;
        }
        Some(best)
    }

    /// The request of `output` that has missed most turns, at an input port that is being read, is overdue from now on, if it has missed
    /// enough.
    fn note_overdue<R, B, O>(&mut self, context: &Context<R, B, O>, output: usize) -> Option<usize> {
        let inputs = &self.outputs[output].inputs;
        let first = inputs.first_after(usize::from(self.outputs[output].last_input))?;
        let (mut most, mut found, mut at) = (PATIENCE - 1, None, first);
        loop {
            let missed = self.requests[self.layout.request(output, at)].missed;
            if missed > most && self.readable_at(context, at) > context.now {
                (most, found) = (missed, Some(at));
            }
            match inputs.first_after(at) {
                Some(next) if next != first => at = next,
                _ => break,
            }
        }
        let input = found?;
        let state = &mut self.outputs[output];
        self.overdue_outputs += u32::from(state.overdue == 0);
        (state.overdue, state.overdue_input, state.turn_passed) = (most, input as u16, false);
        Some(input)
    }

    /// No request of `output` is overdue any more.
    fn forget_overdue(&mut self, output: usize) {
        self.outputs[output].overdue = 0;
        self.overdue_outputs -= 1;
    }

    #[inline]
    fn readable_at<R, B, O>(&self, context: &Context<R, B, O>, input: usize) -> Time {
        context.ports.receivers[self.first_port as usize + input].readable_at
    }

    /// An output with an overdue request found nothing to send.
    #[cold]
    #[inline(never)]
    pub(super) fn go_first_next_time<R, B, O>(&mut self, context: &Context<R, B, O>, output: usize) {
        if self.outputs[output].overdue == 0 {
            self.note_overdue(context, output);
        }
    }

    /// Sends the packet of the overdue request of `output`, in round robin, and returns true if that is possible. If another packet
    /// was sent in its turn, the turn does not move.
    #[cold]
    #[inline(never)]
    pub(super) fn serve_overdue<const ELABORATE: bool, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        output: usize,
    ) -> bool {
        let state = &self.outputs[output];
        let (input, turn, turn_passed) =
            (usize::from(state.overdue_input), state.last_input, state.turn_passed);
        let in_turn = context.rules.arbiter == Arbiter::RoundRobin;
        if in_turn && self.readable_at(context, input) > context.now {
            return false;
        }
        self.forget_overdue(output);
        if !in_turn {
            return false;
        }
        let Some((place, packet, out_lane)) = self.sendable::<ELABORATE, R, B, O>(context, output, input)
        else {
            return false;
        };
        let urgent = context.rules.priority_lanes;
        if urgent != 0 && urgent >> place.lane.0 & 1 == 0 {
            let best = self.best::<ELABORATE, R, B, O>(context, output, &mut Delay::default(), Some(input));
            if best.is_some_and(|candidate| urgent >> candidate.lane.0 & 1 != 0) {
                return false;
            }
        }
        self.grant::<ELABORATE, R, B, O>(context, place, packet, out_lane);
        if turn_passed {
            self.outputs[output].last_input = turn;
        }
        true
    }

    /// The packet of an input port that `output` could send, if the port could be read: of the lanes in turn the first.
    fn sendable<const ELABORATE: bool, R, B, O: Outbox>(
        &self,
        context: &mut Context<R, B, O>,
        output: usize,
        input: usize,
    ) -> Option<(Place, u32, Vl)> {
        let port = self.first_port + output as u32;
        let request = self.requests[self.layout.request(output, input)];
        let mut lanes = request.lanes;
        while lanes != 0 {
            let lane = request.first_lane(lanes);
            lanes &= !(1 << lane.0);
            let place = self.layout.place(input, lane, output);
            let packet = self.queues[place.queue].first();
            if let Some((_, out_lane)) =
                examine::<ELABORATE, R, B, O>(context, port, packet, &mut Delay::default())
            {
                return Some((place, packet, out_lane));
            }
        }
        None
    }

    /// True if `output`, with an overdue request, waits for its input port instead of sending `packet`.
    #[cold]
    #[inline(never)]
    pub(super) fn waits_for_overdue<const ELABORATE: bool, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
        output: usize,
        packet: u32,
    ) -> bool {
        if self.outputs[output].turn_passed && self.outputs[output].overdue > 0 {
            let input = usize::from(self.outputs[output].overdue_input);
            if self.sendable::<ELABORATE, R, B, O>(context, output, input).is_some() {
                return self.ends_too_late(context, output, (input, packet));
            }
        }
        if self.outputs[output].overdue > 0 {
            self.forget_overdue(output);
        }
        let Some(input) = self.note_overdue(context, output) else { return false };
        let chosen = self.best::<ELABORATE, R, B, O>(context, output, &mut Delay::default(), Some(input));
        if chosen.is_none_or(|candidate| usize::from(candidate.input) != input) {
            return false;
        }
        let waits = self.ends_too_late(context, output, (input, packet));
        self.outputs[output].turn_passed = !waits;
        waits
    }

    /// True if `packet`, sent by `output` now, ends after `input` can be read again: then the output looks again at that time.
    fn ends_too_late<R, B, O: Outbox>(
        &mut self,
        context: &mut Context<R, B, O>,
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

    /// A request is served.
    #[inline(always)]
    pub(super) fn forget_missed(&mut self, place: Place) {
        let missed = &mut self.requests[place.request].missed;
        *missed = if *missed >= PATIENCE { PATIENCE - 1 } else { missed.saturating_sub(REGAINED) };
    }
}
