//! Arbitration among the virtual lanes of an output by tables ([`VlTurns`]).

use std::sync::Arc;

use fabricsim_model::Observer;
use fabricsim_routing::RoutingFunction;
use fabricsim_units::Vl;

use super::Switch;
use super::choose::{Delay, examine, is_kept};
use super::queues::QueuePosition;
use crate::arbiter::Candidate;
use crate::{AllFeatures, Outbox, PartitionContext, VlTables, VlTurns};

/// Lanes of an input, at most.
const LANES: u32 = 16;

/// Number of the queue of an input and lane.
fn queue_number(input: usize, lane: Vl) -> u32 {
    input as u32 * LANES + u32::from(lane.0)
}

/// State of an output.
#[derive(Clone, Debug, fabricsim_state::State)]
struct OutputTurns {
    lanes: VlTurns,
    /// Queue of each lane that was served last: its input and lane, as a number.
    last_queues: [u32; 16],
}

/// Arbitration of a switch.
#[derive(Clone, Debug, fabricsim_state::State)]
pub(super) struct VlArbitration {
    #[state(each)]
    outputs: Vec<OutputTurns>,
    /// Lanes among which the packet that leaves next was chosen; 0 if it was not chosen among several.
    sendable: u16,
}

impl VlArbitration {
    /// A packet of some bytes leaves by an output; none if it is lost there.
    #[inline(never)]
    pub(super) fn charge(
        &mut self,
        QueuePosition { input, lane: from, output, .. }: QueuePosition,
        lane: Vl,
        bytes: Option<u32>,
    ) {
        let lanes = std::mem::take(&mut self.sendable) | 1 << lane.0;
        let Some(bytes) = bytes else { return };
        let turns = &mut self.outputs[output];
        turns.lanes.sent(lanes, (lane, bytes));
        turns.last_queues[lane.index()] = queue_number(input, from);
    }
}

impl Switch {
    /// Arbitrates among virtual lanes by tables.
    pub fn with_vl_arbitration(mut self, tables: &Arc<VlTables>) -> Self {
        let turns = OutputTurns { lanes: VlTurns::new(tables), last_queues: [LANES - 1; 16] };
        let outputs = vec![turns; self.layout.ports];
        self.vl_arbitration = Some(Box::new(VlArbitration { outputs, sendable: 0 }));
        self.has_optional_features = true;
        self.in_turn = false;
        self
    }

    /// Sets the tables of an output, which begin before their first entries. False if the switch does not arbitrate by tables.
    pub fn set_vl_tables(&mut self, output: usize, tables: &Arc<VlTables>) -> bool {
        let Some(arbitration) = &mut self.vl_arbitration else { return false };
        arbitration.outputs[output].lanes = VlTurns::new(tables);
        true
    }

    /// The next packet is chosen among those of a set of lanes.
    pub(super) fn note_sendable(&mut self, lanes: u16) {
        if let Some(arbitration) = &mut self.vl_arbitration {
            arbitration.sendable = lanes;
        }
    }

    /// The packet that an output sends, or would send if the input `assumed` were not being read: of the lane whose turn it is, from the next
    /// queue after the one served last on that lane, lane by lane and input by input. And the lanes that could send.
    #[inline(never)]
    pub(super) fn best_of_lanes<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        delay: &mut Delay,
        assumed: Option<usize>,
    ) -> Option<(Candidate, u16)> {
        let port = self.first_port + output as u32;
        let mut first: [Option<Candidate>; 16] = [None; 16];
        let queues = self.layout.ports as u32 * LANES;
        let last_queues = self.vl_arbitration.as_ref()?.outputs[output].last_queues;
        let kept = self.kept::<AllFeatures, R, B, O>(context, output, delay);
        // Distance on the way round from the queue after the last one.
        let distance = |input: usize, lane: Vl, out_lane: Vl| {
            (queue_number(input, lane) + queues - 1 - last_queues[out_lane.index()]) % queues
        };
        let mut at = self.outputs[output].inputs.first_after(self.layout.ports - 1);
        while let Some(input) = at {
            let readable_at = context.ports.receivers[self.first_port as usize + input].readable_at;
            let mut lanes = self.request(output, input).lanes;
            if readable_at > context.now && assumed != Some(input) {
                delay.retry = delay.retry.min(readable_at);
                lanes = 0;
            }
            while lanes != 0 {
                let lane = Vl(lanes.trailing_zeros() as u8);
                lanes &= lanes - 1;
                let packet = self.queues.at(self.outputs[output].row, input, lane).first();
                if is_kept(kept, context, packet) {
                    continue;
                }
                let Some((injected, out_lane)) =
                    examine::<AllFeatures, R, B, O>(context, port, packet, delay)
                else {
                    continue;
                };
                let candidate = Candidate { input: input as u16, lane, packet, injected, out_lane, age: 0 };
                let place = &mut first[out_lane.index()];
                let is_nearer = place.is_none_or(|other| {
                    distance(input, lane, out_lane) < distance(usize::from(other.input), other.lane, out_lane)
                });
                if is_nearer {
                    *place = Some(candidate);
                }
            }
            at = self.outputs[output].inputs.first_after(input).filter(|&next| next > input);
        }
        let sendable = (0..16).filter(|&lane| first[lane].is_some()).fold(0, |all, lane| all | 1 << lane);
        let arbitration = self.vl_arbitration.as_ref()?;
        let lane = arbitration.outputs[output].lanes.lane(sendable)?;
        Some((first[lane.index()]?, sendable))
    }
}
