//! Arbitration among the virtual lanes of an adapter by tables of weights ([`VlTurns`]).

use fabricsim_fabric::{Outbox, PartitionContext, VlTurns};
use fabricsim_model::Observer;
use fabricsim_routing::RoutingFunction;
use fabricsim_units::{Time, Vl};

use super::Chain;
use super::waits::Waits;
use crate::adapter::pacing::NextToSend;
use crate::adapter::{Candidate, Endpoint};

/// A packet that an adapter could send.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// An answer of the protocol.
    Answer(Candidate),
    /// A notification or acknowledgement of congestion control, of a size.
    Notification(u32),
    /// The packet of a turn.
    Turn(usize, Candidate),
}

impl Choice {
    fn bytes(self) -> u32 {
        match self {
            Self::Answer(candidate) | Self::Turn(_, candidate) => candidate.bytes,
            Self::Notification(bytes) => bytes,
        }
    }
}

/// What could be sent now: the first packet of each lane, in the order in which an adapter without tables would send.
#[derive(Clone, Copy, Debug, Default)]
struct Sendable {
    first: [Option<Choice>; 16],
    /// Lanes with a packet, a bit each.
    lanes: u16,
}

impl Sendable {
    fn add(&mut self, lane: Vl, choice: Choice) {
        self.first[lane.index()].get_or_insert(choice);
        self.lanes |= 1 << lane.0;
    }
}

impl Chain {
    /// Sends the first packet of the lane whose turn it is, or returns the time at which there may be one.
    #[inline(never)]
    pub(super) fn send_arbitrated<E: Endpoint, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        endpoint: &mut E,
        context: &mut PartitionContext<R, B, O>,
    ) -> Result<(), Time> {
        let (mut sendable, mut retry) = (Sendable::default(), Time::MAX);
        if let Some(answer) = endpoint.answer() {
            let class = answer.path.level.unwrap_or_else(|| endpoint.answer_class());
            match self.choose_lane(context, answer, class) {
                Ok(entry) => sendable.add(entry.lane, Choice::Answer(answer)),
                Err(at) => retry = at,
            }
        }
        let order = match self.pacing.as_ref().map(|pacing| pacing.next_to_send()) {
            Some(NextToSend::Answers) => [NextToSend::Answers, NextToSend::Data],
            _ => [NextToSend::Data, NextToSend::Answers],
        };
        for kind in order {
            let found = match kind {
                NextToSend::Answers => self.find_notification(context, &mut sendable),
                NextToSend::Data => self.find_flows(endpoint, context, &mut sendable),
            };
            retry = retry.min(found);
        }
        let lane = self.vl_turns.as_ref().and_then(|turns| turns.lane(sendable.lanes));
        let Some((lane, choice)) = lane.and_then(|lane| Some((lane, sendable.first[lane.index()]?))) else {
            return Err(retry);
        };
        match choice {
            Choice::Answer(answer) => self.try_answer(endpoint, answer, context)?,
            Choice::Notification(_) => self.try_notification(context)?,
            Choice::Turn(turn, candidate) => self.try_candidate(endpoint, (turn, candidate), context)?,
        }
        if let Some(turns) = &mut self.vl_turns {
            turns.sent(sendable.lanes, (lane, choice.bytes()));
        }
        Ok(())
    }

    /// Adds the first notification of congestion control; else returns the time at which there may be one that can be sent.
    fn find_notification<R: RoutingFunction, B: Observer, O: Outbox>(
        &self,
        context: &mut PartitionContext<R, B, O>,
        sendable: &mut Sendable,
    ) -> Time {
        let now = context.now;
        let Some(pacing) = &self.pacing else { return Time::MAX };
        let ready = pacing.answer_ready().unwrap_or(Time::MAX);
        if ready > now {
            return ready;
        }
        let Some(packet) = pacing.answer(now) else { return Time::MAX };
        match self.choose_lane(context, Candidate::of(&packet), pacing.service_class()) {
            Ok(entry) => sendable.add(entry.lane, Choice::Notification(packet.bytes)),
            Err(at) => return at,
        }
        Time::MAX
    }

    /// Adds the packets of turns whose flows are not rate-limited; returns the time at which there may be others.
    fn find_flows<E: Endpoint, R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        endpoint: &E,
        context: &mut PartitionContext<R, B, O>,
        sendable: &mut Sendable,
    ) -> Time {
        let mut waits = Waits::default();
        for turn in 0..endpoint.turns() {
            let Some(candidate) = endpoint.candidate(turn) else { continue };
            if self.is_rate_limited(candidate, &mut waits, context) {
                continue;
            }
            match self.choose_lane(context, candidate, self.class(endpoint, candidate)) {
                Ok(entry) => sendable.add(entry.lane, Choice::Turn(turn, candidate)),
                Err(at) => waits.lacks_credits(candidate, at),
            }
        }
        if sendable.lanes == 0 {
            self.no_data(&waits, context.now);
        }
        waits.retry
    }

    /// Begins to arbitrate among virtual lanes. False if the adapter does not.
    pub(crate) fn set_vl_turns(&mut self, turns: VlTurns) -> bool {
        let arbitrates = self.vl_turns.is_some();
        if arbitrates {
            self.vl_turns = Some(Box::new(turns));
        }
        arbitrates
    }
}
