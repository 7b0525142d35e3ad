//! Outputs whose links have failed. Their senders never become idle, so arbitration leaves them alone; packets that are routed to
//! them are discarded at the end of the time step, or wait until the link is back.

use fabricsim_model::{Hop, LossCause, Observer};
use fabricsim_routing::RoutingFunction;
use fabricsim_units::{Time, Vl};

use super::Switch;
use crate::{AllFeatures, Outbox, PartitionContext};

/// Load of a failed output, in blocks, as adaptive routing sees it: more than any buffer, less than overflows with its weights.
const LOAD: u32 = 1 << 28;

/// State of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, fabricsim_state::Value)]
enum OutputState {
    #[default]
    Works,
    /// Its packets wait.
    Holds,
    /// Its packets are discarded.
    Discards,
}

/// Outputs of a switch, some of which have failed.
#[derive(Clone, Debug, fabricsim_state::Value)]
pub(super) struct Failures {
    outputs: Box<[OutputState]>,
    /// True if the whole switch has failed.
    switch: bool,
    /// True if the forwarding table may lack entries.
    lacks_routes: bool,
}

impl Failures {
    pub(super) fn has(&self, output: usize) -> bool {
        self.outputs[output] != OutputState::Works
    }

    /// Load that a failed output seems to have; 0 if it works.
    #[inline(never)]
    pub(super) fn load(&self, output: usize) -> u32 {
        if self.has(output) { LOAD } else { 0 }
    }
}

impl Switch {
    /// The link behind `port` has failed. If it `discards`, packets for it are lost; else they wait.
    pub fn fail_output(&mut self, port: u32, discards: bool) {
        let output = (port - self.first_port) as usize;
        self.failures_mut().outputs[output] =
            if discards { OutputState::Discards } else { OutputState::Holds };
    }

    /// The forwarding table may lack entries from now on. A packet without an entry is queued for the port by which it came, which no
    /// route takes, and discarded there.
    pub fn lack_routes(&mut self) {
        self.failures_mut().lacks_routes = true;
    }

    fn failures_mut(&mut self) -> &mut Failures {
        let ports = self.layout.ports;
        self.failures.get_or_insert_with(|| {
            let outputs = vec![OutputState::Works; ports].into_boxed_slice();
            Box::new(Failures { outputs, switch: false, lacks_routes: false })
        })
    }

    /// The link behind `port` works again.
    pub fn restore_output(&mut self, port: u32) {
        let output = (port - self.first_port) as usize;
        if let Some(failures) = &mut self.failures {
            failures.outputs[output] = OutputState::Works;
            if !failures.lacks_routes && failures.outputs.iter().all(|&state| state == OutputState::Works) {
                self.failures = None;
            }
        }
    }

    /// All of the switch has failed: what is in its buffers is lost, once all its outputs discard.
    pub fn fail(&mut self) {
        if let Some(failures) = &mut self.failures {
            failures.switch = true;
        }
    }

    /// The switch works again; its links are restored one by one.
    pub fn restore(&mut self) {
        if let Some(failures) = &mut self.failures {
            failures.switch = false;
        }
    }

    /// Cause for which packets from an input for an output are lost; `None` if they are sent.
    #[inline(never)]
    pub(super) fn loss_cause(&self, output: usize, input: usize) -> Option<LossCause> {
        let failures = self.failures.as_ref()?;
        match (failures.switch, failures.has(output)) {
            (true, true) => Some(LossCause::SwitchFailed),
            _ if failures.lacks_routes && output == input => Some(LossCause::NoRoute),
            (false, true) => Some(LossCause::LinkFailed),
            (_, false) => None,
        }
    }

    /// Discards the packets for which the switch has no route among those that wait for an output.
    #[cold]
    #[inline(never)]
    pub(super) fn discard_without_route<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
    ) {
        while self.failures.as_ref().is_some_and(|failures| failures.lacks_routes)
            && self.outputs[output].inputs.contains(output)
        {
            self.discard_head(context, output, output);
        }
    }

    /// [`Switch::settle`] with failed outputs: a packet that leaves may expose another one that is discarded, and so on.
    #[cold]
    #[inline(never)]
    pub(super) fn settle_with_failures<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
    ) {
        self.discard_waiting(context);
        self.settle_once::<AllFeatures, R, B, O>(context);
        while self.discard_waiting(context) {
            if self.rounds.is_some() {
                // This time's round is over; those exposed take part in the next one.
                let at = Time(context.now.0 + 1);
                context.ports.senders[self.first_port as usize].wake(self.first_port, at, &mut context.out);
                return;
            }
            self.settle_once::<AllFeatures, R, B, O>(context);
        }
    }

    /// Discards the packets that wait for outputs that discard, and those in the input buffers of a failed switch. True if there
    /// were any.
    fn discard_waiting<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
    ) -> bool {
        let Some(failures) = &self.failures else { return false };
        let empties = failures.switch;
        let mut any = false;
        loop {
            while let Some((output, input)) = self.next_to_discard() {
                self.discard_head(context, output, input);
                any = true;
            }
            if !(empties && self.stage_any(context)) {
                return any;
            }
        }
    }

    /// An output that discards and an input with a packet for it.
    fn next_to_discard(&self) -> Option<(usize, usize)> {
        let failures = self.failures.as_ref()?;
        failures.outputs.iter().enumerate().find_map(|(output, &state)| {
            let inputs = &self.outputs[output].inputs;
            if state == OutputState::Discards {
                return Some((output, inputs.first_after(self.layout.ports - 1)?));
            }
            (failures.lacks_routes && inputs.contains(output)).then_some((output, output))
        })
    }

    /// Discards the packet at the head of a queue of `input` for `output`.
    fn discard_head<R: RoutingFunction, B: Observer, O: Outbox>(
        &mut self,
        context: &mut PartitionContext<R, B, O>,
        output: usize,
        input: usize,
    ) {
        let lanes = self.request(output, input).lanes;
        let position = self.waiting(input, Vl(lanes.trailing_zeros() as u8), output);
        let packet = self.queue_at(position).first();
        let lane = context.arena[packet].hop.lanes.first;
        if let Some(rounds) = &mut self.rounds
            && rounds.is_bound(input, position.lane)
        {
            rounds.release(input, position.lane, (output, lane), context.now);
        }
        self.grant::<AllFeatures, R, B, O>(context, position, packet, lane);
    }

    /// Leaves out hops to failed outputs, if there are others.
    #[cold]
    #[inline(never)]
    pub(super) fn avoid_failed(&self, hops: &mut Vec<Hop>) {
        let Some(failures) = &self.failures else { return };
        if hops.iter().any(|hop| !failures.has(hop.port.index())) {
            hops.retain(|hop| !failures.has(hop.port.index()));
        }
    }
}
