//! Age-based arbitration in a switch: when packets get their ages, and when outputs go by them (Abts & Weisser, SC07,
//! section 2).

use fabricsim_spec::Arbiter;
use fabricsim_units::{Time, Vl};

use super::Switch;
use super::queues::QueuePosition;
use crate::age::{AgeHeader, AgeRrSelect, Ager};
use crate::{Arena, Table};

/// The aging of a switch's packets.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(super) struct Aging {
    ager: Ager,
    #[state(fixed)]
    select: AgeRrSelect,
    /// REQ_AGE_BIAS and RSP_AGE_BIAS of each port.
    #[state(fixed)]
    bias: Table<[u8; 2]>,
    /// The first lane of responses.
    #[state(fixed)]
    responses: u8,
    outputs: Table<Turns>,
}

/// State of an output's two arbitration policies; the input last served in turn is in [`super::queues`].
#[derive(Clone, Copy, Debug, fabricsim_state::Value)]
struct Turns {
    /// Grants so far, modulo 256.
    grants: u8,
    /// The input and lane last served by age.
    lane: u8,
    input: u16,
}

impl Aging {
    /// The packet comes in at a port.
    #[inline(never)]
    pub(super) fn receive(&mut self, arena: &mut Arena, input: usize, packet: u32, now: Time) {
        self.ager.advance(now);
        let slot = &mut arena[packet];
        let bias = self.bias[input][usize::from(slot.lane.0 >= self.responses)];
        slot.packet.age = self.ager.receive(slot.packet.age as u8, bias).0;
    }

    /// Brings the clock up to the time of an arbitration.
    #[inline(never)]
    pub(super) fn advance(&mut self, now: Time) {
        self.ager.advance(now);
    }

    /// True if the next grant of an output goes by age.
    #[inline(always)]
    pub(super) fn by_age(&self, output: usize) -> bool {
        !self.ager.inhibited() && self.select.by_age(self.outputs[output].grants)
    }

    #[inline(always)]
    pub(super) fn age(&self, header: u16) -> u8 {
        self.ager.age(AgeHeader(header))
    }

    /// The packet leaves with its present age, chosen `by_age` or in turn.
    #[inline(never)]
    pub(super) fn send(&mut self, header: &mut u16, position: QueuePosition) -> bool {
        let by_age = self.by_age(position.output);
        *header = u16::from(self.ager.send(AgeHeader(*header)));
        let turns = &mut self.outputs[position.output];
        turns.grants = turns.grants.wrapping_add(1);
        if by_age {
            (turns.input, turns.lane) = (position.input as u16, position.lane.0);
        }
        by_age
    }

    /// The input and lane last served by age.
    #[inline]
    pub(super) fn last(&self, output: usize) -> (usize, Vl) {
        let turns = self.outputs[output];
        (usize::from(turns.input), Vl(turns.lane))
    }
}

impl Switch {
    /// Enables aging; `bias` are REQ_AGE_BIAS and RSP_AGE_BIAS port by port, and packets on lanes from `responses` on
    /// are responses.
    pub fn with_ages(mut self, ager: Ager, select: AgeRrSelect, bias: Vec<[u8; 2]>, responses: Vl) -> Self {
        let turns = Turns { grants: 0, lane: 0, input: 0 };
        let outputs = Table::new(vec![turns; bias.len()]);
        let aging = Aging { ager, select, bias: Table::new(bias), responses: responses.0, outputs };
        self.aging = Some(Box::new(aging));
        self.has_optional_features = true;
        self
    }

    /// Returns the policy for the next packet of an output, and the input and lane that were served last by that policy.
    #[inline]
    pub(super) fn policy(&self, arbiter: Arbiter, output: usize) -> (Arbiter, usize, Option<Vl>) {
        match &self.aging {
            None => (arbiter, usize::from(self.outputs[output].last_input), None),
            Some(aging) if aging.by_age(output) => {
                let (input, lane) = aging.last(output);
                (Arbiter::AgeBased, input, Some(lane))
            }
            Some(_) => (Arbiter::RoundRobin, usize::from(self.outputs[output].last_input), None),
        }
    }
}
